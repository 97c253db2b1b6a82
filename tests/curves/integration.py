"""Profiles from the definition: the integral of (p - e^eps q)_+ over the outcomes, by scipy's adaptive quadrature."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise

import numpy as np
from scipy import integrate, optimize

Density = Callable[[float], float]


def normal(shift: float) -> Density:
    return lambda x: math.exp(-0.5 * (x - shift) ** 2) / math.sqrt(2 * math.pi)


def laplace(shift: float, scale: float) -> Density:
    return lambda x: math.exp(-abs(x - shift) / scale) / (2 * scale)


def blend(first: Density, rate: float, second: Density) -> Density:
    return lambda x: rate * first(x) + (1 - rate) * second(x)


def profile(p: Density, q: Density, epsilon: float, reach: int = 20) -> float:
    """Integral of the positive part; sign changes are found first, so that the integrand is smooth on each interval."""
    factor = math.exp(epsilon)

    def excess(x: float) -> float:
        return p(x) - factor * q(x)

    x = np.linspace(-reach, reach, 2001) + 0.00137  # no root falls on a point
    values = np.array([excess(v) for v in x])
    crossings = np.flatnonzero(values[:-1] * values[1:] < 0)
    roots = [float(optimize.brentq(excess, x[k], x[k + 1], xtol=1e-14)) for k in crossings]
    points = sorted({*roots, *map(float, range(-reach, reach + 1))})
    return sum(
        float(integrate.quad(excess, low, high, epsabs=1e-15, epsrel=1e-12)[0])
        for low, high in pairwise(points)
        if excess((low + high) / 2) > 0
    )
