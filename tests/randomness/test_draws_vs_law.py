"""Draws against the law that they state: chi-squared tests of seeded draws, and floats against exact arithmetic."""

from __future__ import annotations

import math
import time
from collections import Counter
from itertools import combinations, permutations

import numpy as np
import pytest
from scipy import special, stats

from hush import InvalidParameter, SecureSource, SeededSource, Source
from hush.randomness import draws

SIGNIFICANCE = 1e-6
"""The seeds are fixed, so a test that passes does so always; a wrong law would be far below this."""


def agrees(observed: np.ndarray, expected: np.ndarray) -> bool:
    """Chi-squared test, cells with few expected counts merged into one."""
    observed, expected = np.asarray(observed, dtype=float), np.asarray(expected, dtype=float)
    assert observed.sum() == pytest.approx(expected.sum(), rel=1e-9)
    rare = expected < 8
    if rare.any():
        observed = np.append(observed[~rare], observed[rare].sum())
        expected = np.append(expected[~rare], expected[rare].sum())
    return float(stats.chisquare(observed, expected * observed.sum() / expected.sum()).pvalue) > SIGNIFICANCE


@pytest.mark.parametrize("below", [2, 3, 6, 7, 64, 100])
def test_integers_are_uniform(below: int) -> None:
    found = draws.integers(SeededSource(below), below, 20_000)
    assert len(found) == 20_000
    assert agrees(np.bincount(found, minlength=below), np.full(below, 20_000 / below))


def test_integers_of_any_size() -> None:
    assert draws.integers(SeededSource(1), 1, 3).tolist() == [0, 0, 0]
    for below in (2**40 + 1, 10**15, 2**62 + 5):
        found = draws.integers(SeededSource(3), below, 2000)
        assert found.min() >= 0
        assert found.max() < below
        assert abs(float(found.mean()) / below - 0.5) < 0.04


@pytest.mark.parametrize("rate", [0.0, 1e-3, 0.1, 1 / 3, 0.5, 0.9, 1.0])
def test_coins_have_their_rate(rate: float) -> None:
    found = int(draws.coins(SeededSource(11), np.full(50_000, rate)).sum())
    assert float(stats.binomtest(found, 50_000, rate).pvalue) > SIGNIFICANCE


class Fixed(Source):
    """Words that are given."""

    private = False

    def __init__(self, *words: int) -> None:
        self.left = list(words)

    def words(self, count: int) -> np.ndarray:
        return np.array([self.left.pop(0) for _ in range(count)], dtype=np.uint64)


def test_a_coin_on_its_threshold_is_decided_by_the_rest_of_the_rate() -> None:
    """rate * 2^64 = 2.5: words 0 and 1 are heads, 2 is a tie that a fair coin decides, 3 is tails."""
    rate = 2.5 / 2**64
    half = 2**63
    for words, heads in (((1,), True), ((2, half - 1), True), ((2, half), False), ((3,), False)):
        assert bool(draws.coins(Fixed(*words), np.array([rate]))[0]) is heads


def test_a_toss_of_16_bits_on_its_threshold_is_decided_by_the_rest_of_the_rate() -> None:
    """rate * 2^16 = 2.5: of the four tosses in a word, 1 is heads, 2 and 2 are ties that fair coins decide, 3 is tails."""
    word = sum(toss << (16 * k) for k, toss in enumerate((1, 2, 2, 3)))
    assert draws.tosses(Fixed(word, 2**63 - 1, 2**63), 4, 2.5 / 2**16).tolist() == [True, True, False, False]
    assert draws.tosses(Fixed(word), 4, 2 / 2**16).tolist() == [True, False, False, False], "a whole rate has no ties"


@pytest.mark.parametrize("rate", [0.0, 0.5 / 2**16, 1 / 3, 0.999, 1.0])
def test_tosses_have_their_rate(rate: float) -> None:
    count = 300_000
    found = draws.tosses(SeededSource(14), count, rate)
    assert found.shape == (count,)
    assert float(stats.binomtest(int(found.sum()), count, rate).pvalue) > SIGNIFICANCE


@pytest.mark.parametrize(("population", "size"), [(5, 2), (5, 3), (6, 1), (4, 4), (4, 0)])
def test_subsets_are_alike(population: int, size: int) -> None:
    source, rounds = SeededSource(5), 6000
    counts = Counter(tuple(draws.subset(source, population, size).tolist()) for _ in range(rounds))
    all_subsets = list(combinations(range(population), size))
    assert set(counts) <= set(all_subsets)
    if len(all_subsets) > 1:
        assert agrees(np.array([counts[s] for s in all_subsets]), np.full(len(all_subsets), rounds / len(all_subsets)))


def test_large_subsets_have_their_size_and_even_places() -> None:
    """Both ways of correcting the coins' number, and the way by the rest: each tenth of the places gets its share."""
    for size in (50, 3000, 49_000, 70_000):
        found = np.concatenate([draws.subset(SeededSource(seed), 100_000, size) for seed in range(8)])
        assert len(found) == 8 * size
        tenths = np.bincount(found // 10_000, minlength=10)
        assert agrees(tenths, np.full(10, 8 * size / 10))
    for seed in range(20):
        found = draws.subset(SeededSource(seed), 1000, 300)
        assert len(np.unique(found)) == 300
        assert np.all(np.diff(found) > 0)


def test_orders_are_alike() -> None:
    source, rounds = SeededSource(6), 6000
    counts = Counter(tuple(draws.order(source, 4).tolist()) for _ in range(rounds))
    assert agrees(np.array([counts[p] for p in permutations(range(4))]), np.full(24, rounds / 24))


def test_equal_keys_are_drawn_again() -> None:
    assert draws.order(Fixed(5, 5, 9, 3), 2).tolist() == [1, 0]


@pytest.mark.parametrize("rate", [0.003, 0.02, 0.049, 0.05, 0.3])
def test_numbers_of_successes_are_binomial(rate: float) -> None:
    source, rounds, count = SeededSource(8), 3000, 200
    found = Counter(len(draws.successes(source, count, rate)) for _ in range(rounds))
    k = np.arange(count + 1)
    expected = rounds * np.exp(
        special.gammaln(count + 1)
        - special.gammaln(k + 1)
        - special.gammaln(count - k + 1)
        + k * math.log(rate)
        + (count - k) * math.log1p(-rate)
    )
    assert agrees(np.array([found[n] for n in k]), expected)


@pytest.mark.parametrize("rate", [0.03, 0.4])
def test_each_place_and_each_pair_of_places_succeeds_as_often_as_any(rate: float) -> None:
    source, rounds, count = SeededSource(9), 8000, 6
    single, double = np.zeros(count), np.zeros((count, count))
    for _ in range(rounds):
        places = draws.successes(source, count, rate)
        assert np.all(np.diff(places) > 0)
        single[places] += 1
        double[np.ix_(places, places)] += 1
    for hits in single:
        assert float(stats.binomtest(int(hits), rounds, rate).pvalue) > SIGNIFICANCE
    for i, j in combinations(range(count), 2):
        assert float(stats.binomtest(int(double[i, j]), rounds, rate * rate).pvalue) > SIGNIFICANCE


@pytest.mark.parametrize("rate", [1e-9, 1e-5, 0.01, 0.04])
def test_gaps_in_floats_are_those_of_exact_arithmetic(rate: float) -> None:
    words = [*SeededSource(10).words(60).tolist(), 0, 1, 2**64 - 1, 2**63]
    most = 10**15
    found = draws._gaps(Fixed(*words, *SeededSource(12).words(4000).tolist()), rate, len(words), most)
    more = SeededSource(13)
    exact = [min(draws._gap_exactly(more, rate, word), most) for word in words]
    # where the first 64 bits decide, further bits must not matter; a word of 0 is never decided by them
    assert np.mean(found == np.array(exact)) > 0.9
    decided = [k for k, word in enumerate(words) if word > 2**32]
    slack = 2 if rate < 1e-8 else 0
    assert np.max(np.abs(found[decided] - np.array(exact)[decided])) <= slack


def test_a_gap_on_the_edge_is_decided_by_more_bits() -> None:
    """U = (1 - q)^k exactly, for q = 1/32: log U / log(1 - q) is k to all digits, and the next bits decide."""
    k, rate = 12, 1 / 32
    edge = 31**k << (64 - 5 * k)  # (31/32)^12 in units of 2^-64, exact
    low = draws._gaps(Fixed(edge, *([2**63] * 8)), rate, 1, 10**9)[0]
    high = draws._gaps(Fixed(edge - 1, *([2**63] * 8)), rate, 1, 10**9)[0]
    assert (low, high) == (k - 1, k)


def test_time_and_memory_are_those_of_the_sample() -> None:
    start = time.process_time()
    found = draws.successes(SecureSource(), 10**9, 1e-6)
    assert time.process_time() - start < 0.1
    assert 700 < len(found) < 1300
    assert len(draws.subset(SecureSource(), 10**12, 1000)) == 1000
    assert len(draws.successes(SecureSource(), 10**15, 1e-14)) < 60


@pytest.mark.parametrize("rate", [5e-324, 1e-290, 1e-100])
def test_rates_that_never_succeed(rate: float) -> None:
    assert len(draws.successes(SeededSource(1), 10**9, rate)) == 0


def test_sources() -> None:
    assert SecureSource().private
    assert not SeededSource(1).private
    assert "not private" in repr(SeededSource(1))
    one, other = SeededSource(1), SeededSource(2)
    assert one.words(4).tolist() != other.words(4).tolist()
    assert one.words(4).tolist() != SeededSource(1).words(4).tolist(), "a stream never repeats itself"
    assert SecureSource().words(1000).tolist() != SecureSource().words(1000).tolist()


@pytest.mark.parametrize("seed", [-1, 2**128, 1.0, True, "1", None])
def test_bad_seeds(seed: object) -> None:
    with pytest.raises(InvalidParameter, match="seed"):
        SeededSource(seed)  # type: ignore[arg-type]
