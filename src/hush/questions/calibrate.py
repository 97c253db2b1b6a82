"""The value of one parameter that just meets a target."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeVar

from hush.checks import ends, number
from hush.curves.bound import Bound
from hush.errors import InvalidParameter
from hush.mechanisms.mechanism import Mechanism, require
from hush.questions.search import NotRising, Point, Scale, Search, Value

Number = TypeVar("Number", int, float)
Build = Callable[[Any], Mechanism]
"""A number -> the mechanism with that number as its noise, rate, times, ..."""

SATURATED = -0.05
"""A log delta above this says nothing about the distance to the target."""


@dataclass(frozen=True)
class Calibration:
    """The value that was found, the mechanism with it, and what that mechanism gives away."""

    value: float | int
    mechanism: Mechanism = field(repr=False)
    bound: Bound


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
    >>> found.bound.upper <= 1.0
    True
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


def _target(epsilon: object, delta: object, advantage: object, width: float) -> _Target:
    rule = "either epsilon and delta, or advantage"
    if advantage is not None:
        if epsilon is not None or delta is not None:
            raise InvalidParameter("calibrate", rule, epsilon=epsilon, delta=delta, advantage=advantage)
        rule = "0 < advantage < 1"
        return _Advantage(number("calibrate", rule, 0.0, 1.0, low_open=True, high_open=True, advantage=advantage))
    if epsilon is None or delta is None:
        raise InvalidParameter("calibrate", rule, epsilon=epsilon, delta=delta, advantage=advantage)
    rule = "0 < epsilon < infinity"
    limit = number("calibrate", rule, 0.0, math.inf, low_open=True, high_open=True, epsilon=epsilon)
    part = number("calibrate", "0 <= delta < 1", 0.0, 1.0, high_open=True, delta=delta)
    return _Epsilon(limit, part, width) if part > 0 else _Pure(limit, width)


class _Target(Protocol):
    """What must not be exceeded.

    `position` is the log of the shift of two normals that cost about the same. It is close to a straight line in the
    log of noise, rate or times, so that few secant steps are needed.
    """

    @property
    def limit(self) -> float: ...

    @property
    def limit_position(self) -> float: ...

    def position(self, mechanism: Mechanism) -> float: ...

    def bound(self, mechanism: Mechanism) -> Bound: ...


@dataclass(frozen=True)
class _Epsilon:
    """Seeks on log delta at the epsilon: cheap and smooth. Epsilon at the delta has the last word."""

    limit: float
    delta: float
    tolerance: float

    @property
    def limit_position(self) -> float:
        return self._shift(math.log(self.delta))

    def position(self, mechanism: Mechanism) -> float:
        return self._shift(mechanism.upper_log_delta(epsilon=self.limit, tolerance=self.tolerance))

    def _shift(self, log_delta: float) -> float:
        """log of the mu with log_delta = -z^2/2 and z = epsilon/mu - mu/2."""
        if log_delta == -math.inf or log_delta > SATURATED:
            return math.copysign(math.inf, log_delta - SATURATED)
        z = math.sqrt(-2 * log_delta)
        return math.log(2 * self.limit) - math.log(z + math.sqrt(z * z + 2 * self.limit))

    def bound(self, mechanism: Mechanism) -> Bound:
        return mechanism.epsilon(delta=self.delta, tolerance=self.tolerance)


@dataclass(frozen=True)
class _Pure:
    """Seeks on epsilon itself, at delta 0: the largest loss."""

    limit: float
    tolerance: float

    @property
    def limit_position(self) -> float:
        return math.log(self.limit)

    def position(self, mechanism: Mechanism) -> float:
        largest = self.bound(mechanism).upper
        return math.log(largest) if largest > 0 else -math.inf

    def bound(self, mechanism: Mechanism) -> Bound:
        return mechanism.epsilon(delta=0.0, tolerance=self.tolerance)


@dataclass(frozen=True)
class _Advantage:
    limit: float

    @property
    def limit_position(self) -> float:
        return _advantage_shift(self.limit)

    def position(self, mechanism: Mechanism) -> float:
        return _advantage_shift(mechanism.advantage().upper)

    def bound(self, mechanism: Mechanism) -> Bound:
        return mechanism.advantage()


def _advantage_shift(advantage: float) -> float:
    """log of the mu with advantage = erf(mu / sqrt 8), by erf(x)^2 ~ 1 - exp(-4 x^2 / pi)."""
    if not 0 < advantage < 1:
        return -math.inf if advantage <= 0 else math.inf
    return 0.5 * math.log(2 * math.pi * -math.log1p(-advantage * advantage))


@dataclass(frozen=True)
class _Task:
    build: Build
    target: _Target
    low: Value
    high: Value
    whole: bool
    width: float

    def solved(self, like: Sequence[Build]) -> Calibration:
        guide = None
        for build in like:
            guide = replace(self, build=build).guide(guide)
        search = self._searched(guide)
        if search.safe is None:
            raise self._out_of_reach(self.low if search.scale.rising else self.high)
        return self._settled(search.safe, search.slope, search.scale)

    def guide(self, guide: Search | None) -> Search | None:
        """The search on a cheaper cost, or the one before if this cost meets the target nowhere in the range."""
        try:
            found = self._searched(guide)
        except InvalidParameter:
            return guide
        return found if found.safe else guide

    def _searched(self, guide: Search | None) -> Search:
        if guide is not None and guide.safe is not None:
            scale, start, rise = guide.scale, guide.safe.place, guide.slope
        else:
            (scale, start), rise = self._oriented(), 1.0
        search = Search(self._excess, scale, 0.1 * self.width, rise)
        try:
            search.run(start)
        except NotRising as turn:
            raise self._not_monotone(turn.value) from None
        return search

    def _mechanism(self, value: Value) -> Mechanism:
        return require("calibrate: build(value)", self.build(value))

    def _excess(self, value: Value) -> float:
        return self.target.position(self._mechanism(value)) - self.target.limit_position

    def _oriented(self) -> tuple[Scale, float]:
        """The direction in which the cost rises, from both ends, and a first place to look at.

        The advantage is asked first: at the far ends of a range it is the cheapest question.
        """
        both = [self._mechanism(value) for value in (self.low, self.high)]
        positions = [_advantage_shift(end.advantage().upper) for end in both]
        if positions[0] == positions[1]:
            positions = [self.target.position(end) for end in both]
        if positions[0] == positions[1]:
            if positions[0] > self.target.limit_position:
                raise self._out_of_reach(self.low)
            raise InvalidParameter("calibrate", "a cost that changes over the range", over=(self.low, self.high))
        scale = Scale(self.low, self.high, positions[0] < positions[1], self.whole)
        cheap, dear = sorted(positions)
        return scale, self._first_place(scale, cheap, dear)

    def _first_place(self, scale: Scale, cheap: float, dear: float) -> float:
        """Where a line through the ends meets the target; of slope 1 where one of them is out of sight."""
        start, stop = scale.ends
        aim = self.target.limit_position
        if math.isfinite(cheap) and math.isfinite(dear):
            place = start + (stop - start) * (aim - cheap) / (dear - cheap)
        elif math.isfinite(cheap) or math.isfinite(dear):
            place = start + aim - cheap if math.isfinite(cheap) else stop - (dear - aim)
        else:
            place = (start + stop) / 2
        return min(max(place, start), stop)

    def _settled(self, safe: Point, slope: float, scale: Scale) -> Calibration:
        """The safe end, moved on to the safe side until the target's own question agrees."""
        value, place = safe.value, safe.place
        for attempt in range(40):
            mechanism = self._mechanism(value)
            bound = self.target.bound(mechanism)
            if bound.upper <= self.target.limit:
                return Calibration(value, mechanism, bound)
            if place <= scale.ends[0]:
                break
            excess = min(bound.upper / self.target.limit - 1, 1.0)
            place -= 1.1 * 1.5**attempt * excess / slope
            value = scale.next(value, -(2**attempt)) if self.whole else scale.value(place)
            place = scale.place(value)
        raise self._not_monotone(value)

    def _not_monotone(self, value: Value) -> InvalidParameter:
        rule = "a cost that only rises or only falls over the range (give a smaller one)"
        return InvalidParameter("calibrate", rule, over=(self.low, self.high), turns_near=value)

    def _out_of_reach(self, best: Value) -> InvalidParameter:
        return InvalidParameter(
            "calibrate",
            "a target that is met somewhere in the range",
            over=(self.low, self.high),
            target=self.target.limit,
            reached=self.target.bound(self._mechanism(best)).upper,
            at=best,
        )
