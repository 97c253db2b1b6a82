"""A secret sample, drawn once; everything that is released from it is accounted together."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from threading import Lock
from typing import Any, NoReturn, TypeVar

from hush.account import Account, checked_account
from hush.errors import InvalidParameter, NotCovered
from hush.mechanisms.combinators.one_after_another import Sequence
from hush.mechanisms.mechanism import Mechanism, require
from hush.mechanisms.scheme import Scheme
from hush.randomness.source import Source, source_or_secure, this_process
from hush.releases.answer import Answerable, Run
from hush.releases.boundary import sealed
from hush.releases.conditions import (
    by_unit,
    checked_confidence,
    covered,
    require_one_sample,
    require_placed,
)
from hush.releases.kept_release import charge_of
from hush.releases.records import Manner, Records
from hush.releases.release import Release
from hush.releases.sample_payment import SamplePayment
from hush.releases.tables.columns import NUMBERS
from hush.releases.tables.table import Table, as_table

Result = TypeVar("Result")
RAISES_NOTHING = "a function that raises nothing (the fault is not told: it may show a record; try it on public rows)"


class Sample(Records):
    """A random sample of the data that nobody sees; its uses are collected, and amplified once, all together.

    The first use draws it. Each further use re-accounts the product of all uses under the one sampling: two amplified
    guarantees of one sample never simply add up.

    >>> import hush
    >>> sample = Sample(range(1000), hush.Poisson(rate=0.1), source=hush.SeededSource(1))
    >>> first = sample.release(hush.releases.Count(epsilon=0.5))
    >>> second = sample.release(hush.releases.Count(epsilon=0.5))
    >>> sample.mechanism == hush.sequence(*sample.uses).on(hush.Poisson(rate=0.1)) == second.mechanism
    True
    >>> second.mechanism.epsilon(delta=0).upper
    0.158...

    With a `ledger` the whole sample is one charge, paid before it is drawn. Its `uses`, queries or mechanisms, are then
    declared in advance, in their order; without them there is one. No theorem covers a use that is chosen after seeing
    the answer of another on the same sample.
    """

    def __init__(
        self,
        data: Any,
        scheme: Scheme,
        *,
        source: Source | None = None,
        ledger: Account | None = None,
        uses: Iterable[Any] | None = None,
    ) -> None:
        self._table = as_table(data)
        self._scheme = require_one_sample(scheme)
        self._source = source_or_secure(source)
        self._paid = SamplePayment.of(checked_account("Sample", ledger), uses)
        self._drawn: Table | None = None
        self._uses: tuple[Mechanism, ...] = ()
        self._lock = Lock()
        self._process = this_process()

    @property
    def scheme(self) -> Scheme:
        """How the sample is drawn."""
        return self._scheme

    @property
    def uses(self) -> tuple[Mechanism, ...]:
        """What ran on the sample so far, each as if the sample were all there is."""
        self._require_here()
        return self._uses

    @property
    def mechanism(self) -> Mechanism:
        """All uses so far under the one sampling: what they give away together about all the records."""
        if not self.uses:
            raise InvalidParameter("Sample.mechanism", "at least one use", uses=0)
        return self._accounted(self._uses)

    def release(self, query: Answerable, *, confidence: float = 0.95, column: str | None = None) -> Release:
        """The query's noisy answer on the sample, for all the records; its mechanism is that of all uses so far."""
        if not isinstance(query, Answerable):
            raise InvalidParameter("Sample.release", "a query such as hush.releases.Mean(...)", query=type(query))
        if not query.of_records:
            raise NotCovered(
                "a query for whole users on a sample of records: write query.on(scheme), which draws users"
            )
        confidence = checked_confidence(confidence)
        query.check_sample(self._scheme)
        if self._table.column not in (None, column) and column is not None:
            raise InvalidParameter("Sample.release", f"the column that is drawn ({self._table.column})", column=column)
        table = self._table.of(column)
        query.check(table)
        names = (table.name,) if query.reads else ()
        numbers = query.reads == "numbers"

        def answered() -> Release:
            mechanism, drawn, _ = self._spend(
                query.mechanism, names, numbers=numbers, read=lambda drawn: drawn.load(names, numbers=numbers)
            )
            found = query.sealed_answer(Run(drawn.of(column), self._source, confidence, self._scheme))
            return Release(
                found.value, mechanism, found.noise_interval, found.total_interval, self._source.private, sample=self
            )

        found = self._payment(query, query.mechanism, table, confidence, answered)
        return replace(found, subject=query.subject(table.column))

    def ask(self, query: Answerable, manner: Manner) -> Release:
        """See Records: `release`, with the sample's own source and ledger."""
        if manner.source is not None:
            raise InvalidParameter("release", "no source of its own: the sample has one", source=manner.source)
        if manner.ledger is not None:
            rule = "no ledger of its own: Sample(..., ledger=...) takes it"
            raise InvalidParameter("release", rule, ledger=type(manner.ledger))
        return self.release(query, confidence=manner.confidence, column=manner.column)

    def apply(self, function: Callable[[Any], Any], *, guarantee: Mechanism) -> Release:
        """Run a function of the drawn records whose result has the stated guarantee, for instance hush.PureDP(1.0).

        The function gets an array (of the chosen column, or the rows of the array that was given), or a dict of arrays,
        one per column. Their types follow from the schema: whole numbers that may be missing are floats, missing ones
        NaN. What it returns is released as it is, so it must itself add the noise that the guarantee speaks of; its
        guarantee is amplified here. It must not keep or show the records. What it warns of is not shown, and what it
        raises becomes InvalidParameter without a word about the fault, which may hold a record: try it on rows of
        your own first.

        >>> import hush
        >>> sample = Sample(range(1000), hush.Poisson(rate=0.1))
        >>> sample.apply(lambda records: 42, guarantee=hush.PureDP(1.0)).mechanism.epsilon(delta=0).upper
        0.158...
        """
        if not callable(function):
            raise InvalidParameter("Sample.apply", "a function of the drawn records", function=function)
        texts = tuple(name for name in self._table.handed if self._table.reader.kind(name) not in NUMBERS)
        use = require("Sample.apply", guarantee)
        name = getattr(function, "__name__", type(function).__name__)

        def answered() -> Release:
            mechanism, _, records = self._spend(use, texts, numbers=False, read=lambda drawn: drawn.whole())
            value = sealed(lambda: function(records), who="Sample.apply", rule=RAISES_NOTHING, own=False, function=name)
            return Release(value, mechanism, None, None, self._source.private, sample=self)

        return self._payment(f"the function {name}", use, self._table, 0.0, answered)

    def _payment(
        self, asked: Answerable | str, use: Mechanism, table: Table, confidence: float, answered: Callable[[], Release]
    ) -> Release:
        """The answer, where there is a ledger as the next use of a sample that is paid as a whole."""
        if self._paid is None:
            return answered()
        self._require_here()
        query = None if isinstance(asked, str) else asked
        with self._paid.lock:
            plan = self._paid.plan(use, len(self._uses))
            mechanism = covered(self._accounted(plan))
            request = asked if query is None else query.request
            words = f"{request} on {self._scheme}" if len(plan) == 1 else f"{len(plan)} uses of one {self._scheme}"
            private, unit = self._source.private, None if query is None else query.unit
            charge = charge_of(words, mechanism, table, confidence=confidence, private=private, unit=unit)
            return self._paid.run(charge, plan, len(self._uses), answered, query)

    def _accounted(self, uses: tuple[Mechanism, ...]) -> Mechanism:
        require_placed(self._scheme, uses[0].relation)
        return by_unit(Sequence.of(uses).on(self._scheme), self._table)

    def _spend(
        self, use: Mechanism, names: tuple[str, ...], *, numbers: bool, read: Callable[[Table], Result]
    ) -> tuple[Mechanism, Table, Result]:
        """Draw and read, then note the use, before it runs: what fails after that is spent, and no use is lost."""
        self._require_here()
        with self._lock:
            uses = (*self._uses, use)
            mechanism = covered(self._accounted(uses))
            drawn = self._drawn or self._draw(names, numbers)
            found = read(drawn)
            self._drawn, self._uses = drawn, uses
        return mechanism, drawn, found

    def _draw(self, names: tuple[str, ...], numbers: bool) -> Table:
        scheme = self._scheme
        if scheme.places is not None and self._table.rows() != scheme.places:
            raise InvalidParameter("Sample", "one rate for each record of the table", rates=scheme.places)
        return self._table.drawn(scheme, self._source, names, numbers=numbers)

    def _require_here(self) -> None:
        """Raise in a forked process: it would not know of the uses of the others."""
        if self._process != this_process():
            raise InvalidParameter("A Sample", "the process that made it: it is not for forked ones", processes=2)

    def __reduce__(self) -> NoReturn:
        """A copy would not know of the uses of the other."""
        raise InvalidParameter("A Sample", "to stay one: it can be neither copied nor stored", copies=2)

    def __repr__(self) -> str:
        return f"Sample({self._scheme}, {len(self._uses)} uses)"


def sample(
    data: Any,
    scheme: Scheme,
    *,
    source: Source | None = None,
    ledger: Account | None = None,
    uses: Iterable[Any] | None = None,
) -> Sample:
    """A secret sample of the data, drawn once at its first use; a `ledger` pays for it, with all its `uses` declared.

    >>> import hush
    >>> hush.releases.sample(range(1000), hush.Poisson(rate=0.1))
    Sample(Poisson sampling at rate 0.1, 0 uses)
    """
    return Sample(data, scheme, source=source, ledger=ledger, uses=uses)
