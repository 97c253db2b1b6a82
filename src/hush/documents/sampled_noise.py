"""Figures of sampled mechanisms: their Rényi curves, and what many steps of them cost, by every theorem.

A sample of fixed size, drawn without replacement, is compared under replace-one: noise is relative to what a replaced
record can change. The exact lines are for Poisson sampling at the same rate, under add-or-remove, with the same
noise relative to what an added record can change. They are also proven lower bounds for the fixed-size sample: all
other records may be equal to the one that is replaced, and then the two pairs are the same.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from hush.curves.renyi.concentrated import tcdp_sample
from hush.curves.renyi.convert import advanced_composition, amplify, renyi_to_epsilon
from hush.curves.renyi.curve import RenyiCurve
from hush.curves.renyi.sampling import (
    poisson_mirrored,
    poisson_sample,
    without_replacement,
    without_replacement_lower,
    without_replacement_pair,
)
from hush.mechanisms.leaves.gaussian import Gaussian
from hush.mechanisms.leaves.laplace import Laplace
from hush.mechanisms.mechanism import Mechanism
from hush.mechanisms.schemes.poisson import Poisson
from hush.questions.charts.drawing import Axis, Chart, ChartLine, Idea, Stroke
from hush.questions.compositions import SHARES

RATE, DELTA = 0.001, 1e-8
OMEGA = 100.0
"""Up to which order tCDP is fitted."""

ORDERS = tuple((1 + np.geomspace(0.1, 999.0, 121)).tolist())
STEPS = tuple(dict.fromkeys(round(k) for k in np.geomspace(1, 100_000, 31)))
CONVERTED = np.concatenate(
    [1 + np.geomspace(0.01, 1.0, 40), np.arange(3.0, 400.0), np.unique(np.rint(np.geomspace(400, 1e5, 120)))]
)
"""Orders at which a curve is converted: each is valid, and they are close enough together for a picture."""

EXACT = "exact: Poisson sampling, add or remove one"
UPPER = "Rényi: general upper bound (Wang et al. 2019, Thm 9)"
TIGHT = "Rényi: improved upper bound, one pair is worst (Thm 27)"
LOWER = "Rényi: lower bound at whole orders (same paper, Prop. 11)"
ZCDP = "zCDP: not amplified"
TCDP = "tCDP by its sampling theorem"
FIT = f"tCDP fitted above the general bound, ω = {OMEGA:g}"
ADVANCED = "advanced composition after the sampling lemma"
RENYI = "Rényi: Poisson sampling, add or remove one (Zhu, Wang 2019)"
PROVEN = "Rényi: any mechanism with this curve, Poisson, add or remove one (hush)"

IDEAS = {
    EXACT: Idea.EXACT,
    UPPER: Idea.GENERAL,
    TIGHT: Idea.IMPROVED,
    LOWER: Idea.LOWER,
    ZCDP: Idea.ZCDP,
    TCDP: Idea.TCDP,
    FIT: Idea.TCDP,
    ADVANCED: Idea.ADVANCED,
    RENYI: Idea.RENYI,
    PROVEN: Idea.REFINED,
}
"""The colour of each line, the same as in other figures."""


def _setting(mechanism: Mechanism) -> str:
    return f"{mechanism}, γ = {RATE:g}; without replacement, replace one record, unless a line says otherwise"


def renyi_curves(mechanism: Gaussian | Laplace, orders: tuple[float, ...] = ORDERS) -> Chart:
    """The Rényi curve of a sampled mechanism: bounds, the exact one, and straight pieces above it."""
    whole = tuple(dict.fromkeys(float(math.floor(order)) for order in orders if order >= 2))
    plain = mechanism.renyi_curve()
    upper = without_replacement(plain, RATE)
    lines = [
        _line(EXACT, mechanism.on(Poisson(rate=RATE)).renyi_curve(), orders, Stroke.HEAVY),
        _line(UPPER, upper, orders),
        _line(TIGHT, _improved(mechanism), orders, Stroke.DASHED),
        _line(PROVEN, either_way(plain), orders, Stroke.DASHED),
        _line(LOWER, without_replacement_lower(plain, RATE), whole, Stroke.DASHED),
        _line(ZCDP, RenyiCurve.linear(plain.to_zcdp()), orders, Stroke.DOTTED),
        *_truncated(plain, upper, orders),
    ]
    x, y = Axis("order α", log=True), Axis("Rényi divergence ε(α), nats", log=True, domain=_framed(lines))
    title = f"Rényi curve of {type(mechanism).__name__} noise on a sample"
    return Chart(title, _setting(mechanism), x, y, tuple(lines))


def _line(label: str, curve: RenyiCurve, orders: Sequence[float], stroke: Stroke = Stroke.SOLID) -> ChartLine:
    return ChartLine(label, tuple(orders), tuple(curve(orders).tolist()), stroke=stroke, idea=IDEAS[label])


def _framed(lines: Sequence[ChartLine]) -> tuple[float, float]:
    """From below the lowest point to above the highest: no line leaves the frame."""
    values = [y for line in lines for y in (*line.y, *line.other) if 0 < y < math.inf]
    return 0.7 * min(values), 1.4 * max(values)


def either_way(plain: RenyiCurve) -> RenyiCurve:
    """A Poisson sample of any mechanism that is known by this curve alone, added or removed: the larger of the two."""
    stated = plain.declaring()
    return RenyiCurve.largest(poisson_sample(stated, RATE, leaving=leaving) for leaving in (True, False))


def _improved(mechanism: Gaussian | Laplace) -> RenyiCurve:
    """The pair of the noise is worst for every order, whichever way a record changes; past its reach, as in general."""
    general = without_replacement(mechanism.renyi_curve(), RATE)
    return RenyiCurve.least([without_replacement_pair(mechanism.at(1, 0), RATE), general])


def _truncated(plain: RenyiCurve, upper: RenyiCurve, orders: Sequence[float]) -> list[ChartLine]:
    """tCDP of the sample: the best straight fit, and by its own theorem where that applies."""

    def below(label: str, rho: float, omega: float) -> ChartLine:
        stroke = Stroke.DASHED if label == FIT else Stroke.DOTTED
        return _line(label, RenyiCurve.linear(rho), [x for x in orders if x < omega], stroke)

    lines = [below(FIT, upper.to_tcdp(omega=OMEGA), OMEGA)]
    rho = plain.to_zcdp()
    if rho <= 0.1:  # else the theorem does not apply
        lines.append(below(TCDP, *tcdp_sample(rho, math.inf, RATE)))
    return lines


def overall(mechanism: Gaussian | Laplace, steps: tuple[int, ...] = STEPS) -> Chart:
    """epsilon at a delta against the number of steps, by every theorem."""
    plain, step = mechanism.renyi_curve(), mechanism.on(Poisson(rate=RATE))
    bounds = [step.repeat(k).epsilon(delta=DELTA, tolerance=1e-4) for k in steps]
    curves = {
        UPPER: without_replacement(plain, RATE),
        TIGHT: _improved(mechanism),
        RENYI: poisson_mirrored(plain, RATE),
        PROVEN: either_way(plain),
    }
    straight = RenyiCurve.linear(plain.to_zcdp())
    ends = tuple(b.upper for b in bounds), tuple(b.lower for b in bounds)
    unsampled = tuple((k * straight).epsilon(delta=DELTA) for k in steps)
    lines = [
        ChartLine(EXACT, steps, *ends, Stroke.HEAVY, IDEAS[EXACT]),
        ChartLine(ADVANCED, steps, tuple(sampled_advanced(mechanism, k) for k in steps), idea=IDEAS[ADVANCED]),
        *(_converted(label, curve, steps) for label, curve in curves.items()),
        ChartLine(ZCDP, steps, unsampled, stroke=Stroke.DOTTED, idea=IDEAS[ZCDP]),
    ]
    x, y = Axis("steps k", log=True), Axis(f"ε at δ = {DELTA:g}, nats", log=True, domain=_framed(lines))
    title = f"Overall (ε, δ) of {mechanism} on a sample"
    return Chart(title, _setting(mechanism), x, y, tuple(lines))


def _converted(label: str, curve: RenyiCurve, steps: tuple[int, ...]) -> ChartLine:
    """epsilon of so many times the curve, at the best of many orders."""
    values, top = curve(CONVERTED), curve(math.inf)
    found = [min(k * top, float(np.min(renyi_to_epsilon(CONVERTED, k * values, math.log(DELTA))))) for k in steps]
    stroke = Stroke.SOLID if label == UPPER else Stroke.DASHED
    return ChartLine(label, steps, tuple(found), stroke=stroke, idea=IDEAS[label])


def sampled_advanced(mechanism: Mechanism, times: int) -> float:
    """Advanced composition of sampled steps, each known by the best (epsilon, delta) after the sampling lemma.

    Balle, Barthe, Gaboardi 2018, Thm 9 (without replacement), then Dwork, Rothblum, Vadhan 2010, Thm III.3.

    >>> sampled_advanced(Laplace(2.0), 100)
    0.039...
    """

    def bound(share: float) -> float:
        each = min(share * DELTA / (times * RATE), 0.999)
        epsilon = mechanism.epsilon(delta=each).upper
        if not epsilon < 300:
            return math.inf
        sampled, part = amplify(epsilon, each, RATE)
        return advanced_composition(sampled, part, times, (1 - share) * DELTA)[0]

    return min(bound(share) for share in SHARES)
