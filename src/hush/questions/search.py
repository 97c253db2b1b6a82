"""The last safe place on a line where a cost rises, found with few and expensive looks."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

LOOKS = 120
"""More looks than halving needs on any range of floats."""

NOISE = 1e-5
"""A cost may fall by this much on the way up: answers are intervals, so their ends are not quite smooth."""

SHORT, STEEP = 0.01, 10.0
"""A rise of the excess by more than ten times the way, over a way that is shorter than this, is a jump."""
FINENESS, COARSEST = 0.01, 0.1
"""A look is as fine as a hundredth of the step that led to it, and never coarser than this."""

Value = float | int


@dataclass(frozen=True)
class Scale:
    """A range of values as places on a line on which the cost rises: logarithms where all values are above 0.

    >>> scale = Scale(1, 1000, rising=False, whole=True)
    >>> scale.value(scale.place(10) - 0.001)
    11
    """

    low: Value
    high: Value
    rising: bool
    """Whether the cost rises with the value; if not, places run backwards."""
    whole: bool = False

    @property
    def ends(self) -> tuple[float, float]:
        """The places of the cheapest and of the dearest value."""
        places = self.place(self.low), self.place(self.high)
        return min(places), max(places)

    @property
    def _tiny(self) -> float:
        return 1e-9 * max(abs(self.low), abs(self.high))

    def place(self, value: Value) -> float:
        """Where the value lies."""
        size = math.log(value) if self.low > 0 else math.asinh(value / self._tiny)
        return size if self.rising else -size

    def value(self, place: float) -> Value:
        """The value at the place, a whole one to the cheap side of it."""
        cheapest, dearest = self.ends
        if not cheapest < place < dearest:
            return self.low if (place <= cheapest) is self.rising else self.high
        size = place if self.rising else -place
        value = math.exp(size) if self.low > 0 else self._tiny * math.sinh(size)
        value = min(max(value, self.low), self.high)
        if self.whole:
            return math.floor(value) if self.rising else math.ceil(value)
        return value

    def next(self, value: Value, steps: int) -> Value:
        """So many whole values further, up in cost for steps > 0, inside the range."""
        return min(max(value + (steps if self.rising else -steps), self.low), self.high)


@dataclass(frozen=True)
class Point:
    """A look: what was found at a value."""

    value: Value
    place: float
    excess: float
    """Above 0 where the cost is too high."""


@dataclass
class Search:
    """Secant steps inside a bracket that halves every few looks.

    `excess(value, tolerance)` is best close to a line in the place, of a slope near `rise`. It is an upper bound that
    may be blurred: the dearest place where it is not above 0 is sought, and a cheaper one where it is above 0 proves
    nothing. `doubt(cheap, dear)` is told of two values whose costs are in the wrong order.

    >>> search = Search(lambda x, _: math.log(x / 2) + 0.01 * x, Scale(0.1, 100.0, rising=True), goal=1e-9)
    >>> search.run(start=0.0)
    >>> round(search.safe.value, 6), search.looks
    (1.961159, 5)
    """

    excess: Callable[[Value, float], float]
    scale: Scale
    goal: float
    """How far from the boundary, in places, the safe end may stay."""
    rise: float = 1.0
    """The slope until two looks tell it."""
    doubt: Callable[[Value, Value], None] = lambda *_: None
    certain: Callable[[Value], bool] = lambda _: True
    """Whether the value is unsafe indeed. Asked where the excess jumps: if not, the jump is that of a blurred bound."""
    seen: list[Point] = field(default_factory=list[Point])
    looks: int = 0
    blurred: bool = False
    """Whether the search ended at such a jump."""
    _widths: list[float] = field(default_factory=list[float])

    def run(self, start: float) -> None:
        """Look from the place start on, until the safe end is within the goal of the boundary."""
        place = start
        while self.looks < LOOKS:
            self.look(place)
            if self._finished():
                return
            place = self.proposal()

    @property
    def safe(self) -> Point | None:
        """The dearest look that is safe."""
        return max((p for p in self.seen if p.excess <= 0), key=lambda p: p.place, default=None)

    @property
    def unsafe(self) -> Point | None:
        """The next one past it that is not."""
        floor = self.safe.place if self.safe else -math.inf
        return min((p for p in self.seen if p.place > floor), key=lambda p: p.place, default=None)

    @property
    def slope(self) -> float:
        """Rise of the excess per place near the last looks."""
        finite = [p for p in self.seen[-2:] if math.isfinite(p.excess)]
        if len(finite) < 2 or finite[0].place == finite[1].place:
            return self.rise
        slope = (finite[1].excess - finite[0].excess) / (finite[1].place - finite[0].place)
        return slope if slope > 0 else self.rise

    def look(self, place: float) -> None:
        """Ask at this place, or as near to it as values go."""
        value = self._inside(self.scale.value(place))
        place = self.scale.place(value)
        step = abs(place - self.seen[-1].place) if self.seen else 1.0
        tolerance = min(max(self.goal, FINENESS * step), COARSEST)
        point = Point(value, place, self.excess(value, tolerance))
        self.looks += 1
        self._compare(point, tolerance)
        self.seen.append(point)
        low, high = self._bracket()
        self._widths.append(high - low)

    def _compare(self, point: Point, tolerance: float) -> None:
        """Tell of the look whose cost is most out of order with this one, if there is one."""
        worst, most = None, (NOISE + 2 * tolerance) * (1 + abs(point.excess)) if math.isfinite(point.excess) else 0.0
        for other in self.seen:
            fall = point.excess - other.excess if other.place > point.place else other.excess - point.excess
            if other.place != point.place and fall > most:
                worst, most = other, fall
        if worst:
            cheap, dear = sorted((worst, point), key=lambda p: p.place)
            self.doubt(cheap.value, dear.value)

    def _inside(self, value: Value) -> Value:
        """A whole value that was looked at already makes way for its neighbour inside the bracket."""
        if self.scale.whole and self.safe and value == self.safe.value:
            return self.scale.next(value, 1)
        if self.scale.whole and self.unsafe and value == self.unsafe.value:
            return self.scale.next(value, -1)
        return value

    def _bracket(self) -> tuple[float, float]:
        low, high = self.scale.ends
        return self.safe.place if self.safe else low, self.unsafe.place if self.unsafe else high

    def _root(self) -> float:
        """About where the excess is 0: on a curve through the last three looks if it rises, else on a line."""
        last = self.seen[-1]
        straight = last.place - last.excess / self.slope
        three = sorted(self.seen[-3:], key=lambda p: p.place)
        if len(three) < 3 or not all(math.isfinite(p.excess) for p in three):
            return straight
        if not three[0].excess < three[1].excess < three[2].excess:
            return straight
        curved = sum(
            p.place * math.prod(q.excess / (q.excess - p.excess) for q in three if q is not p) for p in three
        )
        return curved if self._between_neighbours(curved) else straight

    def _finished(self) -> bool:
        low, high = self.scale.ends
        if self.safe is None:
            return self.unsafe is not None and self.unsafe.place <= low
        if self.safe.place >= high:
            return True
        if self.scale.whole:
            return self.unsafe is not None and abs(self.unsafe.value - self.safe.value) <= 1
        if self.unsafe and self.unsafe.place - self.safe.place <= self.goal:
            return True
        if self.unsafe and self._jumps(self.safe, self.unsafe):
            self.blurred = not self.certain(self.unsafe.value)
            return self.blurred
        return self._local() and -self.safe.excess <= self.slope * self.goal

    def _jumps(self, safe: Point, unsafe: Point) -> bool:
        """Whether the excess rises far more than it should over a short way that was just entered."""
        width = unsafe.place - safe.place
        entered = len(self._widths) < 2 or self._widths[-2] >= SHORT
        return entered and width < SHORT and unsafe.excess - safe.excess > STEEP * max(self.rise, 1.0) * width

    def _local(self) -> bool:
        """Whether the slope was seen close by."""
        return self.looks > 1 and abs(self.seen[-1].place - self.seen[-2].place) < 0.05

    def proposal(self) -> float:
        """Where to look next."""
        low, high = self._bracket()
        last = self.seen[-1]
        if self.looks > 2 and math.isinf(last.excess) and not (self.safe and self.unsafe):
            return high if self.safe else low  # nothing tells a distance: perhaps that end is all that there is
        stuck = len(self._widths) > 4 and self._widths[-1] > 0.5 * self._widths[-5]
        if stuck or not math.isfinite(last.excess):
            return (low + high) / 2
        step = self._root() - last.place - 0.3 * self.goal
        if abs(step) < self.goal:  # as good as there: cross the boundary, so that both sides are known
            step = -math.copysign(0.9 * self.goal, last.excess)
        place = last.place + step
        if place <= low:
            return (low + high) / 2 if self.safe else low
        if place >= high:
            return (low + high) / 2 if self.unsafe else high
        return place
