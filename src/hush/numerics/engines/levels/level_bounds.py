"""Levels engine: bounds on delta and on epsilon of a sum in which single losses are rare and large.

A search lays levels for one epsilon after the other; whatever it finds, only what the levels certify is answered.
"""

from __future__ import annotations

import math

from hush.numerics.engines.levels import rough_sum
from hush.numerics.engines.levels.bystanders import NOBODY, Bystanders
from hush.numerics.engines.levels.telescope import Crowd, Mixtures, Telescope
from hush.numerics.rounding import UNIT
from hush.numerics.work import Exhausted, attempt

COARSE = 1e-2
"""Relative tolerance of delta while epsilon is sought."""
SHARE_OF_DELTA, SHARE_OF_EPSILON = 4, 6
"""The levels get a quarter of the tolerance of log delta, and a sixth of what that of epsilon means for it."""
LEAST_STEEPNESS = 0.1
"""-d log delta/d epsilon is taken as at least this over the scale: an estimate may be off."""
DELTA_BUILDS, EPSILON_BUILDS = 4, 20
"""How often the levels are laid anew at the most."""
NEWTON_STEPS, CLOSE = 30, 1e-3
"""Steps of Newton's method at the most; it stops when a step is this share of the tolerance."""
FARTHEST_MOVE, MOVED, COARSELY_MOVED = 0.3, 0.02, 0.1
"""Shares of the scale: how far one set of levels is trusted, and from which move on they are laid anew."""
SMALLER = 8
"""Where a step would leave the positive numbers, epsilon is divided by this."""
MARGINS = (1.2, 2.0, 5.0, 20.0, 100.0)
"""Multiples of error over slope at which an end is tried, from near to far; each is checked."""
AGAIN = 1.4
"""How much larger, or smaller, the next epsilon is that is tried where nothing shows the way."""
SMALL = -18.0
"""Below this log delta guesses are made with tilted losses: the others have few digits left."""
ROUGHLY = 1e-4
"""Guesses for tolerances above this are made on a coarse lattice."""
LEAST_EPSILON = 1e-12
"""Smaller epsilons are not sought."""
LEAST_GUESS, LOWER = 1e-300, 5.0
"""The least guess at delta, and by how much a guess at its logarithm falls where it was too large."""
NEAR_ZERO, AT_ZERO = 2.0, 0.02
"""Where epsilon is guessed below two deviations of the crowd, or well guessed below a fiftieth of one, it may be 0:
that is tried first."""
FINEST = 1e-11
"""The finest relative tolerance of delta that is asked of the levels: floats allow little more."""
SURELY = 8 * UNIT
"""Relative room for the rounding of e^log_delta where it is compared."""


def log_delta_bounds(
    mixtures: Mixtures, epsilon: float, tolerance: float, beside: Bystanders = NOBODY
) -> tuple[float, float]:
    """Certified bounds on log delta(epsilon), epsilon >= 0, of the sum of all losses; tolerance is on log delta."""
    crowd = Crowd(mixtures, beside)
    guess = crowd.rough(epsilon, tilted=False).log_delta(epsilon)
    guess = crowd.rough(epsilon, tilted=True).log_delta(epsilon) if guess is None else guess
    guess = math.log(max(crowd.one_hit(epsilon), LEAST_GUESS)) if guess is None else guess
    low, high = -math.inf, 0.0
    for _ in range(DELTA_BUILDS):
        value, error = Telescope(crowd, epsilon, guess, tolerance / SHARE_OF_DELTA).value(epsilon)
        if value > error:
            low = max(low, math.log(value - error))
        if 0 < value + error < 1:
            high = min(high, math.log(value + error))
        if high - low <= tolerance:
            break
        guess = math.log(value) if value > 2 * error else min(guess, high) - LOWER
    return low, high


def epsilon_bounds(
    mixtures: Mixtures,
    log_delta: float,
    tolerance: float,
    floor: float = 0.0,
    known: tuple[float, float] = (0.0, math.inf),
    beside: Bystanders = NOBODY,
) -> tuple[float, float]:
    """Certified bounds on the epsilon >= 0 at which delta is e^log_delta; tolerance is relative to it.

    Below the floor an upper bound will do. Bounds that are known already show where to search.
    """
    crowd = Crowd(mixtures, beside)
    crude = crowd.first_epsilon(log_delta)
    rough = crowd.rough(crude, tilted=log_delta < SMALL)
    guess = rough.epsilon(log_delta)
    if 0 < floor and max(guess or 0.0, known[0]) < floor and attempt(lambda: _met(crowd, floor, log_delta), False):
        return 0.0, floor
    near_zero = crude < NEAR_ZERO * crowd.deviation if guess is None else guess < AT_ZERO * crowd.deviation
    if known[0] == 0 and near_zero and _met(crowd, 0.0, log_delta):
        return 0.0, 0.0
    steepness = rough.steepness(guess) if guess else 0.0
    if guess and steepness:
        goal, begin = _fine(tolerance, guess, steepness), _within(guess, *known)
        low, high = attempt(lambda: _near(crowd, begin, log_delta, goal), (0.0, math.inf))
        if high < math.inf:
            return low, high
    return _searched(crowd, _within(crude, *known), log_delta, tolerance, known)


def _near(crowd: Crowd, epsilon: float, log_delta: float, goal: float) -> tuple[float, float]:
    """The answer from one set of fine levels, or a second one, where epsilon is well guessed; else nothing."""
    for _ in range(2):
        telescope = Telescope(crowd, epsilon, log_delta, goal)
        found = _newton(telescope, epsilon, log_delta)
        if found is None or abs(found[0] - epsilon) > COARSELY_MOVED * telescope.scale:
            break
        if abs(found[0] - epsilon) < MOVED * telescope.scale:
            return _certified(telescope, *found, log_delta)
        epsilon = found[0]
    return 0.0, math.inf


def _searched(
    crowd: Crowd, epsilon: float, log_delta: float, tolerance: float, known: tuple[float, float]
) -> tuple[float, float]:
    """The answer from coarse levels for one epsilon after the other, then from fine ones."""
    low, high = known
    goal = COARSE
    for _ in range(EPSILON_BUILDS):
        try:
            telescope, begin = Telescope(crowd, epsilon, log_delta, goal), epsilon
        except Exhausted:  # levels for a delta far below the one at this epsilon take too much work
            if goal < COARSE:
                break
            low, epsilon = max(low, epsilon), _within(AGAIN * epsilon, max(low, epsilon), high)
            continue
        value, error = telescope.value(epsilon)
        low = max(low, epsilon) if value - error > math.exp(log_delta) else low
        high = min(high, epsilon) if value + error < math.exp(log_delta) else high
        found = _newton(telescope, epsilon, log_delta)
        if found is None or not low <= found[0] <= high:
            epsilon = _within(2 * begin, low, high)
            if epsilon < LEAST_EPSILON or epsilon == begin:
                break
            continue
        epsilon, steepness = found
        if abs(epsilon - begin) < (MOVED if goal < COARSE else COARSELY_MOVED) * telescope.scale:
            if goal < COARSE:
                return _certified(telescope, epsilon, steepness, log_delta)
            goal = _fine(tolerance, epsilon, max(steepness, LEAST_STEEPNESS / telescope.scale))
    return 0.0, math.inf


def _met(crowd: Crowd, epsilon: float, log_delta: float) -> bool:
    """Whether delta(epsilon) is certainly at most e^log_delta."""
    value, error = Telescope(crowd, epsilon, log_delta, COARSE).value(epsilon)
    return value + error <= math.exp(log_delta) * (1 - SURELY)


def surely_below(mixtures: Mixtures, epsilon: float, log_delta: float, beside: Bystanders = NOBODY) -> bool:
    """Whether delta(epsilon) is certainly at most e^log_delta."""
    return _met(Crowd(mixtures, beside), epsilon, log_delta)


def epsilon_guess(mixtures: Mixtures, log_delta: float, tolerance: float, beside: Bystanders = NOBODY) -> float:
    """About epsilon at this delta, at once and with no bound; the tolerance only says which lattice will do."""
    crowd = Crowd(mixtures, beside)
    crude = crowd.first_epsilon(log_delta)
    size = rough_sum.FINE if tolerance < ROUGHLY else rough_sum.COARSE
    guess = crowd.rough(crude, tilted=log_delta < SMALL, size=size).epsilon(log_delta)
    return crude if guess is None else guess


def _fine(tolerance: float, epsilon: float, steepness: float) -> float:
    """The tolerance of delta that one of epsilon means."""
    return min(max(tolerance * epsilon * steepness / SHARE_OF_EPSILON, FINEST), COARSE / 2)


def _within(guess: float, low: float, high: float) -> float:
    """The guess, or a point between the ends where it is not between them."""
    if low < guess < high:
        return guess
    return math.sqrt(max(low, high / AGAIN**2) * high) if high < math.inf else AGAIN * low


def _newton(telescope: Telescope, begin: float, log_delta: float) -> tuple[float, float] | None:
    """About where delta is e^log_delta, as far as these levels are trusted, and how steeply log delta falls there.

    None where delta is not known.
    """
    epsilon, farthest, steepness = begin, FARTHEST_MOVE * telescope.scale, 0.0
    for _ in range(NEWTON_STEPS):
        found = telescope.log_value(epsilon)
        if found is None or not found[1] < 0:
            return None
        value, steepness = found[0], -found[1]
        move = (value - log_delta) / steepness
        epsilon += max(min(move, farthest), -farthest)
        if abs(epsilon - begin) > farthest:
            return max(begin + math.copysign(farthest, epsilon - begin), begin / SMALLER), steepness
        if epsilon <= 0:
            return begin / SMALLER, steepness
        if abs(move) < CLOSE * telescope.tolerance * telescope.scale:
            break
    return epsilon, steepness


def _certified(telescope: Telescope, epsilon: float, steepness: float, log_delta: float) -> tuple[float, float]:
    """Ends about the root, as near as the brackets certify them."""
    delta = math.exp(log_delta)
    value, error = telescope.value(epsilon)
    slope = max(steepness * value, LEAST_GUESS)
    low, high = 0.0, math.inf
    for margin in MARGINS:
        width = margin * error / slope + 4 * UNIT * epsilon
        if low == 0 and width < epsilon:
            value, off = telescope.value(epsilon - width)
            low = epsilon - width if value - off >= delta * (1 + SURELY) else 0.0
        if high == math.inf:
            value, off = telescope.value(epsilon + width)
            high = epsilon + width if value + off <= delta * (1 - SURELY) else math.inf
    return low, high
