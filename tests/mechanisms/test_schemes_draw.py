"""Each scheme draws what its theorem assumes: sizes, inclusion and joint inclusion."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import combinations

import numpy as np
import pytest
from scipy import stats

import hush
from hush import InvalidParameter, SeededSource

ROUNDS = 6000
N = 8
SIGNIFICANCE = 1e-6

# (scheme, probability of each record, probability of each pair of records) as each theorem has it
SIZES = [math.comb(N, k) * 0.4**k * 0.6 ** (N - k) for k in range(N + 1)]
CAPPED = [sum(math.perm(min(k, 3), r) * chance for k, chance in enumerate(SIZES)) for r in range(3)]
"""Expected numbers of ordered tuples of 0, 1 and 2 records in a batch of at most three."""
RATES = (0.1, 0.5, 0.9, 0.02, 0.3, 0.3, 1.0, 0.0)
SINGLE: dict[str, tuple[hush.Poisson, Callable[[int], float], Callable[[int, int], float]]] = {
    "poisson, gaps": (hush.Poisson(rate=0.04), lambda i: 0.04, lambda i, j: 0.04**2),
    "poisson, coins": (hush.Poisson(rate=0.4), lambda i: 0.4, lambda i, j: 0.16),
    "unequal": (hush.UnequalPoisson(RATES), lambda i: RATES[i], lambda i, j: RATES[i] * RATES[j]),
    "without replacement": (
        hush.WithoutReplacement(3, N),
        lambda i: 3 / N,
        lambda i, j: 3 * 2 / (N * (N - 1)),
    ),
    "capped": (hush.CappedPoisson(0.4, 3, N), lambda i: CAPPED[1] / N, lambda i, j: CAPPED[2] / (N * (N - 1))),
    "with replacement": (
        hush.WithReplacement(3, N),
        lambda i: 1 - (1 - 1 / N) ** 3,
        lambda i, j: 1 - 2 * (1 - 1 / N) ** 3 + (1 - 2 / N) ** 3,
    ),
}


def likely(hits: float, chance: float) -> bool:
    return float(stats.binomtest(int(hits), ROUNDS, min(chance, 1.0)).pvalue) > SIGNIFICANCE


@pytest.mark.parametrize("name", SINGLE)
def test_inclusion_and_joint_inclusion(name: str) -> None:
    scheme, single, double = SINGLE[name]
    source = SeededSource(21)
    together = np.zeros((N, N))
    for _ in range(ROUNDS):
        drawn = np.unique(scheme.draw(N, source))
        together[np.ix_(drawn, drawn)] += 1
    assert all(likely(together[i, i], single(i)) for i in range(N))
    assert all(likely(together[i, j], double(i, j)) for i, j in combinations(range(N), 2))


def test_copies_with_replacement_are_binomial() -> None:
    """What the theorem's weights say: how often one record is drawn."""
    scheme, source = hush.WithReplacement(5, 4), SeededSource(22)
    counts = np.zeros(6)
    for _ in range(ROUNDS):
        counts[int((scheme.draw(4, source) == 2).sum())] += 1
    expected = ROUNDS * np.array([math.comb(5, k) * 0.25**k * 0.75 ** (5 - k) for k in range(6)])
    assert np.allclose(expected / ROUNDS, scheme.takes(1), rtol=1e-12)
    assert float(stats.chisquare(counts, expected).pvalue) > SIGNIFICANCE


def test_a_group_without_replacement_is_hypergeometric() -> None:
    assert np.allclose(hush.WithoutReplacement(30, 100).takes(4), stats.hypergeom(100, 4, 30).pmf(range(5)), rtol=1e-12)


def test_shuffled_batches_are_a_partition_in_any_order() -> None:
    scheme, source = hush.ShuffledBatches(steps=4), SeededSource(23)
    together, place = np.zeros((N, N)), np.zeros((N, 4))
    for _ in range(ROUNDS):
        batches = scheme.draw(N, source)
        assert sorted(np.concatenate(batches).tolist()) == list(range(N))
        for step, batch in enumerate(batches):
            assert len(batch) == 2
            place[batch, step] += 1
            together[np.ix_(batch, batch)] += 1
    assert all(likely(place[i, step], 1 / 4) for i in range(N) for step in range(4))
    assert all(likely(together[i, j], 1 / (N - 1)) for i, j in combinations(range(N), 2))
    assert [len(batch) for batch in scheme.draw(10, source)] == [3, 3, 2, 2]


def test_revealed_draws_as_its_scheme() -> None:
    scheme = hush.Poisson(rate=0.3)
    one, other = hush.Revealed(scheme).draw(50, SeededSource(1)), scheme.draw(50, SeededSource(1))
    assert np.array_equal(one, other)


def test_ends() -> None:
    assert hush.Poisson(rate=1).draw(3).tolist() == [0, 1, 2]
    assert hush.Poisson(rate=0).draw(3).tolist() == []
    assert hush.WithoutReplacement(0, 5).draw(5).tolist() == []
    assert hush.WithoutReplacement(5, 5).draw(5).tolist() == [0, 1, 2, 3, 4]
    assert len(hush.WithReplacement(5, 1).draw(1)) == 5
    assert hush.Poisson(rate=0.5).draw(0).tolist() == []


@pytest.mark.parametrize(
    "scheme", [hush.WithoutReplacement(3, 10), hush.WithReplacement(3, 10), hush.UnequalPoisson([0.1] * 10)]
)
def test_the_population_must_be_the_one_that_is_accounted_for(scheme: hush.WithoutReplacement) -> None:
    with pytest.raises(InvalidParameter, match="population=11"):
        scheme.draw(11, SeededSource(1))


def test_a_source_is_no_seed() -> None:
    with pytest.raises(InvalidParameter, match="source"):
        hush.Poisson(rate=0.1).draw(10, 7)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="population"):
        hush.Poisson(rate=0.1).draw(-1)
