"""Who gains when only the last iterate is released, against releasing them all."""

from __future__ import annotations

import math
from dataclasses import dataclass

from hush.checks import delta_in_range
from hush.errors import InvalidParameter
from hush.markup import Shown
from hush.mechanisms.last_iterate.hidden_iterates import LEAST_GAIN, HiddenIterates
from hush.mechanisms.mechanism import Mechanism
from hush.numerics.decimals import rounded_down, rounded_up
from hush.questions.text_table import aligned


@dataclass(frozen=True)
class GainRow:
    """Epsilon (upper ends) of the last iterate alone, and of all iterates together."""

    place: int
    last_iterate: float
    all_iterates: float

    @property
    def factor(self) -> float:
        """How many times smaller the first is; 1 where they agree up to rounding."""
        if self.last_iterate >= self.all_iterates * (1 - LEAST_GAIN):
            return 1.0
        return self.all_iterates / self.last_iterate if self.last_iterate else math.inf


@dataclass(frozen=True)
class IterationGain(Shown):
    """A table over steps, epochs or records, and from where on it pays to hide all iterates but the last."""

    mechanism: Mechanism
    delta: float
    unit: str
    rows: tuple[GainRow, ...]
    gains_from: int | None
    """The first place with a gain; None where there is none."""
    summary: str
    everyone: GainRow
    """The guarantee that may be reported."""

    def __str__(self) -> str:
        table = [
            (self.unit, "last iterate", "all iterates", "gain"),
            *(_cells(f"{row.place}", row) for row in self.rows),
            _cells("everyone", self.everyone),
        ]
        return "\n".join([f"epsilon at delta {self.delta:g} (upper bounds)", *aligned(table), self.summary])


def _cells(name: str, row: GainRow) -> tuple[str, ...]:
    return name, rounded_up(row.last_iterate, 4), rounded_up(row.all_iterates, 4), rounded_down(row.factor, 3)


def iteration_gain(mechanism: Mechanism, *, delta: float) -> IterationGain:
    """Compare the last iterate with the composition of all of them: who gains, and from which step or record on.

    >>> import hush
    >>> loss = hush.ConvexLoss(smoothness=1, strong_convexity=0, lipschitz=1)
    >>> run = hush.NoisyGradientDescent(loss=loss, records=100, iterations=10_000, noise=0.5, step_size=0.1, diameter=1)
    >>> print(iteration_gain(run, delta=1e-6))
    epsilon at delta 1e-06 (upper bounds)
        step  last iterate  all iterates  gain
           1        0.1491        0.1491     1
          10        0.5103        0.5103     1
         100         1.766         1.766     1
        1000           6.4           6.4     1
       10000         9.618         26.36  2.74
    everyone         9.618         26.36  2.74
    Gains from step 2001 on, of 10000.
    """
    delta = delta_in_range("iteration_gain", delta)
    if not isinstance(mechanism, HiddenIterates):
        raise InvalidParameter(
            "iteration_gain", "an iteration such as hush.NoisyGradientDescent", mechanism=type(mechanism)
        )
    places = mechanism.places()
    rows = tuple(_row(place, *mechanism.at_place(place), delta) for place in places)
    everyone = _row(places[-1], mechanism, mechanism.composed(), delta)
    first = mechanism.gains_from() if any(row.factor > 1 for row in rows) else None
    return IterationGain(mechanism, delta, mechanism.unit, rows, first, mechanism.gain_in_words(first), everyone)


def _row(place: int, last: Mechanism, every: Mechanism, delta: float) -> GainRow:
    return GainRow(place, last.epsilon(delta=delta).upper, every.epsilon(delta=delta).upper)
