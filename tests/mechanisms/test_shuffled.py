"""Shuffled reports as mechanisms: composition, limits, order of the certificates, reports and estimates, bad input."""

from __future__ import annotations

import math
from decimal import Context, Decimal
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

import hush
from hush.curves.theorems.shuffling.multiset import blanket_of_mass, blanket_of_response, clone, stronger_clone
from hush.curves.theorems.shuffling.shuffled import HoeffdingBlanket, bit_pair, clone_closed_form
from hush.mechanisms.local.checked_reports import SURE
from hush.mechanisms.local.noisy_numbers import report_grid

RANDOMIZERS = [
    hush.LocalDP(1.0),
    hush.KaryResponse(epsilon=1.0),
    hush.KaryResponse(epsilon=2.0, choices=10),
    hush.UnaryEncoding(epsilon=2.0, choices=10),
    hush.UnaryEncoding(epsilon=1.0, choices=2, optimised=False),
    hush.LaplaceReport(1.0),
    hush.GaussianReport(4.0),
]
EACH = pytest.mark.parametrize("randomizer", RANDOMIZERS, ids=str)


@EACH
def test_more_people_hide_better(randomizer: hush.LocalRandomizer) -> None:
    bounds = [randomizer.shuffled(people=n).epsilon(delta=1e-6) for n in (1, 30, 1000, 50_000, 10**7, 10**12)]
    for one, more in pairwise(bounds):
        assert more.lower <= one.upper
        assert more.upper <= one.upper * (1 + 1e-6)
    for bound in bounds:
        assert 0 <= bound.lower <= bound.upper
    assert bounds[-1].upper < 0.01 * bounds[0].upper


@EACH
def test_one_person_is_not_hidden(randomizer: hush.LocalRandomizer) -> None:
    alone, plain = (m.epsilon(delta=1e-6) for m in (randomizer.shuffled(people=1), randomizer))
    assert alone.upper == pytest.approx(plain.upper, rel=1e-5)


@EACH
def test_nothing_beyond_the_local_epsilon(randomizer: hush.LocalRandomizer) -> None:
    shuffled = randomizer.shuffled(people=500)
    assert shuffled.epsilon(delta=0).upper == randomizer.largest
    if math.isfinite(randomizer.largest):
        assert shuffled.delta(epsilon=randomizer.largest).upper == 0


@EACH
def test_composition_lies_between_one_round_and_naive_sums(randomizer: hush.LocalRandomizer) -> None:
    once = randomizer.shuffled(people=3000)
    one, many = once.epsilon(delta=1e-7), once.repeat(4).epsilon(delta=4e-7)
    assert one.lower <= many.upper and many.lower <= 4 * one.upper
    assert many.upper <= 4 * one.upper * (1 + 1e-6)
    assert many.lower <= many.upper
    assert many.upper >= once.epsilon(delta=4e-7).lower


def test_composed_binary_response_vs_its_exact_product() -> None:
    """Few people and rounds: the attained counts, composed atom by atom, lie in the interval."""
    counts = bit_pair(40, 1 / (1 + math.e), math.e / (1 + math.e))
    p, q = counts.mass, counts.q_mass
    both = hush.FromPair.of(np.outer(p, p).ravel() / p.sum() ** 2, np.outer(q, q).ravel() / q.sum() ** 2)
    bound = hush.KaryResponse(epsilon=1.0).shuffled(people=40).repeat(2).epsilon(delta=1e-5)
    truth = both.epsilon(delta=1e-5)
    assert bound.lower <= truth.upper * (1 + 1e-6)
    assert bound.upper >= truth.lower
    assert bound.upper <= 1.25 * truth.upper


def test_beside_other_mechanisms() -> None:
    mixed = hush.LocalDP(1.0).shuffled(people=1000).then(hush.Gaussian(5.0, hush.Relation.REPLACE))
    alone = hush.Gaussian(5.0, hush.Relation.REPLACE).epsilon(delta=1e-6)
    assert alone.lower <= mixed.epsilon(delta=1e-6).upper <= alone.upper + 0.5
    assert mixed.renyi(orders=[2])[0] >= hush.Gaussian(5.0).renyi(orders=[2])[0]
    low = hush.LocalDP(1.0).shuffled(people=1000).tradeoff(false_positive_rate=0.05)
    assert 0.5 < low.lower <= low.upper <= 0.95


@pytest.mark.parametrize("epsilon0", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("people", [50, 2000, 10**6])
def test_order_of_certificates(epsilon0: float, people: int) -> None:
    """Blanket, stronger clone, clone, Hoeffding, closed form: each is looser than the one before."""
    for epsilon in (0.5 / math.sqrt(people), 2 / math.sqrt(people)):
        if epsilon >= epsilon0:
            continue
        three = hush.KaryResponse(epsilon=epsilon0, choices=3)
        bounds = [
            blanket_of_response(epsilon0, 3, people),
            stronger_clone(epsilon0, people, three.table()),
            clone(epsilon0, people),
        ]
        ends = [bound.log_delta(epsilon) for bound in bounds]
        for (low, _), (_, high) in pairwise(ends):
            assert low <= high
        assert HoeffdingBlanket(epsilon0, people).log_delta(epsilon)[1] >= ends[0][0]
    binary = blanket_of_response(epsilon0, 2, people).log_delta(1 / people)
    same = stronger_clone(epsilon0, people, np.array([[0.5, 0.5], [0.5, 0.5]])).log_delta(1 / people)
    corner = blanket_of_mass(epsilon0, 2 / (math.exp(epsilon0) + 1), people).log_delta(1 / people)
    assert binary == pytest.approx(same, rel=1e-6)
    assert binary == pytest.approx(corner, rel=1e-6)


@pytest.mark.parametrize("delta", [1e-4, 1e-8])
def test_closed_form_is_above_the_pair(delta: float) -> None:
    for epsilon0, people in ((0.5, 5000), (1.0, 10**5), (3.0, 10**6)):
        exact = hush.LocalDP(epsilon0).shuffled(people=people).epsilon(delta=delta)
        assert clone_closed_form(epsilon0, people, delta) >= exact.upper
    with pytest.raises(hush.NotCovered, match="no such limit"):
        clone_closed_form(5.0, 1000, 1e-6)


def test_quick_at_any_number_of_people() -> None:
    import time

    for people, seconds in ((10**6, 0.9), (10**9, 3.0)):  # three times what is aimed at, for slow machines
        start = time.process_time()
        hush.LocalDP(1.5).shuffled(people=people).epsilon(delta=1e-6)
        assert time.process_time() - start < seconds


def test_frequencies_are_unbiased_with_the_stated_error() -> None:
    rng, source = np.random.default_rng(7), hush.SeededSource(7)
    values = rng.choice(5, size=40_000, p=[0.5, 0.3, 0.15, 0.05, 0.0])
    truth = np.bincount(values, minlength=5) / len(values)
    for randomizer in (
        hush.KaryResponse(epsilon=1.0, choices=5),
        hush.UnaryEncoding(epsilon=1.0, choices=5),
        hush.UnaryEncoding(epsilon=1.0, choices=5, optimised=False),
    ):
        error = randomizer.standard_error(len(values))
        estimates = np.array([randomizer.frequencies(randomizer.encode(values, source)) for _ in range(30)])
        assert np.all(np.abs(estimates.mean(axis=0) - truth) < 6 * error / math.sqrt(30))
        assert 0.7 * error < estimates[:, 4].std() < 1.4 * error


def test_numbers_are_unbiased_with_the_stated_error() -> None:
    values, source = np.random.default_rng(8).random(20_000), hush.SeededSource(8)
    for randomizer in (hush.LaplaceReport(1.5), hush.GaussianReport(1.5)):
        found = [randomizer.mean(randomizer.encode(values, source)) - values.mean() for _ in range(60)]
        assert abs(np.mean(found)) < 5 * randomizer.standard_error(len(values)) / math.sqrt(60)
        assert 0.7 < np.std(found) / randomizer.standard_error(len(values)) < 1.4


def test_reports_have_the_law_that_the_theorem_assumes() -> None:
    source = hush.SeededSource(9)
    kary = hush.KaryResponse(epsilon=1.0, choices=4)
    counts = np.bincount(kary.encode(np.full(50_000, 2), source), minlength=4)
    expected = 50_000 * kary.table()[2]
    assert ((counts - expected) ** 2 / expected).sum() < 25  # chi-squared, 3 degrees of freedom
    unary = hush.UnaryEncoding(epsilon=1.0, choices=3)
    bits = unary.encode(np.full(50_000, 1), source)
    expected = np.array([unary.flip, unary.keep, unary.flip])
    assert np.all(np.abs(bits.mean(axis=0) - expected) < 5 * np.sqrt(expected / 50_000))
    assert abs(np.corrcoef(bits.T)[0, 1]) < 0.03


@pytest.mark.parametrize(
    ("randomizer", "values"),
    [
        (hush.KaryResponse(epsilon=1.0, choices=4), np.array([0, 3], dtype=np.uint64)),
        (hush.UnaryEncoding(epsilon=1.0, choices=4), [0, 3]),
        (hush.UnaryEncoding(epsilon=1.0, choices=4, optimised=False), [0, 3]),
        (hush.LaplaceReport(1.0), [0.0, 1.0]),
        (hush.GaussianReport(1.0), [0.0, 1.0]),
    ],
    ids=str,
)
def test_reports_are_secret_unless_seeded(randomizer, values) -> None:
    first, second = (randomizer.encode(np.tile(values, 100)) for _ in range(2))
    assert not np.array_equal(first, second)
    assert np.array_equal(*(randomizer.encode(values, hush.SeededSource(1)) for _ in range(2)))
    with pytest.raises(hush.InvalidParameter, match="hush.Source"):
        randomizer.encode(values, np.random.default_rng(1))


@pytest.mark.parametrize("make", [hush.LaplaceReport, hush.GaussianReport])
@pytest.mark.parametrize("scale", [0.1, 1.0, 37.5, 1e4])
def test_noisy_numbers_of_any_value_lie_on_one_grid(make, scale: float) -> None:
    """Else the low bits of a report would tell the number; and 0 and 1 must be as far apart as was accounted for."""
    grid = report_grid(scale)
    reports = make(scale).encode([0.0, 1 / 3, 0.5, math.nextafter(1, 0), 1.0] * 100, hush.SeededSource(1))
    assert np.array_equal(reports / float(grid.step), np.rint(reports / float(grid.step)))
    same = [make(scale).encode([value], hush.SeededSource(2))[0] for value in (0.0, 1.0)]
    assert same[1] - same[0] == 1.0


@pytest.mark.parametrize("choices", [2, 3, 1000])
@pytest.mark.parametrize("epsilon", [1e-4, 1.0, 30.0])
def test_lies_are_as_frequent_as_epsilon_needs_or_more(epsilon: float, choices: int) -> None:
    """The chance that the coins have, as a fraction, against the exact one; at epsilon 30 the own chance is 1 - 1e-13."""
    kary = hush.KaryResponse(epsilon=epsilon, choices=choices)
    lie = Fraction(min((choices - 1) * kary.other * SURE, 1.0))
    most = Fraction(Context(prec=50).exp(Decimal(epsilon)))
    assert (1 - lie) * (choices - 1) / lie <= most
    for optimised in (True, False):
        unary = hush.UnaryEncoding(epsilon=epsilon, choices=choices, optimised=optimised)
        flip = Fraction(unary.flip * SURE)
        turn = Fraction(1, 2) if optimised else flip
        assert (1 - turn) * (1 - flip) / (turn * flip) <= most


def test_messages_say_nothing_of_a_value() -> None:
    for attempt in (
        lambda: hush.KaryResponse(epsilon=1.0, choices=3).encode([0, 4711]),
        lambda: hush.LaplaceReport(1.0).encode([0.5, 4711.0]),
    ):
        with pytest.raises(hush.InvalidParameter) as told:
            attempt()
        assert "4711" not in str(told.value)


@pytest.mark.parametrize(
    ("make", "rule"),
    [
        (lambda: hush.LocalDP(epsilon=0), "epsilon"),
        (lambda: hush.LocalDP(epsilon=-1), "epsilon"),
        (lambda: hush.LocalDP(epsilon=math.nan), "epsilon"),
        (lambda: hush.LocalDP(epsilon=31), "epsilon"),
        (lambda: hush.LocalDP(epsilon="1"), "epsilon"),
        (lambda: hush.KaryResponse(epsilon=1.0, choices=1), "choices"),
        (lambda: hush.KaryResponse(epsilon=1.0, choices=2.5), "choices"),
        (lambda: hush.KaryResponse(epsilon=1.0, choices=10**7), "choices"),
        (lambda: hush.UnaryEncoding(epsilon=1.0, choices=3, optimised=1), "optimised"),
        (lambda: hush.LaplaceReport(scale=0.0), "scale"),
        (lambda: hush.LaplaceReport(scale=0.01), "scale"),
        (lambda: hush.GaussianReport(deviation=math.inf), "deviation"),
        (lambda: hush.LocalDP(1.0).shuffled(people=0), "people"),
        (lambda: hush.LocalDP(1.0).shuffled(people=2.5), "people"),
        (lambda: hush.LocalDP(1.0).shuffled(people=True), "people"),
        (lambda: hush.Shuffled(hush.Laplace(1.0), 100), "local randomizer"),
        (lambda: hush.KaryResponse(epsilon=1.0, choices=3).encode([0, 3]), "whole numbers"),
        (lambda: hush.KaryResponse(epsilon=1.0, choices=3).frequencies([0.5]), "whole numbers"),
        (lambda: hush.LaplaceReport(1.0).encode([2.0]), "from 0 to 1"),
        (lambda: hush.UnaryEncoding(epsilon=1.0, choices=3).frequencies([[0, 1]]), "rows of 3 bits"),
        (lambda: hush.LocalDP(1.0).then(hush.Laplace(1.0)), "relation"),
    ],
)
def test_bad_input_is_refused_by_name(make, rule: str) -> None:
    with pytest.raises(hush.InvalidParameter, match=rule):
        make()


def test_what_has_no_theorem_says_so() -> None:
    shuffled = hush.KaryResponse(epsilon=1.0).shuffled(people=100)
    with pytest.raises(hush.NotCovered, match="one person"):
        shuffled.group(2).epsilon(delta=1e-6)
    with pytest.raises(hush.NotCovered, match="replace"):
        shuffled.under(hush.Relation.ADD_REMOVE)
    with pytest.raises(hush.InvalidParameter, match="any number of records"):
        shuffled.on(hush.Poisson(rate=0.1))
    two = hush.KaryResponse(epsilon=1.0).group(2).epsilon(delta=0)
    assert two.upper == pytest.approx(2.0)
