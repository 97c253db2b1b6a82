"""Membership inference against brute force and known laws; shadow models; demonstrations."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from scipy import stats

import hush
from hush.auditing import from_gradients, from_sums, likelihood_ratio, linkage, loss_threshold, membership


def drawn(mu: float, size: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    members = np.arange(2 * size) < size
    return random.standard_normal(2 * size) + mu * members, members


def test_area_and_advantage_vs_brute_force() -> None:
    scores, members = drawn(1.0, 60, 1)
    scores = scores.round(1)  # ties
    found = membership(scores, members)
    present, absent = scores[members], scores[~members]
    pairs = present[:, None] - absent[None, :]
    assert found.area.value == pytest.approx(np.mean(pairs > 0) + 0.5 * np.mean(pairs == 0))
    gaps = [np.mean(present > t) - np.mean(absent > t) for t in scores]
    assert found.advantage.value == pytest.approx(max(gaps))


def test_true_positives_at_low_false_positives_vs_gaussian() -> None:
    found = membership(*drawn(2.0, 20_000, 3), false_positive_rates=(0.01, 1.0))
    truth = stats.norm.cdf(stats.norm.ppf(0.01) + 2)
    assert found.rates[0].true_positive_rate.value == pytest.approx(truth, abs=0.02)
    assert found.rates[0].most > 0.01
    assert found.rates[1].true_positive_rate.value == 1.0


def test_a_rate_just_below_one_is_all_but_one_of_the_others() -> None:
    scores, members = np.arange(8.0), np.arange(8) >= 4
    for rate in (0.75, 1 - 1e-12):
        (found,) = membership(scores, members, false_positive_rates=(rate,)).rates
        assert found.true_positive_rate.value == 1


def test_constant_scores_find_nothing() -> None:
    found = membership(np.zeros(100), np.arange(100) < 50)
    assert found.area.value == 0.5
    assert found.advantage.value == 0
    assert found.advantage.lower == 0


def test_loss_threshold_is_membership_of_minus_the_loss() -> None:
    scores, members = drawn(1.0, 100, 5)
    assert loss_threshold(-scores, members).area == membership(scores, members).area
    assert "loss threshold" in str(loss_threshold(-scores, members))
    assert json.loads(membership(scores, members).to_json())["members"] == 100
    assert membership(scores, members).chart().rows()


def test_likelihood_ratio_beats_the_bare_score() -> None:
    """Examples of very different difficulty: only a score relative to shadow models sees the members."""
    random = np.random.default_rng(1)
    examples, models = 400, 32
    difficulty = 5 * random.standard_normal(examples)
    inside = random.random((models + 1, examples)) < 0.5
    scores = difficulty + 1.5 * inside + 0.5 * random.standard_normal(inside.shape)
    ratio = likelihood_ratio(scores[0], scores[1:], inside[1:])
    assert membership(ratio, inside[0]).area.value > 0.95
    assert membership(scores[0], inside[0]).area.value < 0.7
    offline = np.where(inside[1:], False, True)
    alone = likelihood_ratio(scores[0], np.where(offline, scores[1:], scores[1:] - 1.5), np.zeros_like(offline))
    assert membership(alone, inside[0]).area.value > 0.9


@pytest.mark.parametrize(
    ("scores", "members", "match"),
    [
        ([1.0, math.nan, 2.0, 3.0], [1, 0, 1, 0], "no NaN"),
        ([1.0, 2.0], [1, 0], "2 members and 2 others"),
        ([1.0, 2.0, 3.0], [1, 0], "one label"),
        ([1.0, 2.0, 3.0], None, "list of numbers"),
    ],
)
def test_bad_input(scores: object, members: object, match: str) -> None:
    with pytest.raises(hush.InvalidParameter, match=match):
        membership(scores, members)


def test_bad_shadow_models() -> None:
    with pytest.raises(hush.InvalidParameter, match="one row per shadow model"):
        likelihood_ratio([1.0, 2.0], np.zeros((4, 3)), np.zeros((4, 3)))
    with pytest.raises(hush.InvalidParameter, match="left out of 2"):
        likelihood_ratio([1.0], np.zeros((4, 1)), np.ones((4, 1)))


def test_demonstrations_recover_and_protection_stops_them() -> None:
    sums = from_sums(people=100, queries=400, source=hush.SeededSource(1))
    gradients = from_gradients(source=hush.SeededSource(2))
    rows = linkage(people=200, source=hush.SeededSource(3))
    assert sums.bare > 0.95
    assert sums.protected < 0.7
    assert gradients.bare == 1.0
    assert gradients.protected < 0.4
    assert rows.bare > 0.9
    for shown in (sums, gradients, rows):
        assert "with protection" in str(shown)


@pytest.mark.parametrize("mu", [0.0, 1.0, 2.5])
def test_intervals_vs_truth(mu: float) -> None:
    """Area, advantage and the rates of normal scores, each in its interval as often as it says."""
    normal = stats.norm
    truths = [normal.cdf(mu / math.sqrt(2)), 2 * normal.cdf(mu / 2) - 1]
    truths += [normal.sf(normal.isf(rate) - mu) for rate in (0.01, 0.2)]
    runs, missed = 150, np.zeros(4)
    for seed in range(runs):
        found = membership(*drawn(mu, 300, seed), false_positive_rates=(0.01, 0.2))
        shown = [found.area, found.advantage, *(rate.true_positive_rate for rate in found.rates)]
        missed += [not one.lower <= truth <= one.upper for one, truth in zip(shown, truths, strict=True)]
    assert np.all(missed <= stats.binom.ppf(0.999, runs, 0.05))


def test_likelihood_ratio_vs_its_own_scores() -> None:
    """Examples differ in difficulty: shadow models see through it, and find nothing where nothing leaks."""
    for lift, leaks in ((0.0, False), (2.0, True)):
        random = np.random.default_rng(1)
        hard, members = 2 * random.standard_normal(1000), random.random(1000) < 0.5
        inside = random.permuted(np.tile(np.arange(32)[:, None] % 2 == 0, 1000), axis=0)
        shadows = hard + lift * inside + random.standard_normal((32, 1000))
        scores = hard + lift * members + random.standard_normal(1000)
        found = membership(likelihood_ratio(scores, shadows, inside), members)
        plain = membership(scores, members)
        assert (found.area.lower > plain.area.upper) == leaks
        assert (found.area.lower > 0.5) == leaks
        assert (found.rates[-1].true_positive_rate.lower > found.rates[-1].false_positive_rate) == leaks
