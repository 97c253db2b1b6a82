"""Lattice laws against exact profiles: the spread one is above, the contracted one below, at every epsilon."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hush.curves.composition.routes import loss_source
from hush.curves.pairs.finite import FinitePair
from hush.curves.pairs.normal import NormalPair
from hush.curves.pairs.pair import Pair
from hush.curves.pairs.segment import SegmentPair
from hush.curves.pairs.worst_case import stated_points
from hush.numerics.engines.grid import bracket
from hush.numerics.engines.loss_lattice import discretise, support
from tests.numerics.lattice import one_loss, profile

GAUSS = NormalPair.shifted(1.0)

PAIRS: dict[str, Pair] = {
    "gaussian": GAUSS,
    "gaussian, remove": GAUSS.mix(0.1),
    "gaussian, add": GAUSS.swap().mix(0.1).swap(),
    "gaussian, rare": GAUSS.mix(0.001),
    "gaussian, replace": NormalPair(((0.0, 0.8), (1.0, 0.2)), ((-1.0, 0.2), (0.0, 0.8))),
    "laplace": SegmentPair.laplace(1.0),
    "laplace, remove": SegmentPair.laplace(2.0).mix(0.2),
    "laplace, add": SegmentPair.laplace(2.0).swap().mix(0.2).swap(),
    "range": SegmentPair.bounded_range(1.0),
    "range, remove": SegmentPair.bounded_range(1.0).mix(0.3),
    "table": FinitePair.of([0.5, 0.3, 0.2], [0.2, 0.3, 0.5]),
    "discrete gaussian": NormalPair.shifted(0.5, 0.5),
    "stated": stated_points([0.5, 1.0], [1e-2, 1e-3]),
}

EPSILONS = np.linspace(-2.5, 4.0, 40)


def exact(pair: Pair, epsilon: float) -> tuple[float, float]:
    """delta of the pair given that the loss is finite: what the lattice is asked for."""
    rest = 1 - pair.infinite
    low, high = (math.exp(x) for x in pair.log_delta(float(epsilon), 1e-12))
    return (low - pair.infinite) / rest, (high - pair.infinite) / rest


@pytest.mark.parametrize("step", [0.3, 0.04, 0.002])
@pytest.mark.parametrize("name", PAIRS)
def test_profile_is_between(name: str, step: float) -> None:
    pair = PAIRS[name]
    upper, lower = one_loss(pair, step, -40.0)
    for epsilon in EPSILONS:
        low, high = exact(pair, epsilon)
        # tails are differences of numbers up to 1: a few units of rounding
        assert profile(upper, step, epsilon) >= low - 1e-14, epsilon
        assert profile(lower, step, epsilon) <= high + 1e-14, epsilon


@pytest.mark.parametrize("name", PAIRS)
def test_masses_are_a_law(name: str) -> None:
    laws = one_loss(PAIRS[name], 0.05, -40.0)
    for law in laws:
        assert np.all(law.mass >= 0)
        assert 0 <= law.at_infinity <= 1
    upper, _ = laws
    assert math.isclose(float(upper.mass.sum()) + upper.at_infinity, 1.0, rel_tol=1e-12)


@pytest.mark.parametrize("name", ["gaussian, remove", "gaussian, add", "laplace", "range"])
def test_second_order_in_the_step(name: str) -> None:
    """Half the step, a quarter of the gap; a plain rounding would only halve it."""
    source = loss_source(PAIRS[name], 1)
    ends = support(source, -40.0)
    gaps = []
    for step in (0.04, 0.02, 0.01):
        upper, lower = discretise(source, step, *ends)
        gaps.append(profile(upper, step, 0.101) - profile(lower, step, 0.101))
    assert gaps[2] < 0.15 * gaps[0]


@pytest.mark.parametrize("name", ["gaussian", "gaussian, remove", "gaussian, add", "laplace", "table", "range"])
def test_composed_once_is_the_profile(name: str) -> None:
    pair = PAIRS[name]
    found = bracket([loss_source(pair, 1)], 1 << 12, 1.0, -40.0)
    for epsilon in (0.0, 0.3, 0.9):
        low, high = found.log_delta(epsilon)
        truth = pair.log_delta(epsilon, 1e-12)
        assert low <= truth[1] + 1e-12
        assert high >= truth[0] - 1e-12
        if truth[0] > -math.inf:
            assert high - low <= 1e-2


@pytest.mark.parametrize("times", [2, 30, 5000])
@pytest.mark.parametrize("tilt", [0.5, 3.0, 12.0])
def test_composed_gaussians_vs_closed_form(times: int, tilt: float) -> None:
    """Whatever the tilt, good or bad, the interval holds the truth: Dong, Roth, Su 2022, Cor. 3.3."""
    pair = NormalPair.shifted(1.0 / math.sqrt(times))
    found = bracket([loss_source(pair, times)], 1 << 13, tilt, -60.0)
    for epsilon in (0.0, 1.0, 3.0, 6.0):
        low, high = found.log_delta(epsilon)
        truth = NormalPair.shifted(1.0).log_delta(epsilon)
        assert low <= truth[1] + 1e-12
        assert high >= truth[0] - 1e-12
