"""How fast a product of characteristic functions decays: bounds over all large arguments."""

from __future__ import annotations

import math

import numpy as np

from hush.arrays import Array
from hush.numerics.laws.envelope import Envelope

MOST_TERMS = 400_000
"""Terms that one octave may sum; where that is too few the bound is loose, not wrong."""
NODES_PER_OCTAVE = 1.25
"""Nodes of an octave, in units of y/step: at most (y + step)/step of them, and the step is at most y/4 (C3).

The shortest block of a line has eight nodes, so that y is at least seven steps."""
FIRST_JUMP = 0.75
"""Octaves begin at this share of one over the size of a jump: nearer to 0 a law that is nearly an atom is flat."""
NEARLY = 1.5
"""Where the first octave would begin so near to the last node, it begins there: the step in between costs a factor of
four in the exponent, finer intervals cost time."""
RESOLVED = 0.5
"""Intervals of an octave turn the law by at most half a radian at first; more of them make the bound tighter."""
FARTHEST = 1e15
"""Multiples of the last node up to which the first octave may begin: past it a law is as good as an atom."""
NOTHING = 1e-3
"""An octave whose total variation alone bounds it by this share of the goal is not looked at any closer."""
OCTAVES = 60
"""Octaves that are summed at the most; beyond them |phi| <= 1 is enough: 2^-60 of the first is left."""
ALMOST_ONE = 1 - 1e-16
"""The largest share that can be taken off 1 and leave a logarithm. A smaller share makes a larger bound."""
UNDERFLOW = 1e-300
"""Stands for a bound that is 0: its logarithm must exist. It is above what it stands for, so it is safe."""
Envelopes = list[tuple[Envelope, int]]


def tail_bound(envelopes: Envelopes, start: float, goal: float, stop: float = math.inf) -> float:
    """Bound on the integral over y > start of |phi(y)| / y^2, phi the product of the factors.

    With a stop, on the integral up to there of |phi| alone.
    """
    flat = stop < math.inf
    deviation = max(e.deviation for e, _ in envelopes)
    jump = max(((n * e.deviation * e.jump, e.jump) for e, n in envelopes), default=(0.0, 0.0))[1]
    y = start
    if 0 < jump * start * NEARLY < FIRST_JUMP:
        # a multiple of a node is a node: a sum from there on is below the integral
        y = min(start * math.ceil(min(FIRST_JUMP / jump / start, FARTHEST)), stop)
    total = _between(envelopes, start, y, goal, flat) if y > start else 0.0
    octaves, rests = _decay(envelopes, y) if not flat else (np.full(OCTAVES, math.inf), np.empty(0))
    rest = math.inf
    for octave, known in zip(range(OCTAVES), octaves.tolist(), strict=False):
        rest = max(stop - y, 0.0) if flat else float(rests[octave])
        if total > goal or total + rest <= goal:
            break
        total += known if known <= NOTHING * goal else min(known, _octave(envelopes, y, deviation, goal, flat))
        y *= 2
    return total + rest


def _decay(envelopes: Envelopes, start: float) -> tuple[Array, Array]:
    """The same integral from atoms and total variation alone (C3c): over each octave, and from each of them on."""
    y = start * _OCTAVES
    log_bound = sum(n * np.log(np.maximum(e.decay(y), UNDERFLOW)) for e, n in envelopes)
    octaves = np.exp(log_bound) / (2 * y)
    return octaves, np.cumsum(octaves[::-1])[::-1] + 1 / float(2 * y[-1])


_OCTAVES = 2.0 ** np.arange(2 * OCTAVES)


def _octave(envelopes: Envelopes, low: float, deviation: float, goal: float, flat: bool) -> float:
    """The same over [low, 2 low], on finer intervals while that can help.

    The nodes there may be few, so it is the sum over nodes that is bounded, each weighed by the largest bound.
    """
    count = max(4, math.ceil(low * deviation / RESOLVED))
    cells = max(len(e.loss) for e, _ in envelopes)
    if count * cells > 4 * MOST_TERMS:  # not worth it: |phi| <= 1
        return NODES_PER_OCTAVE * (low if flat else 1 / low)
    while True:
        log_bound = np.zeros(count)
        for envelope, n in envelopes:
            log_bound += n * np.log(np.maximum(envelope.ceiling(low, 2 * low, count), UNDERFLOW))
        bound = NODES_PER_OCTAVE * math.exp(float(log_bound.max())) * (low if flat else 1 / low)
        if bound <= goal or 4 * count * cells > MOST_TERMS:
            return bound
        count *= 4


def _between(envelopes: Envelopes, start: float, stop: float, goal: float, flat: bool) -> float:
    """The same integral over [start, stop], by 1 - |phi(y)|^2 >= (1 - |phi(ny)|^2)/n^2 with ny in [stop, 2 stop]."""
    y = start * (stop / start) ** _SHARES
    y[-1] = stop
    lengths = np.diff(y) if flat else -np.diff(1 / y)  # integrals of 1, or of 1/y^2
    total = math.inf
    for count in (4, 16):
        log_bound = np.zeros(len(y))
        for envelope, n in envelopes:
            gap = 1 - float(envelope.ceiling(stop, 2 * stop, count).max()) ** 2
            log_bound += n / 2 * np.log1p(-np.minimum(gap / (stop / y + 1) ** 2, ALMOST_ONE))
        total = float(np.exp(log_bound[:-1]) @ lengths)
        if total <= goal:
            break
    return total


_SHARES = np.linspace(0, 1, 60)
