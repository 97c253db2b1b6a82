"""Rényi curves: the divergence as a function of every real order above 1."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import numpy as np
from scipy import special

from hush.curves.convert import best_order, renyi_to_epsilon, renyi_to_log_delta

Curve = Callable[[float], float]
"""order -> upper bound on the Rényi divergence of that order (infinity where there is none)."""


def scale(curve: Curve, times: int) -> Curve:
    """The curve of so many releases: divergences add (Mironov 2017, Prop. 1)."""
    return lambda order: times * curve(order)


def add(curves: list[Curve]) -> Curve:
    """The curve of a composition."""
    return lambda order: sum(curve(order) for curve in curves)


def largest(curves: list[Curve]) -> Curve:
    """The curve of whichever is worst."""
    return lambda order: max(curve(order) for curve in curves)


def curve_to_epsilon(curve: Curve, log_delta: float) -> float:
    """Epsilon at the best real order."""
    if log_delta == -math.inf:
        return curve(math.inf)
    return best_order(lambda order: renyi_to_epsilon(order, curve(order), log_delta))[1]


def curve_to_log_delta(curve: Curve, epsilon: float) -> float:
    """log delta at the best real order."""
    return best_order(lambda order: renyi_to_log_delta(order, curve(order), epsilon))[1]


def poisson(curve: Curve, rate: float, largest_order: int = 512) -> Curve:
    """Poisson sampling of a mechanism known only by its curve, add/remove (Zhu, Wang 2019, Thm 5).

    Whole orders by the theorem, others by convexity of (order - 1) * divergence; never above the unsampled curve.
    """
    whole: dict[int, float] = {}

    def at_whole(order: int) -> float:
        if order == 1:
            return 0.0
        if order not in whole:
            whole[order] = _poisson_moment(curve, rate, order)
        return whole[order]

    def sampled(order: float) -> float:
        plain = curve(order)
        if rate == 1 or not order < largest_order:
            return plain
        low = math.floor(order)
        share = order - low
        moment = at_whole(low) if share == 0 else (1 - share) * at_whole(low) + share * at_whole(low + 1)
        return min(plain, moment / (order - 1)) if order > 1 else plain

    return sampled


def _poisson_moment(curve: Curve, rate: float, order: int) -> float:
    """(order - 1) times the bound: log of (1-g)^{a-1}(ag-g+1) + C(a,2) g^2 (1-g)^{a-2} e^{eps(2)} + 3 sum_{l>=3} ..."""
    if rate == 0:
        return 0.0
    counts = np.arange(2, order + 1)
    log_chance = special.gammaln(order + 1) - special.gammaln(counts + 1) - special.gammaln(order - counts + 1)
    log_chance = log_chance + counts * math.log(rate) + (order - counts) * math.log1p(-rate)
    growth = np.array([(l - 1) * curve(float(l)) + (math.log(3) if l >= 3 else 0.0) for l in counts.tolist()])
    # the chances of 0, 1, 2, ... sum to 1, so the sum is 1 + sum of chance_l (factor_l - 1): nothing cancels
    with np.errstate(divide="ignore"):
        excess = log_chance + np.where(growth > 30, growth, np.log(np.expm1(np.minimum(growth, 30.0))))
    return float(np.logaddexp(0.0, np.logaddexp.reduce(excess))) * (1 + 1e-11)


def bounded_range(range_: float) -> Curve:
    """Exponential mechanism of this range: sup over t of the two-point pair with losses t, t - range.

    Dong, Durfee, Rogers 2020, Lemma 3.2; at most order range^2/8 (Cesar, Rogers 2021).
    """

    @cache
    def divergence(order: float) -> float:
        if order == math.inf:
            return range_
        low, high, peak = 0.0, range_, 0.0
        for _ in range(3):
            t = np.linspace(low, high, 401)
            values = _two_point(t, range_, order)
            best = int(np.argmax(values))
            low, high, peak = float(t[max(best - 1, 0)]), float(t[min(best + 1, 400)]), float(values[best])
        return min(peak * (1 + 1e-9), order * range_ * range_ / 8)

    return divergence


def _two_point(t: np.ndarray, range_: float, order: float) -> np.ndarray:
    """Rényi divergence of the pair whose loss is t or t - range."""
    q = np.expm1(t - range_) / np.expm1(-range_) * np.exp(-t)
    q = np.clip(q, 0.0, 1.0)
    if order == 1:
        p = q * np.exp(t)
        return p * t + (1 - p) * (t - range_)
    with np.errstate(divide="ignore"):
        return np.logaddexp(np.log(q) + order * t, np.log1p(-q) + order * (t - range_)) / (order - 1)
