"""What an attacker learns from the loudest of many steps: lower bounds for shuffled batches."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import special

from hush.arrays import Array
from hush.curves.interval import Interval
from hush.curves.pairs.finite import FinitePair
from hush.curves.pairs.pair import Pair
from hush.errors import NotCovered
from hush.numerics.engines.loss_source import Tails
from hush.numerics.laws.law import Law
from hush.numerics.rounding import UNIT
from hush.numerics.work import spend

CELLS = 300
"""Levels to which the loudest is rounded: any number gives a lower bound, more a tighter one."""
LEAST_MASS = 1e-290
"""Cells of less mass are left out of both laws, which lowers delta: their masses may have lost digits."""
CELL_ROUNDING = 1e-11
"""Relative error of a cell's mass: a difference of two tails, each of T factors."""
MOST_ROUNDING = 1e-3
"""With a larger relative error of a cell's mass nothing is claimed."""
DEEPEST = -690.0
"""Floats lose the tails of normals below e^this: an event that is rarer than that shows nothing."""


@dataclass(frozen=True)
class LoudestNormals(Pair):
    """The largest of `steps` unit normals of which one is shifted, by `loud` under P and by `quiet` under Q.

    Chua, Ghazi, Kamath, Kumar, Manurangsi, Sinha, Zhang 2024: with all other records at -1, one that is at +1
    or absent shifts the batch that it is in by 2 or by 1, in units of the clipping norm.
    """

    loud: float
    quiet: float
    steps: int

    def log_below(self, shift: float, level: Array) -> Array:
        """log of the probability that no step is above the level."""
        return special.log_ndtr(level - shift) + (self.steps - 1) * special.log_ndtr(level)

    def log_delta(self, epsilon: float, tolerance: float = 1e-9) -> Interval:  # noqa: ARG002
        """The best event {the largest is above C}, or {below C} where Q is the louder, C on ever finer scales."""
        floor = math.log(-math.expm1(epsilon)) if epsilon < 0 else -math.inf
        low, high = self.reach
        best = -math.inf
        spend(6 * 401 * 20)
        for _ in range(6):
            level = np.linspace(low, high, 401)
            p, q = (self.log_below(shift, level) for shift in (self.loud, self.quiet))
            with np.errstate(divide="ignore", invalid="ignore"):
                if self.loud > self.quiet:
                    p, q = np.log(-np.expm1(p)), np.log(-np.expm1(q))
                    q = np.where(q < DEEPEST, math.nan, q)
                # P - e^eps Q = P (1 - e^{eps + log Q - log P})
                value = p + np.log(np.maximum(-np.expm1(np.minimum(epsilon + q - p, 0.0)), 0.0))
            value = np.where(np.isnan(value), -math.inf, value)
            place = int(np.argmax(value))
            best = max(best, float(value[place]))
            low, high = level[max(place - 1, 0)], level[min(place + 1, 400)]
        slack = 64 * CELL_ROUNDING
        return max(best - slack, floor), min(max(best + slack, floor), 0.0)

    @property
    def reach(self) -> tuple[float, float]:
        """Levels between which the largest lies, up to e^-700."""
        return -8.0, max(self.loud, self.quiet) + 37.0  # 37^2/2 is 684.5; any level is valid, and few are farther out

    @cached_property
    def levelled(self) -> FinitePair:
        """The largest, to the next of many levels: post-processing, so a lower bound that stays one when composed."""
        usual = math.sqrt(2 * math.log(self.steps + 1))
        level = np.linspace(min(-2.0, usual - 8), usual + max(self.loud, self.quiet) + 12, CELLS)
        return cells_below(self.log_below(self.loud, level), self.log_below(self.quiet, level))

    def law(self) -> Law:
        return self.levelled.law()

    def tails(self, losses: Array) -> Tails:
        return self.levelled.tails(losses)

    def mix(self, rate: float) -> Pair:
        return self.levelled.mix(rate)

    def swap(self) -> Pair:
        return LoudestNormals(self.quiet, self.loud, self.steps)

    @property
    def max_loss(self) -> float:
        return self.levelled.max_loss


def loudest_losses(pair: Pair, steps: int, *, mirrored: bool = False) -> FinitePair:
    """The same for any pair: one of `steps` losses is that of P (under P) or none is, cut into cells.

    Mirrored, the roles of P and Q are exchanged: each direction is rounded to its own safe side.

    >>> from hush.curves.pairs.finite import FinitePair
    >>> found = loudest_losses(FinitePair.of([0.75, 0.25], [0.25, 0.75]), 1)
    >>> math.exp(found.log_delta(0.0)[0])
    0.4999...
    """
    law = pair.law()
    if law.pieces:
        orders = law.cumulants(np.array([0.0, 1.0]), 8.0)  # a few digits: levels may lie anywhere
        middle, spread = float(orders[1].max()), float(orders[2].max()) + 1e-12
        levels = np.linspace(-middle - 20 * spread, middle + 40 * spread, CELLS)
    else:
        levels = np.unique(law.losses)
    _, _, p_below, q_below = pair.tails(levels)
    with np.errstate(divide="ignore"):
        log_p, log_q = np.log(p_below), np.log(q_below)
    # each distribution function is off by some units of rounding, and so is its log: all steps share the sign
    rounding = max(CELL_ROUNDING, 16 * UNIT * steps)
    if rounding > MOST_ROUNDING:
        raise NotCovered(f"the loudest of {steps} steps: rounding may be larger than what it shows")
    with_record, without = np.minimum(log_p + (steps - 1) * log_q, 0.0), np.minimum(steps * log_q, 0.0)
    return cells_below(without, with_record, rounding) if mirrored else cells_below(with_record, without, rounding)


def cells_below(log_p_below: Array, log_q_below: Array, rounding: float = CELL_ROUNDING) -> FinitePair:
    """A finite pair below two laws on the line, from the logs of their distribution functions at increasing places.

    Rounding is paid by leaving out a little P-mass, as if it had a loss of -infinity, and by lowering every loss.
    """
    if not len(log_p_below):
        raise NotCovered("the loudest step: no loss is finite")
    p, q = (_masses(log_below) for log_below in (log_p_below, log_q_below))
    known = (q > LEAST_MASS) & (p > LEAST_MASS)
    if not known.any():
        raise NotCovered("the loudest step is the same with and without the record, as far as floats can tell")
    losses = np.log(p[known]) - np.log(q[known]) - 4 * rounding
    mass = p[known] * (1 - 2 * rounding)
    order = np.argsort(losses, kind="stable")
    losses, mass = losses[order], mass[order]
    return FinitePair(losses, mass, 0.0, 0.0)


def _masses(log_below: Array) -> Array:
    """Masses of the cells between the places, and beyond both ends, from whichever tail is smaller."""
    below, above = np.exp(log_below), -np.expm1(log_below)
    inner = np.where(above[:-1] < 0.5, above[:-1] - above[1:], below[1:] - below[:-1])
    return np.maximum(np.concatenate([[below[0]], inner, [above[-1]]]), 0.0)
