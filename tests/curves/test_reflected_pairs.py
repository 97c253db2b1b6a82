"""Noise that is turned round says the same: pairs of normals against their reflections, and large losses against sums."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import special

import hush
from hush.curves.pairs.normal import NormalPair

LOSSES = np.array([-0.3, -0.1, -0.01, 0.0, 0.01, 0.5, 5.0, 30.0, 36.0, 38.0, 100.0, 590.0, 610.0, 690.0, 800.0, 1300.0])


def reflected(pair: NormalPair) -> NormalPair:
    above, below = (tuple(sorted((-place, weight) for place, weight in side)) for side in (pair.above, pair.below))
    return NormalPair(above, below)


@pytest.mark.parametrize(("noise", "rate"), [(0.02, 0.1), (0.1, 0.3), (1.0, 0.01), (0.05, 1e-4)])
def test_tails_of_large_losses(noise: float, rate: float) -> None:
    pair = NormalPair.shifted(1 / noise).mix(rate)
    for found, other in zip(pair.tails(LOSSES), reflected(pair).tails(LOSSES), strict=True):
        assert found == pytest.approx(other, rel=1e-10, abs=1e-300)
    # past 40 a loss is that of a hit: log(rate) + x/noise - 1/(2 noise^2)
    far = LOSSES[LOSSES > 37]
    x = (far - math.log(rate)) * noise + 0.5 / noise
    hits = rate * special.ndtr(1 / noise - x) + (1 - rate) * special.ndtr(-x)
    for one in (pair, reflected(pair)):
        assert one.tails(far)[0] == pytest.approx(hits, rel=1e-6, abs=1e-300)


@pytest.mark.parametrize("mechanism", [hush.Laplace(0.01), hush.Gaussian(0.02)], ids=str)
def test_both_directions_have_one_trade_off(mechanism: hush.Mechanism) -> None:
    """Absent against present is the same test, whichever dataset is named first."""
    pairs = mechanism.on(hush.Poisson(rate=0.1)).repeat(10).pairs()
    first, second = pairs["remove"], pairs["add"].swap()
    for epsilon in (-1.0, 0.0, 20.0, 60.0, 90.0):
        (a, b), (c, d) = first.log_delta(epsilon), second.log_delta(epsilon)
        assert max(a, c) <= min(b, d) + 1e-9


@pytest.mark.parametrize("name", ["remove", "add"])
def test_hits_that_give_all_away(name: str) -> None:
    """Each hit is seen for certain, so delta is the chance of one, at any moderate epsilon."""
    pair = hush.Gaussian(0.02).on(hush.Poisson(rate=0.1)).repeat(100).pairs()[name]
    low, high = (pair.swap() if name == "add" else pair).profile()(np.array([40.0]))
    chance = -math.expm1(100 * math.log(0.9))
    assert low[0] <= chance * (1 + 1e-12)
    assert chance <= high[0] * (1 + 1e-12)
