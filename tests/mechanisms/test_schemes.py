"""Schemes against each other: what one simulates of another, what is the same, what differs, and what is not covered."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

import hush

REPLACE = hush.Relation.REPLACE
DELTA = 1e-6


def epsilon(mechanism: hush.Mechanism) -> hush.Bound:
    return mechanism.epsilon(delta=DELTA)


# -- a scheme never beats a lower bound of what it simulates ------------------------------------------------------


@pytest.mark.parametrize(
    ("noise", "share", "steps"), [(1.2, 0.001, 500), (2.0, 0.01, 100), (5.0, 0.2, 20), (0.7, 0.5, 1)]
)
def test_without_replacement_is_no_better_than_poisson_with_opposite_records(
    noise: float, share: float, steps: int
) -> None:
    """Other records that add nothing make a fixed-size sample the Poisson pair of a replaced record."""
    fixed = hush.Gaussian(noise).on(hush.WithoutReplacement(round(1000 * share), 1000)).under(REPLACE).repeat(steps)
    coins = hush.Gaussian(noise).on(hush.Poisson(rate=share)).under(REPLACE).repeat(steps)
    found = epsilon(fixed)
    assert found.lower <= found.upper
    assert found.upper >= epsilon(coins).lower * (1 - 1e-9)
    assert found.lower >= epsilon(coins).lower * (1 - 1e-6)


@pytest.mark.parametrize("noise", [0.6, 1.0, 4.0])
def test_shuffled_batches_are_no_better_than_allocation(noise: float) -> None:
    """Other records that add nothing leave one record in one random step."""
    shuffled, allocated = (hush.Gaussian(noise).on(s(steps=50)) for s in (hush.ShuffledBatches, hush.Allocation))
    assert epsilon(shuffled).lower >= epsilon(allocated).lower * (1 - 1e-6)
    assert epsilon(shuffled).upper >= epsilon(allocated).lower


@pytest.mark.parametrize(
    "scheme", [hush.Poisson(rate=0.1), hush.WithoutReplacement(10, 100), hush.WithReplacement(10, 100)]
)
def test_a_sample_that_is_known_protects_no_more_than_a_secret_one(scheme: hush.Poisson) -> None:
    mechanism = hush.Gaussian(1.0).under(REPLACE)
    known, secret = epsilon(mechanism.on(hush.Revealed(scheme))), epsilon(mechanism.on(scheme))
    assert known.upper >= secret.lower


@pytest.mark.parametrize("base", [hush.Gaussian(1.0), hush.Laplace(1.0), hush.PureDP(1.0)], ids=str)
def test_each_record_at_most_once_is_at_most_unsampled(base: hush.Mechanism) -> None:
    """With replacement this does not hold: a record may come twice."""
    whole = base.under(REPLACE)
    for scheme in (hush.WithoutReplacement(30, 100), hush.ShuffledBatches(10)):
        assert epsilon(whole.on(scheme)).upper <= epsilon(whole).upper * (1 + 1e-9)


# -- what is the same -------------------------------------------------------------------------------------------


def test_one_draw_is_one_draw() -> None:
    one, other = (
        hush.Gaussian(1.0, REPLACE).on(s(1, 50)).repeat(30) for s in (hush.WithoutReplacement, hush.WithReplacement)
    )
    first, second = epsilon(one), epsilon(other)
    assert first.upper == pytest.approx(second.upper, rel=1e-6)
    assert first.lower == pytest.approx(second.lower, rel=1e-6)


def test_ends_of_the_range() -> None:
    assert hush.Gaussian(1.0).on(hush.WithoutReplacement(5, 5)) == hush.Gaussian(1.0)
    assert hush.Gaussian(1.0).on(hush.ShuffledBatches(1)) == hush.Gaussian(1.0)
    for scheme in (hush.WithoutReplacement(0, 5), hush.WithReplacement(0, 5), hush.UnequalPoisson([0.0, 0.0])):
        assert epsilon(hush.Gaussian(1.0).on(scheme).under(REPLACE)).upper == 0


def test_equal_rates_are_poisson() -> None:
    equal, unequal = (
        hush.Gaussian(1.0).on(hush.Poisson(rate=0.1)),
        hush.Gaussian(1.0).on(hush.UnequalPoisson([0.1, 0.1, 0.02])),
    )
    assert epsilon(equal.repeat(50)) == epsilon(unequal.repeat(50))
    assert epsilon(unequal.group(2)).upper == epsilon(equal.group(2)).upper


def test_noise_stated_for_replacement_has_half_the_distance() -> None:
    scheme = hush.WithoutReplacement(10, 1000)
    stated, derived = hush.Gaussian(1.0, REPLACE).on(scheme), hush.Gaussian(2.0).on(scheme).under(REPLACE)
    assert epsilon(stated.repeat(100)).upper == pytest.approx(epsilon(derived.repeat(100)).upper, rel=1e-9)


# -- what differs ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", [hush.Poisson(rate=0.1), hush.WithoutReplacement(10, 100)])
def test_one_sample_for_all_is_not_a_sample_for_each(scheme: hush.Poisson) -> None:
    parts = [
        hush.Gaussian(2.0).under(REPLACE) if scheme != hush.Poisson(rate=0.1) else hush.Gaussian(2.0),
        hush.Laplace(2.0),
    ]
    parts[1] = parts[1].under(parts[0].relation)
    once = hush.sequence(*parts).on(scheme)
    each = hush.sequence(*(part.on(scheme) for part in parts))
    assert once != each
    one, other = epsilon(once), epsilon(each)
    assert one.lower > other.upper * 1.05, "the same people are exposed twice"


def test_without_replacement_differs_from_poisson_by_the_known_factor() -> None:
    """Where the pair of opposite records is taken for a fixed-size sample, epsilon is 5.6 times too small."""
    fixed = epsilon(hush.Gaussian(1.2).on(hush.WithoutReplacement(1, 1000)).under(REPLACE).repeat(5000))
    coins = epsilon(hush.Gaussian(1.2).on(hush.Poisson(rate=0.001)).under(REPLACE).repeat(5000))
    assert fixed.lower == pytest.approx(2.748, abs=1e-3)
    assert fixed.upper == pytest.approx(2.868, abs=1e-3)
    assert coins.upper == pytest.approx(0.494, abs=1e-3)


def test_groups_cost_more() -> None:
    scheme = hush.WithoutReplacement(10, 1000)
    sizes = [epsilon(hush.Gaussian(2.0).on(scheme).under(REPLACE).group(size)).upper for size in (1, 2, 4)]
    assert sizes == sorted(sizes)
    assert sizes[2] > 1.5 * sizes[0]


def test_renyi_bounds_beside_the_pair() -> None:
    """The generic theorem answers where only a curve is known, and the pair's own curve is at most that."""
    scheme = hush.WithoutReplacement(10, 1000)
    curve = hush.ZCDP(0.02, REPLACE).on(scheme).renyi(orders=[2, 8])
    pair = hush.Gaussian(5.0, REPLACE).on(scheme).renyi(orders=[2, 8])
    assert (pair <= curve * (1 + 1e-12)).all()
    assert (curve < 0.02 * 2).all()


# -- what is not covered, or wrong input ------------------------------------------------------------------------

UNCOVERED: dict[str, tuple[hush.Mechanism, str]] = {
    "without replacement, add or remove": (hush.Gaussian(1.0).on(hush.WithoutReplacement(1, 9)), "Poisson"),
    "with replacement, add or remove": (hush.Gaussian(1.0).on(hush.WithReplacement(1, 9)), "Poisson"),
    "known sample, add or remove": (hush.Gaussian(1.0).on(hush.Revealed(hush.Poisson(rate=0.1))), "secret"),
    "group in shuffled batches": (hush.Gaussian(1.0).on(hush.ShuffledBatches(9)).group(2), "Poisson"),
    "replace-one noise under Poisson": (hush.Gaussian(1.0, REPLACE).on(hush.Poisson(rate=0.1)), "ADD_REMOVE"),
    "many copies": (hush.Gaussian(1.0, REPLACE).on(hush.WithReplacement(10**6, 9)), "WithoutReplacement"),
    "allocation, replaced": (hush.Gaussian(1.0).on(hush.Allocation(steps=9)).under(REPLACE), "Poisson"),
}


@pytest.mark.parametrize("name", UNCOVERED)
def test_not_covered_names_what_is(name: str) -> None:
    mechanism, nearest = UNCOVERED[name]
    with pytest.raises(hush.NotCovered, match=nearest):
        epsilon(mechanism)


BAD: dict[str, tuple[Callable[[], object], str]] = {
    "size above population": (lambda: hush.WithoutReplacement(10, 9), "size=10"),
    "negative size": (lambda: hush.WithoutReplacement(-1, 9), "size=-1"),
    "half a record": (lambda: hush.WithReplacement(1.5, 9), "size=1.5"),  # type: ignore[arg-type]
    "no population": (lambda: hush.WithReplacement(1, 0), "population=0"),
    "a bool": (lambda: hush.WithoutReplacement(True, 9), "size=True"),
    "no steps": (lambda: hush.ShuffledBatches(0), "steps=0"),
    "not a number of steps": (lambda: hush.ShuffledBatches(math.nan), "steps=nan"),  # type: ignore[arg-type]
    "no rates": (lambda: hush.UnequalPoisson([]), "rates"),
    "a text of rates": (lambda: hush.UnequalPoisson("0.1"), "rates"),  # type: ignore[arg-type]
    "a rate above 1": (lambda: hush.UnequalPoisson([0.1, 1.1]), "rate=1.1"),
    "a rate that is not a number": (lambda: hush.UnequalPoisson([0.1, math.nan]), "rate=nan"),
    "revealed nothing": (lambda: hush.Revealed(0.1), "scheme=0.1"),  # type: ignore[arg-type]
    "a rate for a scheme": (lambda: hush.Gaussian(1.0).on(0.1), "scheme=0.1"),  # type: ignore[arg-type]
    "mixed relations": (
        lambda: (
            hush.Gaussian(1.0)
            .on(hush.Poisson(rate=0.1))
            .then(hush.Gaussian(1.0, REPLACE).on(hush.WithoutReplacement(1, 9)))
        ),
        "relations",
    ),
    "fixed size from a random number": (
        lambda: hush.Gaussian(1.0).on(hush.WithoutReplacement(1, 9)).on(hush.Poisson(rate=0.5)),
        "any number of records",
    ),
    "a population that is not the one accounted for": (lambda: hush.WithoutReplacement(1, 9).draw(10), "population=10"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input(name: str) -> None:
    make, shown = BAD[name]
    with pytest.raises(hush.InvalidParameter, match=shown):
        make()


def test_poisson_accounting_on_a_shuffled_loader_is_not_offered() -> None:
    """The scheme that draws is the scheme that accounts: shuffled batches give batches, never Poisson's epsilon."""
    shuffled = hush.ShuffledBatches(steps=100)
    mechanism = hush.Gaussian(1.0).on(shuffled)
    claimed = epsilon(hush.Gaussian(1.0).on(hush.Poisson(rate=0.01)).repeat(100)).upper
    assert epsilon(mechanism).lower > 4.9 * claimed
    assert "Poisson's epsilon does not apply" in mechanism.explain(delta=DELTA)
