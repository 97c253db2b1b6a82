"""The privacy blanket of Gaussian reports, its worst pair of values proven."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy import special

from hush.arrays import Array
from hush.curves.interval import Interval
from hush.numerics.rounding import UNIT
from hush.numerics.special.line_integral import along_line, log_chernoff
from hush.numerics.special.trials import Trials
from hush.numerics.work import remembered

STEP = 0.15
"""Between the losses of neighbouring kinds: any step is valid, a finer one costs time and gives a tighter bound."""
HIDING = 20
"""Reports from the blanket, on average, from which on it is asked."""
CAPS = (*(10.0 ** (-k / 2) for k in range(4, 40)), *(10.0**-k for k in (22, 25, 30, 40, 60, 90)))
"""Chances of a larger loss than the largest that is listed; they are added to delta."""
LEAST_CHANCE = 1e-300
"""Stands for a chance that rounding made 0: its relative error is then so large that nothing is said."""
ACCURACY = 2e-3
"""Width of log delta that is asked for: the blanket is not that close to what is attained."""


@dataclass(frozen=True)
class NormalBlanket:
    """n numbers in [0, 1], each with normal noise: Balle, Bell, Gascón, Nissim 2019, Lemma 5.3, at the values 0 and 1.

    The blanket is the lesser of the densities at 0 and at 1. That the worst values are 0 and 1 is proven in
    docs/theory/shuffling.md. The law of u = R(0)/blanket and v = R(1)/blanket is spread, with the same means,
    to a few values (Jensen: that can only raise delta).
    """

    deviation: float
    people: int

    def log_delta(self, epsilon: float, tolerance: float = 1e-9) -> Interval:  # noqa: ARG002
        """An upper bound only. The smaller delta is, the farther must losses be listed; any list gives a bound."""
        if self.people * 2 * special.ndtr(-0.5 / self.deviation) < HIDING:
            return -math.inf, 0.0
        return -math.inf, _log_delta(self.deviation, self.people, epsilon)


@remembered(1024)
def _log_delta(deviation: float, people: int, epsilon: float) -> float:
    """The list is chosen by Chernoff's bound: from where the cap is no longer the larger part of delta."""

    def trials(cap: float) -> Trials:
        chances, losses, doubt = kinds(deviation, cap)
        growth = math.exp(epsilon)
        values = np.concatenate([growth * np.expm1(losses - epsilon), -np.expm1(losses + epsilon)])
        return Trials(people, (*chances, *chances), tuple(values.tolist()), doubt)

    @cache
    def rough(k: int) -> float:
        return log_chernoff(trials(CAPS[k])) - math.log(people)

    low, high = 0, len(CAPS) - 1
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if math.log(CAPS[middle]) < rough(middle) else (middle + 1, high)
    later = {min(low + k, len(CAPS) - 1) for k in (0, 3, 6, 9)}
    cap = CAPS[min(later, key=lambda k: np.logaddexp(rough(k), math.log(CAPS[k])))]
    found = along_line(trials(cap), ACCURACY)[1] - math.log(people) + 4 * UNIT
    return min(float(np.logaddexp(found, math.log(cap))), 0.0)


@remembered(64)
def kinds(deviation: float, cap: float) -> tuple[tuple[float, ...], Array, float]:
    """Chances of the kinds with u : v = e^loss : 1 (and of those with 1 : e^loss), their losses, and a bound on the
    relative error of the chances, which are differences of near numbers.

    A loss l = (1/2 - y)/deviation^2 has under the blanket the law of y ~ N(1, deviation^2), which is 1/e^l of that
    under N(0, deviation^2). Within a cell both masses are kept by two kinds at its ends. Past the last loss
    u is cut, for which the chance `cap` is to be added to delta, and v is lowered.

    >>> chances, losses, doubt = kinds(1.0, 1e-10)
    >>> round(2 * sum(chances), 9), round(2 * float(special.ndtr(-0.5)), 9), doubt < 1e-11
    (0.617075077, 0.617075077, True)
    """
    half = 0.5 / deviation
    last = (half - special.ndtri(cap)) / deviation
    losses = np.linspace(0.0, last, max(math.ceil(last / STEP), 4) + 1)
    tails = special.ndtr(-half - deviation * losses)
    off = tails * _tail_error(half + deviation * losses)
    mass, mass_off = tails[:-1] - tails[1:], off[:-1] + off[1:]
    from_centre = deviation * losses - half
    ends = special.ndtr(-np.abs(from_centre))
    told = np.where(from_centre[:-1] > 0, ends[:-1] - ends[1:], np.diff(special.ndtr(from_centre)))
    off = _tail_error(from_centre) * np.where(from_centre > 0, ends, special.ndtr(from_centre))
    told_off = np.maximum(off[:-1], _tail_error(from_centre[:-1]) * ends[:-1]) + off[1:]
    growth, width = np.exp(losses[:-1]), np.exp(losses[1:]) * -np.expm1(losses[:-1] - losses[1:])
    high = (told - mass * growth) / width
    # exponentials are off by their exponents, and a quotient as much as both
    high_off = (told_off + growth * (mass_off + 8 * UNIT * (1 + last) * mass)) / width + 8 * UNIT * (1 + last) * high
    chances, wrong = (
        np.append(mass - high, tails[-1]),
        np.append(mass_off + high_off, tails[-1] * _tail_error(losses[-1:] * deviation + half)[0]),
    )
    chances[1:] += high
    wrong[1:] += high_off
    return tuple(chances.tolist()), losses, float((wrong / np.maximum(chances, LEAST_CHANCE)).max())


def _tail_error(place: Array) -> Array:
    """Relative error of the normal tail at a place that is off by two units of itself: its slope is at most |z| + 1."""
    return UNIT * (16 + 4 * place * place)
