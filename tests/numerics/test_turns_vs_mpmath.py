"""Turns, their sums by powers, and mixtures of many normals against 60-digit arithmetic."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

from hush.curves.pairs.normal import NormalPair
from hush.numerics.laws import law as laws
from hush.numerics.laws.normal_mixture import log_mixture, posterior
from hush.numerics.rounding import UNIT
from hush.numerics.special.turns import turned

COPIES = tuple((0.8 * k, math.comb(60, k) * 0.1**k * 0.9 ** (60 - k)) for k in range(61))
"""Noise of multiplier 1.25 on the copies of a record among 60 draws."""


def test_turned_has_a_small_relative_error() -> None:
    random = np.random.default_rng(1)
    whole_turns = np.pi * np.arange(1, 100)
    angles = np.concatenate([10 ** random.uniform(-12, 4, 400), -random.uniform(0, 50, 100), whole_turns])
    real, imaginary = turned(angles)
    with mpmath.workdps(60):
        for k, angle in enumerate(angles.tolist()):
            exact = mpmath.expj(mpmath.mpf(angle)) - 1
            assert abs(real[k] / exact.real - 1) < 8 * UNIT
            assert abs(imaginary[k] / exact.imag - 1) < 8 * UNIT


@pytest.mark.parametrize("count", [40, 600])
def test_powers_vs_turns(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Losses that turn little are summed by their powers; the sum is the same to its stated rounding."""
    tilt = NormalPair.shifted(2.0).mix(0.001).law().tilt(1.4, reach=200.0)
    y = np.arange(count) * (200.0 / count)
    monkeypatch.setattr(laws, "FEW_TERMS", 0)
    powers = tilt.departure(y)
    monkeypatch.setattr(laws, "FEW_TERMS", 10**9)
    turns = tilt.departure(y)
    rounding = 8 * UNIT * np.minimum(y * y * tilt.deviation**2, 2 + y * tilt.deviation)
    assert np.all(np.abs(powers - turns) <= rounding)


def test_many_components() -> None:
    """The components that do not matter at a place may be left out there."""
    x = np.sort(np.random.default_rng(2).uniform(-12, 60, 1500))
    found, (mean, _) = log_mixture(COPIES, x), posterior(COPIES, x)
    with mpmath.workdps(60):
        for k in range(0, len(x), 50):
            place = mpmath.mpf(float(x[k]))
            terms = [(a, w * mpmath.exp(a * place - mpmath.mpf(a) ** 2 / 2)) for a, w in COPIES]
            total = mpmath.fsum(term for _, term in terms)
            assert float(abs(found[k] - mpmath.log(total))) < 16 * UNIT * (1 + abs(found[k]))
            exact = mpmath.fsum(a * term for a, term in terms) / total
            assert float(abs(mean[k] - exact)) < 1e-12 * (1 + abs(mean[k]))


def test_tails_of_many_components() -> None:
    """The tails of the loss, past thresholds found by Newton's method, against those past one found by halving."""
    pair = NormalPair(COPIES, ((0.0, 1.0),))
    losses = np.array([-5.0, -0.5, -1e-6, 0.0, 1e-9, 0.3, 4.0, 60.0, 700.0])
    p_up, q_up, p_down, q_down = pair.tails(losses)
    for k, loss in enumerate(losses.tolist()):
        low, high = -200.0, 200.0
        for _ in range(100):
            middle = (low + high) / 2
            past = float(log_mixture(COPIES, np.array([middle]))[0]) > loss
            low, high = (low, middle) if past else (middle, high)
        expected = float(mpmath.fsum(w * mpmath.ncdf(a - high) for a, w in COPIES))
        assert p_up[k] == pytest.approx(expected, rel=1e-9)
        assert q_up[k] == pytest.approx(float(mpmath.ncdf(-high)), rel=1e-9)
    assert p_up + p_down == pytest.approx(np.ones(len(losses)))
    mirrored = pair.swap().tails(-losses)
    for ours, theirs in zip((q_down, p_down, q_up, p_up), mirrored, strict=True):
        assert ours == pytest.approx(theirs, rel=1e-9, abs=1e-300)
