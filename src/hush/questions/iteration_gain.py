"""Who gains when only the last iterate is released, against releasing them all."""

from __future__ import annotations

import math
from dataclasses import dataclass

from hush.checks import delta_in_range
from hush.errors import InvalidParameter
from hush.mechanisms.last_iterate.descent import CyclicGradientDescent
from hush.mechanisms.last_iterate.iteration import LastIterate
from hush.mechanisms.last_iterate.one_pass import OnePassGradientDescent, RandomStop
from hush.mechanisms.mechanism import Mechanism
from hush.numerics.decimals import rounded_down, rounded_up

LEAST_GAIN = 1e-9
"""Relative: a smaller difference is rounding."""


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
class IterationGain:
    """A table over steps, epochs or records, and from where on the last iterate is worth hiding the others for."""

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
        lines = [
            f"{self.unit:>12}  {'last iterate':>12}  {'all iterates':>12}  {'gain':>6}",
            *(_line(f"{row.place}", row) for row in self.rows),
            _line("everyone", self.everyone),
        ]
        return "\n".join([f"epsilon at delta {self.delta:g} (upper bounds)", *lines, self.summary])


def _line(name: str, row: GainRow) -> str:
    last, composed = rounded_up(row.last_iterate, 4), rounded_up(row.all_iterates, 4)
    return f"{name:>12}  {last:>12}  {composed:>12}  {rounded_down(row.factor, 3):>6}"


def iteration_gain(mechanism: Mechanism, *, delta: float) -> IterationGain:
    """Compare the last iterate with the composition of all of them: who gains, and from which step or record on.

    >>> import hush
    >>> loss = hush.ConvexLoss(smoothness=1, strong_convexity=0, lipschitz=1)
    >>> run = hush.NoisyGradientDescent(loss=loss, records=100, iterations=10_000, noise=0.5, step_size=0.1, diameter=1)
    >>> print(iteration_gain(run, delta=1e-6))
    epsilon at delta 1e-06 (upper bounds)
            step  last iterate  all iterates    gain
               1        0.1491        0.1491       1
              10        0.5103        0.5103       1
             100         1.766         1.766       1
            1000           6.4           6.4       1
           10000         9.618         26.36    2.74
        everyone         9.618         26.36    2.74
    Gains from step 2001 on, of 10000.
    """
    delta = delta_in_range("iteration_gain", delta)
    if isinstance(mechanism, OnePassGradientDescent):
        return _pass_gain(mechanism, delta)
    if isinstance(mechanism, RandomStop):
        return _stop_gain(mechanism, delta)
    if not isinstance(mechanism, LastIterate):
        raise InvalidParameter("iteration_gain", "an iteration such as hush.NoisyGradientDescent", mechanism=mechanism)
    places = _checkpoints(mechanism.length())
    rows = tuple(_row(place, mechanism.after(place), delta) for place in places)
    first = _first_gain(mechanism)
    unit = "epoch" if isinstance(mechanism, CyclicGradientDescent) else "step"
    if first is None:
        summary = f"No gain: within {mechanism.length()} {unit}s composition without amplification is as good."
    else:
        summary = f"Gains from {unit} {first} on, of {mechanism.length()}."
    return IterationGain(mechanism, delta, unit, rows, first, summary, rows[-1])


def _row(place: int, iteration: LastIterate, delta: float) -> GainRow:
    return GainRow(place, iteration.epsilon(delta=delta).upper, iteration.composed().epsilon(delta=delta).upper)


def _pass_gain(run: OnePassGradientDescent, delta: float) -> IterationGain:
    """Each record of a pass; without amplification every record has what the last one has."""
    composed = run.composed().epsilon(delta=delta).upper
    places = sorted({*_checkpoints(run.records), *(run.records + 1 - k for k in _checkpoints(run.records))})
    rows = tuple(GainRow(place, run.record_epsilon(place, delta=delta).upper, composed) for place in places)
    everyone = GainRow(run.records, run.epsilon(delta=delta).upper, composed)
    gains = f"Records 1 to {run.records - 1} gain, the earlier the more. " if run.records > 1 else ""
    summary = f"{gains}The last one does not, so there is no gain for everyone: end the pass at random instead."
    return IterationGain(run, delta, "record", rows, 1 if run.records > 1 else None, summary, everyone)


def _stop_gain(stopped: RandomStop, delta: float) -> IterationGain:
    """A pass that ends at random: everyone has the same bound."""
    row = GainRow(
        stopped.run.records, stopped.epsilon(delta=delta).upper, stopped.composed().epsilon(delta=delta).upper
    )
    gain = row.last_iterate < row.all_iterates * (1 - LEAST_GAIN)
    summary = "Every record gains." if gain else "No gain: there are too few steps to stop at."
    return IterationGain(stopped, delta, "records", (row,), 1 if gain else None, summary, row)


def _checkpoints(length: int) -> list[int]:
    """1, 10, 100, ... and the end."""
    return [*(10**k for k in range(len(str(length))) if 10**k < length), length]


def _first_gain(iteration: LastIterate) -> int | None:
    """The first place at which mu is below that of composition; once it is, it stays so."""

    def gains(place: int) -> bool:
        ended = iteration.after(place)
        return ended.mu()[1] < ended.composed_mu() * (1 - LEAST_GAIN)

    low, high = 0, iteration.length()
    if not gains(high):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if gains(middle) else (middle, high)
    return high
