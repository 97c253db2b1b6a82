"""The order of composition, and of parts side by side, does not matter."""

from __future__ import annotations

import pytest
from hypothesis import assume, given

import hush
from tests.laws.comparison import agree
from tests.strategies import DELTAS, LAWS, add_remove, is_covered, plain

STEP = add_remove(1).filter(is_covered)


def assert_same(one: hush.Bound, other: hush.Bound) -> None:
    assert agree(one, other)
    assert one.upper == pytest.approx(other.upper, rel=1e-3, abs=1e-9)


@LAWS
@given(plain(1), plain(1), plain(1), DELTAS)
def test_sequence(first: hush.Mechanism, second: hush.Mechanism, third: hush.Mechanism, delta: float) -> None:
    one, other = first.then(second, third).epsilon(delta=delta), third.then(first).then(second).epsilon(delta=delta)
    assert_same(one, other)


@LAWS
@given(STEP, STEP, DELTAS)
def test_side_by_side_costs_the_larger(first: hush.Mechanism, second: hush.Mechanism, delta: float) -> None:
    """In either order. McSherry 2009, Thm 4: one record is in one part."""
    try:
        whole, other = first.beside(second).epsilon(delta=delta), second.beside(first).epsilon(delta=delta)
    except hush.NotCovered:  # a part that has only a pair beside one that has only a curve
        assume(False)
    assert_same(whole, other)
    parts = [first.epsilon(delta=delta), second.epsilon(delta=delta)]
    assert whole.upper >= max(p.lower for p in parts) * (1 - 1e-9)
    assert whole.lower <= max(p.upper for p in parts) * (1 + 1e-9)
    assert whole.lower <= first.then(second).epsilon(delta=delta).upper * (1 + 1e-9)
