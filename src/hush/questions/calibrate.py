"""The value of one parameter that just meets a target."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from hush.checks import ends, number
from hush.curves.bound import Bound
from hush.curves.interval import Interval
from hush.errors import HushError, InvalidParameter, NotCovered
from hush.mechanisms.mechanism import Mechanism, require
from hush.questions.calibration.aims import (
    AdvantageAim,
    Aim,
    DeltaAim,
    EpsilonAim,
    NoEpsilonAim,
)
from hush.questions.calibration.guessed_start import searched_by_guesses
from hush.questions.search import NOISE, Scale, Search, Value

Number = TypeVar("Number", int, float)
Build = Callable[[Any], Mechanism]
"""A number -> the mechanism with that number as its noise, rate, times, ..."""

FIRST_LOOKS = 0.45, 0.55
"""Shares of the range at which the cost is compared, to see which way it rises."""
ROUGH = 0.01
"""Relative width of the advantages that are compared there."""
FAR_OFF = 0.01
"""If the target's own question is past it by more than this, no small steps to the safe side are tried."""
STEPS_AT_ONCE, FARTHEST_STEP, APART = 5, 0.1, 10.0
"""Steps from a good guess at the most, how long one may be, and how many tolerances apart two looks tell a slope."""
STEPS_BACK = 8
"""Steps to the safe side of what the search found, until the target's own question is asked at every look."""
MOST_DOUBTS = 3
"""Lower ends are asked so often in one search, to prove that the cost turns."""
LEAST_GUESS = 1e-300
"""Stands for a guess of 0."""
SAFELY = 0.4
"""A step ends on the safe side by this share of the tolerance."""
FARTHER = 30.0
"""How much farther the next value is at which the target is perhaps certainly missed."""


@dataclass(frozen=True)
class Calibration:
    """The value that was found, the mechanism with it, and what that mechanism gives away.

    The target is met at `value`, by the upper end of `bound`. It is certainly missed at `fails_at`, by a lower end; the
    best value lies between the two. They are apart by the tolerance where hush's intervals are narrow. Where they are
    wide the distance says how much better the best value may be. None: no value in the range is known to miss it.
    """

    value: float | int
    mechanism: Mechanism = field(repr=False)
    bound: Bound
    fails_at: float | int | None = None


def calibrate(
    build: Callable[[Number], Mechanism],
    *,
    over: tuple[Number, Number],
    epsilon: float | None = None,
    delta: float | None = None,
    advantage: float | None = None,
    tolerance: float = 1e-6,
    like: Sequence[Callable[[Number], Mechanism]] = (),
) -> Calibration:
    """The best value in `over` whose certified upper bound stays within the target.

    The target is epsilon and delta, or advantage. The cost may fall in the value (noise) or rise in it (rate,
    times); two ints in `over` ask for a whole number. `tolerance` is the relative distance from the boundary.
    `like` builds what costs about the same and is cheaper to ask, the cheapest first: the search begins where that
    meets the target, and the answer does not rely on it.

    >>> import hush
    >>> found = calibrate(lambda noise: hush.Gaussian(noise), over=(0.1, 100.0), epsilon=1.0, delta=1e-6)
    >>> found.value
    4.22468...
    >>> found.bound.upper <= 1.0, found.fails_at < found.value
    (True, True)
    >>> step = hush.Gaussian(2.0).on(hush.Poisson(rate=0.01))
    >>> calibrate(step.repeat, over=(1, 1_000_000), epsilon=1.0, delta=1e-6).value
    1873
    """
    low, high, whole = _checked(over)
    width = number("calibrate", "1e-10 <= tolerance <= 0.1", 1e-10, 0.1, tolerance=tolerance)
    target = _target(epsilon, delta, advantage, width)
    return _Task(build, target, low, high, whole, width).solved(like)


def _checked(over: tuple[Value, Value]) -> tuple[Value, Value, bool]:
    """Both ends, and whether whole numbers are asked for."""
    low, high = ends("calibrate", "over=(low, high), two finite numbers with low < high", over=over)
    if all(isinstance(end, int) for end in over):
        return over[0], over[1], True
    return low, high, False


def _target(epsilon: object, delta: object, advantage: object, width: float) -> Aim:
    rule = "either epsilon and delta, or advantage"
    if advantage is not None:
        if epsilon is not None or delta is not None:
            raise InvalidParameter("calibrate", rule, epsilon=epsilon, delta=delta, advantage=advantage)
        rule = "0 < advantage < 1"
        return AdvantageAim(number("calibrate", rule, 0.0, 1.0, low_open=True, high_open=True, advantage=advantage))
    if epsilon is None or delta is None:
        raise InvalidParameter("calibrate", rule, epsilon=epsilon, delta=delta, advantage=advantage)
    limit = number("calibrate", "0 <= epsilon < infinity", 0.0, math.inf, high_open=True, epsilon=epsilon)
    part = number("calibrate", "0 <= delta <= 1", 0.0, 1.0, delta=delta)
    if part == 0 or part == 1:
        return EpsilonAim(limit, part, width)
    return DeltaAim(limit, part, width) if limit > 0 else NoEpsilonAim(part, width)


@dataclass(frozen=True)
class _Task:
    build: Build
    aim: Aim
    low: Value
    high: Value
    whole: bool
    width: float

    def solved(self, like: Sequence[Build]) -> Calibration:
        guide = None
        for build in like:
            guide = replace(self, build=build).guide(guide)
        guess = None if guide else self.guessed()
        found = self._at_once(guess) if guess else None
        if found is not None:
            return found
        search = self.searched(guide or guess)
        found = self._settled(search)
        if found is None and self.aim.direct != self.aim:
            search = replace(self, aim=self.aim.direct).searched(search)
            found = self._settled(search)
        if found is None:
            raise self._missed(search.scale.value(search.scale.ends[0]))
        return replace(found, fails_at=self._fails_at(found.value, search.scale))

    def guide(self, guide: Search | None) -> Search | None:
        """The search on a cheaper cost, or the one before if this cost meets the target nowhere in the range."""
        try:
            found = self.searched(guide)
        except (InvalidParameter, NotCovered):
            return guide
        return found if found.safe else guide

    def guessed(self) -> Search | None:
        """The search on guesses, where they are known and clearly cross the target within the range."""
        return searched_by_guesses(self._guess, Scale(self.low, self.high, True, self.whole))

    def _guess(self, value: Value, tolerance: float) -> float:
        """About how far past the target, in logarithms; NaN where there is no guess for such mechanisms."""
        found = self.aim.guess(self._mechanism(value), tolerance)
        return math.nan if found is None else math.log(max(found, LEAST_GUESS)) - math.log(self.aim.limit)

    def _at_once(self, guide: Search) -> Calibration | None:
        """A few steps from where the guide ended: to a value that meets the target, and just beyond misses it."""
        scale, slope, seen = guide.scale, guide.slope, None
        place, step = guide.nearest.place, -guide.nearest.excess / slope - SAFELY * self.width
        for _ in range(STEPS_AT_ONCE):
            value = scale.value(place + step)
            if not abs(step) < FARTHEST_STEP or value in (self.low, self.high):
                return None
            mechanism, place = self._mechanism(value), scale.place(value)
            bound = self.aim.bound(mechanism)
            if not 0 < bound.upper < math.inf:
                return None
            excess = math.log(bound.upper / self.aim.limit)
            slope = _slope(seen, (place, excess), slope, APART * self.width)
            step, seen = -excess / slope, (place, excess)
            beyond = scale.next(value, 1) if self.whole else scale.value(place + self.width)
            near = 0 <= step < scale.place(beyond) - place
            if near and self.aim.lower(self._mechanism(beyond)) > self.aim.limit:
                return Calibration(value, mechanism, bound, beyond)
            step -= SAFELY * self.width
        return None

    def searched(self, guide: Search | None) -> Search:
        """From where the guide ended, or from the middle of the range."""
        doubts: list[Value] = []

        def doubt(cheap: Value, dear: Value) -> None:
            """Upper ends may be out of order where intervals are wide; a lower end above an upper one is a proof."""
            doubts.append(cheap)
            if len(doubts) <= MOST_DOUBTS:
                least, most = self._positions(cheap)[0], self._positions(dear)[1]
                if least > most + NOISE * (1 + abs(most)):
                    raise self._not_monotone(dear)

        goal = 0.1 * self.width
        if guide is not None:
            search = Search(self._excess, guide.scale, goal, guide.slope, doubt, self._misses)
            search.run(guide.nearest.place)
            return search
        scale, start, slope = self._oriented()
        search = Search(self._excess, scale, goal, slope, doubt, self._misses)
        search.run(start)
        return search

    def _mechanism(self, value: Value) -> Mechanism:
        return require("calibrate: build(value)", self.build(value))

    def _positions(self, value: Value) -> Interval:
        return self.aim.positions(self._mechanism(value), 0.0)

    def _excess(self, value: Value, tolerance: float) -> float:
        return self._beyond(self.aim.position(self._mechanism(value), tolerance))

    def _beyond(self, position: float) -> float:
        """How far past the target; -infinity where both are."""
        limit = self.aim.limit_position
        return position - limit if position > -math.inf else -math.inf

    def _oriented(self) -> tuple[Scale, float, float]:
        """The direction in which the cost rises, a first place to look at, and how steep the cost is.

        The advantage tells it, which is the cheapest question everywhere: at two values near the middle of the range
        as a rule, else at its ends; and if it does not, the target's own question at the ends.
        """
        plain = Scale(self.low, self.high, True, self.whole)
        start, stop = plain.ends
        values = [plain.value(start + share * (stop - start)) for share in FIRST_LOOKS]
        for pair in (values, [self.low, self.high]):
            shifts = [AdvantageAim(0.0).positions(self._mechanism(value), ROUGH) for value in pair]
            rising = _rising(*shifts)
            if rising is not None:
                return self._aimed(replace(plain, rising=rising), pair, shifts)
        ends: list[Value] = [self.low, self.high]
        shifts = [self.aim.positions(self._mechanism(value), self.width) for value in ends]
        rising = _rising(*shifts)
        if rising is None:
            self._refuse_without_order(*shifts)
            rising = shifts[0][1] < shifts[1][1]
        return self._aimed(replace(plain, rising=rising), ends, shifts)

    def _aimed(self, scale: Scale, values: list[Value], shifts: list[Interval]) -> tuple[Scale, float, float]:
        """Where a line through two values meets the target; of slope 1 where one of them is out of sight."""
        start, stop = scale.ends
        found = [(scale.place(value), high) for value, (_, high) in zip(values, shifts, strict=True)]
        finite = sorted(point for point in found if math.isfinite(point[1]))
        aim, slope = self.aim.limit_position, 1.0
        if len(finite) == 2 and finite[1][0] > finite[0][0] and finite[1][1] > finite[0][1]:
            slope = (finite[1][1] - finite[0][1]) / (finite[1][0] - finite[0][0])
        if not finite or not math.isfinite(aim):
            return scale, (start + stop) / 2, 1.0
        place = finite[0][0] + (aim - finite[0][1]) / slope
        return scale, min(max(place, start), stop), slope

    def _refuse_without_order(self, first: Interval, second: Interval) -> None:
        """Where the upper ends agree, either the target is met nowhere, or the value says nothing."""
        if first[1] != second[1]:
            return
        if first[1] > self.aim.limit_position:
            raise self._missed(self.low)
        raise InvalidParameter("calibrate", "a cost that changes over the range", over=(self.low, self.high))

    def _settled(self, search: Search) -> Calibration | None:
        """The safe end, moved on to the safe side until the target's own question agrees; None where it does not."""
        if search.safe is None:
            return None
        scale, value, place = search.scale, search.safe.value, search.safe.place
        for attempt in range(STEPS_BACK):
            mechanism = self._mechanism(value)
            bound = self.aim.bound(mechanism)
            if bound.upper <= self.aim.limit:
                return Calibration(value, mechanism, bound)
            excess = bound.upper / self.aim.limit - 1 if self.aim.limit > 0 else self.width
            if place <= scale.ends[0] or excess > FAR_OFF:
                break
            place -= 1.1 * 1.5**attempt * excess / search.slope
            value = scale.next(value, -(2**attempt)) if self.whole else scale.value(place)
            place = scale.place(value)
        return None

    def _misses(self, value: Value) -> bool:
        """Whether the target is certainly missed."""
        return self._positions(value)[0] > self.aim.limit_position

    def _fails_at(self, value: Value, scale: Scale) -> Value | None:
        """A value past this one, the nearer the better, that certainly misses the target."""
        place, step = scale.place(value), self.width
        count = 1
        while place < scale.ends[1]:
            tried = scale.next(value, count) if self.whole else scale.value(place + step)
            if self._misses(tried):
                return tried
            if tried == scale.value(scale.ends[1]):
                break
            step, count = FARTHER * step, max(round(FARTHER * step * abs(value)), 2 * count)
        return None

    def _not_monotone(self, value: Value) -> InvalidParameter:
        rule = "a cost that only rises or only falls over the range (give a smaller one)"
        return InvalidParameter("calibrate", rule, over=(self.low, self.high), turns_near=value)

    def _missed(self, best: Value) -> HushError:
        """Why nothing was found: the target is missed everywhere, or hush's own bounds are too wide to tell."""
        bound = self.aim.bound(self._mechanism(best))
        if bound.lower <= self.aim.limit:
            return NotCovered(
                f"a value in over={self.low, self.high} whose upper bound meets the target {self.aim.limit:g}: hush "
                f"cannot tell whether one does, as its interval at {best!r} is {bound.lower:.6g} to {bound.upper:.6g}"
            )
        return InvalidParameter(
            "calibrate",
            "a target that is met somewhere in the range",
            over=(self.low, self.high),
            target=self.aim.limit,
            reached=bound.upper,
            at=best,
        )


def _slope(last: tuple[float, float] | None, point: tuple[float, float], slope: float, apart: float) -> float:
    """The rise from the last look to this one; the slope that was known where they are too near, or out of order."""
    if last is None or not abs(point[0] - last[0]) > apart:
        return slope
    rise = (point[1] - last[1]) / (point[0] - last[0])
    return rise if rise > 0 else slope


def _rising(first: Interval, second: Interval) -> bool | None:
    """Whether the second is certainly above the first, or certainly below; None where neither is certain."""
    if first[1] < second[0]:
        return True
    return False if second[1] < first[0] else None
