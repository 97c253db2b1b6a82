"""Where a release is paid for: the small interface between what spends a budget and the book that is handed to it.

Releases and trainings take `ledger=`, an `Account`. They never see the book behind it (hush.ledger has one), so none of
them needs a database. Whatever has a mechanism can be paid for: say what is about to run in a `Charge`, and run it by
`paid`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn, Self, TypeVar

from hush.errors import InvalidParameter
from hush.mechanisms.mechanism import Mechanism

RECORD = "record"
"""The unit of a guarantee that protects single records."""

Result = TypeVar("Result")


@dataclass(frozen=True)
class Charge:
    """What is about to run: the request in words, which with the mechanism tells it from others, and whom it protects.

    Nothing of it may depend on a record.
    """

    what: str
    mechanism: Mechanism
    unit: str = RECORD
    """What the guarantee protects: a record, or whoever shares a value of the column of this name."""
    private: bool = True
    """Whether its randomness is secret; what can be replayed is refused."""


def unit_of(column: str | None) -> str:
    """The unit of a guarantee for whoever shares a value of a column; of a record without one.

    A column of users that is itself called "record" is quoted: its users are not single records.

    >>> unit_of(None), unit_of("patient"), unit_of("record")
    ('record', 'patient', "'record'")
    """
    return RECORD if column is None else repr(column) if column == RECORD else column


class Reserved(ABC):
    """A charge that is in the book already, and whose answer may be on its way."""

    answer: str | None = None
    """The answer of an earlier run of the same request under the same key, as it was kept; then nothing must run."""
    noted: int = -1
    """The last step that the book knows of; whoever goes on goes on from there."""

    @abstractmethod
    def note(self, step: int, answer: str = "") -> None:
        """Keep how far it is, before that is shown; steps only grow, and only one run goes on from each."""

    @abstractmethod
    def finish(self, answer: str) -> None:
        """Keep the answer, before it is shown; empty where it cannot be kept."""


class Account(ABC):
    """Pays for releases from one dataset: what `ledger=` takes."""

    @abstractmethod
    def reserve(self, charge: Charge, *, resumed: int | None = None) -> Reserved:
        """Pay, before anything is drawn; raises where it must not run, and then nothing is paid.

        `resumed` is the step at which an earlier run of the same request goes on: that is not paid again.
        """

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """There is one book, however often a model with an account is cloned."""
        return self

    def __reduce__(self) -> NoReturn:
        """A stored copy would hold the way to the book, with its password."""
        raise InvalidParameter("An account", "to stay in its process: store a model with ledger=None", stored=True)


def checked_account(who: str, ledger: object) -> Account | None:
    """What was given as ledger=, if it is an account."""
    if ledger is not None and not isinstance(ledger, Account):
        rule = "ledger= a hush.ledger.Ledger, or ledger.account(...) of one"
        raise InvalidParameter(who, rule, ledger=type(ledger))
    return ledger


def paid(
    ledger: Account | None,
    charge: Charge,
    run: Callable[[], Result],
    *,
    write: Callable[[Result], str],
    read: Callable[[str], Result],
) -> Result:
    """What `run` gives: paid before it runs, kept before it is shown, and read again where the same was asked before.

    >>> import hush
    >>> paid(None, Charge("a draw", hush.Laplace(1.0)), lambda: 7, write=str, read=int)
    7
    """
    account = checked_account("A release", ledger)
    if account is None:
        return run()
    reserved = account.reserve(charge)
    if reserved.answer is not None:
        return read(reserved.answer)
    found = run()
    reserved.finish(write(found))
    return found
