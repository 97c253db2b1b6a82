"""Black-box test of a mechanism on two neighbouring inputs: a lower bound on its privacy parameter."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from hush.arrays import Array
from hush.auditing.claims import Claim
from hush.auditing.confidence import at_least, at_most, confidence_in_range, joint_limits
from hush.auditing.report import AuditReport, NullCheck
from hush.auditing.scores import fitted_scores
from hush.auditing.simulation import Drawing
from hush.checks import count
from hush.errors import HushError, InvalidParameter
from hush.mechanisms.mechanism import Mechanism

Worlds: TypeAlias = tuple[Array, Array]
"""Outputs with the record, and without it (or with another instead)."""

FEWEST_RUNS = 100
"""Fewer runs of an input prove nothing."""
NULL_AUDITS = 20
"""Audits of equal inputs in a null check, half of them from each world."""
THRESHOLDS = 60
"""Thresholds that are tried for a score, from each world."""


def distinguish(
    present: Drawing | Any,
    absent: Drawing | Any,
    *,
    claim: Mechanism | Claim,
    delta: float | None = None,
    samples: int = 200_000,
    confidence: float = 0.95,
    bits: bool = False,
) -> AuditReport:
    """How far apart a mechanism's outputs on two neighbouring inputs certainly are, against what it claims.

    `present` and `absent` are outputs of independent runs (numbers, rows of numbers, or text), or functions that draw
    so many of them. One half of the runs chooses the attacker: score, threshold and side. The bound comes from the
    other half and from one event, so that no correction for the choice is due. Limits are those of Clopper and Pearson,
    joined for the two rates. With `bits` the attacker also looks at the last bits of outputs, which betray noise that
    is made of floats.

    >>> import hush, hush.auditing
    >>> noisy = hush.auditing.simulated(hush.Laplace(1.0), source=hush.SeededSource(1))
    >>> report = hush.auditing.distinguish(*noisy, claim=hush.PureDP(1.0), samples=20_000)
    >>> 0.9 < report.lower_bound < 1.0, report.survives
    (True, True)
    """
    stated = Claim.of(claim, delta)
    confidence = confidence_in_range("distinguish", confidence)
    samples = count("distinguish", FEWEST_RUNS, samples=samples)
    worlds = as_worlds(_drawn("present", present, samples), _drawn("absent", absent, samples))
    error = 1 - confidence
    event, last, true, false = attack(worlds, stated, error, bits)
    return AuditReport(
        claim=stated,
        lower_bound=float(np.min(stated.bound(true, false))),
        confidence=confidence,
        samples=min(map(len, last)),
        attacker=event.name,
        method="distinguish",
        limits=_coarse(true, false),
        null=_null_check(worlds, stated, error, bits),
        curve=event.curve(last),
    )


def attack(worlds: Worlds, claim: Claim, error: float, bits: bool = False) -> tuple[Event, Worlds, Array, Array]:
    """The event that the first halves choose, the second halves, and the limits that those give."""
    event = choose(tuple(world[: len(world) // 2] for world in worlds), claim, error, bits)
    last = worlds[0][len(worlds[0]) // 2 :], worlds[1][len(worlds[1]) // 2 :]
    return event, last, *event.limits(last, error)


def _coarse(true: Array, false: Array) -> tuple[tuple[float, float], ...]:
    """A few corners (false positive rate, true positive rate), each on the safe side of the many that it replaces."""
    pieces = np.array_split(np.arange(len(true)), 8)
    return tuple((float(false[piece].max()), float(true[piece].min())) for piece in pieces)


@dataclass(frozen=True)
class Event:
    """A set of outputs: those whose score lies beyond a threshold; `tilt` shares the error between its two rates."""

    name: str
    score: Callable[[Array], Array]
    threshold: float
    sign: int
    tilt: float

    def happens(self, outputs: Array) -> int:
        """How many of the outputs lie in it."""
        return int(np.count_nonzero(self.sign * self.score(outputs) > self.threshold))

    def limits(self, worlds: Worlds, error: float) -> tuple[Array, Array]:
        """Lower limits on its probability in the first world, and upper ones in the second: see joint_limits."""
        present, absent = worlds
        return joint_limits(self.happens(present), len(present), self.happens(absent), len(absent), error, self.tilt)

    def curve(self, worlds: Worlds) -> tuple[tuple[float, float], ...]:
        """(false positive, true positive) rates of its score at many thresholds, for a chart."""
        scored = [np.sort(self.sign * self.score(world)) for world in worlds]
        cuts = np.unique(np.quantile(np.concatenate(scored), np.linspace(0, 1, 101)))
        rates = [1 - np.searchsorted(world, cuts, side="right") / len(world) for world in scored]
        return tuple(zip(rates[1].tolist(), rates[0].tolist(), strict=True))[::-1]


NOTHING = Event("none", lambda x: np.zeros(len(x)), 0.0, 1, math.pi / 4)
"""The attacker that never says 'present'."""


def choose(worlds: tuple[Array, ...], claim: Claim, error: float, bits: bool = False) -> Event:
    """The event that promises the largest bound: scores are fitted on the first half, thresholds set on the second."""
    first = [world[: len(world) // 2] for world in worlds]
    second = [world[len(world) // 2 :] for world in worlds]
    best, promised = NOTHING, 0.0
    for name, score in fitted_scores(first[0], first[1], bits).items():
        scored = [score(world) for world in second]
        for sign in (1, -1):
            place, tilt, reached = _threshold([np.sort(sign * side) for side in scored], claim, error)
            if reached > promised:
                best, promised = Event(name, score, place, sign, tilt), reached
    return best


def _threshold(sides: list[Array], claim: Claim, error: float) -> tuple[float, float, float]:
    """The threshold of the largest bound that is nearly certain: what luck alone promises is not chosen."""
    places = _places(sides)
    present, absent = ((len(side) - np.searchsorted(side, places, side="right")).astype(float) for side in sides)
    sizes = [len(side) for side in sides]
    found = claim.bound(at_least(present, sizes[0], error / 50), at_most(absent, sizes[1], error / 50))
    best = int(np.argmax(found))
    true, false = (present[best] + 0.5) / (sizes[0] + 1), (absent[best] + 0.5) / (sizes[1] + 1)
    return float(places[best]), _tilt(claim, true, false), float(found[best])


def _tilt(claim: Claim, true: float, false: float) -> float:
    """The angle whose cosine and sine weigh the two rates: in proportion to slope of the bound times deviation."""
    step = 1e-4
    at = float(claim.bound(true, false))
    by_true = abs(float(claim.bound(true - step * true * (1 - true), false)) - at) / (true * (1 - true))
    by_false = abs(float(claim.bound(true, false + step * false * (1 - false))) - at) / (false * (1 - false))
    tilt = math.atan2(by_false * math.sqrt(false * (1 - false)), by_true * math.sqrt(true * (1 - true)))
    return min(max(tilt, 0.05), math.pi / 2 - 0.05)


def _places(sides: list[Array]) -> Array:
    """Thresholds to try: evenly in the middle, evenly in the logarithm of the rank towards the far end."""
    found = []
    for side in sides:
        size = len(side)
        even = np.linspace(0, size - 1, THRESHOLDS // 2)
        far = size - 1 - np.geomspace(1, size, THRESHOLDS // 2) + 1
        found.append(side[np.clip(np.concatenate([even, far]), 0, size - 1).astype(int)])
    return np.unique(np.concatenate(found))


def _null_check(worlds: Worlds, claim: Claim, error: float, bits: bool) -> NullCheck:
    """The same audit on blocks of runs of one input: whatever it finds there is a false alarm."""
    alarms, runs = 0, 0
    for world in worlds:
        blocks = max(1, min(NULL_AUDITS // 2, len(world) // (2 * FEWEST_RUNS)))
        size = len(world) // (2 * blocks)
        for place in range(0, 2 * blocks * size, 2 * size):
            pair = world[place : place + size], world[place + size : place + 2 * size]
            _, _, true, false = attack(pair, claim, error, bits)
            alarms += bool(np.min(claim.bound(true, false)) > 0)
            runs += 1
    return NullCheck(alarms=alarms, runs=runs, error=error)


# -- input -----------------------------------------------------------------------------------------------------


def _drawn(name: str, given: Drawing | Any, samples: int) -> Array:
    if not callable(given):
        return _outputs(name, given)
    try:
        drawn = given(samples)
    except HushError:
        raise
    except Exception as reason:
        raise InvalidParameter("distinguish", "a mechanism that runs", **{name: type(reason).__name__}) from reason
    found = _outputs(name, drawn)
    if len(found) != samples:
        raise InvalidParameter("distinguish", f"a function that draws {samples} outputs", **{name: len(found)})
    return found


def _outputs(name: str, given: Any) -> Array:
    array = np.asarray(given)
    if array.ndim == 0 or array.ndim > 2:
        rule = "numbers, or rows of numbers, one for each run"
        raise InvalidParameter("distinguish", rule, **{name: f"shape {array.shape}"})
    if len(array) < FEWEST_RUNS:
        raise InvalidParameter("distinguish", f"at least {FEWEST_RUNS} runs of each input", **{name: len(array)})
    if array.dtype.kind == "f" and np.isnan(array).any():
        rule = "outputs without NaN (where NaN is an answer, give it a number of its own)"
        raise InvalidParameter("distinguish", rule, **{name: f"{int(np.isnan(array).sum())} are NaN"})
    if array.dtype.kind not in "biufUS":
        raise InvalidParameter("distinguish", "outputs that are numbers or text", **{name: str(array.dtype)})
    return array


def as_worlds(present: Array, absent: Array) -> Worlds:
    """Both as numbers, the infinite ones beyond all others; text becomes its place among the texts of the first halves.

    Places among all texts would let the half that is counted move the attacker's events.
    """
    if present.shape[1:] != absent.shape[1:]:
        raise InvalidParameter("distinguish", "outputs of one shape", present=present.shape, absent=absent.shape)
    if present.dtype.kind in "US" or absent.dtype.kind in "US":
        texts = [_text(world) for world in (present, absent)]
        known = np.unique(np.concatenate([world[: len(world) // 2].ravel() for world in texts]))
        # odd places are known texts, even ones lie between two of them
        places = [np.searchsorted(known, t) + np.searchsorted(known, t, side="right") for t in texts]
        return places[0].astype(float), places[1].astype(float)
    limit = math.sqrt(np.finfo(float).max) / 4  # squares and sums stay finite
    return np.clip(present.astype(float), -limit, limit), np.clip(absent.astype(float), -limit, limit)


def _text(world: Array) -> Array:
    """The outputs as text; bytes become one letter each, whatever their encoding."""
    return np.char.decode(world, "latin-1") if world.dtype.kind == "S" else world.astype(str)
