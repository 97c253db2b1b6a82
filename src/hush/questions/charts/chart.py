"""Charts of any list of mechanisms: Rényi curves, privacy profiles, attackers, and what more steps cost.

Each function takes a mechanism, a list of them, or a mapping from labels to them, and gives a `Chart`: plain numbers
that `save` draws as SVG, PNG or a page that works offline. A band lies between the certified bounds; the line is the
end that a guarantee quotes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias, TypeGuard

import numpy as np

from hush.checks import count, delta_in_range, number
from hush.errors import InvalidParameter, NotCovered
from hush.mechanisms.mechanism import Mechanism, require
from hush.questions.charts.drawing import Axis, Chart, ChartLine, Stroke

__all__ = ["Axis", "Chart", "ChartLine", "profile", "renyi", "roc", "steps", "tradeoff"]

Mechanisms: TypeAlias = Mechanism | Iterable[Mechanism] | Mapping[str, Mechanism]

TOLERANCE = 1e-4
"""Finer than a pixel."""

ORDERS = tuple(float(order) for order in 1 + np.geomspace(0.1, 255.0, 60))
RATES = tuple(float(rate) for rate in np.linspace(0.0, 1.0, 101) ** 2)
SMALL_RATES = tuple(float(rate) for rate in np.geomspace(1e-5, 1.0, 81))
STEPS = tuple(dict.fromkeys(round(k) for k in np.geomspace(1, 10_000, 33)))
FINEST = 1e-10
"""The delta at which a profile stops, unless told."""


def renyi(mechanisms: Mechanisms, *, orders: Iterable[float] = ORDERS) -> Chart:
    """Rényi divergence against its order.

    >>> import hush
    >>> renyi(hush.Gaussian(1.0), orders=[2, 8]).lines[0].y
    (1.0..., 4.0...)
    """
    named = _named("chart.renyi", mechanisms)
    chosen = [number("chart.renyi", "orders > 1", 1.0, math.inf, low_open=True, order=order) for order in orders]
    lines = [_line(label, chosen, _renyi(m, chosen)) for label, m in named.items()]
    return _chart("Rényi curve", named, Axis("order α", log=True), Axis("Rényi divergence ε(α), nats", log=True), lines)


def profile(mechanisms: Mechanisms, *, epsilons: Iterable[float] | None = None) -> Chart:
    """delta against epsilon.

    >>> import hush
    >>> profile(hush.Laplace(1.0), epsilons=[0.0, 0.5]).lines[0].y
    (0.393469..., 0.221199...)
    """
    named = _named("chart.profile", mechanisms)
    y = Axis("δ, probability", log=True, domain=(FINEST, 1.0) if epsilons is None else None)
    if epsilons is None:
        finite = [e for e in (m.epsilon(delta=FINEST, tolerance=TOLERANCE).upper for m in named.values()) if e < 1e6]
        epsilons = [max(finite, default=10.0) * place / 60 for place in range(61)]
    chosen = list(epsilons)
    lines: list[ChartLine] = []
    for label, mechanism in named.items():
        bounds = [mechanism.log_delta(epsilon=epsilon, tolerance=TOLERANCE) for epsilon in chosen]
        lines.append(_line(label, chosen, [(math.exp(b.lower), math.exp(b.upper)) for b in bounds]))
    return _chart("Privacy profile δ(ε)", named, Axis("ε, nats"), y, lines)


def tradeoff(mechanisms: Mechanisms, *, false_positive_rates: Iterable[float] = RATES) -> Chart:
    """The least false negative rate of any attacker against the false positive rate (f-DP).

    >>> import hush
    >>> tradeoff(hush.Gaussian(1.0), false_positive_rates=[0.05]).lines[0].y
    (0.740...,)
    """
    named, rates, attackers = _attackers("chart.tradeoff", mechanisms, false_positive_rates)
    lines = [_errors_line(label, rates, low, high) for label, (low, high) in attackers.items()]
    lines.append(ChartLine("no information", (0.0, 1.0), (1.0, 0.0), stroke=Stroke.DOTTED))
    x, y = Axis("false positive rate", domain=(0.0, 1.0)), Axis("least false negative rate", domain=(0.0, 1.0))
    return _chart("Trade-off between the errors of the best attacker", named, x, y, lines)


def roc(mechanisms: Mechanisms, *, false_positive_rates: Iterable[float] = SMALL_RATES) -> Chart:
    """The largest true positive rate of any attacker against the false positive rate, on logarithmic axes.

    >>> import hush
    >>> roc(hush.Gaussian(1.0), false_positive_rates=[0.05]).lines[0].y
    (0.259...,)
    """
    named, rates, attackers = _attackers("chart.roc", mechanisms, false_positive_rates)
    lines = [_errors_line(label, rates, 1 - low, 1 - high) for label, (low, high) in attackers.items()]
    lines.append(ChartLine("no information", rates, rates, stroke=Stroke.DOTTED))
    x, y = Axis("false positive rate", log=True), Axis("largest true positive rate", log=True)
    return _chart("What the best attacker finds (ROC)", named, x, y, lines)


def steps(mechanisms: Mechanisms, *, delta: float, steps: Iterable[int] = STEPS) -> Chart:
    """epsilon at a delta against how often each mechanism is repeated.

    >>> import hush
    >>> steps(hush.Gaussian(1.0), delta=1e-5, steps=[1, 4]).lines[0].y
    (4.377..., 9.997...)
    """
    named = _named("chart.steps", mechanisms)
    delta = delta_in_range("chart.steps", delta)
    chosen = [count("chart.steps", 1, steps=k) for k in steps]
    lines: list[ChartLine] = []
    for label, mechanism in named.items():
        bounds = [mechanism.repeat(k).epsilon(delta=delta, tolerance=TOLERANCE) for k in chosen]
        lines.append(_line(label, chosen, [(bound.lower, bound.upper) for bound in bounds]))
    title = f"ε at δ = {delta:g} against the number of steps"
    return _chart(title, named, Axis("steps", log=True), Axis("ε, nats", log=True), lines)


# -- parts -----------------------------------------------------------------------------------------------------


def _named(who: str, mechanisms: Mechanisms) -> dict[str, Mechanism]:
    if _labelled(mechanisms):
        named = {str(label): require(who, m) for label, m in mechanisms.items()}
    else:
        listed: list[object] = [mechanisms] if isinstance(mechanisms, Mechanism) else list(mechanisms)
        named = {str(m): m for m in (require(who, one) for one in listed)}
    if not named:
        raise InvalidParameter(who, "at least one mechanism", mechanisms=mechanisms)
    if len({m.relation for m in named.values()}) > 1:
        return {f"{label}; {m.compared}": m for label, m in named.items()}
    return named


def _labelled(mechanisms: Mechanisms) -> TypeGuard[Mapping[str, Mechanism]]:
    return isinstance(mechanisms, Mapping)


def _line(label: str, x: Iterable[float], ends: list[tuple[float, float]]) -> ChartLine:
    """The upper ends as a line; where no lower end is known, the label says so."""
    lower, upper = (tuple(side) for side in zip(*ends, strict=True))
    known = any(low > 0 for low, high in ends if math.isfinite(high)) or not any(upper)
    return ChartLine(label if known else f"{label} (upper bound only)", tuple(x), upper, lower if known else ())


def _errors_line(label: str, rates: tuple[float, ...], y: np.ndarray, other: np.ndarray) -> ChartLine:
    return ChartLine(label, rates, tuple(y.tolist()), tuple(other.tolist()))


def _chart(title: str, named: dict[str, Mechanism], x: Axis, y: Axis, lines: Iterable[ChartLine]) -> Chart:
    relations = list(dict.fromkeys(mechanism.compared for mechanism in named.values()))
    said = f"neighbours: {' / '.join(relations)}"
    if len(named) == 1:
        ((label, mechanism),) = named.items()
        said = f"{mechanism}; {said}" if label == str(mechanism) else f"{label}: {mechanism}; {said}"
    return Chart(title, said, x, y, tuple(lines))


def _renyi(mechanism: Mechanism, orders: list[float]) -> list[tuple[float, float]]:
    """Bounds on the divergence of each order: the worst of all directions."""
    high = mechanism.renyi(orders=orders)
    low = np.zeros(len(orders))
    for _, neighbours in mechanism.directions():
        for pair in mechanism.evidence(neighbours).members(alone=False):
            try:
                low = np.maximum(low, [pair.renyi(order)[0] for order in orders])
            except NotCovered:
                break
    return list(zip(np.minimum(low, high).tolist(), high.tolist(), strict=True))


Errors: TypeAlias = tuple[np.ndarray, np.ndarray]
"""Bounds on the least false negative rate at each false positive rate; the second is empty where none is known."""


def _attackers(
    who: str, mechanisms: Mechanisms, given: Iterable[float]
) -> tuple[dict[str, Mechanism], tuple[float, ...], dict[str, Errors]]:
    named = _named(who, mechanisms)
    rates = tuple(number(who, "0 <= rates <= 1", 0.0, 1.0, false_positive_rate=rate) for rate in given)
    found: dict[str, Errors] = {}
    for label, mechanism in named.items():
        curve = mechanism.roc()
        low, high = curve.at_rates(np.array(rates))
        if curve.route == "pair":
            found[label] = low, high
        else:
            found[f"{label} (from its Rényi curve)"] = low, np.empty(0)
    return named, rates, found


KINDS: dict[str, Callable[..., Chart]] = {
    "renyi": renyi,
    "profile": profile,
    "tradeoff": tradeoff,
    "roc": roc,
    "steps": steps,
}
"""Every kind of chart, by its name."""
