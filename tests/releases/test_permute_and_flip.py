"""Permute and flip for quantiles and top values: its law, its loss, and what tells neighbours apart, all enumerated."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from itertools import combinations_with_replacement

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import hush
from hush import releases
from hush.randomness import exact
from hush.releases.noise import permute_and_flip
from hush.releases.noise.permute_and_flip import NEAR, TIES, TiedRanks, flipped_option, flipped_quantile
from hush.releases.statistics.quantile import change_of_loss

POINTS = 5
SHARES = [Fraction(1, 2), Fraction(1, 10), Fraction(0.3), Fraction(0), Fraction(1)]


def loss_of(counts: np.ndarray, p: Fraction, eta: Fraction) -> list[Fraction]:
    """The loss of each point from the definition, target and ranks whole."""
    target, loss = p * int(counts.sum()), TiedRanks(p, Fraction(0), TIES / eta, NEAR / eta)
    middle = math.floor(target)
    loss = TiedRanks(p, target - middle, loss.ties, loss.near)
    below = np.cumsum(counts) - counts
    return [loss.exactly(int(b) - middle, int(b + e) - middle) for b, e in zip(below, counts, strict=True)]


def law_of(losses: list[Fraction], eta: Fraction) -> np.ndarray:
    """The law from the definition: the number of heads among the others is summed up exactly."""
    weights = [math.exp(-float(eta * (loss - min(losses)))) for loss in losses]
    found = []
    for place, weight in enumerate(weights):
        heads = np.ones(1)
        for other in weights[:place] + weights[place + 1 :]:
            heads = np.convolve(heads, [1 - other, other])
        found.append(weight * float(np.dot(heads, 1 / np.arange(1, len(heads) + 1))))
    return np.array(found)


def counted(values: tuple[int, ...]) -> np.ndarray:
    return np.bincount(np.array(values, dtype=np.int64), minlength=POINTS)


@pytest.mark.parametrize("p", SHARES, ids=str)
@pytest.mark.parametrize("eta", [Fraction(1, 2), Fraction(3)], ids=str)
def test_neighbours_are_as_near_as_stated(p: Fraction, eta: Fraction) -> None:
    """All tables of up to four values, each value added: nothing is more than 2 c eta apart, and some come close."""
    worst = 0.0
    for size in range(5):
        for values in combinations_with_replacement(range(POINTS), size):
            here = law_of(loss_of(counted(values), p, eta), eta)
            for new in range(POINTS):
                there = law_of(loss_of(counted((*values, new)), p, eta), eta)
                worst = max(worst, float(np.abs(np.log(here / there)).max()))
    stated = 2 * float(change_of_loss(p, hush.Relation.ADD_REMOVE) * eta)
    assert worst <= stated * (1 + 1e-9)
    assert worst > 0.4 * stated


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.integers(0, 60), min_size=1, max_size=8),
    st.integers(0, 7),
    st.floats(0, 1),
    st.sampled_from([0.01, 0.3, 5.0]),
)
def test_one_record_changes_losses_by_no_more_than_stated(records: list[int], new: int, p: float, eta: float) -> None:
    counts, share, rate = np.array(records), Fraction(p), Fraction(eta)
    more = counts + (np.arange(len(counts)) == new % len(counts))
    changes = [a - b for a, b in zip(loss_of(more, share, rate), loss_of(counts, share, rate), strict=True)]
    assert max(map(abs, changes)) <= change_of_loss(share, hush.Relation.ADD_REMOVE)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.integers(0, 10**12), min_size=1, max_size=8), st.floats(0, 1), st.floats(1e-6, 100))
def test_floats_vs_fractions(records: list[int], p: float, eta: float) -> None:
    counts, share, rate = np.array(records), Fraction(p), Fraction(eta)
    target = share * int(counts.sum())
    middle = math.floor(target)
    loss = TiedRanks(share, target - middle, TIES / rate, NEAR / rate)
    high = np.cumsum(counts) - middle
    losses, error = loss.in_floats(high - counts, high)
    for place, exactly in enumerate(loss_of(counts, share, rate)):
        assert abs(Fraction(float(losses[place])) - exactly) <= Fraction(float(error[place]))


def test_the_quantile_itself_is_hardly_charged() -> None:
    """A point of very many records around the target loses nothing; no quantile loses more than ties may add."""
    loss = TiedRanks(Fraction(1, 2), Fraction(0), Fraction(4), Fraction(16))
    assert loss.exactly(-1000, 900) == 0
    assert loss.exactly(-1, 1000) == 4
    assert loss.exactly(3, 5) == 4
    assert loss.exactly(3, 1000) == 7
    assert loss.exactly(50, 60) == 50


@pytest.mark.parametrize("doubt", [False, True], ids=["floats", "bits"])
@pytest.mark.parametrize(
    ("counts", "p", "eta"),
    [
        ([1, 2, 0, 3, 1], 0.5, 0.7),
        ([0, 4, 0, 0, 0], 0.5, 0.4),
        ([3, 0, 7, 9, 2], 0.1, 1.1),
        ([0, 0, 0, 0, 0], 0.5, 1.0),
    ],
)
def test_draws_vs_law(counts: list[int], p: float, eta: float, doubt: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The law is the same where floats are sure of nothing, and where points come in several pieces."""
    if doubt:
        monkeypatch.setattr(permute_and_flip, "UNIT", 1.0)
        monkeypatch.setattr(permute_and_flip, "PIECE", 2)
    source, size, given_ = hush.SeededSource(5), 1000 if doubt else 4000, np.array(counts)
    draws = [flipped_quantile(source, upto=np.cumsum(given_), p=Fraction(p), eta=Fraction(eta)) for _ in range(size)]
    expected = law_of(loss_of(given_, Fraction(p), Fraction(eta)), Fraction(eta)) * size
    found = np.bincount(draws, minlength=POINTS)
    assert expected.sum() == pytest.approx(size)
    assert stats.chi2.sf(((found - expected) ** 2 / expected).sum(), POINTS - 1) > 1e-6


def test_options_vs_law() -> None:
    source, losses, eta, size = hush.SeededSource(3), [2, 0, 1, 0], Fraction(4, 5), 4000
    found = Counter(flipped_option(source, losses, eta) for _ in range(size))
    expected = law_of([Fraction(loss) for loss in losses], eta) * size
    off = sum((found[place] - mean) ** 2 / mean for place, mean in enumerate(expected))
    assert stats.chi2.sf(off, 3) > 1e-6


def test_bits_decide_as_the_exact_coin() -> None:
    source, size = hush.SeededSource(8), 3000
    heads = sum(permute_and_flip._heads_by_bits(source, Fraction(7, 10), int(source.words(1)[0])) for _ in range(size))
    coins = sum(exact.coin_exponential(source, Fraction(7, 10)) for _ in range(size))
    for found in (heads, coins):
        assert stats.binomtest(found, size, math.exp(-0.7)).pvalue > 1e-6


def test_a_table_at_a_pure_budget_spends_all_of_it() -> None:
    """Mean, median and count at a total of 1: the bound reaches it from below, and so does what is attained."""
    ask = {
        "people": releases.Rows(),
        "income": releases.Stats("income", bounds=(0, 2000), mean=True, median=True, step=1.0),
    }
    query = releases.GroupBy(keys={"region": ("N", "S", "E", "W")}, ask=ask, epsilon=1.0)
    spent = query.mechanism.epsilon(delta=0)
    assert 1 - 1e-6 < spent.lower <= spent.upper <= 1.0
    assert query.expected_error(1000)["people"] > 0


def test_permute_and_flip_is_nearer_than_the_exponential_choice() -> None:
    """On whole numbers, of which many are equal, by more than chance; the same budget, and at a delta the other one."""
    random = np.random.default_rng(2)
    ages = np.clip(np.rint(random.lognormal(3.5, 0.4, 400)), 0, 128)
    data, middle = {"g": np.zeros(400, dtype=np.int64), "x": ages}, float(np.median(ages))
    ask = {"x": releases.Stats("x", bounds=(0, 128), median=True, step=1.0)}
    errors = []
    for delta in (None, 1e-12):
        query = releases.GroupBy(keys={"g": (0,)}, ask=ask, epsilon=0.5, delta=delta)
        source = hush.SeededSource(4)
        found = [query.release(data, source=source).to_dict()["x_median"][0] for _ in range(400)]
        errors.append(float(np.abs(np.array(found) - middle).mean()))
    assert errors[0] < 0.92 * errors[1]


def test_medians_are_as_near_as_those_of_a_peer() -> None:
    """The expected error over regions of any size, by both laws in full. OpenDP adds exponential noise to how far the
    middle of equal records is from the target, and takes the least: permute and flip, without a look into ties."""
    random, eta, errors = np.random.default_rng(2), Fraction(1, 2), np.zeros(2)
    for size in (1600, 1200, 800, 400):
        values = np.rint(random.lognormal(5, 0.5, size)).astype(np.int64)
        counts = np.bincount(values)
        middle = [abs(Fraction(int(2 * u - c - size), 2)) for u, c in zip(np.cumsum(counts), counts, strict=True)]
        off = np.abs(np.arange(len(counts)) - np.median(values))
        for place, losses in enumerate((loss_of(counts, Fraction(1, 2), eta), middle)):
            near = [k for k, loss in enumerate(losses) if eta * (loss - min(losses)) < 30]
            errors[place] += law_of([losses[k] for k in near], eta) @ off[near]
    assert errors[0] <= 1.02 * errors[1]
