"""Finite pairs above and below a product: its losses on a lattice, from both sides, added term by term.

Mixing and swapping keep the order of two pairs, so what is made of the two tables encloses what is made of the product:
one sample of several releases then composes from both sides. Errors: docs/theory/error-budget.md, "Tables".
"""

from __future__ import annotations

import math

import numpy as np

from hush.arrays import Array
from hush.curves.composition.routes import Parts, log_finite, loss_source
from hush.curves.pairs.finite import FinitePair
from hush.errors import NotCovered
from hush.numerics.engines.loss_lattice import LatticeLaw, all_added, discretise, meeting
from hush.numerics.engines.loss_source import LossSource, first_false
from hush.numerics.laws.law import Law
from hush.numerics.rounding import UNIT
from hush.numerics.work import remembered

TAIL = math.exp(-70.0)
"""Ends of P-mass (above) or Q-mass (below) up to this are cut off, at every sum anew. They count as infinite in the
upper table, and are lowered or dropped in the lower one, so any share is valid."""
COARSE, FINE = 1_000, 16_000
"""Points of a first table, which only says how wide the sum is, and of the second."""
SUM_ROUNDING = 1e-10
"""Relative error of sums of positive numbers: 20,000 terms in each of some thirty products, rounded the worst way."""
FARTHEST = 280.0
"""Losses of a larger size are not tabulated: a P-mass of e^-280 of a Q-mass that is not cut off is far from the least
float, and so are its products."""
LISTED = math.log(4_000)
"""Up to so many outcomes are listed one by one (log)."""
MOST = 1 << 12
"""Losses that are summed at the most: SUM_ROUNDING has room for the roundings of so many squarings."""
POSITION = 8 * UNIT
"""Rounding error of a place on the lattice for each loss that is summed, in units of the largest size of a loss."""


@remembered(8)
def summed(parts: Parts, side: int) -> FinitePair:
    """A finite pair below (0) or above (1) the product of pairs that have a law."""
    if sum(n for _, n in parts) > MOST:
        raise NotCovered(f"a table of more than {MOST} releases")
    laws = [(pair.law(), n) for pair, n in parts]
    if not any(law.pieces for law, _ in laws) and sum(n * math.log(len(law.losses)) for law, n in laws) < LISTED:
        return _listed(laws, parts, side)
    sources = [loss_source(pair, n) for pair, n in parts]
    ranges = [_reach(source) for source in sources]
    step = sum(s.times * (high - low) for s, (low, high) in zip(sources, ranges, strict=True)) / COARSE
    for points in (FINE, 0):
        step = meeting(sources, max(step, math.ulp(FARTHEST)))
        laws = [discretise(s, step, *r)[1 - side] for s, r in zip(sources, ranges, strict=True)]
        total = _sum([(law, s.times) for law, s in zip(laws, sources, strict=True)], step, side)
        step = len(total.mass) * step / points if points else step
    losses = total.first + step * np.arange(len(total.mass))
    return _finite_pair(losses, np.maximum(total.mass, 0.0), total.at_infinity, parts, side)


def _listed(laws: list[tuple[Law, int]], parts: Parts, side: int) -> FinitePair:
    """All outcomes of a few losses with few values each."""
    losses, mass = np.zeros(1), np.ones(1)
    for law, n in laws:
        for _ in range(n):
            losses = np.add.outer(losses, law.losses).ravel()
            mass = np.multiply.outer(mass, law.masses).ravel()
    order = np.argsort(losses, kind="stable")
    return _finite_pair(losses[order], mass[order], 0.0, parts, side)


def _reach(source: LossSource) -> tuple[float, float]:
    """Losses above which P, and below which Q, has no more mass than a tail."""
    ends = (float(source.losses.min()), float(source.losses.max())) if len(source.losses) else (math.inf, -math.inf)
    tails = source.tails
    if tails is not None:
        high = first_false(lambda l: float(tails(np.array([l]))[0][0]) > TAIL)
        low = -first_false(lambda l: float(tails(np.array([-l]))[3][0]) > TAIL)
        ends = min(low, high, ends[0]), max(low, high, ends[1])
    if not -FARTHEST <= ends[0] <= ends[1] <= FARTHEST:
        raise NotCovered(f"a table of losses beyond {FARTHEST:g}")
    return ends


def _sum(laws: list[tuple[LatticeLaw, int]], step: float, side: int) -> LatticeLaw:
    """The law of the sum of all, without its ends at every sum anew."""
    return all_added(laws, lambda a, b: _without_ends(a.added(b), step, side))


def _without_ends(law: LatticeLaw, step: float, side: int) -> LatticeLaw:
    """Above: the upper end becomes infinite, the lower is raised. Below: the upper keeps its Q-mass, the lower goes."""
    losses = law.first + step * np.arange(len(law.mass))
    if not -2 * FARTHEST <= losses[0] <= losses[-1] <= 2 * FARTHEST:
        raise NotCovered(f"a table of losses beyond {2 * FARTHEST:g}")
    past = np.cumsum(law.mass[::-1])[::-1]
    before = np.cumsum(law.mass * np.exp(-losses))
    start, stop = int(np.count_nonzero(before <= TAIL)), int(np.count_nonzero(past > TAIL))
    if start >= stop:
        return law
    mass, infinite = law.mass[start:stop].copy(), law.at_infinity
    if side:
        mass[0] += float(law.mass[:start].sum())
        infinite += float(law.mass[stop:].sum())
    else:
        mass[-1] += float((law.mass[stop:] * np.exp(losses[stop - 1] - losses[stop:])).sum())
    return LatticeLaw(law.first + step * start, mass, infinite)


def _finite_pair(losses: Array, mass: Array, at_infinity: float, parts: Parts, side: int) -> FinitePair:
    """The pair of a law of finite losses, with what is infinite beside it, rounded to the side."""
    sign, finite = 2 * side - 1, math.exp(log_finite(parts))
    count = sum(n for _, n in parts)
    losses = losses + sign * POSITION * (count + 1) * float(np.abs(losses).max())
    mass = mass * (finite * (1 + sign * SUM_ROUNDING))
    losses, mass = losses[mass > 0], mass[mass > 0]
    infinite = min((1 - finite + finite * at_infinity) * (1 + sign * SUM_ROUNDING), 1.0)
    rest = 1 - float((mass * np.exp(-losses)).sum())
    return FinitePair(losses, mass, infinite, max(rest, 0.0))
