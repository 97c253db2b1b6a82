"""Tables that are made with attempts have a budget of their own: no answer depends on the questions before it."""

from __future__ import annotations

from contextlib import suppress

import pytest

import hush
from hush import GeometricRuns
from hush.curves.theorems.selection import dense_table, layers
from hush.mechanisms.neighbours import REMOVED
from hush.numerics import work

RUNS = GeometricRuns(0.1)


def test_a_table_that_a_poor_question_asked_for_is_the_one_that_a_rich_one_gets() -> None:
    pair = hush.Laplace(2.123).repeat(4).evidence(REMOVED).pair
    for poor in (1e5, 3e6, 1e8):
        with work.question(), work._limited(poor), suppress(work.Exhausted):
            layers(RUNS, pair, pair)
    with work.question():
        again = dense_table(pair)
    with work.question():
        assert again == work.kept(1, 0.3 * work.QUESTION)(dense_table.__wrapped__)(pair)  # type: ignore[attr-defined]


def test_what_there_was_no_work_for_is_charged_and_remembered_as_that() -> None:
    calls: list[int] = []

    @work.kept(4, 1e6)
    def heavy(number: int) -> int:
        calls.append(number)
        work.spend(1e7)
        return number

    for _ in range(3):
        with work.question():
            with pytest.raises(work.Exhausted):
                heavy(1)
            left = work._open.get()
            assert left is not None
            assert left.left == work.QUESTION - 1e6 - work.CALL
    assert calls == [1]


WHOLES = [
    hush.Laplace(2.0).repeat(4).best_of(runs=RUNS),
    hush.Gaussian(2.0).best_of(runs=RUNS).repeat(2).then(hush.Laplace(3.0)),
    hush.Either(hush.Laplace(2.0).repeat(2), hush.Gaussian(2.0), chance=0.1),
    hush.Laplace(2.0).repeat(2).on(hush.Allocation(steps=5)).repeat(2),
    hush.Skellam(5.0).repeat(3),
]


@pytest.mark.parametrize("whole", WHOLES, ids=str)
def test_nothing_that_is_remembered_attempts_anything(whole: hush.Mechanism, monkeypatch: pytest.MonkeyPatch) -> None:
    """What an attempt gives depends on the work that is left, which what is remembered must not."""
    inside: list[bool] = []
    usual = work.part

    def noted(share: float) -> object:
        budget = work._open.get()
        inside.append(share == work.MOST and budget is not None and budget.trace is not None)
        return usual(share)

    monkeypatch.setattr(work, "part", noted)
    whole.epsilon(delta=1.2345e-6)
    assert inside
    assert not any(inside)
