"""Every composition theorem on the same steps, side by side: what each of them says, and what it gives away."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

from hush.checks import count, listed, number
from hush.curves.bound import Bound
from hush.curves.renyi.convert import advanced_composition
from hush.curves.renyi.curve import RenyiCurve
from hush.errors import InvalidParameter, NotCovered
from hush.markup import table_html
from hush.mechanisms.combinators.one_after_another import Sequence
from hush.mechanisms.leaves.stated import ApproxDP
from hush.mechanisms.leaves.stated_curves import TCDP
from hush.mechanisms.mechanism import Mechanism, require
from hush.numerics.decimals import rounded_down, rounded_up
from hush.numerics.work import asked, part
from hush.questions.charts.drawing import Axis, Chart, ChartLine, Idea, Stroke
from hush.questions.text_table import aligned

METHODS = ("basic", "advanced", "optimal homogeneous", "optimal heterogeneous", "zCDP", "tCDP", "Rényi", "exact")
"""From the loosest to the exact answer."""

WHY = {
    "basic": "epsilons and deltas of the steps add: Dwork, Kenthapadi, McSherry, Mironov, Naor 2006",
    "advanced": "Dwork, Rothblum, Vadhan 2010, Thm III.3, every step taken for the worst one",
    "optimal homogeneous": "Kairouz, Oh, Viswanath 2015, Thm 3.3: the best from one (epsilon, delta) for all steps",
    "optimal heterogeneous": "the best from one (epsilon, delta) for each kind (Murtagh, Vadhan 2016), by pairs",
    "zCDP": "the least line above the Rényi curve: Bun, Steinke 2016; its bound at the best order",
    "tCDP": "the same line below an order omega only: Bun, Dwork, Rothblum, Steinke 2018; the best of some omegas",
    "Rényi": "curves add (Mironov 2017), converted at the best order: Canonne, Kamath, Steinke 2020",
    "exact": "the product of the dominating pairs, certified from both sides",
}
"""Which theorem each method is."""

IDEAS: dict[str, Idea] = dict(
    zip(
        METHODS,
        (Idea.GENERAL, Idea.ADVANCED, Idea.IMPROVED, Idea.REFINED, Idea.ZCDP, Idea.TCDP, Idea.RENYI, Idea.EXACT),
        strict=True,
    )
)
"""The colour of each method."""

SHARES = (0.0, 0.001, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999)
"""Parts of delta that the steps may use, the theorem keeping the rest: each is valid, the best one is taken."""

TOLERANCE, COARSE = 1e-6, 1e-4
"""Relative widths: of the answers, and where only an upper bound is read off."""

EACH = 0.13
"""Share of the work that is left for each theorem before the exact answer, which gets the rest: about half."""

PAST, HIGHEST = (1.001, 1.25, 2.0, 8.0), 1e6
"""Where tCDP ends, in best orders of the Rényi curve; and the highest order that counts as best."""

LARGEST = 300.0
"""Past this epsilon of a step, theorems about (epsilon, delta) say nothing."""


@dataclass(frozen=True)
class CompositionRow:
    """What one method says about so many repetitions: lower is 0 where it gives only an upper bound."""

    times: int
    method: str
    lower: float
    upper: float

    def __str__(self) -> str:
        upper = rounded_up(self.upper, 5)
        far = self.lower > 0 and Bound(self.lower, self.upper).wide
        return f"{rounded_down(self.lower, 5)} to {upper}" if far else upper


@dataclass(frozen=True)
class Compositions:
    """The table of all methods and counts; `chart` draws it."""

    mechanism: Mechanism
    delta: float
    rows: tuple[CompositionRow, ...]

    @property
    def methods(self) -> list[str]:
        """The methods that apply, from the loosest to the exact answer."""
        return list(dict.fromkeys(row.method for row in self.rows))

    @property
    def times(self) -> list[int]:
        """The counts."""
        return list(dict.fromkeys(row.times for row in self.rows))

    def upper(self, method: str, times: int) -> float:
        """The epsilon that a method gives for a count."""
        found = self._row(method, times)
        if found is None:
            raise InvalidParameter("compositions", "a method that applies, and its count", method=method, times=times)
        return found.upper

    def _row(self, method: str, times: int) -> CompositionRow | None:
        """What the method says; None where it does not apply to so many."""
        return next((row for row in self.rows if (row.method, row.times) == (method, times)), None)

    def table(self) -> list[list[str]]:
        """A head, then one row for each count; numbers rounded up, with the lower end where that is far off.

        A dash stands where a method does not apply.
        """
        head = ["times", *self.methods]
        return [head, *([str(k), *(str(self._row(m, k) or "-") for m in self.methods)] for k in self.times)]

    @property
    def title(self) -> str:
        """What the table shows."""
        return f"epsilon at delta {self.delta:g}: {self.mechanism}"

    def __str__(self) -> str:
        return "\n".join([self.title, *aligned(self.table())])

    def _repr_html_(self) -> str:
        return table_html(self.table(), title=self.title)

    def chart(self) -> Chart:
        """epsilon against the number of repetitions, a line for each method and a band for the exact answer."""
        strokes = {"exact": Stroke.HEAVY, "Rényi": Stroke.DASHED, "optimal heterogeneous": Stroke.DASHED}
        strokes |= {"zCDP": Stroke.DOTTED, "tCDP": Stroke.DOTTED}
        lines: list[ChartLine] = []
        for method in sorted(self.methods, key=lambda method: method != "exact"):  # the wide line lies below
            rows = [row for row in self.rows if row.method == method]
            x, y = tuple(float(row.times) for row in rows), tuple(row.upper for row in rows)
            other = tuple(row.lower for row in rows) if any(row.lower for row in rows) else ()
            stroke = strokes.get(method, Stroke.SOLID)
            lines.append(ChartLine(method, x, y, other, stroke, IDEAS[method], measured=True))
        said = f"{self.mechanism}; {self.mechanism.compared}"
        x, y = Axis("repetitions", log=True), Axis(f"ε at δ = {self.delta:g}, nats", log=True)
        return Chart("What each composition theorem says", said, x, y, tuple(lines))


def compositions(mechanism: Mechanism, *, times: Iterable[int], delta: float) -> Compositions:
    """What every composition theorem says about so many repetitions of a mechanism, at one delta.

    The steps of a sequence count as different kinds. Theorems about (epsilon, delta) may choose the point of each
    step's profile: the best one is used. A method that does not apply is left out.

    >>> import hush
    >>> print(compositions(hush.Laplace(10.0), times=[1, 100], delta=1e-6))
    epsilon at delta 1e-06: Laplace noise of scale 10
    times     basic  advanced  optimal homogeneous     zCDP     tCDP     Rényi     exact
        1  0.099998   0.53617             0.099999  0.42246  0.42246  0.099999  0.099998
      100        10    6.3083               4.7746   5.1249   5.1249    4.9842    4.6927
    """
    require("compositions", mechanism)
    delta = number("compositions", "0 < delta < 1", 0.0, 1.0, low_open=True, high_open=True, delta=delta)
    counts = sorted(
        {count("compositions", 1, times=k) for k in listed("compositions", "a list of counts", times=times)}
    )
    rows = [row for k in counts for row in _counted(mechanism, k, delta)]
    return Compositions(mechanism, delta, tuple(rows))


@asked
def _counted(mechanism: Mechanism, times: int, delta: float) -> list[CompositionRow]:
    """All methods for one count: one question."""
    return list(_compared(mechanism, times, delta))


def _compared(mechanism: Mechanism, times: int, delta: float) -> Iterable[CompositionRow]:
    whole = mechanism.repeat(times)
    for method, ask in _ways(whole, delta):
        try:
            with part(1.0 if method == "exact" else EACH):
                lower, upper = ask()
        except (NotCovered, ArithmeticError):
            continue
        yield CompositionRow(times, method, lower, upper)


def _ways(whole: Mechanism, delta: float) -> Iterable[tuple[str, Callable[[], tuple[float, float]]]]:
    kinds = whole.steps_in_sequence
    same = cache(lambda: _homogeneous(kinds, delta))
    yield "basic", lambda: (0.0, _basic(kinds, delta))
    yield "advanced", lambda: (0.0, _advanced(kinds, delta))
    yield "optimal homogeneous", lambda: (0.0, same()[0])
    if len(kinds) > 1:
        yield "optimal heterogeneous", lambda: (0.0, _heterogeneous(kinds, delta, same()[1]))
    yield "zCDP", lambda: (0.0, _zcdp(whole, delta))
    yield "tCDP", lambda: (0.0, _tcdp(whole, delta))
    yield "Rényi", lambda: (0.0, _renyi(whole, delta))
    yield "exact", lambda: _exact(whole, delta)


Kinds = tuple[tuple[Mechanism, int], ...]
"""The different steps, and how often each is made."""


def _points(kinds: Kinds, delta: float) -> list[tuple[float, float, int]]:
    """One point (epsilon, delta) of each kind's profile, delta the same for every step, and how often it counts."""
    each = _rounded_down(Fraction(delta) / sum(n for _, n in kinds))
    return [(part.epsilon(delta=each, tolerance=TOLERANCE).upper, each, n) for part, n in kinds]


def _rounded_down(exact: Fraction) -> float:
    """The float at or below: what the steps use of delta, added up, must not exceed it, also among the least floats."""
    near = float(exact)
    return near if Fraction(near) <= exact else math.nextafter(near, 0.0)


def _basic(kinds: Kinds, delta: float) -> float:
    """The whole of delta, or none of it."""
    return min(sum(n * epsilon for epsilon, _, n in _points(kinds, share * delta)) for share in (0.0, 1.0))


def _advanced(kinds: Kinds, delta: float) -> float:
    steps = sum(n for _, n in kinds)

    def bound(share: float) -> float:
        points = _points(kinds, share * delta)
        worst, each = max(epsilon for epsilon, _, _ in points), points[0][1]
        if worst > LARGEST:
            return math.inf
        rest = _rounded_down(max(Fraction(delta) - steps * Fraction(each), Fraction(0)))
        return advanced_composition(worst, each, steps, rest)[0]

    return min(bound(share) for share in SHARES)


def _homogeneous(kinds: Kinds, delta: float) -> tuple[float, float]:
    """The product of the worst pairs that meet the worst step's (epsilon, delta); and the best share."""
    relation = kinds[0][0].relation

    def bound(share: float) -> float:
        points = _points(kinds, share * delta)
        worst = max(epsilon for epsilon, _, _ in points)
        if worst > LARGEST:
            return math.inf
        step = ApproxDP(worst, points[0][1], relation=relation)
        return step.repeat(sum(n for _, _, n in points)).epsilon(delta=delta, tolerance=COARSE).upper

    return min((bound(share), share) for share in SHARES)


def _heterogeneous(kinds: Kinds, delta: float, share: float) -> float:
    """The same with each kind's own epsilon, at the share that is best for the worst step (any share is valid)."""
    points = _points(kinds, share * delta)
    if max(epsilon for epsilon, _, _ in points) > LARGEST:
        return math.inf
    relation = kinds[0][0].relation
    parts = [ApproxDP(epsilon, each, relation=relation).repeat(n) for epsilon, each, n in points]
    return Sequence.of(parts).epsilon(delta=delta, tolerance=COARSE).upper


def _zcdp(whole: Mechanism, delta: float) -> float:
    rho = whole.renyi_curve().to_zcdp()
    if rho == math.inf:
        raise NotCovered("no line is above the Rényi curve")
    return RenyiCurve.linear(rho).epsilon(delta=delta)


def _tcdp(whole: Mechanism, delta: float) -> float:
    """Each omega is valid: some past the best order of the curve are tried, and all orders (which is zCDP)."""
    curve = whole.renyi_curve()
    best = min(curve.best_order(delta=delta), HIGHEST)
    lines = {omega: curve.to_tcdp(omega=omega) for omega in (*(best * times for times in PAST), math.inf)}
    found = [_straight(rho, omega).epsilon(delta=delta) for omega, rho in lines.items() if rho < math.inf]
    if not found:
        raise NotCovered("no line is above the Rényi curve, below any of some orders")
    return min(found)


def _straight(rho: float, omega: float) -> RenyiCurve:
    return TCDP(rho, omega).curve_at(1) if 0 < rho and omega < math.inf else RenyiCurve.linear(rho)


def _renyi(whole: Mechanism, delta: float) -> float:
    """Each direction at its own best order."""
    curves = [whole.evidence(neighbours).curve for _, neighbours in whole.directions()]
    return max(curve.epsilon(delta=delta) for curve in curves)


def _exact(whole: Mechanism, delta: float) -> tuple[float, float]:
    found = whole.epsilon(delta=delta, tolerance=TOLERANCE)
    if found.route == "Rényi":
        raise NotCovered("no pair is known")
    return found.lower, found.upper
