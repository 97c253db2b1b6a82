"""Bounds on delta at many epsilons at once, against the same line or lattice at one epsilon, and against enumeration."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import hush
from hush.curves.composition.product import Product
from hush.curves.composition.routes import GridRoute
from hush.curves.pairs.finite import FinitePair
from hush.curves.pairs.pair import Pair
from hush.numerics.engines.contour_profile import delta_ends, made_lines
from hush.numerics.engines.grid_profile import PastEach

EPSILONS = np.concatenate([np.linspace(-6, 9, 61), [-40.0, -0.3, 1e-9, 0.5, 40.0, 200.0]])
TRAINING = hush.Gaussian(1.0).on(hush.Poisson(rate=0.01)).repeat(10_000)
PAIRS: dict[str, Pair] = {
    "training": TRAINING.pairs()["remove"],
    "training, added": TRAINING.pairs()["add"],
    "coins": hush.RandomizedResponse(epsilon=0.1, relation=hush.Relation.REPLACE).repeat(100).pairs()["replace"],
    "discrete": hush.DiscreteGaussian(3.0).repeat(30).pairs()["remove"],
}


@pytest.mark.parametrize("name", PAIRS)
def test_lines(name: str) -> None:
    lines = made_lines(PAIRS[name].laws)
    assert lines
    for line in lines:
        low, high = delta_ends([line], EPSILONS)
        for epsilon, a, b in zip(EPSILONS.tolist(), low, high, strict=True):
            if abs(line.value - line.route.c * epsilon) < 100:
                one = line.delta(epsilon)
                lower, upper = math.exp(one.lower), math.exp(one.upper)
                assert b - a == pytest.approx(upper - lower, rel=1e-6, abs=1e-13)  # the same error terms
                assert a == pytest.approx(lower, rel=1e-12, abs=0.5 * (upper - lower))
            else:
                assert 0 <= a <= b <= 1


@pytest.mark.parametrize("mechanism", [hush.Laplace(1.0).repeat(5), TRAINING, hush.Gaussian(0.5).repeat(2)], ids=str)
@pytest.mark.parametrize("log_delta", [-0.5, -12.0])
def test_lattices(mechanism: hush.Mechanism, log_delta: float) -> None:
    pair = mechanism.then(hush.Laplace(3.0)).pairs()["remove"]
    both = GridRoute(pair.factors, pair.laws).bracket(1 << 13, log_delta)
    for law, side in ((both.lower, -1), (both.upper, 1)):
        found = PastEach.of(law, side).deltas(EPSILONS)
        for epsilon, bound in zip(EPSILONS.tolist(), found.tolist(), strict=True):
            one = math.exp(law.log_delta(epsilon, side))
            assert (bound - one) * side >= -1e-9 * one - 1e-14  # never narrower
            if abs(law.log_scale - law.tilt * epsilon) < 10 and abs(epsilon) < 20:
                assert bound == pytest.approx(one, rel=1e-3, abs=1e-9)


def enumerated(p: np.ndarray, q: np.ndarray, times: int, epsilon: float) -> float:
    outcomes = itertools.product(range(len(p)), repeat=times)
    pairs = [(math.prod(p[list(o)]), math.prod(q[list(o)])) for o in outcomes]
    return math.fsum(max(a - math.exp(epsilon) * b, 0.0) for a, b in pairs)


@pytest.mark.parametrize("likely", [0.505, 0.6, 0.9])
@pytest.mark.parametrize("times", [1, 4, 7])
def test_lines_far_from_where_they_were_made(likely: float, times: int) -> None:
    """Just past a point of the lattice the kernel is the small difference of two large numbers: rounding counts."""
    p, q = np.array([likely, 1 - likely]), np.array([0.45, 0.55])
    pair = Product(((FinitePair.of(p, q), times),))
    steps = [math.log(a / b) for a, b in zip(p, q, strict=True)]
    places = [k * steps[0] + (times - k) * steps[1] for k in range(times + 1)]
    epsilons = np.array([place + gap for place in places for gap in (-1e-3, 1e-12, 1e-6, 1e-3, 0.03)])
    lines = made_lines(pair.laws)
    for line in lines:
        low, high = delta_ends([line], epsilons)
        for epsilon, a, b in zip(epsilons.tolist(), low, high, strict=True):
            truth = enumerated(p, q, times, epsilon)
            assert a <= truth * (1 + 1e-11) + 1e-15
            assert truth <= b * (1 + 1e-11) + 1e-15
            one = line.delta(epsilon)
            assert math.exp(one.lower) <= truth * (1 + 1e-11) + 1e-15
            assert truth <= math.exp(one.upper) * (1 + 1e-11) + 1e-15
