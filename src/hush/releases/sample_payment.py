"""How a secret sample is paid for: as one charge, for uses that were declared before it was drawn."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from threading import RLock
from typing import Any

from hush.account import Account, Charge, Reserved
from hush.errors import AlreadySpent, InvalidParameter, NotCovered
from hush.mechanisms.mechanism import Mechanism, require
from hush.releases.answer import Answerable
from hush.releases.kept_release import read_release, write_release
from hush.releases.release import Release


class SamplePayment:
    """The charge of one sample, and which of its uses comes next."""

    def __init__(self, ledger: Account, uses: tuple[Mechanism, ...]) -> None:
        self._ledger, self._uses = ledger, uses
        self._reserved: Reserved | None = None
        self._charge: Charge | None = None
        self.lock = RLock()

    @classmethod
    def of(cls, ledger: Account | None, uses: Iterable[Any] | None) -> SamplePayment | None:
        """None without a ledger, which is what uses are declared to."""
        if ledger is None:
            if uses is not None:
                raise InvalidParameter("Sample", "a ledger= to which uses are declared", uses=type(uses))
            return None
        if uses is not None and not isinstance(uses, Iterable):
            raise InvalidParameter("Sample", "a list of queries or mechanisms", uses=type(uses))
        given = () if uses is None else tuple(uses)
        return cls(ledger, tuple(require("Sample", getattr(use, "mechanism", use)) for use in given))

    def plan(self, use: Mechanism, place: int) -> tuple[Mechanism, ...]:
        """All declared uses, if this is the next of them; the first use declares itself where none were."""
        uses = self._uses or (use,)
        if place >= len(uses) or uses[place] != use:
            raise NotCovered(
                f"use {place + 1} of this sample: with a ledger a sample has the uses that were declared in advance "
                f"({len(uses)}), in their order. Covered: Sample(..., uses=[...]), or a new sample"
            )
        return uses

    def run(
        self,
        charge: Charge,
        uses: tuple[Mechanism, ...],
        place: int,
        answered: Callable[[], Release],
        query: Answerable | None,
    ) -> Release:
        """Reserve before the sample is drawn, and keep each answer before it is shown."""
        if self._reserved is None:
            self._reserved, self._charge, self._uses = self._ledger.reserve(charge), charge, uses
        if self._reserved.answer is not None:
            if charge != self._charge:
                raise AlreadySpent("This sample is paid for another request, whose answer is in the book.")
            again = () if query is None else (query.given_again,)
            return read_release(self._reserved.answer, charge.mechanism, *again)
        found = answered()
        kept = write_release(found, *(() if query is None else (query.kept,)))
        if len(self._uses) == 1:
            self._reserved.finish(kept)
            return found
        self._reserved.note(place, kept)
        if place + 1 == len(self._uses):
            self._reserved.finish("")
        return found
