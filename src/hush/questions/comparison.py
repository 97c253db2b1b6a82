"""What each route says about one epsilon, side by side."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from hush.curves.normal import NormalPair
from hush.curves.pair import Interval, Pair
from hush.curves.product import Product
from hush.curves.routes import QUICK, ContourRoute, GridRoute, Laws, RenyiRoute
from hush.errors import HushError, NotCovered
from hush.mechanisms.mechanism import Counts, Mechanism
from hush.questions.rounding import rounded_down, rounded_up

TOLERANCE = 1e-6

WHY = {
    "closed form": "the profile of one pair, inverted: exact but for rounding",
    "largest loss": "epsilon at delta 0 is the largest loss that can occur",
    "composed": "a part has no analytic loss: above, a table stands for it; below, the best part alone",
    "contour": "a certified line integral of the moments: as tight as floats allow",
    "grid": "losses on a lattice, spread for the upper end, contracted for the lower: wider with every step",
    "Rényi": "Markov's inequality at one order: valid but loose, and without a lower end",
    "CLT": "a normal loss of the same variance: it ignores skewness and may be below the truth",
}
"""Why the routes differ."""


@dataclass(frozen=True)
class Row:
    """One route in one direction: what it says, or why it says nothing."""

    direction: str
    route: str
    answer: str


Ask = Callable[[], str]
Engine = ContourRoute | GridRoute | RenyiRoute


def compare(mechanism: Mechanism, log_delta: float) -> list[Row]:
    """Every route in every direction; a route that does not apply says why, and none of them raises.

    >>> import hush
    >>> for row in compare(hush.Gaussian(1.0), math.log(1e-5))[:3]:
    ...     print(row.route, row.answer)
    closed form [4.37717..., 4.37717...]
    Rényi at most 4.73...
    CLT about 4.37... (approximation, not a bound)
    """
    return [
        Row(direction, route, _answer(ask))
        for direction, removed, added in mechanism.neighbours()
        for route, ask in _routes(mechanism, removed, added, log_delta)
    ]


def _answer(ask: Ask) -> str:
    try:
        return ask()
    except HushError as reason:
        return f"does not apply: {reason}"
    except Exception as failure:
        # The table explains an answer that was given; a route that breaks must not take the others with it.
        return f"failed: {type(failure).__name__}: {failure}"


def _interval(ends: Interval) -> str:
    low, high = ends
    if high == math.inf:
        return "no finite epsilon at this delta"
    upper = rounded_up(high, 9)
    return f"at most {upper}" if low == 0 < high else f"[{rounded_down(low, 9)}, {upper}]"


def _routes(mechanism: Mechanism, removed: Counts, added: Counts, log_delta: float) -> Iterator[tuple[str, Ask]]:
    try:
        pair = mechanism.pair(removed, added)
    except HushError:
        yield "Rényi", lambda: _interval((0.0, mechanism.curve(removed, added).epsilon_at(log_delta)))
        return
    if log_delta == -math.inf:
        yield "largest loss", lambda: _interval(pair.epsilon(log_delta, TOLERANCE))
        return
    if isinstance(pair, Product) and pair.parts:
        yield from _engines(pair, log_delta)
    else:
        yield "closed form", lambda: _interval(pair.epsilon(log_delta, TOLERANCE))
    yield "Rényi", lambda: _renyi(mechanism, removed, added, pair, log_delta)
    yield "CLT", lambda: _central_limit(pair, log_delta)


def _engines(pair: Product, log_delta: float) -> Iterator[tuple[str, Ask]]:
    if not pair.analytic:
        yield "composed", lambda: _interval(pair.epsilon(log_delta, TOLERANCE))
    yield "contour", lambda: _asked(ContourRoute(pair.laws), pair, log_delta)
    yield "grid", lambda: _asked(GridRoute(pair.parts, pair.laws, QUICK), pair, log_delta)


def _renyi(mechanism: Mechanism, removed: Counts, added: Counts, pair: Pair, log_delta: float) -> str:
    try:
        route = RenyiRoute(_laws(pair))
    except NotCovered:
        return _interval((0.0, mechanism.curve(removed, added).epsilon_at(log_delta)))
    return _asked(route, pair, log_delta)


def _laws(pair: Pair) -> Laws:
    laws = pair.laws if isinstance(pair, Product) else ((pair.law(), 1),)
    if not laws:
        raise NotCovered("nothing is released, so there is no loss")
    return laws


def _asked(route: Engine, pair: Pair, log_delta: float) -> str:
    """Routes take losses to be finite: what P has at +infinity is paid from delta first."""
    if pair.infinite == 0:
        return _interval(route.epsilon(log_delta, TOLERANCE))
    rest = math.exp(log_delta) - pair.infinite
    if rest <= 0:
        return f"no finite epsilon: the loss is infinite with probability {pair.infinite:.6g}"
    return _interval(route.epsilon(math.log(rest) - math.log1p(-pair.infinite), TOLERANCE))


def _central_limit(pair: Pair, log_delta: float) -> str:
    """Epsilon of two normals whose loss varies as much: Dong, Roth, Su 2022, Thm 3.4, without its error."""
    variance = sum(times * law.tilt(0.0).deviation ** 2 for law, times in _laws(pair))
    if pair.infinite > 0 or variance == 0:
        raise NotCovered("the loss must be finite, and vary")
    epsilon = NormalPair.shifted(math.sqrt(variance)).epsilon(log_delta, TOLERANCE)[1]
    return f"about {epsilon:.6g} (approximation, not a bound)"
