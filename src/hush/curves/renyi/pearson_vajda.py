"""Pearson-Vajda divergences chi^j and |chi|^a, and the ternary |chi|^a-DP that sampling multiplies by its rate.

Nielsen, Nock 2014; Wang, Balle, Kasiviswanathan 2019, Section 3. For distributions on finitely many outcomes these
are plain sums; `log_absolute_normal` and `log_absolute_segment` serve two pairs whose moments cancel too much to be
differenced.
"""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np

from hush.arrays import Array
from hush.errors import InvalidParameter
from hush.numerics.rounding import UNIT
from hush.numerics.special.binomial_coefficients import log_binomial, stirling_rest

Masses: TypeAlias = Any
"""Probabilities of finitely many outcomes: a sequence or an array."""


def chi(p: Masses, q: Masses, order: int) -> float:
    """chi^j(p || q) = E_q[(p/q - 1)^j]: moments of the linearised loss; odd ones may be negative.

    >>> chi([0.5, 0.5], [0.25, 0.75], 2)
    0.333...
    """
    p, q = two(p, q)
    return float((q * (p / q - 1) ** order).sum())


def two(p: Masses, q: Masses) -> tuple[Array, Array]:
    """Both as arrays, without the outcomes that neither has; InvalidParameter where the divergence is infinite."""
    p, q = np.asarray(p, dtype=float), np.asarray(q, dtype=float)
    if p.shape != q.shape or not (np.all(p >= 0) and np.all(q >= 0)) or np.any((q == 0) & (p > 0)):
        raise InvalidParameter("A divergence", "masses of the same outcomes, q > 0 wherever p > 0", p=p, q=q)
    return p[q > 0], q[q > 0]


# -- pairs that are not finite -----------------------------------------------------------------------------------


def log_absolute_normal(distance: float, order: int) -> float:
    """log of an upper bound on |chi|^j of N(distance, 1) against N(0, 1).

    Even j: the integrand is entire and the trapezoid rule with step h is off by at most 2 e^{-2 pi^2/h^2}
    E(e^L + 1)^j (its transform at 2 pi k/h, term by term); odd j by Cauchy-Schwarz between its even neighbours.

    >>> round(math.exp(log_absolute_normal(0.2, 2)), 9) == round(math.expm1(0.04), 9)
    True
    """
    if order % 2:
        below = log_absolute_normal(distance, order - 1) if order > 1 else 0.0
        return 0.5 * (below + log_absolute_normal(distance, order + 1))
    step = 0.1  # at first; it is made finer until the error is below e^-32 of the value, which 1e-13 then charges
    log_plus = _log_plus(distance, order)
    while True:
        value = _even_normal(distance, order, step)
        excess = log_plus - value - 2 * math.pi**2 / step**2
        if excess < -32:
            return value + 1e-13
        step /= 1.5


def _even_normal(distance: float, order: int, step: float) -> float:
    """Trapezoid sum of |e^{L(x)} - 1|^j phi(x) around the two modes; each side is log-concave, no wider than phi."""
    right, left = _mode(distance, order, 1.0), _mode(distance, order, -1.0)
    reach = 10.0  # each side falls like phi about its mode: e^-50 of it lies beyond, below the 1e-13 that is charged
    edges = [(left - reach, right + reach)]
    if right - left > 4 * reach:
        edges = [(left - reach, left + reach), (right - reach, right + reach)]
    x = step * np.concatenate([np.arange(math.floor(a / step), math.ceil(b / step) + 1) for a, b in edges])
    loss = distance * (x - distance / 2)
    with np.errstate(divide="ignore"):
        size = np.where(
            loss > 30, loss + np.log1p(-np.exp(-np.abs(loss))), np.log(np.abs(np.expm1(np.minimum(loss, 31.0))))
        )
    exponent = order * size - 0.5 * x * x
    top = float(exponent.max())
    total = top + math.log(float(np.exp(exponent - top).sum())) + math.log(step / math.sqrt(2 * math.pi))
    return total + 8 * UNIT * (order * float(np.abs(size[exponent > top - 40]).max()) + right * right + left * left)


def _mode(distance: float, order: int, side: float) -> float:
    """Where j log|e^{L(x)} - 1| - x^2/2 is largest right (left) of its zero, by halving its slope."""
    zero = distance / 2
    low, high = zero, zero + side * (math.sqrt(order) + order * distance + 4)
    for _ in range(60):
        middle = (low + high) / 2
        loss = distance * (middle - zero)
        # a mode that is a little off only moves the window; past e^700 the first term is nothing
        slope = -order * distance / math.expm1(min(-loss, 700.0)) - middle if loss else math.inf * side
        low, high = (middle, high) if side * slope > 0 else (low, middle)
    return low


def _log_plus(distance: float, order: int) -> float:
    """log E(e^L + 1)^j under N(0, 1)."""
    k = np.arange(1.0, order)
    rest = stirling_rest(np.arange(order + 1.0))
    middle = log_binomial(np.array(float(order)), k, rest[order], rest) + k * (k - 1) * distance * distance / 2
    return float(np.logaddexp.reduce([0.0, order * (order - 1) * distance * distance / 2, *middle.tolist()]))


def log_absolute_segment(bound: float, top: float, log_height: float, orders: Array) -> Array:
    """log of upper bounds on |chi|^j where L has Q-density e^{log_height - l/2} on [-bound, bound] and Q-atoms.

    The atoms are top e^{-bound} at bound, top at -bound. Both halves of the integrand are log-concave in l, so in
    each of many cells it lies below the exponential of its tangent at the middle, which is integrated exactly.
    """
    width = bound / CELLS
    middle = width * (np.arange(CELLS) + 0.5)
    pieces = []
    for sign in (1.0, -1.0):
        l = sign * middle
        size, slope = np.log(np.abs(np.expm1(l))), 1 / -np.expm1(-l)
        exponent = orders[:, None] * size - l / 2 + log_height
        tilt = np.abs(orders[:, None] * slope - 0.5) * width / 2
        grown = np.where(
            tilt > 30,
            tilt - np.log(2 * np.maximum(tilt, 1.0)),
            np.log(np.sinh(np.clip(tilt, 1e-9, 31)) / np.clip(tilt, 1e-9, 31)),  # sinh(x)/x is 1 below 1e-9
        )
        pieces.append(np.logaddexp.reduce(exponent + grown, axis=1) + math.log(width))
        if top:
            pieces.append(
                orders * math.log(abs(math.expm1(sign * bound))) + math.log(top) - (bound if sign > 0 else 0.0)
            )
    total = np.logaddexp.reduce(pieces, axis=0)
    # 1e-12: sums of CELLS positive terms; the rest: roundings of their logarithms
    return total + 1e-12 + 8 * UNIT * orders * (1 + abs(math.log(bound)) + bound)


CELLS = 400
"""Cells of each half; more make a tighter bound."""
