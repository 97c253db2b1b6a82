"""A plan: the expected error of every rate and mechanism, which is best, and whether to sample at all."""

from __future__ import annotations

import math
import textwrap
from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass
from typing import Any, Protocol

from hush.curves.relation import Relation
from hush.curves.renyi.convert import amplify
from hush.errors import InvalidParameter
from hush.markup import Shown
from hush.questions.charts.drawing import Axis, Chart, ChartLine, Stroke
from hush.questions.planning.free_sampling import rules
from hush.questions.planning.target import Setting
from hush.questions.text_table import aligned

GAIN = 0.05
"""A sample must be better by this share of the error: less may be the error of the prediction."""
WIDTH = 110
SCHEMES = {Relation.REPLACE: "without replacement", Relation.ADD_REMOVE: "Poisson"}


@dataclass(frozen=True)
class PlanRow:
    """One mechanism at one rate; rate 1 is no sampling."""

    mechanism: str
    rate: float
    records: int
    """How many records the mechanism sees, on average."""
    sample_epsilon: float
    sample_delta: float
    """What the mechanism may spend on the sample so that the whole meets the target."""
    error: float
    """Expected root mean squared error of the clamped release, for the value of the whole population."""
    sampling_error: float
    """The error of sampling alone, without noise."""
    seconds: float

    @property
    def mean_squared_error(self) -> float:
        return self.error**2


class BestRate(Protocol):
    """A row of a plan: what is expected at one rate; rate 1 is no sampling."""

    @property
    def rate(self) -> float: ...


class SamplingPlan(Shown, ABC):
    """What says whether to sample: rows side by side, of which one is the best."""

    @property
    @abstractmethod
    def best(self) -> BestRate:
        """The row that one would choose: no sample unless one is clearly better."""

    @property
    def sample(self) -> bool:
        """Whether a sample gives a clearly smaller error."""
        return self.best.rate < 1


@dataclass(frozen=True, kw_only=True)
class Plan(Setting, SamplingPlan):
    """Expected errors of a release with and without a sample; its text is a table and an answer."""

    statistic: str
    model: str
    rows: tuple[PlanRow, ...]
    notes: tuple[str, ...] = ()

    @property
    def mechanisms(self) -> tuple[str, ...]:
        """Every mechanism that was tried."""
        return tuple(dict.fromkeys(row.mechanism for row in self.rows))

    def of(self, mechanism: str) -> tuple[PlanRow, ...]:
        """The rows of one mechanism, by falling rate."""
        found = tuple(row for row in self.rows if row.mechanism == mechanism)
        if not found:
            raise InvalidParameter("Plan.of", f"one of: {', '.join(self.mechanisms)}", mechanism=mechanism)
        return tuple(sorted(found, key=lambda row: -row.rate))

    def best_of(self, mechanism: str) -> PlanRow:
        """The row of one mechanism that one would choose: no sample unless one is clearly better."""
        return _chosen(self.of(mechanism))

    @property
    def best(self) -> PlanRow:
        """The row that one would choose: no sample unless one is clearly better."""
        return _chosen(self.rows)

    @property
    def answer(self) -> str:
        """What to do, in a sentence or two."""
        best = self.best
        whole = min((row for row in self.rows if row.rate == 1), key=lambda row: row.error, default=None)
        others = [row for row in self.rows if row.rate < 1]
        if best.rate < 1:
            against = f", against {whole.error:.3g} without one ({whole.mechanism})" if whole else ""
            return (
                f"Sample {best.records} of {self.population} records (rate {best.rate:.3g}) and use {best.mechanism}: "
                f"expected error {best.error:.3g}{against}."
            )
        said = f"Do not sample: use {best.mechanism} on all records, expected error {best.error:.3g}."
        if others:
            nearest = min(others, key=lambda row: row.error)
            said += f" The best sample (rate {nearest.rate:.3g}, {nearest.mechanism}) has {nearest.error:.3g}."
        return said

    def document(self) -> dict[str, Any]:
        """All of it as plain numbers and texts, for JSON."""
        return {
            "statistic": self.statistic,
            "population": self.population,
            "bounds": self.bounds,
            "relation": self.relation.value,
            "model": self.model,
            "queries": self.queries,
            "sample": self.sample,
            "answer": self.answer,
            "best": asdict(self.best),
            "epsilon": self.epsilon,
            "delta": self.delta,
            "rows": [asdict(row) for row in self.rows],
            "hints": self.hints,
        }

    @property
    def hints(self) -> tuple[str, ...]:
        """What else to know: time, noise that fills the bounds, Steinke's rules."""
        found = list(self.notes)
        found += [self._time()] if any(row.rate < 1 for row in self.rows) else []
        if self.best.error > (self.bounds[1] - self.bounds[0]) / 4:
            found.append("The expected error is of the size of the bounds: at this epsilon the release says nothing.")
        sampled = [row for row in self.rows if row.rate < 1]
        if sampled:
            nearest = min(sampled, key=lambda row: row.error)
            each = amplify(nearest.sample_epsilon, 0.0, nearest.rate)[0]
            found += rules(rate=nearest.rate, epsilon=self.epsilon, each=each, queries=self.queries)
        return tuple(found)

    def _time(self) -> str:
        low, high = (pick(self.rows, key=lambda row: row.rate) for pick in (min, max))
        if high.seconds <= 1.5 * low.seconds:
            return "A sample saves no time: every record is read from the file either way."
        return (
            f"Time: about {high.seconds:.2g} s on all records, {low.seconds:.2g} s at rate {low.rate:.3g} "
            f"({high.seconds / low.seconds:.1f} times as fast): that alone can be a reason to sample."
        )

    def chart(self) -> Chart:
        """Expected error against rate, one line per mechanism; dotted: the error of sampling alone."""
        lines: list[ChartLine] = []
        for mechanism in self.mechanisms:
            rows = self.of(mechanism)[::-1]
            lines.append(ChartLine(mechanism, tuple(r.rate for r in rows), tuple(r.error for r in rows)))
        longest = max((self.of(mechanism)[::-1] for mechanism in self.mechanisms), key=len)
        drawn = [row for row in longest if row.sampling_error > 0]
        if len(drawn) > 1:
            alone = tuple(row.rate for row in drawn), tuple(row.sampling_error for row in drawn)
            lines.append(ChartLine("sampling alone", *alone, stroke=Stroke.DOTTED))
        said = f"{self._setting()}\n{self.answer}"
        x, y = Axis("sampling rate (1: all records)", log=True), Axis("expected error (RMSE)", log=True)
        return Chart(f"Expected error of a {self.statistic}", said, x, y, tuple(lines))

    def _setting(self) -> str:
        shared = f", shared by {self.queries} queries" if self.queries > 1 else ""
        return (
            f"N = {self.population}, bounds [{self.bounds[0]:g}, {self.bounds[1]:g}], epsilon {self.epsilon:g}, "
            f"delta {self.delta:g}{shared}; {self.model}; {SCHEMES[self.relation]}, {self.relation.words}"
        )

    def table(self) -> list[tuple[str, ...]]:
        """Head and rows as text: one row for each rate, one column for each mechanism."""
        by_place = {(row.rate, row.mechanism): row for row in self.rows}
        rates = sorted({row.rate for row in self.rows}, reverse=True)
        body: list[tuple[str, ...]] = []
        for rate in rates:
            cells = [by_place.get((rate, mechanism)) for mechanism in self.mechanisms]
            first = next(cell for cell in cells if cell)
            errors = [f"{cell.error:.4g}" if cell else "-" for cell in cells]
            spent = f"{first.sample_epsilon:.4g}"
            body.append((f"{rate:.4g}", str(first.records), spent, f"{first.seconds:.2g}", *errors))
        return [("rate", "records", "epsilon of sample", "seconds", *self.mechanisms), *body]

    def __str__(self) -> str:
        said = [part for text in (self.answer, *self.hints) for part in textwrap.wrap(text, WIDTH)]
        title = textwrap.wrap(f"Expected error (RMSE) of a {self.statistic}: {self._setting()}", WIDTH)
        return "\n".join([*title, "", *aligned(self.table()), "", *said])


def _chosen(rows: tuple[PlanRow, ...]) -> PlanRow:
    """The least error, but all records where no sample is better by more than the prediction may err."""
    least = min(rows, key=lambda row: row.error)
    whole = [row for row in rows if row.rate == 1]
    if not whole:
        return least
    without = min(whole, key=lambda row: row.error)
    return least if least.error < (1 - GAIN) * without.error and math.isfinite(least.error) else without
