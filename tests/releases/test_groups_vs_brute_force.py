"""Sensitivities and stated profiles of grouped queries against brute force over all tiny tables."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from scipy.stats import norm

import hush
from hush import releases
from hush.releases.group_by.contributions import AtMost, reach_of
from hush.releases.group_by.key_selection import keep_probabilities
from tests.releases.tiny_tables import GROUPS, excess

ADD, REPLACE = hush.Relation.ADD_REMOVE, hush.Relation.REPLACE
GIVEN = {"group": GROUPS}
UNKNOWN = releases.Unknown("group")
ROUNDING = 1e-9


def users_of(l0: int, linf: int, total: int | None, groups: int) -> list[tuple[int, ...]]:
    """Numbers of records per group that one user may have."""
    found = product(range(linf + 1), repeat=groups)
    return [u for u in found if sum(n > 0 for n in u) <= l0 and (total is None or sum(u) <= total)]


@pytest.mark.parametrize("l0", [1, 2, 3])
@pytest.mark.parametrize("linf", [1, 2, 3])
@pytest.mark.parametrize("total", [None, 1, 2, 3, 4, 5])
def test_counts_added_or_removed(l0: int, linf: int, total: int | None) -> None:
    found = reach_of(AtMost(l0, linf, total), ADD, low=0, high=1)
    users = users_of(l0, linf, total, 3)
    assert found.l1 == max(sum(u) for u in users)
    assert math.isclose(found.l2, max(math.sqrt(sum(n * n for n in u)) for u in users), rel_tol=1e-12)


def sums(user: tuple[int, ...], low: int, high: int) -> set[tuple[int, ...]]:
    """The extreme sums per group of records from low to high."""
    return set(product(*({n * low, n * high} for n in user)))


@pytest.mark.parametrize(("low", "high"), [(0, 1), (-1, 1), (-3, 1), (-1, 3), (1, 2), (-2, -1)])
@pytest.mark.parametrize(("l0", "linf"), [(1, 1), (1, 2), (2, 1), (2, 2)])
def test_sums_replaced(low: int, high: int, l0: int, linf: int) -> None:
    found = reach_of(AtMost(l0, linf), REPLACE, low=low, high=high)
    every = {s for u in users_of(l0, linf, None, 2 * l0) for s in sums(u, low, high)}
    apart = [[abs(a - b) for a, b in zip(x, y, strict=True)] for x in every for y in every]
    assert found.l1 == max(map(sum, apart))
    assert math.isclose(found.l2, max(math.sqrt(sum(d * d for d in a)) for a in apart), rel_tol=1e-12)


def test_a_limit_on_all_records_pays_the_root() -> None:
    """l0 = 10, linf = 2, K = 5: 3, where the usual formula gives 5."""
    found = reach_of(AtMost(10, 2, 5), ADD, low=0, high=1)
    assert (found.l1, round(found.l2, 12)) == (5, 3.0)


def test_published_values_of_thresholds() -> None:
    laplace = hush.DiscreteLaplace(2.0, 1)
    a = math.exp(-0.5)
    mechanism = hush.UnknownKeys(laplace, 2, a**8 / (1 + a))
    for epsilon, delta in ((0.2, 0.213360587073), (1.0, 0.0226715037863)):
        assert mechanism.delta(epsilon=epsilon, tolerance=1e-12).upper == pytest.approx(delta, rel=1e-11)
    gaussian = hush.UnknownKeys(hush.Gaussian(10.0), 5, float(norm.sf(5.9)))
    assert gaussian.delta(epsilon=0.8, tolerance=1e-12).upper == pytest.approx(1.42023634045636e-5, rel=1e-12)


def test_published_values_of_optimal_selection() -> None:
    chances = keep_probabilities(1.0, 1e-5)
    assert [chances[n] for n in (5, 11, 12)] == pytest.approx(
        [0.000857910248837, 0.348447738453313, 0.760310996922627], rel=1e-12
    )
    chances = keep_probabilities(0.5, 1e-6)
    assert [chances[n] for n in (25, 26)] == pytest.approx([0.413638797801827, 0.644354559731509], rel=1e-12)
    many = releases.GroupBy(keys=UNKNOWN, ask={}, epsilon=1.0, delta=1e-6, unit="who", contributions=AtMost(20, 1))
    chances = keep_probabilities(*many.plan.selection)  # type: ignore[misc]
    assert next(n for n, chance in enumerate(chances) if chance >= 0.5) == 249


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-5), (0.5, 1e-6), (2.0, 0.01)])
def test_selection_is_private_at_every_number_of_users(epsilon: float, delta: float) -> None:
    chances = np.array([*keep_probabilities(epsilon, delta), 1.0])
    for p, q in ((chances[1:], chances[:-1]), (chances[:-1], chances[1:])):
        for a, b in ((p, q), (1 - p, 1 - q)):
            assert np.all(a <= math.exp(epsilon) * b + delta + 1e-12)


def query(keys: object, ask: dict, relation: hush.Relation = ADD, **more: object) -> releases.GroupBy:
    given = {"epsilon": 1.0, "delta": 0.01, "unit": "who", "contributions": AtMost(2, 2)} | more
    return releases.GroupBy(keys=keys, ask=ask, relation=relation, **given)  # type: ignore[arg-type]


ROWS, USERS = {"n": releases.Rows()}, {"u": releases.Users()}
BOTH = USERS | ROWS


@pytest.mark.parametrize("most", [AtMost(1, 1), AtMost(2, 2), AtMost(1, 2), AtMost(2, 2, 3), AtMost(total=2)], ids=str)
@pytest.mark.parametrize("relation", [ADD, REPLACE])
@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_given_keys(most: AtMost, relation: hush.Relation, noise: str) -> None:
    asked = query(GIVEN, ROWS, relation, contributions=most, noise=noise)
    assert excess(asked, asked.mechanism) <= ROUNDING


@pytest.mark.parametrize("relation", [ADD, REPLACE])
@pytest.mark.parametrize("most", [AtMost(1, 1), AtMost(2, 1), AtMost(1, 2)], ids=str)
@pytest.mark.parametrize("noise", ["laplace", "gaussian", "auto"])
def test_unknown_keys(relation: hush.Relation, most: AtMost, noise: str) -> None:
    asked = query(UNKNOWN, USERS, relation, contributions=most, delta=0.05, noise=noise)
    assert excess(asked, asked.mechanism, most=most.linf) <= ROUNDING


@pytest.mark.parametrize("relation", [ADD, REPLACE])
def test_unknown_keys_and_two_counts(relation: hush.Relation) -> None:
    asked = query(UNKNOWN, BOTH, relation, contributions=AtMost(1, 2), epsilon=4.0, delta=0.05)
    assert excess(asked, asked.mechanism, users=1, only="a") <= ROUNDING


@pytest.mark.parametrize("keys", [GIVEN, UNKNOWN], ids=["given", "unknown"])
@pytest.mark.parametrize("rate", [0.1, 0.5])
def test_sampled_users(keys: object, rate: float) -> None:
    asked = query(keys, USERS, contributions=AtMost(2, 1), delta=0.05)
    assert excess(asked, asked.on(hush.Poisson(rate=rate)).mechanism, users=3, most=1, rate=rate) <= ROUNDING


@pytest.mark.slow
@pytest.mark.parametrize("most", [AtMost(1, 1), AtMost(2, 1), AtMost(1, 2), AtMost(2, 2), AtMost(total=2)], ids=str)
@pytest.mark.parametrize("relation", [ADD, REPLACE])
@pytest.mark.parametrize("noise", ["laplace", "gaussian", "auto"])
@pytest.mark.parametrize("keys", [GIVEN, UNKNOWN], ids=["given", "unknown"])
def test_all_tables_of_three_users(most: AtMost, relation: hush.Relation, noise: str, keys: object) -> None:
    asked = query(keys, USERS, relation, contributions=most, noise=noise, delta=0.05)
    assert excess(asked, asked.mechanism, users=3, most=2) <= ROUNDING


@pytest.mark.slow
@pytest.mark.parametrize("most", [AtMost(1, 1), AtMost(2, 1), AtMost(2, 2)], ids=str)
@pytest.mark.parametrize("relation", [ADD, REPLACE])
@pytest.mark.parametrize("noise", ["laplace", "auto"])
@pytest.mark.parametrize("keys", [GIVEN, UNKNOWN], ids=["given", "unknown"])
@pytest.mark.parametrize("rate", [0.1, 0.5])
def test_samples_of_three_users(most: AtMost, relation: hush.Relation, noise: str, keys: object, rate: float) -> None:
    asked = query(keys, USERS, relation, contributions=most, noise=noise, delta=0.05)
    try:
        mechanism = asked.on(hush.Poisson(rate=rate)).mechanism
    except hush.NotCovered:
        assert relation is REPLACE
        return
    assert excess(asked, mechanism, users=3, most=most.linf, rate=rate) <= ROUNDING


def test_the_bound_is_met() -> None:
    """Brute force comes close, so that the tests above can fail."""
    for keys in (GIVEN, UNKNOWN):
        asked = query(keys, USERS, contributions=AtMost(2, 1), delta=0.05)
        assert excess(asked, asked.mechanism, most=1) > -1e-3
