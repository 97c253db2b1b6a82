"""Where a calibration begins: a search on guesses, which cost a tenth of an answer and claim nothing."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

from hush.errors import HushError
from hush.questions.search import COARSEST, Point, Scale, Search, Value

SHARES = (0.25, 0.75), (0.02, 0.75), (0.25, 0.98), (0.02, 0.98)
"""Shares of the range between which the target is sought, in turn. The very ends may be values that nothing takes."""
HALVINGS = 6
"""How often the range is halved where the guess at one end takes too much work."""
CLEARLY = math.log(4)
"""Guesses that differ less than this, in logarithms, do not tell in which direction the cost rises."""
FARTHEST = 6.0
"""A guess that is farther from the target, in logarithms, only tells on which side it is: there it is no line."""
WIDTH, MOST_LOOKS = 1e-5, 20
"""A search on guesses ends so near to the target: a line from there is about as near as they are, mostly 1e-7."""


def searched_by_guesses(guess: Callable[[Value, float], float], plain: Scale) -> Search | None:
    """The search for a guess of 0, in the direction that the guesses show; None where they do not cross 0 clearly.

    A guess at a value is about as near as the tolerance beside it asks. One that takes too much work is infinite, and
    NaN where there is none at all.

    >>> found = searched_by_guesses(lambda noise, _: math.log(4 / noise), Scale(0.1, 100.0, rising=True))
    >>> found.scale.rising, round(found.safe.value, 3)
    (False, 4.0)
    """
    start, stop = plain.ends
    seen: dict[float, tuple[Value, float]] = {}

    def clipped(value: Value, tolerance: float = COARSEST) -> float:
        found = guess(value, tolerance)
        return min(max(found, -FARTHEST), FARTHEST) if math.isfinite(found) else found

    def at(share: float) -> float:
        if share not in seen:
            value = plain.value(start + share * (stop - start))
            seen[share] = value, clipped(value)
        return seen[share][1]

    for near, far in SHARES:
        try:
            _drawn_together(at, near, far)
        except HushError:
            return None
        if math.isnan(at(near) + at(far)):
            return None
        looks = [seen[share] for share in sorted(seen) if math.isfinite(seen[share][1])]
        for (low, first), (high, last) in pairwise(looks):
            clear = abs(looks[-1][1] - looks[0][1]) > CLEARLY and (looks[0][1] < looks[-1][1]) == (first < last)
            if clear and min(first, last) < 0 < max(first, last):
                inner = replace(plain, low=low, high=high, rising=first < last)
                ends = [Point(value, inner.place(value), size) for value, size in ((low, first), (high, last))]
                return _between(clipped, inner, plain, sorted(ends, key=lambda end: end.place))
    return None


def _drawn_together(at: Callable[[float], float], near: float, far: float) -> None:
    """Looks at both shares, and between them while the guess at one is infinite and the other below 0."""
    for _ in range(HALVINGS):
        first, last = at(near), at(far)
        if not min(first, last) < 0 or max(first, last) < math.inf:
            break
        middle = (near + far) / 2
        near, far = (middle, far) if (at(middle) < 0) == (first < 0) else (near, middle)


def _between(guess: Callable[[Value, float], float], inner: Scale, whole: Scale, ends: list[Point]) -> Search | None:
    """The same between two values whose guesses lie on either side of 0, the cheaper one first."""
    cheap, dear = ends
    slope = (dear.excess - cheap.excess) / (dear.place - cheap.place)
    search = Search(guess, inner, WIDTH, slope, seen=ends)
    place = cheap.place - cheap.excess / slope
    while search.looks < MOST_LOOKS and math.isfinite(place):
        search.look(place)
        if abs(search.nearest.excess) <= search.slope * WIDTH:
            return replace(search, scale=replace(whole, rising=inner.rising))
        place = search.proposal()
    return None
