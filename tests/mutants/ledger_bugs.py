"""Known bugs of budget books: rules that are no filters, and charges that come too late or are given back."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import hush
from hush.account import Account, Charge
from hush.ledger.budget import Budget
from hush.ledger.filters import whole_units
from hush.ledger.filters.fixed_order import RenyiFilter, order_budget

Patch = pytest.MonkeyPatch
ORDERS = (2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 20.0, 40.0)
PLACES = 40
"""Bits in which the natural filter counts one kind of release."""


# -- rules that are no filters ------------------------------------------------------------------------------------


def _budgets(rule: RenyiFilter) -> list[float]:
    return [order_budget(order, rule.epsilon, math.log(rule.delta)) for order in ORDERS]


def some_order(patch: Patch) -> None:
    """Go on while some order is within its own budget, each of them with the whole delta."""
    patch.setattr(RenyiFilter, "limited", lambda self: tuple(max(whole_units.allowed(b), 1) for b in _budgets(self)))
    patch.setattr(
        RenyiFilter, "cost", lambda self, m: tuple(math.ceil(d * 2**60) for d in m.renyi(orders=ORDERS).tolist())
    )
    patch.setattr(
        RenyiFilter,
        "admits",
        lambda self, spent: any(s / 2**60 <= b for s, b in zip(spent, _budgets(self), strict=True)),
    )


def natural(patch: Patch) -> None:
    """Go on while the exact composition of what ran so far is within (epsilon, delta)."""
    known: list[hush.Mechanism] = []

    def cost(self: RenyiFilter, mechanism: hush.Mechanism) -> tuple[int]:
        if mechanism not in known:
            known.append(mechanism)
        return (1 << (PLACES * known.index(mechanism)),)

    def admits(self: RenyiFilter, spent: tuple[int]) -> bool:
        times = [(spent[0] >> (PLACES * place)) % (1 << PLACES) for place in range(len(known))]
        ran = [m.repeat(n) for m, n in zip(known, times, strict=True) if n]
        return not ran or hush.sequence(*ran).delta(epsilon=self.epsilon).upper <= self.delta

    patch.setattr(RenyiFilter, "cost", cost)
    patch.setattr(RenyiFilter, "admits", admits)


def order_of_each_release(patch: Patch) -> None:
    """The order is chosen when a release is seen: each costs its share of the budget at the order that suits it best."""

    def cost(self: RenyiFilter, mechanism: hush.Mechanism) -> tuple[int]:
        found = mechanism.renyi(orders=ORDERS).tolist()
        shares = [d / b for d, b in zip(found, _budgets(self), strict=True) if b > 0]
        return (math.ceil(min(shares) * self.limits[0]),)

    patch.setattr(RenyiFilter, "cost", cost)


def cost_rounded_down(patch: Patch) -> None:
    from hush.ledger.filters import pure_filter

    patch.setattr(pure_filter, "charged", lambda value, what: math.floor(value * 2**60))


@cache
def _games() -> Any:
    from tests.ledger import games

    return games


def games_at_a_fixed_order() -> None:
    """300 random adaptive strategies against a fixed order, by enumeration"""
    games = _games()
    rule = RenyiFilter(games.EPSILON, games.DELTA)
    moves = games.library(rule, 30, seed=5)
    assert max(games.random_play(rule, moves, seed, 4) for seed in range(300)) <= games.DELTA * (1 + 1e-9)


# -- books --------------------------------------------------------------------------------------------------------


def _book(epsilon: float = 1.0) -> Any:
    from hush.ledger.ledger import Ledger

    book = Ledger.create(Path(tempfile.mkdtemp()) / "budget.db")
    book.add("census", Budget(epsilon=epsilon, delta=1e-6))
    return book


def crash_in_the_draw() -> None:
    """a draw that fails: paid before, not given back, and its key gives no second draw"""
    from tests.ledger.test_book_keeps_everything import test_reserved_before_the_draw_and_spent_if_it_fails

    test_reserved_before_the_draw_and_spent_if_it_fails(_book())


def an_analyst_within_a_dataset() -> None:
    """an analyst's charges against the budget of the dataset"""
    book = _book()
    book.add("ann", Budget(epsilon=100.0, delta=1e-6), within="census")
    with pytest.raises(hush.BudgetExceeded):
        book.record(hush.Gaussian(1.0), dataset="ann")


def deduct_afterwards(patch: Patch) -> None:
    """Run first, and charge what ran: a crash in between is a free release."""
    from hush.releases import records

    def wrong(
        ledger: Account, charge: Charge, run: Callable[[], Any], *, write: Callable[[Any], str], read: Any
    ) -> Any:
        found = run()
        ledger.reserve(charge).finish(write(found))
        return found

    patch.setattr(records, "paid", wrong)


def refund(patch: Patch) -> None:
    """What failed is given back."""
    from hush.releases import records

    right = records.paid

    def wrong(ledger: Any, charge: Charge, run: Callable[[], Any], **forms: Any) -> Any:
        path = [node.name for node in ledger.node.path]
        before = ledger.store.read(lambda book: book.spent(tuple(path)))
        try:
            return right(ledger, charge, run, **forms)
        except OSError:
            ledger.store.write(lambda book: [book.spend(name, units) for name, units in before.items()])
            raise

    patch.setattr(records, "paid", wrong)


def analyst_without_dataset(patch: Patch) -> None:
    """A charge goes to the analyst's budget alone."""
    from hush.ledger import spending

    patch.setattr(spending.Node, "path", property(lambda self: (self,)))


def two_runs_from_one_step() -> None:
    """two runs that go on from one step, the second past what the first has noted"""
    account, charge = _book().account(key="run"), Charge("a run", hush.Laplace(10.0))
    account.reserve(charge).note(2)
    one, other = (account.reserve(charge, resumed=2) for _ in range(2))
    one.note(3)
    with pytest.raises(hush.LedgerError):
        other.note(4)


def steps_only_grow(patch: Patch) -> None:
    """A run may note any step that is later than the last one, from wherever it goes on."""
    from hush.ledger import spending

    def wrong(self: Any, book: Any) -> None:
        self.noted = spending.progress(book, self._entry.number)[0]

    patch.setattr(spending.BookReserved, "_require_alone", wrong)


def a_book_that_cannot_be_written() -> None:
    """a training whose end the book cannot take"""
    from tests.ledger.test_training_is_paid_once import test_what_the_book_cannot_take_is_not_shown

    folder, book = Path(tempfile.mkdtemp()), _book(epsilon=100.0)
    with pytest.MonkeyPatch.context() as patch:
        test_what_the_book_cannot_take_is_not_shown(book, folder, patch, "finish")


def file_before_book(patch: Patch) -> None:
    """A checkpoint takes its place, and then the book is told."""
    from hush.learning.dpsgd.checkpoint import Checkpoint

    right = Checkpoint.save

    def wrong(self: Checkpoint, path: Any, step: int, *, private: bool, agreed: Callable[[], object]) -> None:
        right(self, path, step, private=private)
        agreed()

    patch.setattr(Checkpoint, "save", wrong)


def one_key_for_two_prices() -> None:
    """a dear release under the key of a cheap one, which is described by the same words"""
    from tests.ledger.test_book_keeps_everything import (
        test_mechanisms_of_the_same_words_are_told_apart_by_their_cost as told_apart,
    )

    told_apart(_book())


def known_by_words_alone(patch: Patch) -> None:
    """A key stands for the words of a request."""
    from hush.ledger import spending

    right = spending.BookAccount._entry

    def wrong(self: Any, kind: Any, charge: Charge) -> Any:
        entry, costs = right(self, kind, charge)
        return entry._replace(request=f"{charge.what} {charge.mechanism}"), costs

    patch.setattr(spending.BookAccount, "_entry", wrong)
