"""What each route says about one epsilon, side by side."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from hush.curves.composition.routes import QUICK, ContourRoute, GridRoute, RenyiRoute
from hush.curves.interval import Interval, known
from hush.curves.pairs.normal import NormalPair
from hush.curves.pairs.pair import Laws, Pair
from hush.errors import HushError, NotCovered
from hush.mechanisms.evidence import Evidence
from hush.mechanisms.mechanism import Mechanism
from hush.numerics.decimals import rounded_down, rounded_up
from hush.numerics.work import part, question

TOLERANCE = 1e-6
FROM_BELOW = " (from below)"
"""How the name of a route ends that bounds epsilon from below."""

ROW = 0.06
"""Share of a question for each row: a table has up to twenty of them, and the answer below it is one more."""

WHY = {
    "closed form": "the profile of one pair, inverted: exact but for rounding",
    "dominating pair": "the profile of a pair that bounds that of all neighbours, inverted: the upper end alone counts",
    "largest loss": "epsilon at delta 0 is the largest loss that can occur",
    "composed": "a part has no analytic loss: above, a table stands for it; below, the best part alone",
    "contour": "a certified line integral of the moments: as tight as floats allow",
    "grid": "losses on a lattice, spread for the upper end, contracted for the lower: wider with every step",
    "Rényi": "Markov's inequality at one order: valid but loose, and without a lower end",
    "clone": "the general clone of Feldman, McMillan, Talwar 2021: for every local randomizer of this epsilon",
    "stronger clone": "Feldman, McMillan, Talwar 2023 with its erratum: this randomizer has the property that it needs",
    "blanket": "Balle, Bell, Gascón, Nissim 2019, Lemma 5.3, summed exactly: what all reports share hides each",
    "blanket, Hoeffding": "the same lemma with Hoeffding's inequality: any randomizer, whatever its mass",
    "clone of (eps, delta)": "Feldman, McMillan, Talwar 2021, Thm 3.8: delta of one report is charged for every person",
    "clone, closed form": "Feldman, McMillan, Talwar 2021, Thm 3.1: what fits in one line",
    "exact": "all data of all others tried",
    "all data": "all data of all others, and all real numbers between them, bounded at once",
    "unshuffled": "what one report reveals on its own",
    "CLT": "a normal loss of the same variance: it ignores skewness and may be below the truth",
}
"""Why the routes differ."""


def why(route: str) -> str:
    """Why this route says what it says."""
    return ATTAINED if route.startswith("attained") else WHY[route.removesuffix(FROM_BELOW)]


ATTAINED = "what is learnt from one choice of mechanism and data that the declaration allows: epsilon is no less"


@dataclass(frozen=True)
class Row:
    """One route in one direction: what it says, or why it says nothing."""

    direction: str
    route: str
    answer: str


Ask = Callable[[], str]
Shown = Callable[[Interval], str]
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
        for direction, neighbours in mechanism.directions()
        for route, ask in _routes(mechanism.evidence(neighbours), log_delta)
    ]


def _answer(ask: Ask) -> str:
    try:
        with question(), part(ROW):
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


def _at_most(ends: Interval) -> str:
    """What a pair says that no mechanism is known to attain: its own lower end says nothing about the truth."""
    return _interval((0.0, ends[1]))


def _routes(evidence: Evidence, log_delta: float) -> Iterator[tuple[str, Ask]]:
    if not evidence.has_pair:
        yield "Rényi", lambda: _interval((0.0, evidence.curve.epsilon_at(log_delta)))
        return
    pair, members = evidence.pair, _attained(evidence)
    shown = _interval if members == (pair,) else _at_most
    if log_delta == -math.inf:
        yield "largest loss", lambda: shown(pair.epsilon(log_delta, TOLERANCE))
        return
    certificates = pair.certificates(log_delta)
    if certificates:
        yield from ((name, lambda n=name, ask=ask: _certificate(n, ask())) for name, ask in certificates)
        return
    if sum(times for _, times in pair.factors) > 1:
        yield from _engines(pair, log_delta, shown)
    else:
        name = "closed form" if members == (pair,) else "dominating pair"
        yield name, lambda: shown(pair.epsilon(log_delta, TOLERANCE))
    if members != (pair,):
        yield "attained" + FROM_BELOW, lambda: _best(members, log_delta)
    yield "Rényi", lambda: _renyi(evidence, log_delta)
    yield "CLT", lambda: _central_limit(pair, log_delta)


def _attained(evidence: Evidence) -> tuple[Pair, ...]:
    try:
        with question():
            return evidence.attained(alone=True)
    except HushError:
        return ()


def _best(members: tuple[Pair, ...], log_delta: float) -> str:
    if not members:
        raise NotCovered("no attack is known: the lower end is 0")
    return _at_least(max(known(member.epsilon(log_delta, TOLERANCE))[0] for member in members))


def _certificate(name: str, ends: Interval) -> str:
    """What one theorem says: an upper end, or, from below, a lower one."""
    return _at_least(ends[0]) if name.endswith(FROM_BELOW) else _interval(ends)


def _at_least(epsilon: float) -> str:
    return f"at least {rounded_down(epsilon, 9)}"


def _engines(pair: Pair, log_delta: float, shown: Shown) -> Iterator[tuple[str, Ask]]:
    if not pair.analytic:
        yield "composed", lambda: shown(pair.epsilon(log_delta, TOLERANCE))
    yield "contour", lambda: _asked(ContourRoute(pair.laws), pair, log_delta, shown)
    yield "grid", lambda: _asked(GridRoute(pair.factors, pair.laws, QUICK), pair, log_delta, shown)


def _renyi(evidence: Evidence, log_delta: float) -> str:
    try:
        route = RenyiRoute(_laws(evidence.pair))
    except NotCovered:
        return _interval((0.0, evidence.curve.epsilon_at(log_delta)))
    return _asked(route, evidence.pair, log_delta, _interval)


def _laws(pair: Pair) -> Laws:
    if not pair.laws:
        raise NotCovered("nothing is released, so there is no loss")
    return pair.laws


def _asked(route: Engine, pair: Pair, log_delta: float, shown: Shown) -> str:
    """Routes take losses to be finite: what P has at +infinity is paid from delta first."""
    if pair.infinite == 0:
        return shown(route.epsilon(log_delta, TOLERANCE))
    rest = math.exp(log_delta) - pair.infinite
    if rest <= 0:
        return f"no finite epsilon: the loss is infinite with probability {pair.infinite:.6g}"
    return shown(route.epsilon(math.log(rest) - math.log1p(-pair.infinite), TOLERANCE))


def _central_limit(pair: Pair, log_delta: float) -> str:
    """Epsilon of two normals whose loss varies as much: Dong, Roth, Su 2022, Thm 3.4, without its error."""
    variance = sum(times * law.tilt(0.0).deviation ** 2 for law, times in _laws(pair))
    if pair.infinite > 0 or variance == 0:
        raise NotCovered("the loss must be finite, and vary")
    epsilon = NormalPair.shifted(math.sqrt(variance)).epsilon(log_delta, TOLERANCE)[1]
    return f"about {epsilon:.6g} (approximation, not a bound)"
