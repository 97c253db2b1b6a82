"""Batches of bounded size: every dataset, every draw and every kept subset of tiny instances, against the theorem."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from itertools import chain, combinations, product

import numpy as np
import pytest

import hush
from hush import InvalidParameter, NotCovered, Relation
from hush.curves.composition.product import Product
from hush.curves.pairs.normal import NormalPair
from hush.curves.pairs.pair import Pair
from hush.mechanisms.neighbours import Neighbours
from tests.mechanisms.test_schemes_vs_brute_force import EPSILONS, Table, composed, law_of, stick

BLANK = None
Records = tuple[int | None, ...]
ROUNDING = 1e-12

# size of the data, rate, cap
SETTINGS = [(4, 0.3, 1), (4, 0.7, 2), (4, 0.9, 3), (3, 0.5, 3), (4, 1.0, 2), (1, 0.5, 1)]


def draws(records: Records, rate: float, cap: int) -> Iterator[tuple[Records, float]]:
    """Every kept batch with its probability: all subsets, and of those too large all subsets of the size of the cap."""
    places = range(len(records))
    for drawn in chain.from_iterable(combinations(places, k) for k in range(len(records) + 1)):
        chance = rate ** len(drawn) * (1 - rate) ** (len(records) - len(drawn))
        kept = [drawn] if len(drawn) <= cap else list(combinations(drawn, cap))
        for batch in kept:
            yield tuple(records[i] for i in batch), chance / len(kept)


def samples(records: Records, rate: float, cap: int) -> dict[tuple[int, int], float]:
    """How many ones and zeros the batch holds, blank records not counted."""
    found: Counter[tuple[int, int]] = Counter()
    for batch, chance in draws(records, rate, cap):
        found[batch.count(1), batch.count(0)] += chance
    return found


def neighbours(relation: Relation, size: int) -> Iterator[tuple[Records, Records]]:
    """All neighbouring datasets of records 0 and 1; blank ones may be among the others."""
    others = (0, 1, BLANK) if relation is Relation.ZERO_OUT else (0, 1)
    for rest in product(others, repeat=size - 1):
        for mine in (0, 1):
            if relation is Relation.ADD_REMOVE:
                yield (*rest, mine), rest
            elif relation is Relation.ZERO_OUT:
                yield (*rest, mine), (*rest, BLANK)
            else:
                yield (*rest, mine), (*rest, 1 - mine)


@pytest.mark.parametrize("population", [True, False], ids=["number known", "any number"])
@pytest.mark.parametrize("relation", Relation)
@pytest.mark.parametrize(("size", "rate", "cap"), SETTINGS)
def test_random_tables(size: int, rate: float, cap: int, relation: Relation, population: bool) -> None:
    scheme = hush.CappedPoisson(rate, cap, size if population else None)
    for seed in range(3):
        table = Table(seed, size, Relation.ADD_REMOVE)
        mechanism = table.on(scheme).under(relation)
        promised = {name: deltas(mechanism.evidence(way).pair) for name, way in mechanism.directions()}
        out, into = promised.get("remove", promised.get("replace")), promised.get("add", promised.get("replace"))
        for one, other in neighbours(relation, size):
            p, q = law_of(table, samples(one, rate, cap)), law_of(table, samples(other, rate, cap))
            holds(p, q, out)
            holds(q, p, into)


def deltas(pair: Pair) -> dict[float, float]:
    return {epsilon: math.exp(pair.log_delta(epsilon)[1]) for epsilon in EPSILONS}


def holds(p: np.ndarray, q: np.ndarray, promised: dict[float, float]) -> None:
    """The truth is at most what is promised, also below 0."""
    for epsilon, value in promised.items():
        assert stick(p, q, epsilon) <= value * (1 + ROUNDING) + 1e-15


@pytest.mark.parametrize("relation", Relation)
def test_composed_random_tables(relation: Relation) -> None:
    table, scheme = Table(5, 3, Relation.ADD_REMOVE), hush.CappedPoisson(0.6, 1, 3)
    mechanism = table.on(scheme).under(relation)
    (_, way), *_ = mechanism.directions()
    twice = Product.of([(mechanism.evidence(way).pair, 2)])
    promised = {epsilon: math.exp(twice.log_delta(epsilon)[1]) for epsilon in (0.0, 0.2, 0.6)}
    for one, other in neighbours(relation, 3):
        p, q = (composed(law_of(table, samples(records, 0.6, 1)), 2) for records in (one, other))
        assert all(stick(p, q, epsilon) <= value * (1 + 1e-9) + 1e-12 for epsilon, value in promised.items())


def normals(records: Records, rate: float, cap: int, sigma: float) -> tuple[tuple[float, float], ...]:
    """The exact mixture of shifts of the noisy sum of a batch."""
    found: Counter[float] = Counter()
    for batch, chance in draws(records, rate, cap):
        found[sum(value or 0 for value in batch) / sigma] += chance
    return tuple(sorted((shift, weight) for shift, weight in found.items() if weight > 0))


@pytest.mark.parametrize("relation", Relation)
@pytest.mark.parametrize("cap", [1, 2])
def test_noisy_sums_of_all_data(cap: int, relation: Relation) -> None:
    """Sums of records -1, 0 and 1 with Gaussian noise: the worst data is below the bound, and not far."""
    size, rate, sigma, epsilon = 4, 0.4, 1.0, 0.5
    bound = hush.Gaussian(sigma).on(hush.CappedPoisson(rate, cap, size)).under(relation).delta(epsilon=epsilon)
    worst = 0.0
    for rest in product((-1, 0, 1), repeat=size - 1):
        changed = {
            Relation.ADD_REMOVE: [((*rest, 1), rest)],
            Relation.ZERO_OUT: [((*rest, 1), (*rest, 0))],
            Relation.REPLACE: [((*rest, 1), (*rest, -1))],
        }[relation]
        for one, other in changed:
            p, q = (normals(records, rate, cap, sigma) for records in (one, other))
            sides = NormalPair(p, q), NormalPair(q, p)
            worst = max(worst, *(math.exp(pair.log_delta(epsilon)[0]) for pair in sides))
    assert bound.lower * (1 - 1e-9) <= worst <= bound.upper
    assert worst > 0.4 * bound.upper


FRONTIER = {
    # population, rate, cap, sigma, epsilon: the value, and what the peer says
    (100, 0.1, 12, 1.0, 0.5): (0.008669397206469776, 0.00948859579605698),
    (1000, 0.05, 60, 0.8, 1.0): (0.0013525798209806355, 0.0013922265319764916),
}
BY_NUMBER = {(100, 0.1, 12, 1.0, 0.5): 0.00868995701783666, (1000, 0.05, 60, 0.8, 1.0): 0.0013531711599163157}


@pytest.mark.parametrize("case", FRONTIER)
def test_reference_values(case: tuple[int, float, int, float, float]) -> None:
    population, rate, cap, sigma, epsilon = case
    found = hush.Gaussian(sigma).on(hush.CappedPoisson(rate, cap, population)).delta(epsilon=epsilon)
    lumped, peer = FRONTIER[case]
    assert found.upper == pytest.approx(lumped, rel=1e-11)
    assert found.upper < BY_NUMBER[case] < peer


def test_plain_poisson_is_not_enough() -> None:
    """One other record -1, cap 1, rate .9: the truth is four times what a Poisson sample would have."""
    p, q = normals((-1, 1), 0.9, 1, 1.0), normals((-1,), 0.9, 1, 1.0)
    truth = math.exp(NormalPair(p, q).log_delta(2.0)[0])
    assert truth == pytest.approx(0.0671, abs=1e-4)
    assert truth <= hush.Gaussian(1.0).on(hush.CappedPoisson(0.9, 1, 2)).delta(epsilon=2.0).upper
    assert hush.Gaussian(1.0).on(hush.Poisson(rate=0.9)).delta(epsilon=2.0).upper < truth / 4


def test_more_records_are_not_less_private() -> None:
    """delta is not monotone in the number of records, so the answer for any number is above all of them."""
    step = hush.Gaussian(1.0)
    found = [step.on(hush.CappedPoisson(0.1, 12, n)).delta(epsilon=0.5).upper for n in (100, 120, 150, 200)]
    assert found[0] < found[1] < found[2] > found[3]
    assert max(found) <= step.on(hush.CappedPoisson(0.1, 12)).delta(epsilon=0.5).upper


@pytest.mark.parametrize("rate", [0.0, 1e-300, 1.0])
@pytest.mark.parametrize("cap", [0, 1, 50, 10**6])
@pytest.mark.parametrize("population", [1, 50, 10**9, None])
def test_ends(rate: float, cap: int, population: int | None) -> None:
    mechanism = hush.Gaussian(1.0).on(hush.CappedPoisson(rate, cap, population))
    for relation in Relation:
        found = mechanism.under(relation).delta(epsilon=0.3)
        assert 0 <= found.lower <= found.upper <= 1
        if rate == 0 or cap == 0:
            assert found.upper == 0


def test_what_is_not_covered() -> None:
    step = hush.Gaussian(1.0).on(hush.CappedPoisson(0.1, 5, 30))
    with pytest.raises(NotCovered, match="several records"):
        step.group(2).epsilon(delta=1e-5)
    with pytest.raises(InvalidParameter, match="population"):
        hush.CappedPoisson(0.1, 5, 30).draw(31)
    with pytest.raises(InvalidParameter, match="any number of records"):
        step.on(hush.Poisson(rate=0.5))


class TestBlankRecords:
    """The relation in which a record is blanked, and what it is free for."""

    def test_independent_coins_are_as_for_removal(self) -> None:
        run = hush.Gaussian(1.0).on(hush.Poisson(rate=0.1)).repeat(20)
        assert run.under(Relation.ZERO_OUT).epsilon(delta=1e-6).upper == run.epsilon(delta=1e-6).upper

    def test_a_replacement_covers_it(self) -> None:
        noise = hush.Gaussian(1.0, Relation.REPLACE)
        found = noise.under(Relation.ZERO_OUT).epsilon(delta=1e-6)
        assert found.upper == noise.epsilon(delta=1e-6).upper
        assert found.lower == 0

    def test_samples_of_a_fixed_size_are_not_covered(self) -> None:
        with pytest.raises(NotCovered, match="replaced records only"):
            hush.Gaussian(1.0).on(hush.WithoutReplacement(2, 9)).under(Relation.ZERO_OUT).epsilon(delta=1e-6)

    def test_noise_is_not_set_for_it(self) -> None:
        with pytest.raises(InvalidParameter, match="ZERO_OUT"):
            hush.Gaussian(1.0, Relation.ZERO_OUT)
        with pytest.raises(InvalidParameter, match="ZERO_OUT"):
            hush.releases.Count(epsilon=1.0, relation=Relation.ZERO_OUT)

    def test_it_says_nothing_of_removal(self) -> None:
        with pytest.raises(NotCovered, match="blank out"):
            hush.Gaussian(1.0, Relation.REPLACE).under(Relation.ZERO_OUT).under(Relation.ADD_REMOVE)

    def test_parts_side_by_side_are_not_covered(self) -> None:
        with pytest.raises(NotCovered, match="another part"):
            hush.Gaussian(1.0).beside(hush.Laplace(1.0)).under(Relation.ZERO_OUT).epsilon(delta=1e-6)

    def test_through_json_and_words(self) -> None:
        run = hush.Gaussian(1.0).on(hush.CappedPoisson(0.1, 20, 100)).under(Relation.ZERO_OUT)
        assert hush.from_json(hush.to_json(run)) == run
        assert "blank out one record" in run.explain(delta=1e-6)


class TestRandomContributions:
    """Users who add a random number of records."""

    def test_gaussian_mixture(self) -> None:
        chances = (0.2, 0.5, 0.0, 0.3)
        found = hush.RandomContributions(hush.Gaussian(2.0), chances).pairs()["remove"]
        exact = NormalPair(((0.0, 0.2), (0.5, 0.5), (1.5, 0.3)), ((0.0, 1.0),))
        for epsilon in (-0.3, 0.0, 0.4, 1.0):
            assert found.log_delta(epsilon)[1] == pytest.approx(exact.log_delta(epsilon)[1], rel=1e-12)

    def test_a_fixed_number_is_a_group(self) -> None:
        one = hush.RandomContributions(hush.Laplace(3.0), (0.0, 0.0, 1.0))
        assert one.epsilon(delta=1e-6) == hush.Laplace(3.0).group(2).epsilon(delta=1e-6)

    def test_coins_are_poisson_sampling(self) -> None:
        one = hush.RandomContributions(hush.Gaussian(1.0), (0.9, 0.1))
        assert one.delta(epsilon=0.3).upper == hush.Gaussian(1.0).on(hush.Poisson(rate=0.1)).delta(epsilon=0.3).upper

    def test_poisson_numbers_vs_a_long_list(self) -> None:
        mean, weights = 0.8, [math.exp(-0.8) * 0.8**k / math.factorial(k) for k in range(40)]
        exact = NormalPair(tuple((k / 3, weight) for k, weight in enumerate(weights)), ((0.0, 1.0),))
        found = hush.RandomContributions.poisson(hush.Gaussian(3.0), mean=mean)
        for name, pair in (("remove", exact), ("add", exact.swap())):
            value = found.pairs()[name].log_delta(0.5)[1]
            assert pair.log_delta(0.5)[0] <= value <= pair.log_delta(0.5)[1] + 1e-9

    def test_several_users(self) -> None:
        """Two users have two numbers, one user who is drawn twice has one: counts do not tell them apart."""
        with pytest.raises(NotCovered, match="several users"):
            hush.RandomContributions(hush.Gaussian(2.0), (0.5, 0.5)).group(2).pairs()

    @pytest.mark.parametrize("chances", [[], [0.5, 0.6], [-0.1, 1.1], "ab", [math.nan, 1.0]])
    def test_bad_chances(self, chances: object) -> None:
        with pytest.raises(InvalidParameter):
            hush.RandomContributions(hush.Gaussian(1.0), chances)


def test_neighbours_keep_their_place() -> None:
    """What a sample makes of blanked records are blanked records."""
    blank = Neighbours.of(removed=1, in_place=True)
    assert blank.thin(lambda counts: counts).in_place
    assert blank.swap().in_place


@pytest.mark.parametrize(("rate", "cap", "sigma"), [(0.1, 12, 1.0), (0.5, 1, 2.0), (0.9, 4, 0.7), (0.02, 30, 4.0)])
@pytest.mark.parametrize("relation", [Relation.ADD_REMOVE, Relation.REPLACE])
def test_any_number_of_records_is_above_every_number_and_near_the_worst(
    rate: float, cap: int, sigma: float, relation: Relation
) -> None:
    step = hush.Gaussian(sigma).under(relation) if relation is Relation.REPLACE else hush.Gaussian(sigma)
    numbers = sorted({*range(1, 12), *(int(cap / rate * k / 10) for k in range(3, 40)), 10**6})
    any_number = step.on(hush.CappedPoisson(rate, cap))
    for epsilon in (0.05, 0.5, 2.0):
        known = [step.on(hush.CappedPoisson(rate, cap, n)).delta(epsilon=epsilon).upper for n in numbers if n > 0]
        found = any_number.delta(epsilon=epsilon).upper
        assert max(known) <= found * (1 + 1e-12)
        assert found <= 2 * max(known)
