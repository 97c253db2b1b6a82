"""Sampling theorems of a curve: the printed formulas at high precision, all orders to 10^5, and what is refused."""

from __future__ import annotations

import math
import time
from random import Random

import mpmath
import numpy as np
import pytest

import hush
from hush.curves.pairs.normal import NormalPair
from hush.curves.pairs.segment import SegmentPair
from hush.curves.renyi import sampling
from hush.curves.renyi.curve import RenyiCurve

mp = mpmath.mp


def growth(mechanism: tuple[str, float], j: int) -> mpmath.mpf:
    """(j - 1) eps(j)."""
    name, value = mechanism
    v = mpmath.mpf(value)
    if name == "gaussian":
        return j * (j - 1) / (2 * v * v)
    top, low = mpmath.exp((j - 1) / v), mpmath.exp(-j / v)
    return mpmath.log((j * top + (j - 1) * low) / (2 * j - 1))


def printed(mechanism: tuple[str, float], rate: float, order: int, theorem: str) -> mpmath.mpf:
    """The theorem as it stands in the paper."""
    g = mpmath.mpf(rate)
    e = [mpmath.exp(growth(mechanism, j)) if j > 1 else mpmath.mpf(1) for j in range(order + 1)]
    if theorem == "without":
        spread = mpmath.inf if mechanism[0] == "gaussian" else mpmath.expm1(1 / mpmath.mpf(mechanism[1]))
        total = g**2 * mpmath.binomial(order, 2) * min(4 * (e[2] - 1), e[2] * min(2, spread**2))
        total += mpmath.fsum(g**j * mpmath.binomial(order, j) * e[j] * min(2, spread**j) for j in range(3, order + 1))
        return mpmath.log1p(total) / (order - 1)
    factor = 3 if theorem == "three" else 1
    total = mpmath.fsum(
        mpmath.binomial(order, j) * g**j * (1 - g) ** (order - j) * e[j] * (factor if j > 2 else 1)
        for j in range(order + 1)
    )
    return mpmath.log(total) / (order - 1)


def cases() -> list[tuple[tuple[str, float], float, int]]:
    random = Random(5)
    found = []
    for k in range(24):
        name = ("gaussian", "laplace")[k % 2]
        value = float(f"{10 ** random.uniform(-1, 2):.3g}")
        rate = float(f"{10 ** random.uniform(-6, -0.005):.3g}")
        found.append(((name, value), rate, int(10 ** random.uniform(0.31, 2.8))))
    return [*found, (("gaussian", 20.0), 1e-3, 1500)]


@pytest.mark.parametrize(("mechanism", "rate", "order"), cases())
def test_formulas(mechanism: tuple[str, float], rate: float, order: int) -> None:
    leaf = hush.Gaussian(mechanism[1]) if mechanism[0] == "gaussian" else hush.Laplace(mechanism[1])
    curve = leaf.renyi_curve()
    with mp.workdps(50):
        for theorem, function in (
            ("without", sampling.without_replacement),
            ("three", sampling.poisson),
            ("one", sampling.poisson_mirrored),
        ):
            truth = min(float(printed(mechanism, rate, order, theorem)), curve(float(order)))
            found = function(curve, rate)(float(order))
            assert truth * (1 - 1e-13) <= found <= truth * (1 + 1e-9), theorem
        truth = float(printed(mechanism, rate, order, "one"))
        lower = sampling.without_replacement_lower(curve, rate)(float(order))
        assert truth * (1 - 1e-9) <= lower <= truth * (1 + 1e-13)


THEOREMS = [sampling.without_replacement, sampling.poisson, sampling.poisson_mirrored]


@pytest.mark.parametrize("noise", [0.1, 1.0, 5.0, 100.0])
@pytest.mark.parametrize("rate", [1e-6, 0.01, 0.99])
def test_all_orders_to_1e5_never_above_the_unsampled_curve(noise: float, rate: float) -> None:
    curve = hush.Gaussian(noise).renyi_curve()
    orders = np.array([1.0, 1.2, 2.0, 2.5, 100.0, 9_999.5, 1e4, 1e5, 3e5, math.inf])
    for theorem in THEOREMS:
        values = theorem(curve, rate)(orders)
        assert not np.isnan(values).any()
        assert np.all(values <= curve(orders))
        if theorem is not sampling.poisson:  # log(3)/(order - 1) falls with the order
            assert np.all(values[1:-3] >= values[:-4] * (1 - 1e-12))


def test_fractional_orders_are_chords_of_the_moment() -> None:
    curve = hush.Laplace(1.0).renyi_curve()
    for theorem in THEOREMS:
        sampled = theorem(curve, 0.05)
        for low in (2, 7, 30):
            ends = [(n - 1) * sampled(float(n)) for n in (low, low + 1)]
            middle = (low + 0.25 - 1) * sampled(low + 0.25)
            assert middle == pytest.approx(0.75 * ends[0] + 0.25 * ends[1], rel=1e-12)


def test_rates_at_the_ends() -> None:
    curve = hush.Gaussian(1.0).renyi_curve()
    for theorem in THEOREMS:
        assert theorem(curve, 0.0)(5.0) == 0
        assert theorem(curve, 1.0)(5.0) == curve(5.0)
        for rate in (-0.1, 1.1, math.nan):
            with pytest.raises(hush.InvalidParameter, match="rate"):
                theorem(curve, rate)


def test_orders_2_to_501_in_50_milliseconds() -> None:
    curve = hush.Gaussian(5.0).renyi_curve()
    best = math.inf
    for _ in range(3):
        start = time.process_time()
        sampling.without_replacement(curve, 0.001)(np.arange(2.0, 502.0))
        best = min(best, time.process_time() - start)
    assert best < 0.05


@pytest.mark.parametrize("pair", [NormalPair.shifted(0.2), NormalPair.shifted(1.5), SegmentPair.laplace(2.0)])
@pytest.mark.parametrize("rate", [0.001, 0.1])
def test_the_bound_of_one_pair_lies_between_lower_and_general(pair: object, rate: float) -> None:
    curve = pair.curve()  # type: ignore[attr-defined]
    orders = np.array([2.0, 3.0, 10.0, 64.0, 300.0])
    tight = sampling.without_replacement_pair(pair, rate)(orders)  # type: ignore[arg-type]
    assert np.all(tight <= sampling.without_replacement(curve, rate)(orders) * (1 + 1e-12))
    lower = sampling.without_replacement_lower(curve.declaring(attained=True), rate)(orders)
    assert np.all(lower <= tight)


def test_declarations_are_needed() -> None:
    stated = hush.ZCDP(rho=0.1).renyi_curve()
    with pytest.raises(hush.NotCovered, match="attaining its curve at every order"):
        sampling.without_replacement_lower(stated, 0.1)
    with pytest.raises(hush.NotCovered, match="odd Pearson-Vajda"):
        sampling.poisson_mirrored(stated, 0.1)
    exponential = hush.Exponential(1.0).renyi_curve()
    with pytest.raises(hush.NotCovered):
        sampling.poisson_mirrored(exponential, 0.1)


def test_sampling_a_pure_guarantee() -> None:
    """At infinite order log(1 + q (e^eps - 1)), and no order is above it."""
    mechanism = hush.Exponential(2.0).on(hush.Poisson(rate=0.1))
    top = math.log1p(0.1 * math.expm1(2.0))
    values = mechanism.renyi(orders=[2, 50, 1e4, math.inf])
    assert values[-1] == pytest.approx(top, rel=1e-12)
    assert np.all(values <= top * (1 + 1e-12))


def test_lower_bounds_take_the_order_below() -> None:
    curve = RenyiCurve.linear(0.02).declaring(attained=True)
    lower = sampling.without_replacement_lower(curve, 0.01)
    assert lower(3.9) == lower(3.0)
    assert lower(1.9) == 0.0
