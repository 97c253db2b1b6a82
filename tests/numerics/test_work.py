"""Budgets of work: nested shares, ways that fail, values that are remembered."""

from __future__ import annotations

import numpy as np
import pytest

from hush.errors import NotCovered
from hush.numerics.work import (
    CALL,
    LARGEST,
    MOST,
    QUESTION,
    Exhausted,
    attempt,
    part,
    question,
    remembered,
    room,
    spend,
)


def steps_left() -> int:
    """How many steps of a ten-thousandth of a question can still be made."""
    steps = 0
    while attempt(lambda: spend(QUESTION * 1e-4) or True, False):
        steps += 1
    return steps


def test_a_question_ends_where_its_work_does() -> None:
    with question():
        spend(QUESTION / 2)
        with pytest.raises(Exhausted):
            spend(QUESTION / 2)
        spend(QUESTION / 4)  # what was refused was not done, so it is not charged


def test_without_a_question_work_is_not_limited_but_arrays_are() -> None:
    spend(1e30)
    room(LARGEST)
    with pytest.raises(NotCovered, match="more work"):
        room(LARGEST + 1)


def test_a_way_that_runs_out_leaves_work_for_the_next() -> None:
    with question():
        assert attempt(lambda: spend(MOST * QUESTION + 1), "no") == "no"
        assert attempt(lambda: spend(MOST / 2 * QUESTION), "no") is None
        with part(0.5), pytest.raises(Exhausted):
            spend(0.6 * QUESTION)


def test_a_way_that_leaves_the_floats_has_no_answer() -> None:
    with question():
        assert attempt(lambda: float(np.exp(np.float64(1000.0))), 7.0) == 7.0
        assert attempt(lambda: float(np.float64(0.0) / np.float64(0.0)), 7.0) == 7.0
        assert attempt(lambda: 10.0**400, 7.0) == 7.0


def test_a_question_that_leaves_the_floats_is_not_covered() -> None:
    with pytest.raises(NotCovered, match="beyond floats"), question():
        np.exp(np.float64(1000.0))


def test_an_inner_question_has_no_budget_of_its_own() -> None:
    with question(), question(), pytest.raises(Exhausted):
        spend(QUESTION / 2)
        with question():
            spend(QUESTION / 2)


def test_what_is_remembered_costs_the_same_in_every_question() -> None:
    """An answer must not depend on what was asked before."""
    calls = []

    @remembered(2)
    def heavy(x: int) -> int:
        calls.append(x)
        spend(QUESTION / 4)
        return x

    def asked() -> int:
        with question():
            heavy(1)
            heavy(1)  # in one question it is made once
            return steps_left()

    assert asked() == asked()
    assert calls == [1]
    with question():
        spend(QUESTION * 0.9)
        with pytest.raises(Exhausted):
            heavy(1)
    for x in (2, 3, 1):
        heavy(x)
    assert calls == [1, 2, 3, 1]


def test_every_step_costs_something() -> None:
    """A loop of empty steps ends too."""
    with question(), pytest.raises(Exhausted):
        for _ in range(int(QUESTION / CALL) + 2):
            spend(0)


def test_attempts_inside_attempts_end() -> None:
    """300 ways at each of eight levels, none of which spends anything itself: only their number is work."""
    calls = 0

    def way(level: int) -> int:
        nonlocal calls
        calls += 1
        return sum(attempt(lambda: way(level - 1), 0) for _ in range(300)) if level else 1

    with question():
        way(8)
    assert calls <= 2 * QUESTION / CALL
