"""Every reference value where hits are rare lies in hush's interval, and the interval is narrow.

The values come from an expansion in the number of large losses, in real space, without any transform.
"""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

import hush

CASES = json.loads((Path(__file__).parent / "rare-hits.json").read_text())


def remove(case: dict[str, float]) -> hush.Pair:
    training = hush.Gaussian(case["sigma"]).on(hush.Poisson(rate=case["q"])).repeat(int(case["T"]))
    return training.pairs()["remove"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['sigma']}-{case['q']}-{case['T']}")
def test_delta(case: dict[str, float]) -> None:
    low, high = remove(case).log_delta(case["eps"], 1e-6)
    truth, slack = math.log(float(case["delta"])), 2 * case["agreement"] + 1e-14
    assert low - slack <= truth <= high + slack
    assert high - low <= 1e-6


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['sigma']}-{case['q']}-{case['T']}")
def test_epsilon(case: dict[str, float]) -> None:
    low, high = remove(case).epsilon(math.log(float(case["delta"])), 1e-6)
    assert low * (1 - 1e-11) <= case["eps"] <= high * (1 + 1e-11)
    assert high - low <= 1e-6 * high


POINTS = [
    ((0.545, 1.02e-5, 2817, 1e-8), 0.2664783984),
    ((0.443, 3.9e-7, 29569, 4e-6), 0.00587863012),
    ((0.755, 1.4e-6, 20916, 1e-12), 0.01324267522),
    ((0.5, 1e-3, 100, 1e-6), 3.144506841),
    ((0.413, 0.0078, 30, 1e-6), 9.419627691),
]
"""Epsilons of another program of the same kind, to ten digits."""


@pytest.mark.parametrize(("point", "truth"), POINTS)
def test_points_of_another_program(point: tuple[float, float, int, float], truth: float) -> None:
    sigma, rate, steps, delta = point
    low, high = remove({"sigma": sigma, "q": rate, "T": steps}).epsilon(math.log(delta), 1e-6)
    assert low * (1 - 1e-9) <= truth <= high * (1 + 1e-9)
    assert high - low <= 1e-6 * high


DEEP = [
    (0.412525500872895, 5.31615327290656e-06, 7013, 6.028931087416063e-47),
    (4.35772437750687, 0.000198448980561274, 2, 5.8748134534412e-45),
    (1.58371183232287, 1.22711601273328e-05, 167042, 1.7398649923016546e-33),
]
"""Runs at tiny deltas, where the first line of a level may be poor."""


@pytest.mark.parametrize("point", DEEP)
def test_tiny_deltas_are_narrow(point: tuple[float, float, int, float]) -> None:
    noise, rate, steps, delta = point
    bound = hush.Gaussian(noise).on(hush.Poisson(rate=rate)).repeat(steps).epsilon(delta=delta)
    assert 0 < bound.upper - bound.lower <= 1e-6 * bound.upper
