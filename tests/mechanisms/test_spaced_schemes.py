"""Schemes that keep uses apart: what they draw, and attacks on banded noise that may not exceed what is accounted for."""

from __future__ import annotations

import math
from collections import Counter
from itertools import islice, pairwise

import numpy as np
import pytest
from scipy import stats

import hush
from hush import InvalidParameter, NotCovered, SeededSource
from hush.mechanisms.neighbours import ADDED, REMOVED
from hush.mechanisms.scheme import Scheme

SIGNIFICANCE = 1e-6
SPACED = [
    hush.CyclicPoisson(rate=0.5, parts=3),
    hush.CyclicAllocation(steps=6, parts=3),
    hush.BallsInBins(bins=6, epochs=2, bands=3),
]


def uses(scheme: Scheme, population: int, draws: int, seed: int) -> np.ndarray:
    """Which steps each record takes part in, over several draws of one course."""
    batches = [b for draw in islice(scheme.course(population, SeededSource(seed)), draws) for b in draw]
    found = np.zeros((population, len(batches)), dtype=bool)
    for step, batch in enumerate(batches):
        found[batch, step] = True
    return found


@pytest.mark.parametrize("scheme", SPACED, ids=str)
def test_two_uses_of_a_record_are_at_least_the_bands_apart(scheme: Scheme) -> None:
    for row in uses(scheme, 200, 5, 1):
        places = np.flatnonzero(row)
        assert all(b - a >= scheme.bands and (b - a) % scheme.bands == 0 for a, b in pairwise(places))


@pytest.mark.parametrize("scheme", SPACED, ids=str)
def test_steps_are_drawn_by_their_law(scheme: Scheme) -> None:
    """Chi-square of how often each step is taken, and of the first two records together: they are independent."""
    found = np.array([uses(scheme, 2, 1, seed) for seed in range(4000)])
    share = scheme.step_share
    hits = found.sum(axis=0).ravel()
    assert all(stats.binomtest(int(h), 4000, share).pvalue > SIGNIFICANCE for h in hits)
    both = int((found[:, 0, 0] & found[:, 1, 0]).sum())
    assert stats.binomtest(both, 4000, share**2).pvalue > SIGNIFICANCE
    chances = {(): 0.5, **{(k,): 0.5 / 3 for k in range(3)}} if scheme.steps == 3 else {(k,): 1 / 6 for k in range(6)}
    seen = Counter(tuple(np.flatnonzero(row[:6]).tolist()) for row in found[:, 0])
    assert set(seen) <= set(chances)
    assert stats.chisquare([seen[k] for k in chances], [4000 * c for c in chances.values()]).pvalue > SIGNIFICANCE


def test_parts_are_independent_and_never_an_even_split() -> None:
    """With two records and two parts, an even split would never put both into one part, and would know how many there are."""
    scheme = hush.CyclicPoisson(rate=1.0, parts=2)
    together = sum(len(scheme.draw(2, SeededSource(seed))[0]) != 1 for seed in range(2000))
    assert stats.binomtest(together, 2000, 0.5).pvalue > SIGNIFICANCE
    alone = sum(len(scheme.draw(1, SeededSource(seed))[0]) for seed in range(2000))
    assert stats.binomtest(alone, 2000, 0.5).pvalue > SIGNIFICANCE


def log_ratio(
    seen: np.ndarray, patterns: np.ndarray, chances: np.ndarray, matrix: np.ndarray, sigma: float, signs: np.ndarray
) -> np.ndarray:
    """log dP/dQ of runs whose record adds sign_t(what was seen before) at each step that it takes part in."""
    terms = []
    for pattern, chance in zip(patterns, chances, strict=True):
        shift = (signs * pattern) @ matrix.T
        terms.append(math.log(chance) + (seen * shift - shift**2 / 2).sum(axis=1) / sigma**2)
    return np.logaddexp.reduce(terms, axis=0)


def adaptive_signs(seen: np.ndarray) -> np.ndarray:
    """A gradient that follows what it sees: step t goes with the sign of the last output."""
    return np.column_stack([np.ones(len(seen)), np.where(seen[:, :-1] > 0, 1.0, -1.0)])


@pytest.mark.parametrize("adaptive", [False, True])
@pytest.mark.parametrize("name", ["poisson", "allocation"])
def test_attacks_on_banded_noise_stay_below(name: str, adaptive: bool) -> None:
    """Four steps, two bands: the likelihood ratio of the whole run, simulated without the record, in both directions."""
    sigma, rate, c = 1.0, 0.2, (0.8, 0.6)
    matrix = np.eye(4) * c[0] + np.eye(4, k=-1) * c[1]
    if name == "poisson":
        patterns = np.array([[a, 0, b, 0] for a in (0, 1) for b in (0, 1)], dtype=float)
        chances = np.array([math.prod(rate if x else 1 - rate for x in (a, b)) for a in (0, 1) for b in (0, 1)])
        scheme, draws = hush.CyclicPoisson(rate=rate, parts=2), 2
    else:
        patterns, chances = np.array([[1.0, 0, 0, 0], [0, 0, 1.0, 0]]), np.array([0.5, 0.5])
        scheme, draws = hush.CyclicAllocation(steps=4, parts=2), 1
    whole = hush.BandedNoise(c).on(scheme, noise_multiplier=sigma, draws=draws)
    seen = np.random.default_rng(3).standard_normal((400_000, 4)) * sigma
    signs = adaptive_signs(seen) if adaptive else np.ones_like(seen)
    ratio = np.exp(log_ratio(seen, patterns, chances, matrix, sigma, signs))
    assert abs(ratio.mean() - 1) < 0.02  # it is a ratio of densities
    for epsilon in (0.1, 0.5, 1.0):
        for gains, direction in (
            (np.maximum(ratio - math.exp(epsilon), 0), REMOVED),
            (np.maximum(1 - math.exp(epsilon) * ratio, 0), ADDED),
        ):
            bound = math.exp(whole.evidence(direction).pair.log_delta(epsilon)[1])
            error = gains.std() / math.sqrt(len(gains))
            assert gains.mean() <= bound + 5 * error
            if not adaptive:
                assert abs(gains.mean() - bound) <= 5 * error  # attained


def test_groups_and_bad_numbers_are_refused() -> None:
    cycle = hush.Gaussian(1.0).on(hush.CyclicPoisson(rate=0.1, parts=4))
    with pytest.raises(NotCovered, match="groups"):
        cycle.group(2).epsilon(delta=1e-6)
    assert cycle.under(hush.Relation.REPLACE).epsilon(delta=1e-6).upper > cycle.epsilon(delta=1e-6).upper
    for make in (
        lambda: hush.CyclicAllocation(steps=10, parts=4),
        lambda: hush.BallsInBins(bins=10, epochs=1, bands=3),
        lambda: hush.BandedNoise([]),
        lambda: hush.BandedNoise([0.9, 0.6]),
        lambda: hush.BandedNoise([0.5, 0.6]),
        lambda: hush.BandedNoise([0.8, -0.1]),
        lambda: hush.BandedNoise([0.0]),
        lambda: hush.BandedNoise("0.5"),
        lambda: hush.BandedNoise.optimal(steps=4, bands=5),
        lambda: hush.train_plan(
            examples=100, batch_size=30, epochs=1, epsilon=1.0, delta=1e-5, noise=hush.BandedNoise([0.5] * 4)
        ),
        lambda: hush.train_plan(examples=100, batch_size=10, epochs=1, epsilon=1.0, delta=1e-5, noise="pink"),  # type: ignore[arg-type]
        lambda: hush.train_plan(
            examples=100, batch_size=10, epochs=1, noise_multiplier=1.0, delta=1e-5, noise="correlated"
        ),
        lambda: hush.train_plan(
            examples=100,
            batch_size=10,
            epochs=1,
            epsilon=1.0,
            delta=1e-5,
            noise=hush.BandedNoise([0.5]),
            scheme=hush.ShuffledBatches,
        ),
    ):
        with pytest.raises(InvalidParameter):
            make()


def test_a_plan_never_loses_and_ends_where_it_should() -> None:
    """Steps that no number of bands divides: the last cycle is cut short, and accounted for as a whole."""
    noise = hush.BandedNoise.optimal(steps=14, bands=4)
    plan = hush.train_plan(examples=490, batch_size=70, epochs=2, epsilon=6.0, delta=1e-5, noise=noise)
    assert plan.steps == 14
    assert plan.expected_batch == pytest.approx(70)
    assert len(list(plan.batches(490))) == 14
    assert plan.mechanism == hush.Gaussian(plan.noise_multiplier).on(plan.scheme).repeat(4)
    assert plan.mechanism.epsilon(delta=1e-5).upper <= 6.0
    assert hush.train_plan_from_json(plan.to_json()) == plan
    assert plan.checked_start(14) == 14
    with pytest.raises(InvalidParameter):
        plan.checked_start(1)
    full = hush.train_plan(examples=10, batch_size=10, epochs=3, epsilon=1.0, delta=1e-5, noise="correlated")
    assert full.noise is None  # every record in every step: nothing can be correlated


def test_simulated_delta_holds_the_truth_and_is_no_bound() -> None:
    noise, bins = hush.BandedNoise.optimal(steps=2000, bands=4), hush.BallsInBins(bins=64, epochs=1, bands=4)
    found = hush.simulated_delta(
        noise, bins, noise_multiplier=1.0, epsilon=0.25, draws=20_000, confidence=0.99, source=SeededSource(7)
    )
    assert 0.03527 < found.delta < 0.0444  # the truth, and what is certified
    assert not isinstance(found, hush.Bound)
    assert "not a certificate" in str(found) and found.honest_delta > found.delta
    with pytest.raises(NotCovered):
        hush.simulated_delta(noise, hush.BallsInBins(bins=64, epochs=1), noise_multiplier=1.0, epsilon=0.25)
