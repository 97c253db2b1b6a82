"""Replacing one record against adding or removing: what is known of one says something about the other."""

from __future__ import annotations

import math

from hypothesis import assume, given

import hush
from hush import Relation
from tests.strategies import DELTAS, EPSILONS, LAWS, add_remove, is_covered

ADD_REMOVE = add_remove(2).filter(is_covered)


@LAWS
@given(ADD_REMOVE, EPSILONS)
def test_replacing_is_at_most_a_removal_and_an_addition(mechanism: hush.Mechanism, epsilon: float) -> None:
    """Group privacy for two steps (Vadhan 2017, Lemma 2.2)."""
    replaced = mechanism.under(Relation.REPLACE)
    assume(is_covered(replaced))
    generic = mechanism.delta(epsilon=epsilon).upper * (1 + math.exp(epsilon))
    assert replaced.delta(epsilon=2 * epsilon).lower <= generic * (1 + 1e-9)


@LAWS
@given(ADD_REMOVE)
def test_restating_twice_is_the_same(mechanism: hush.Mechanism) -> None:
    replaced = mechanism.under(Relation.REPLACE)
    assert mechanism.under(Relation.ADD_REMOVE) == mechanism
    assert replaced.under(Relation.REPLACE) == replaced
    assert replaced.under(Relation.ADD_REMOVE) == mechanism
    assert replaced.relation is Relation.REPLACE


@LAWS
@given(ADD_REMOVE, DELTAS)
def test_under_commutes_with_repeat(mechanism: hush.Mechanism, delta: float) -> None:
    outer, inner = mechanism.repeat(3).under(Relation.REPLACE), mechanism.under(Relation.REPLACE).repeat(3)
    assume(is_covered(outer) and is_covered(inner))
    one, other = outer.epsilon(delta=delta), inner.epsilon(delta=delta)
    assert one.lower <= other.upper * (1 + 1e-9)
    assert other.lower <= one.upper * (1 + 1e-9)
