"""Shuffled reports against the law of the multiset itself: all data of all others, every pair of values."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from functools import cache

import numpy as np
import pytest
from scipy import stats

import hush
from hush.curves.theorems.shuffling.multiset import blanket_of_unary, covers_sums, others_elsewhere, stronger_clone

EPSILONS = [0.0, 0.05, 0.2, 0.5, 0.9, 1.4]
Law = dict[tuple[int, ...], float]


def add_report(law: Law, row: np.ndarray) -> Law:
    """The histogram after one more report."""
    found: Counter[tuple[int, ...]] = Counter()
    for histogram, mass in law.items():
        for symbol, chance in enumerate(row):
            if chance > 0:
                grown = list(histogram)
                grown[symbol] += 1
                found[tuple(grown)] += mass * chance
    return dict(found)


def multisets(table: np.ndarray, people: int) -> list[tuple[Law, Law]]:
    """The two laws of the histogram for every choice of the others' values and of the record's two values."""
    start: Law = {(0,) * table.shape[1]: 1.0}
    pairs = []
    for others in itertools.combinations_with_replacement(range(len(table)), people - 1):
        law = start
        for value in others:
            law = add_report(law, table[value])
        reported = [add_report(law, row) for row in table]
        pairs += list(itertools.permutations(reported, 2))
    return pairs


def hockey_stick(p: Law, q: Law, epsilon: float) -> float:
    return math.fsum(max(mass - math.exp(epsilon) * q.get(place, 0.0), 0.0) for place, mass in p.items())


def worst(table: np.ndarray, people: int) -> dict[float, float]:
    pairs = multisets(table, people)
    return {epsilon: max(hockey_stick(p, q, epsilon) for p, q in pairs) for epsilon in EPSILONS}


def table_of_unary(mechanism: hush.UnaryEncoding) -> np.ndarray:
    rows = []
    for value in range(mechanism.choices):
        chances = [mechanism.keep if place == value else mechanism.flip for place in range(mechanism.choices)]
        vectors = itertools.product((0, 1), repeat=mechanism.choices)
        rows.append([math.prod(c if b else 1 - c for b, c in zip(v, chances, strict=True)) for v in vectors])
    return np.array(rows)


def assert_between(mechanism: hush.Mechanism, truth: dict[float, float], *, attained: bool = True) -> None:
    for epsilon, exact in truth.items():
        bound = mechanism.delta(epsilon=epsilon)
        assert bound.upper >= exact * (1 - 1e-9) - 1e-15, (str(mechanism), epsilon, bound, exact)
        if attained:
            assert bound.lower <= exact * (1 + 1e-9) + 1e-15, (str(mechanism), epsilon, bound, exact)


@pytest.mark.parametrize(("choices", "people"), [(2, 2), (2, 3), (2, 6), (3, 2), (3, 4), (3, 6), (4, 3), (4, 5)])
@pytest.mark.parametrize("epsilon0", [0.5, 1.5])
def test_kary_response(choices: int, people: int, epsilon0: float) -> None:
    randomizer = hush.KaryResponse(epsilon=epsilon0, choices=choices)
    truth = worst(randomizer.table(choices), people)
    assert_between(randomizer.shuffled(people=people), truth)
    assert_between(hush.LocalDP(epsilon0).shuffled(people=people), truth, attained=False)
    stronger = stronger_clone(epsilon0, people, randomizer.table())
    for epsilon, exact in truth.items():
        assert math.exp(stronger.log_delta(epsilon)[1]) >= exact * (1 - 1e-9) - 1e-15
    if choices == 2:
        for epsilon, exact in truth.items():
            bound = randomizer.shuffled(people=people).delta(epsilon=epsilon)
            assert bound.lower == pytest.approx(exact, rel=1e-9, abs=1e-15)
            assert bound.upper == pytest.approx(exact, rel=1e-9, abs=1e-15)


@pytest.mark.parametrize(("choices", "people"), [(2, 2), (2, 5), (3, 2), (3, 4)])
@pytest.mark.parametrize("optimised", [True, False])
@pytest.mark.parametrize("epsilon0", [0.5, 1.5])
def test_unary_encoding(choices: int, people: int, optimised: bool, epsilon0: float) -> None:
    randomizer = hush.UnaryEncoding(epsilon=epsilon0, choices=choices, optimised=optimised)
    truth = worst(table_of_unary(randomizer), people)
    assert_between(randomizer.shuffled(people=people), truth)
    assert_between(hush.LocalDP(epsilon0).shuffled(people=people), truth, attained=False)


def test_everyone_agreeing_is_not_always_the_worst() -> None:
    """Three people, two answers: a mixed crowd hides less than one that agrees with the record."""
    truth = worst(hush.KaryResponse(epsilon=0.5).table(), 3)[0.05]
    agree = hush.LocalDP(0.5).shuffled(people=3).pairs()["replace"].below[0][1]  # type: ignore[attr-defined]
    assert math.exp(agree.log_delta(0.05)[1]) < 0.9 * truth


@cache
def random_table(seed: int, inputs: int, outputs: int, epsilon0: float) -> np.ndarray:
    """A randomizer that is epsilon0-LDP: each column within a factor e^epsilon0, made by mixing in the mean."""
    rng = np.random.default_rng(seed)
    raw = rng.dirichlet(np.full(outputs, 0.4), size=inputs)
    low, high = 0.0, 1.0
    for _ in range(60):
        share = (low + high) / 2
        mixed = share * raw + (1 - share) * raw.mean(axis=0)
        worst_ratio = float((mixed.max(axis=0) / np.maximum(mixed.min(axis=0), 1e-300)).max())
        low, high = (share, high) if worst_ratio <= math.exp(epsilon0) else (low, share)
    return low * raw + (1 - low) * raw.mean(axis=0)


@pytest.mark.parametrize("seed", range(12))
def test_general_clone_holds_for_random_randomizers(seed: int) -> None:
    epsilon0 = (0.4, 1.0, 2.0)[seed % 3]
    table = random_table(seed, 3, 2 + seed % 3, epsilon0)
    people = 3 + seed % 2
    assert_between(hush.LocalDP(epsilon0).shuffled(people=people), worst(table, people), attained=False)


@pytest.mark.parametrize("people", [2, 4])
def test_laplace_and_gaussian_reports_in_bins(people: int) -> None:
    """Rounded to bins the reports are post-processed, so what they reveal lies below what is promised."""
    edges = np.array([-np.inf, -0.5, 0.0, 0.5, 1.0, 1.5, np.inf])
    for mechanism, law in ((hush.LaplaceReport(0.8), stats.laplace), (hush.GaussianReport(0.8), stats.norm)):
        table = np.array([np.diff(law.cdf(edges, loc=x, scale=0.8)) for x in (0.0, 0.5, 1.0)])
        assert_between(mechanism.shuffled(people=people), worst(table, people), attained=False)


def test_stronger_clone_is_refused_without_its_property() -> None:
    for epsilon0 in (0.3, 1.0, 3.0):
        for choices in (2, 3, 7):
            assert covers_sums(epsilon0, hush.KaryResponse(epsilon=epsilon0, choices=choices).table(choices))
        unary = table_of_unary(hush.UnaryEncoding(epsilon=epsilon0, choices=3))
        assert not covers_sums(epsilon0, unary)
        with pytest.raises(hush.NotCovered, match="erratum"):
            stronger_clone(epsilon0, 100, unary)
        assert not covers_sums(epsilon0, np.array([[1.0]]))
    names = {name for name, _ in hush.LocalDP(1.0).above(100) + hush.LocalDP(1.0).listed(100)}
    assert "stronger clone" not in names


@pytest.mark.parametrize("epsilon0", [0.5, 2.0])
@pytest.mark.parametrize("optimised", [True, False])
def test_blanket_of_unary_vs_enumeration(epsilon0: float, optimised: bool) -> None:
    """The kinds of the blanket, from the least probability of every vector."""
    randomizer = hush.UnaryEncoding(epsilon=epsilon0, choices=4, optimised=optimised)
    table = table_of_unary(randomizer)
    least = table.min(axis=0)
    found = blanket_of_unary(epsilon0, 4, randomizer.keep, randomizer.flip, 10)
    assert math.fsum(kind.chance for kind in found.kinds) == pytest.approx(least.sum(), rel=1e-12)
    for kind in found.kinds:
        ratio = np.isclose(table[0] / least, kind.weight * math.exp(kind.loss)) & np.isclose(
            table[1] / least, kind.weight
        )
        assert least[ratio].sum() == pytest.approx(kind.chance, rel=1e-9)


def test_attained_by_unary_encoding_vs_enumeration() -> None:
    """Everyone else elsewhere: the merged law of the two bits, from the full table."""
    randomizer = hush.UnaryEncoding(epsilon=1.0, choices=3)
    vectors = np.array(list(itertools.product((0, 1), repeat=3)))
    kind = np.where(vectors[:, 0] == vectors[:, 1], 2, np.where(vectors[:, 0] == 1, 0, 1))
    table = np.array([np.bincount(kind, weights=row, minlength=3) for row in table_of_unary(randomizer)])
    start: Law = {(0, 0, 0): 1.0}
    for _ in range(4):
        start = add_report(start, table[2])
    p, q = add_report(start, table[0]), add_report(start, table[1])
    scale = (1 - randomizer.keep) / (1 - randomizer.flip)
    found = others_elsewhere(1.0, randomizer.flip * (1 - randomizer.flip), 5, scale=scale)
    for epsilon in EPSILONS[:5]:
        assert math.exp(found.log_delta(epsilon)[0]) == pytest.approx(hockey_stick(p, q, epsilon), rel=1e-8)
