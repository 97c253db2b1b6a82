"""The calibration of smooth-sensitivity noise: no shift and no dilation of its box reaches more than is claimed."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import hush
from hush import releases
from hush.curves.theorems.smooth_sensitivity import evenly_spread, laplace_delta
from hush.errors import InvalidParameter
from hush.releases.noise.smooth_noise import SmoothLaplace, SmoothStudent, smooth_noise
from hush.releases.noise.student import rounded_student
from tests.formulas import student_epsilon


def hockey_stick(density: object, cdf: object, epsilon: float, p: tuple[float, float], q: tuple[float, float]) -> float:
    """sup over sets of P(A) - e^eps Q(A) for laws (place, scale), from exact masses of cells: a lower bound, near it."""
    edges = np.concatenate([-np.geomspace(1e-6, 1e5, 3000)[::-1], [0.0], np.geomspace(1e-6, 1e5, 3000)])
    edges = np.unique(np.concatenate([edges * p[1] + p[0], edges * q[1] + q[0], [p[0], q[0]]]))
    # tails by the symmetric law's survival, so that small masses keep their digits
    masses = []
    for place, scale in (p, q):
        z = (edges - place) / scale
        below = np.diff(cdf(np.minimum(z, 0.0)), prepend=0.0)  # type: ignore[operator]
        above = -np.diff(cdf(-np.maximum(z, 0.0)), append=0.0)  # type: ignore[operator]
        masses.append(np.append(below, 0.0) + np.insert(above, 0, 0.0))
    return float(np.sum(np.maximum(masses[0] - math.exp(epsilon) * masses[1], 0.0)))


def laplace_stick(epsilon: float, p: tuple[float, float], q: tuple[float, float]) -> float:
    return hockey_stick(None, stats.laplace.cdf, epsilon, p, q)


@settings(max_examples=60, deadline=None)
@given(st.floats(0.05, 20), st.floats(0.05, 1), st.floats(0.05, 1), st.floats(0, 1), st.floats(0, 1))
def test_no_point_of_the_box_exceeds_laplace_delta(e: float, a: float, b: float, s: float, d: float) -> None:
    beta = b * e / 2
    alpha = a * min(e, (e - beta) * math.exp(beta))
    claimed = laplace_delta(e, alpha=alpha, beta=beta)
    narrow, wide = (0.0, 1.0), (s * alpha, math.exp(d * beta))
    rounding = 1e-12  # of six thousand masses, where two edges nearly agree
    assert laplace_stick(e, wide, narrow) <= claimed * (1 + 1e-9) + rounding
    assert laplace_stick(e, narrow, wide) <= rounding


@pytest.mark.parametrize(
    ("e", "alpha", "beta"), [(1.0, 0.5, 0.1), (0.1, 0.05, 0.02), (5.0, 2.0, 0.6), (15.0, 7.5, 0.517)]
)
def test_laplace_delta_is_attained_at_the_corner(e: float, alpha: float, beta: float) -> None:
    reached = laplace_stick(e, (alpha, math.exp(beta)), (0.0, 1.0))
    assert reached == pytest.approx(laplace_delta(e, alpha=alpha, beta=beta), rel=2e-2)


@pytest.mark.parametrize(("e", "factor"), [(15.0, 1.45), (30.0, 46.0)])
def test_textbook_calibration_fails_at_large_epsilon(e: float, factor: float) -> None:
    """alpha = epsilon/2, beta = epsilon/(2 log(2/delta)) at delta = 1e-6."""
    reached = laplace_delta(e, alpha=e / 2, beta=e / (2 * math.log(2e6)))
    assert reached / 1e-6 == pytest.approx(factor, rel=0.01)


@settings(max_examples=40, deadline=None)
@given(st.floats(0.02, 40), st.floats(1e-12, 0.5))
def test_calibration_meets_its_target_and_beats_the_textbook(e: float, delta: float) -> None:
    found = SmoothLaplace(epsilon=e, delta=delta)
    assert laplace_delta(e, alpha=found.alpha, beta=found.beta) <= delta
    assert found.mechanism.delta(epsilon=e).upper <= delta * (1 + 1e-6)
    textbook_beta = e / (2 * math.log(2 / delta))
    if laplace_delta(e, alpha=e / 2, beta=textbook_beta) <= delta:
        noise = evenly_spread(found.beta) / found.alpha
        assert noise <= 1.001 * evenly_spread(textbook_beta) / (e / 2)


def test_every_stated_point_of_the_profile_holds() -> None:
    found = SmoothLaplace(epsilon=1.0, delta=1e-6)
    corner = (found.alpha, math.exp(found.beta))
    for epsilon, delta in found.mechanism.points:  # type: ignore[attr-defined]
        assert laplace_stick(epsilon, corner, (0.0, 1.0)) <= delta * (1 + 1e-9) + 1e-300
        assert laplace_stick(epsilon, (0.0, 1.0), corner) <= 1e-15


@pytest.mark.parametrize("degrees", [1, 3, 5, 9])
def test_no_point_of_the_box_exceeds_student_epsilon(degrees: int) -> None:
    rng = np.random.default_rng(degrees)
    z = np.concatenate([-np.geomspace(1e-4, 1e6, 4000), [0.0], np.geomspace(1e-4, 1e6, 4000)])
    close = 0.0
    for _ in range(150):
        alpha, beta = 10 ** rng.uniform(-3, 0.7, 2)
        shift, scale = alpha * rng.choice([1.0, rng.uniform()]), math.exp(beta * rng.choice([1.0, rng.uniform()]))
        h = (degrees + 1) / 2
        ratio = h * np.log1p(((z - shift) / scale) ** 2) - h * np.log1p(z**2) + math.log(scale)
        claimed = student_epsilon(degrees=degrees, alpha=alpha, beta=beta)
        assert np.abs(ratio).max() <= claimed * (1 + 1e-12)
        close = max(close, np.abs(ratio).max() / claimed)
    assert close > 0.9


def student_cdf(z: np.ndarray, degrees: int) -> np.ndarray:
    return stats.t.cdf(z * math.sqrt(degrees), degrees)


@pytest.mark.parametrize(("degrees", "scale"), [(1, 0.7), (3, 2.5), (3, 1000.25), (5, 8.0)])
def test_rounded_student_draws_vs_law(degrees: int, scale: float) -> None:
    source, size = hush.SeededSource(degrees), 6000
    draws = np.array([rounded_student(source, scale, degrees) for _ in range(size)])
    cuts = np.unique(np.round(scale * stats.t.ppf(np.linspace(0.05, 0.95, 19), degrees) / math.sqrt(degrees)))
    expected = np.diff(student_cdf((cuts + 0.5) / scale, degrees), prepend=0.0, append=1.0) * size
    counts = np.bincount(np.searchsorted(cuts, draws), minlength=len(cuts) + 1)
    assert stats.chi2.sf(((counts - expected) ** 2 / expected).sum(), len(cuts)) > 1e-6


@pytest.mark.parametrize("e", [0.1, 1.0, 5.0])
def test_student_calibration_meets_its_target(e: float) -> None:
    for degrees in (1, 3, 7):
        found = SmoothStudent(epsilon=e, degrees=degrees)
        assert 0.999 * e < student_epsilon(degrees=degrees, alpha=found.alpha, beta=found.beta) <= e
    assert SmoothStudent(epsilon=e, degrees=1).deviation == math.inf


@pytest.mark.parametrize(
    "fault", [{"delta": 0.0}, {"delta": 1.0}, {"delta": 1.5}, {"epsilon": 0}, {"epsilon": math.nan}]
)
def test_faults_are_named(fault: dict[str, float]) -> None:
    with pytest.raises(InvalidParameter, match=next(iter(fault))):
        SmoothLaplace(**({"epsilon": 1.0, "delta": 1e-6} | fault))


def test_a_beta_that_leaves_nothing_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="beta"):
        SmoothLaplace(epsilon=1.0, delta=1e-6, beta=0.5)
    with pytest.raises(InvalidParameter, match="beta"):
        SmoothStudent(epsilon=1.0, beta=0.4)


def test_smaller_beta_leaves_larger_alpha() -> None:
    alphas = [SmoothLaplace(epsilon=1.0, delta=1e-6, beta=beta).alpha for beta in (0.01, 0.03, 0.06)]
    assert alphas == sorted(alphas, reverse=True)


@settings(max_examples=30, deadline=None)
@given(st.floats(0.05, 30), st.sampled_from([0.0, 1e-9, 1e-3, 0.05]))
def test_chosen_noise_is_the_least_and_meets_its_target(e: float, delta: float) -> None:
    found = smooth_noise(epsilon=e, delta=delta)
    assert found.mechanism.epsilon(delta=delta).upper <= e * (1 + 1e-6)
    others = [SmoothStudent(epsilon=e)] + ([SmoothLaplace(epsilon=e, delta=delta)] if delta else [])
    assert all(found.deviation * evenly_spread(found.beta) <= n.deviation * evenly_spread(n.beta) for n in others)


def test_a_large_epsilon_overflows_nowhere() -> None:
    """Warnings are errors here; losses of both signs are further apart than the exponent of a float."""
    noise = releases.SmoothLaplace(epsilon=500.0, delta=1e-6)
    assert noise.mechanism.epsilon(delta=1e-6).upper == pytest.approx(500.0, rel=1e-8)
    releases.SmoothMedian(bounds=(0, 10), noise=noise).release([1.0, 2.0])
