"""Survey designs on tiny populations, every dataset and every sample enumerated; reference values; what is refused."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import combinations, pairwise, product

import numpy as np
import pytest
from scipy import stats

import hush
from hush import InvalidParameter, NotCovered, Relation, SeededSource
from hush.mechanisms.neighbours import ADDED, REMOVED, REPLACED
from tests.mechanisms.test_schemes_vs_brute_force import EPSILONS, Table, law_of, stick

Records = tuple[int, ...]
Draws = Callable[[Records], Iterator[tuple[Records, float]]]


def of_clusters(sizes: tuple[int, ...], rate: float, inside: float = 1.0) -> Draws:
    """Every sample of clusters (and of their records) with its probability; a record may be missing in the last one."""

    def draws(records: Records) -> Iterator[tuple[Records, float]]:
        ends = np.cumsum((0, *sizes)).clip(max=len(records))
        clusters = [range(*pair) for pair in pairwise(ends)]
        for taken in product((False, True), repeat=len(sizes)):
            chance = math.prod(rate if one else 1 - rate for one in taken)
            members = [i for cluster, one in zip(clusters, taken, strict=True) if one for i in cluster]
            for coins in product((False, True), repeat=len(members)):
                own = math.prod(inside if one else 1 - inside for one in coins)
                if own > 0:
                    yield tuple(records[i] for i, one in zip(members, coins, strict=True) if one), chance * own

    return draws


def of_strata(sizes: tuple[int, ...], populations: tuple[int, ...]) -> Draws:
    def draws(records: Records) -> Iterator[tuple[Records, float]]:
        starts = np.cumsum((0, *populations))
        parts = [
            list(combinations(range(start, start + n), m))
            for start, n, m in zip(starts[:-1], populations, sizes, strict=True)
        ]
        samples = list(product(*parts))
        for sample in samples:
            yield tuple(records[i] for part in sample for i in part), 1 / len(samples)

    return draws


def every_kth(step: int) -> Draws:
    def draws(records: Records) -> Iterator[tuple[Records, float]]:
        for start in range(step):
            yield records[start::step], 1 / step

    return draws


def law(table: Table, draws: Draws, records: Records) -> np.ndarray:
    found: Counter[tuple[int, int]] = Counter()
    for sample, chance in draws(records):
        found[sample.count(1), sample.count(0)] += chance
    return law_of(table, found)


CLUSTERS = {
    "pairs": (hush.Clusters(0.3, [2, 2]), of_clusters((2, 2), 0.3)),
    "one of three": (hush.Clusters(0.1, [1, 3]), of_clusters((1, 3), 0.1)),
    "single records": (hush.Clusters(0.4, [1, 1, 1]), of_clusters((1, 1, 1), 0.4)),
    "all of it": (hush.Clusters(1.0, [2]), of_clusters((2,), 1.0)),
    "two stages": (hush.TwoStage(0.5, [2, 2], 0.3), of_clusters((2, 2), 0.5, 0.3)),
    "two stages, single": (hush.TwoStage(0.5, [1, 1], 0.3), of_clusters((1, 1), 0.5, 0.3)),
}


@pytest.mark.parametrize("name", CLUSTERS)
def test_clusters_added_and_removed(name: str) -> None:
    """The last record of the last cluster is there or not; all others are any."""
    scheme, draws = CLUSTERS[name]
    for seed in range(4):
        table = Table(seed, 4, Relation.ADD_REMOVE)
        mechanism = table.on(scheme)
        promised = {
            way: {epsilon: math.exp(mechanism.evidence(way).pair.log_delta(epsilon)[1]) for epsilon in EPSILONS}
            for way in (REMOVED, ADDED)
        }
        for records in product((0, 1), repeat=sum(scheme.sizes)):
            p, q = law(table, draws, records), law(table, draws, records[:-1])
            for epsilon in EPSILONS:
                assert stick(p, q, epsilon) <= promised[REMOVED][epsilon] * (1 + 1e-9) + 1e-14
                assert stick(q, p, epsilon) <= promised[ADDED][epsilon] * (1 + 1e-9) + 1e-14


REPLACED_IN = {
    **CLUSTERS,
    "strata": (hush.Stratified([1, 2], [2, 3]), of_strata((1, 2), (2, 3))),
    "strata, nothing and all": (hush.Stratified([0, 2], [2, 2]), of_strata((0, 2), (2, 2))),
    "every second": (hush.Systematic(2, 4), every_kth(2)),
    "every third of four": (hush.Systematic(3, 4), every_kth(3)),
    "all records": (hush.Systematic(1, 3), every_kth(1)),
}


@pytest.mark.parametrize("name", REPLACED_IN)
def test_replaced_records(name: str) -> None:
    """A record of any place is replaced by another in its place."""
    scheme, draws = REPLACED_IN[name]
    size = sum(scheme.sizes) if name in CLUSTERS else scheme.population
    for seed in range(3):
        table = Table(seed, 5, Relation.ADD_REMOVE)
        pair = table.on(scheme).under(Relation.REPLACE).evidence(REPLACED).pair
        promised = {epsilon: math.exp(pair.log_delta(epsilon)[1]) for epsilon in EPSILONS}
        laws = {records: law(table, draws, records) for records in product((0, 1), repeat=size)}
        for records, p in laws.items():
            for place in range(size):
                other = (*records[:place], 1 - records[place], *records[place + 1 :])
                for epsilon, value in promised.items():
                    assert stick(p, laws[other], epsilon) <= value * (1 + 1e-9) + 1e-14, (place, epsilon)


def truncated_geometric(most: int, epsilon: float) -> np.ndarray:
    """Rows of the truncated geometric mechanism on 0..most: adjacent counts have loss epsilon exactly."""
    a = math.exp(-epsilon)
    rows = np.array([[a ** abs(i - j) for j in range(most + 1)] for i in range(most + 1)])
    rows[:, 1:-1] *= 1 - a
    return rows / rows.sum(axis=1, keepdims=True)


REFERENCE = {0: 0.1585650787404291, 1: 0.33546362930, 2: 0.5736272366384696, 20: 0.9999999882739218}


@pytest.mark.parametrize("others", REFERENCE)
def test_the_pure_loss_of_a_cluster_is_attained(others: int) -> None:
    """A noisy count of a cluster's records has exactly this loss."""
    found = hush.PureDP(1.0).on(hush.Clusters(0.1, [others + 1])).epsilon(delta=0).upper
    assert found == pytest.approx(REFERENCE[others], rel=1e-6)
    rows = truncated_geometric(others + 1, 1.0)
    with_it, without = (0.9 * rows[0] + 0.1 * rows[k] for k in (others + 1, others))
    assert float(np.log(with_it / without).max()) == pytest.approx(found, rel=1e-9)


class TestNotCovered:
    """Where harm is shown, or nothing is proven, nothing is said."""

    @pytest.mark.parametrize("sizes", ["proportional", "neyman"])
    def test_sizes_from_the_data(self, sizes: str) -> None:
        with pytest.raises(NotCovered, match="follow the data"):
            hush.Stratified(sizes=sizes, populations=[10, 20])

    @pytest.mark.parametrize("scheme", [hush.Stratified([1, 1], [5, 5]), hush.Systematic(2, 10)], ids=str)
    def test_added_records(self, scheme: hush.OneSample) -> None:
        with pytest.raises(NotCovered, match="replaced"):
            hush.Laplace(1.0).on(scheme).epsilon(delta=1e-6)

    @pytest.mark.parametrize("scheme", [hush.Clusters(0.1, [5]), hush.TwoStage(0.1, [5], 0.5)], ids=str)
    def test_groups(self, scheme: hush.OneSample) -> None:
        with pytest.raises(NotCovered, match="one record"):
            hush.Gaussian(1.0).on(scheme).group(2).epsilon(delta=1e-6)

    def test_bad_input(self) -> None:
        for make in (
            lambda: hush.Clusters(0.1, []),
            lambda: hush.Clusters(0.1, [0]),
            lambda: hush.Clusters(2.0, [3]),
            lambda: hush.Stratified([5], [3]),
            lambda: hush.Stratified([1], [3, 3]),
            lambda: hush.Systematic(5, 3),
            lambda: hush.TwoStage(0.1, [3], -1.0),
            lambda: hush.Clusters(0.1, [3]).draw(4),
            lambda: hush.Stratified([1], [3]).draw(4),
            lambda: hush.Systematic(2, 4).draw(5),
        ):
            with pytest.raises(InvalidParameter):
                make()


def rounding_keeps_all_of_the_loss(rate: float, epsilon: float, most: int) -> float:
    """The worst pure loss of a sample of round(rate n) records, noisy counts of 0/1 data, added or removed."""
    worst = 0.0
    for n in range(1, most):
        m = round(rate * n + 1e-12)
        rows = truncated_geometric(most, epsilon)
        for ones in range(n + 1):
            here = _counted(n, m, ones, rows)
            for other_ones in {ones, ones - 1} & set(range(n)):
                there = _counted(n - 1, round(rate * (n - 1) + 1e-12), other_ones, rows)
                worst = max(worst, float(np.abs(np.log(here / there)).max()))
    return worst


def _counted(n: int, m: int, ones: int, rows: np.ndarray) -> np.ndarray:
    return stats.hypergeom(n, ones, m).pmf(np.arange(m + 1)) @ rows[: m + 1]


@pytest.mark.parametrize("rate", [0.15, 0.25])
def test_sizes_rounded_from_a_private_number_gain_nothing(rate: float) -> None:
    """Why proportional allocation to a private number of records is refused."""
    assert rounding_keeps_all_of_the_loss(rate, 0.5, 12) == pytest.approx(0.5, rel=1e-9)


ROUNDS = 4000
DRAWN = {
    "clusters": (hush.Clusters(0.3, [2, 1, 3]), of_clusters((2, 1, 3), 0.3)),
    "two stages": (hush.TwoStage(0.6, [2, 3], 0.5), of_clusters((2, 3), 0.6, 0.5)),
    "strata": (hush.Stratified([1, 2], [3, 3]), of_strata((1, 2), (3, 3))),
    "systematic": (hush.Systematic(3, 7), every_kth(3)),
}


@pytest.mark.parametrize("name", DRAWN)
def test_draws_have_their_law(name: str) -> None:
    """Every sample as often as it should be."""
    scheme, draws = DRAWN[name]
    size = scheme.places or scheme.population
    expected: Counter[Records] = Counter()
    for sample, chance in draws(tuple(range(size))):
        expected[tuple(sorted(sample))] += chance
    source, found = SeededSource(9), Counter()
    for _ in range(ROUNDS):
        found[tuple(scheme.draw(size, source).tolist())] += 1
    assert set(found) <= set(expected)
    counts = np.array([found[sample] for sample in expected])
    assert float(stats.chisquare(counts, ROUNDS * np.array(list(expected.values()))).pvalue) > 1e-6


@pytest.mark.parametrize("name", DRAWN)
def test_through_json(name: str) -> None:
    made = hush.Gaussian(1.0).on(DRAWN[name][0])
    assert hush.from_json(hush.to_json(made)) == made
    assert made.explain(delta=1e-6) if name in ("clusters", "two stages") else True
