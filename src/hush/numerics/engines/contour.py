"""Contour engine: delta(eps) of a sum of independent losses as one line integral, with a bound on every error.

    delta(eps) = 1/(2 pi) * integral of e^{-s eps} M(s) / (s (s+1)) dy,  s = c + iy,  M = product of moments.

The trapezoid rule in y converges geometrically; its cost does not depend on how many losses are summed. A search picks
the line and the epsilon; whatever it finds, only what a line certifies is answered.
"""

from __future__ import annotations

import math

from hush.numerics.engines.contour_line import MOST_WORK, ContourLine, LineValue
from hush.numerics.engines.saddle import Parts, all_orders, choose_route, line_orders, markov_exponent
from hush.numerics.rounding import UNIT
from hush.numerics.work import Exhausted

MARKOV_EXCESS = 1.5
"""Markov's bound is about e^1.5 above delta: where the search starts, not what is answered."""
LEAST_GUESS = 0.5
"""The search starts at half of Markov's epsilon at the least."""
BACK = 0.7
"""Share of a guess at which the next line is tried, where one said nothing."""
LOWER, TRUSTED = 5.0, 30.0
"""The next guess at log delta: 5 below this one, or the lower bound that was found if it is at most 30 below."""
DELTA_LINES, EPSILON_LINES = 3, 4
"""Lines that are tried at the most; each costs about as much as the first."""
RELATIVE, FINEST, COARSEST = 0.02, 1e-13, 1e-2
"""An error e of epsilon is an error c e of log delta; a line gets 2 % of that as its tolerance, within these limits.

Floats allow no finer line, and a coarser one would not guide the search. All errors are charged at any tolerance."""
NEWTON_STEPS = 80
"""Newton's method takes about six steps. A step that fails halves epsilon: 80 of them divide it by 2^80."""
CLOSE = 1e-2
"""The search stops when a step is this share of the width that is asked for."""
STEEPEST = -0.9
"""A Newton step in e^epsilon that would take it below a tenth is a step of -1 in epsilon instead."""
ERROR_ROOM, WIDTH_ROOM = 1.05, 2e-2
"""The first margin about the root: the line's error over its slope and 5 % more, as the slope itself is an estimate,
and a share of the width that is asked for. Both ends are checked against the line, so the margin only saves time."""
WIDEST_MARGIN = 1e100
"""A margin of this size is no answer, and its multiples would leave the floats."""
MARGINS = (1, 3, 10, 100, 1000)
"""Multiples of the margin that are tried, from narrow to wide, until the line certifies an end."""


def log_delta_bounds(
    parts: Parts, epsilon: float, tolerance: float, hint: float | None = None, most_work: float = MOST_WORK
) -> tuple[float, float]:
    """Certified bounds on log delta(epsilon) of the sum of the parts' losses; tolerance is on log delta.

    A hint says about where the answer lies, where Markov's inequality is far from it.
    """
    if hint is None:
        orders, best = line_orders(parts, epsilon=epsilon)
        guess = float(orders.objective(epsilon, None)[best]) - MARKOV_EXCESS
    else:
        orders, guess = all_orders(parts, epsilon), hint
    lower, upper = -math.inf, 0.0
    for _ in range(DELTA_LINES):
        try:
            line = ContourLine(parts, choose_route(orders, epsilon, guess, tolerance), tolerance, most_work)
        except Exhausted:
            break
        sample = line.delta(epsilon)
        lower, upper = max(lower, sample.lower), min(upper, sample.upper)
        if upper - lower <= tolerance or line.exhausted:
            break
        guess = lower if lower > guess - TRUSTED else guess - LOWER
    return lower, upper


def epsilon_bounds(
    parts: Parts,
    log_delta: float,
    tolerance: float,
    floor: float = 0.0,
    hint: float | None = None,
    most_work: float = MOST_WORK,
) -> tuple[float, float]:
    """Certified bounds on the epsilon >= 0 at which delta(epsilon) is e^log_delta; tolerance is relative to it.

    Where epsilon is certainly below the floor, Markov's inequality is answer enough. A hint says about where the
    answer lies, where that inequality is far from it.
    """
    if hint is None:
        orders, best = line_orders(parts, log_delta=log_delta)
        c = float(orders.c[best])
        markov = max(float(orders.objective(None, log_delta)[best]), 0.0)
        if markov < floor or markov == 0:
            certain = max(0.0, (markov_exponent(parts, c) - log_delta) / c)
            if certain <= floor:
                return 0.0, certain
        guess = max(markov - MARKOV_EXCESS / c, LEAST_GUESS * markov)
    else:
        orders, c, guess = all_orders(parts, hint), 1 / hint, hint
    lower, upper = 0.0, math.inf
    for _ in range(EPSILON_LINES):
        relative = min(max(RELATIVE * tolerance * c * guess, FINEST), COARSEST)
        try:
            line = ContourLine(parts, choose_route(orders, guess, log_delta, relative), relative, most_work)
        except Exhausted:
            break
        if floor > 0 and line.delta(floor).upper <= log_delta:
            return 0.0, floor
        found = _solve(line, guess, log_delta, relative / c)
        if found is None:
            if line.exhausted:
                break
            guess *= BACK
            continue
        low, high, guess = found
        lower, upper = max(lower, low), min(upper, high)
        if upper - lower <= tolerance * upper < math.inf or upper == 0 or line.exhausted:
            break
    return lower, upper


def _solve(line: ContourLine, start: float, log_delta: float, width: float) -> tuple[float, float, float] | None:
    """Certified (lower, upper) and an estimate of the root of delta = e^log_delta; None where the line is too noisy."""
    epsilon = _root(line, start, log_delta, width)
    if epsilon is None:
        return None
    sample = line.delta(epsilon)
    if not sample.slope < 0:
        return None
    margin = ERROR_ROOM * sample.error / -sample.slope + 4 * UNIT * epsilon + WIDTH_ROOM * width
    if not margin < WIDEST_MARGIN:
        return None
    return (*_certified(line, epsilon, margin, log_delta), epsilon)


def _root(line: ContourLine, start: float, log_delta: float, width: float) -> float | None:
    """About where delta = e^log_delta, by Newton's method between the ends that are known; None where it wanders."""
    epsilon, left, right = start, 0.0, math.inf
    for _ in range(NEWTON_STEPS):
        sample = line.delta(epsilon)
        if not sample.slope < 0 or not sample.value > 0:
            right = epsilon
            epsilon = (left + right) / 2
            continue
        excess = sample.log_scale + math.log(sample.value) - log_delta
        left, right = (epsilon, right) if excess > 0 else (left, epsilon)
        move = _newton(line, sample, excess)
        stop = abs(move) <= CLOSE * width or (epsilon == 0 and move <= 0)
        epsilon = max(epsilon + move, 0.0)
        if not left <= epsilon <= right:
            epsilon = (left + right) / 2
        if stop:
            return epsilon
    return None


def _newton(line: ContourLine, sample: LineValue, excess: float) -> float:
    """Newton's step for log delta; on a lattice, where delta is piecewise linear in e^epsilon, for that."""
    move = excess * sample.value / -sample.slope
    if line.lattice and abs(move) < line.lattice[0]:
        ratio = -math.expm1(-excess) * sample.value / -sample.slope
        return math.log1p(ratio) if ratio > STEEPEST else -1.0
    return move


def _certified(line: ContourLine, epsilon: float, margin: float, log_delta: float) -> tuple[float, float]:
    """Ends about the root, as near as the line certifies them; 0 and infinity where it does not."""
    upper = 0.0 if epsilon <= margin and line.delta(0.0).upper <= log_delta else math.inf
    lower = 0.0
    for widen in MARGINS:
        low, high = epsilon - widen * margin, epsilon + widen * margin
        if upper == math.inf and line.delta(high).upper <= log_delta:
            upper = high
        if lower == 0 < low and line.delta(low).lower >= log_delta:
            lower = low
    return lower, upper
