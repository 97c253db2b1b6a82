"""Random small mechanisms, every dataset and every sample enumerated: the truth is at most what the theorem promises.

Records are 0 or 1 and a mechanism sees how many of each the sample holds, so all neighbours can be listed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pytest

import hush
from hush import Relation
from hush.curves.composition.product import Product
from hush.curves.pairs.finite import FinitePair
from hush.curves.pairs.pair import Pair
from hush.curves.pairs.pointwise import Largest
from hush.mechanisms.leaf import Leaf
from hush.mechanisms.neighbours import ADDED, REMOVED, REPLACED, Neighbours
from hush.mechanisms.traits import Step

Sample = tuple[int, int]
"""How many ones and zeros."""
EPSILONS = [-1.5, -0.4, -0.05, 0.0, 0.03, 0.2, 0.6, 1.3]


@dataclass(frozen=True)
class Table(Leaf):
    """A mechanism given by its output law for each sample."""

    seed: int
    most: int
    relation: Relation

    @cached_property
    def rows(self) -> dict[Sample, np.ndarray]:
        random = np.random.default_rng(self.seed)
        samples = [(i, j) for i in range(self.most + 1) for j in range(self.most + 1 - i)]
        direction = random.normal(size=4)
        spread = random.uniform(0.1, 1.0)
        scores = [spread * ((i - 0.6 * j) * direction + 0.5 * random.normal(size=4)) for i, j in samples]
        return {s: np.exp(score) / np.exp(score).sum() for s, score in zip(samples, scores, strict=True)}

    def at(self, removed: int, added: int) -> Pair:
        """All pairs of samples where so many records leave and so many others come."""
        pairs = []
        for i, j in self.rows:
            for ones_out in range(removed + 1):
                kept = (i - ones_out, j - removed + ones_out)
                for ones_in in range(added + 1):
                    other = (kept[0] + ones_in, kept[1] + added - ones_in)
                    if min(kept) >= 0 and other in self.rows and other != (i, j):
                        pairs.append(FinitePair.of(self.rows[i, j], self.rows[other]))
        return Largest.of(pairs)

    def derivation(self) -> Step:
        return Step(str(self), "enumeration")

    def __str__(self) -> str:
        return "a table"


def stick(p: np.ndarray, q: np.ndarray, epsilon: float) -> float:
    return float(np.maximum(p - math.exp(epsilon) * q, 0.0).sum())


def composed(p: np.ndarray, times: int) -> np.ndarray:
    law = np.ones(1)
    for _ in range(times):
        law = np.outer(law, p).ravel()
    return law


def without_replacement(n: int, m: int) -> Callable[[int], dict[Sample, float]]:
    """Samples of a dataset with k ones, with their probabilities."""
    return lambda k: {(c, m - c): math.comb(k, c) * math.comb(n - k, m - c) / math.comb(n, m) for c in range(m + 1)}


def with_replacement(n: int, m: int) -> Callable[[int], dict[Sample, float]]:
    return lambda k: {(c, m - c): math.comb(m, c) * (k / n) ** c * (1 - k / n) ** (m - c) for c in range(m + 1)}


def poisson(n: int, rate: float) -> Callable[[int], dict[Sample, float]]:
    def chances(k: int) -> dict[Sample, float]:
        def binomial(count: int, c: int) -> float:
            return math.comb(count, c) * rate**c * (1 - rate) ** (count - c)

        return {(i, j): binomial(k, i) * binomial(n - k, j) for i in range(k + 1) for j in range(n - k + 1)}

    return chances


CASES = {
    "without, 2 of 5": (hush.WithoutReplacement(2, 5), without_replacement(5, 2), 2),
    "without, 1 of 4": (hush.WithoutReplacement(1, 4), without_replacement(4, 1), 1),
    "with, 3 from 6": (hush.WithReplacement(3, 6), with_replacement(6, 3), 3),
    "with, 4 from 3": (hush.WithReplacement(4, 3), with_replacement(3, 4), 4),
}


def law_of(table: Table, samples: dict[Sample, float]) -> np.ndarray:
    return np.sum([weight * table.rows[s] for s, weight in samples.items() if weight > 0], axis=0)


def check(mechanism: hush.Mechanism, laws: list[np.ndarray], step: int, slack: float) -> None:
    """For datasets that differ in `step` replaced records, alone and twice."""
    pair = mechanism.evidence(Neighbours.of(step, step)).pair
    once = {epsilon: math.exp(pair.log_delta(epsilon)[1]) for epsilon in EPSILONS}
    composition = Product.of([(pair, 2)])
    twice = {epsilon: math.exp(composition.log_delta(epsilon)[1]) for epsilon in (0.0, 0.2)}
    for k in range(len(laws) - step):
        for p, q in ((laws[k], laws[k + step]), (laws[k + step], laws[k])):
            for epsilon, promised in once.items():
                assert stick(p, q, epsilon) <= promised * (1 + 1e-12) + 1e-15
            for epsilon, promised in twice.items():
                assert stick(composed(p, 2), composed(q, 2), epsilon) <= promised * (1 + 1e-9) + slack


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", CASES)
def test_fixed_size(name: str, seed: int) -> None:
    scheme, samples, most = CASES[name]
    table = Table(seed, most, Relation.REPLACE)
    rows = {(c, most - c): table.rows[c, most - c] for c in range(most + 1)}
    laws = [law_of(table, {s: w for s, w in samples(k).items() if s in rows}) for k in range(scheme.population + 1)]
    check(table.on(scheme), laws, 1, 1e-13)


@pytest.mark.parametrize("seed", range(4))
def test_groups_without_replacement(seed: int) -> None:
    scheme, samples, most = CASES["without, 2 of 5"]
    table = Table(seed, most, Relation.REPLACE)
    laws = [law_of(table, samples(k)) for k in range(6)]
    check(table.on(scheme), laws, 2, 1e-13)


@pytest.mark.parametrize("rate", [0.1, 0.6])
@pytest.mark.parametrize("seed", range(4))
def test_poisson_replaced(seed: int, rate: float) -> None:
    table = Table(seed, 4, Relation.ADD_REMOVE)
    laws = [law_of(table, poisson(4, rate)(k)) for k in range(5)]
    check(table.on(hush.Poisson(rate=rate)).under(Relation.REPLACE), laws, 1, 1e-13)


@pytest.mark.parametrize("seed", range(2))
def test_one_sample_of_a_composition_without_replacement(seed: int) -> None:
    """Two tables on the same sample, and then all of it twice: between the truth and the composition of two samples."""
    scheme, samples, most = CASES["without, 2 of 5"]
    first, second = Table(seed, most, Relation.REPLACE), Table(seed + 10, most, Relation.REPLACE)
    both = {s: np.outer(first.rows[s], second.rows[s]).ravel() for s in first.rows}
    laws = [np.sum([w * both[s] for s, w in samples(k).items()], axis=0) for k in range(6)]
    check(hush.sequence(first, second).on(scheme), laws, 1, 1e-12)


@pytest.mark.parametrize("name", CASES)
def test_revealed(name: str) -> None:
    """Who was drawn is part of the output: the profile is the mean over the samples of the place that differs."""
    scheme, _, _ = CASES[name]
    base = hush.Laplace(1.0, Relation.REPLACE)
    mechanism = base.on(hush.Revealed(scheme))
    weights = scheme.takes(1)
    for epsilon in (0.1, 0.5, 0.9):
        truth = sum(w * max(0.0, -math.expm1((epsilon - k) / 2)) for k, w in enumerate(weights))
        assert mechanism.evidence(REPLACED).pair.log_delta(epsilon)[1] == pytest.approx(math.log(truth), rel=1e-12)
        assert mechanism.log_delta(epsilon=epsilon).lower <= math.log(truth) + 1e-12


@pytest.mark.parametrize("steps", [2, 3])
@pytest.mark.parametrize("seed", range(3))
def test_shuffled_batches(seed: int, steps: int) -> None:
    """One record in one of the batches, all others zero: its law is a mixture over the batches."""
    table = Table(seed, 2, Relation.REPLACE)
    zero, one = table.rows[0, 2], table.rows[1, 1]

    def epoch(loud: np.ndarray) -> np.ndarray:
        laws = []
        for place in range(steps):
            law = np.ones(1)
            for step in range(steps):
                law = np.outer(law, loud if step == place else zero).ravel()
            laws.append(law)
        return np.mean(laws, axis=0)

    pair = table.on(hush.ShuffledBatches(steps)).evidence(REPLACED).pair
    for epsilon in EPSILONS:
        assert stick(epoch(one), epoch(zero), epsilon) <= math.exp(pair.log_delta(epsilon)[1]) * (1 + 1e-12) + 1e-15
    # the attack that looks at the loudest batch finds no more than there is to find
    direct = FinitePair.of(one, zero)
    shuffled = hush.FromPair(direct, direct.swap()).on(hush.ShuffledBatches(steps))
    for neighbours, p, q in ((REMOVED, one, zero), (ADDED, zero, one)):
        for epsilon in EPSILONS:
            truth = stick(epoch(p), epoch(q), epsilon)
            for found in shuffled.evidence(neighbours).attained(False):
                assert math.exp(found.log_delta(epsilon)[0]) <= truth * (1 + 1e-12)
                least = stick(composed(epoch(p), 2), composed(epoch(q), 2), epsilon)
                assert math.exp(Product.of([(found, 2)]).log_delta(epsilon)[0]) <= least * (1 + 1e-9)
