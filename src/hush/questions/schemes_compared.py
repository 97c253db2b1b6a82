"""The same training run under every way to draw its batches: what each one gives, for whom, and why."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from hush.checks import count, delta_in_range, listed
from hush.curves.bound import Bound
from hush.curves.relation import Relation
from hush.errors import InvalidParameter, NotCovered
from hush.markup import table_html
from hush.mechanisms.leaves.gaussian import Gaussian
from hush.mechanisms.mechanism import Mechanism
from hush.mechanisms.scheme import Scheme
from hush.mechanisms.schemes.allocation import Allocation
from hush.mechanisms.schemes.capped_poisson import CappedPoisson
from hush.mechanisms.schemes.fixed_size import WithoutReplacement
from hush.mechanisms.schemes.poisson import Poisson
from hush.mechanisms.schemes.shuffled_batches import ShuffledBatches
from hush.mechanisms.schemes.spaced.balls_in_bins import BallsInBins
from hush.mechanisms.schemes.spaced.cyclic_allocation import CyclicAllocation
from hush.mechanisms.schemes.spaced.cyclic_poisson import CyclicPoisson
from hush.numerics.decimals import rounded_down, rounded_up
from hush.numerics.work import asked, part
from hush.questions.charts.drawing import Axis
from hush.questions.charts.ranges import FalseReport, Range, Ranges
from hush.questions.text_table import aligned

USUAL: tuple[type[Scheme], ...] = (
    *(Poisson, CappedPoisson, WithoutReplacement, Allocation, ShuffledBatches),
    *(CyclicPoisson, CyclicAllocation, BallsInBins),
)
"""The ways to draw batches that are compared unless others are named."""
BATCH = 256
"""Records of a batch on average: most schemes know only their share of all records, a cap needs their number."""
UNSAMPLED = "every step sees every record: noise alone protects"
REPLACED = "the same coins, but a record may be exchanged for its opposite: twice the distance, {exact}"
EXACT, BOUNDED = "exact", "with this noise bounded only"


@dataclass(frozen=True)
class SchemeRow:
    """What one scheme gives."""

    name: str
    mechanism: Mechanism
    bound: Bound | None
    """None where no theorem is known."""
    reason: str


@dataclass(frozen=True)
class SchemeComparison:
    """One training run under several schemes; its text is a table."""

    noise_multiplier: float
    steps: int
    epochs: int
    delta: float
    rows: tuple[SchemeRow, ...]

    def _bound(self, name: str) -> Bound | None:
        """What is known of a row; None where it is not there, or no theorem is known."""
        return next((row.bound for row in self.rows if row.name == name), None)

    def __getitem__(self, name: str) -> SchemeRow:
        for row in self.rows:
            if row.name == name:
                return row
        raise InvalidParameter("A comparison", f"one of: {', '.join(row.name for row in self.rows)}", name=name)

    @property
    def mistake(self) -> str:
        """What happens to somebody who shuffles and reports the epsilon of Poisson sampling."""
        claimed, shuffled = self._bound(Poisson.title), self._bound(ShuffledBatches.title)
        if claimed is None or shuffled is None:
            return ""
        epsilon = rounded_up(claimed.upper, 3)
        start = f"The common mistake: to shuffle in practice and to report Poisson's epsilon, here {epsilon}."
        if shuffled.lower > claimed.upper > 0:
            times = rounded_down(shuffled.lower / claimed.upper, 2)
            return (
                f"{start} An attack on shuffled batches shows that their epsilon is at least "
                f"{rounded_down(shuffled.lower, 3)}, {times} times as much: the report would be false."
            )
        if shuffled.upper <= claimed.upper:
            return (
                f"{start} With so little noise no sampling helps, and this report would be safe: shuffled batches use "
                f"each record once per epoch, which is proven to be at most {rounded_up(shuffled.upper, 3)}."
            )
        return (
            f"{start} No theorem says so: what is proven for shuffled batches is {rounded_up(shuffled.upper, 3)}, "
            "and that they do as well as Poisson is neither proven nor refuted here."
        )

    def chart(self) -> Ranges:
        """The intervals as bars, and how far Poisson's epsilon is from what is proven of shuffled batches.

        >>> found = compare_schemes(noise_multiplier=1.0, steps=100, delta=1e-6)
        >>> found.chart().claim.text
        'reported 0.955, true at least 4.9 times that'
        """
        last = (Poisson.title, ShuffledBatches.title)  # next to each other, so that the mistake is seen at a glance
        ordered = sorted(self.rows, key=lambda row: last.index(row.name) if row.name in last else -1)
        ranges = tuple(
            Range(
                row.name,
                row.bound.lower,
                row.bound.upper,
                shown(row.bound),
                row.reason,
                f"({_relation(row.mechanism)})",
            )
            for row in ordered
            if row.bound is not None
        )
        drawn = {one.label for one in ranges}
        claim = FalseReport(*last, self._claim()) if drawn >= set(last) else None
        said = f"{self._setting}\n{READING}"
        return Ranges(f"{TITLE} at δ = {self.delta:g}", said, Axis("ε, nats", log=True), ranges, claim)

    def _claim(self) -> str:
        """The mistake in a few words."""
        claimed, shuffled = self._bound(Poisson.title), self._bound(ShuffledBatches.title)
        if claimed is None or shuffled is None:
            return ""
        said = f"reported {rounded_up(claimed.upper, 3)}"
        if shuffled.lower > claimed.upper > 0:
            return f"{said}, true at least {rounded_down(shuffled.lower / claimed.upper, 2)} times that"
        return f"{said}: safe here" if shuffled.upper <= claimed.upper else f"{said}: no theorem says so"

    @property
    def _setting(self) -> str:
        return (
            f"Gaussian noise of multiplier {self.noise_multiplier:g}, {self.steps} steps per epoch, "
            f"epochs: {self.epochs}"
        )

    def _table(self) -> list[tuple[str, str, str, str]]:
        lines = [(row.name, _relation(row.mechanism), shown(row.bound), row.reason) for row in self.rows]
        return [("batches", "neighbours", "epsilon", "why"), *lines]

    @property
    def _title(self) -> str:
        return f"{self._setting}; epsilon at delta {self.delta:g}"

    def __str__(self) -> str:
        table = aligned(self._table(), left=4)
        return "\n".join([self._title, "", *table, "", *textwrap.wrap(self.mistake, 110), *textwrap.wrap(ADVICE, 110)])

    def _repr_html_(self) -> str:
        return table_html(self._table(), title=self._title, below=f"{self.mistake} {ADVICE}")


TITLE = "One training run, the ways to draw its batches: ε"
"""What the picture shows."""
READING = "Less is more private. A bar: from what an attack attains to what is proven. Neighbours in brackets."
ADVICE = (
    "What to do: draw batches by the scheme that you account for. hush.Poisson(rate).draw(...) and "
    "hush.Allocation(steps).draw(...) give them."
)


def compare_schemes(
    *, noise_multiplier: float, steps: int, epochs: int = 1, delta: float, schemes: Sequence[type[Scheme]] = USUAL
) -> SchemeComparison:
    """The epsilon of one training run under each scheme: `steps` steps per epoch, each with 1/steps of the records.

    >>> found = compare_schemes(noise_multiplier=1.0, steps=100, delta=1e-6)
    >>> found["Poisson"].bound.upper, found["shuffled batches"].bound.lower
    (0.9542..., 4.6809...)
    """
    step = Gaussian(noise_multiplier)
    steps, epochs = count("compare", 1, steps=steps), count("compare", 1, epochs=epochs)
    delta = delta_in_range("compare", delta)
    for kind in listed("compare", "a list of kinds of schemes such as hush.Poisson", schemes=schemes):
        if not (isinstance(kind, type) and issubclass(kind, Scheme)):
            raise InvalidParameter("compare", "kinds of schemes such as hush.Poisson", scheme=kind)
    runs: list[tuple[str, Mechanism, str]] = [("no sampling", step.repeat(steps * epochs), UNSAMPLED)]
    for kind in schemes:
        scheme = kind.for_training(examples=BATCH * steps, batch_size=BATCH, epochs=epochs)
        run = step.on(scheme).under(scheme.covers).repeat(-(-steps * epochs // scheme.steps))
        banded = "" if scheme.bands == 1 else f", {scheme.bands} bands"
        runs.append((f"{kind.title or scheme}{banded}", run, kind.why))
        if kind is Poisson:
            runs.append((f"{kind.title}, replaced", run.under(Relation.REPLACE), REPLACED))
    return SchemeComparison(step.noise_multiplier, steps, epochs, delta, _rows(runs, delta))


@asked
def _rows(runs: list[tuple[str, Mechanism, str]], delta: float) -> tuple[SchemeRow, ...]:
    """All schemes as one question: each has its share of the work, and those that stay wide share what is left."""
    found: dict[int, Bound | None] = {}
    for place, (_, run, _) in enumerate(runs):
        with part(1 / (len(runs) - place)):
            found[place] = _bound(run, delta)
    wide = [place for place, bound in found.items() if bound is None or bound.wide]
    for asked_before, place in enumerate(wide):
        with part(1 / (len(wide) - asked_before)):
            found[place] = _narrower(found[place], _bound(runs[place][1], delta))
    rows = []
    for place, (name, run, why) in enumerate(runs):
        bound = found[place]
        known = EXACT if bound is not None and not bound.wide else BOUNDED
        rows.append(SchemeRow(name, run, bound, why.format(exact=known)))
    return tuple(rows)


def _narrower(one: Bound | None, other: Bound | None) -> Bound | None:
    """Of two answers to one question, with more and with less work, the one that says more."""
    if one is None or other is None:
        return one or other
    return other if other.upper - other.lower < one.upper - one.lower else one


def _bound(mechanism: Mechanism, delta: float) -> Bound | None:
    try:
        return mechanism.epsilon(delta=delta)
    except (NotCovered, ArithmeticError):
        return None


def _relation(mechanism: Mechanism) -> str:
    return mechanism.relation.words.removesuffix(" one record")


def shown(bound: Bound | None) -> str:
    """An interval of epsilon in a table: one number, rounded up, where it is narrow."""
    if bound is None:
        return "not covered"
    if bound.upper == math.inf:
        return "no finite epsilon"
    low, high = rounded_down(bound.lower, 4), rounded_up(bound.upper, 4)
    if bound.lower == 0 < bound.upper:
        return f"at most {high}"
    return high if bound.width < 1e-3 else f"{low} to {high}"
