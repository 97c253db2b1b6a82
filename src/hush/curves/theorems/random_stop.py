"""A noisy pass that stops after a random number of steps: hardly anyone is then the last one that was used.

The number of steps R is uniform on 1, ..., n and does not depend on the data. A record that j - 1 steps follow has
mu_j, one that comes after R has nothing to fear. Whether R is published or not, convexity gives the average over R, and
since every term is at least that of an unused record, record 1 is the worst of all.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from hush.curves.theorems.last_iterate import one_pass_mu

SUM_ROUNDING = 1e-12
"""Relative error of a mean of some 2e4 positive terms: their products round by a few units each, and BLAS adds them in
several partial sums of less than a thousand each."""
ONE_BY_ONE = 10_000
"""So many terms of the sum are taken as they are; the rest in blocks."""
FINENESS = 1024
"""Blocks are this fraction of their place long: the trapezoid rule is then some 2e-7 too large at most."""


def random_stop_divergence(order: float, gap: float, records: int, ratio: float) -> float:
    """Rényi divergence of the last iterate after a random stop: log(mean_j e^{(a-1) a mu_j^2/2}) / (a-1).

    From Feldman, Mironov, Talwar, Thakurta 2018, Thm 23, and joint convexity of e^{(a-1) D_a}. At c = 1 the exponent is
    2 a (a-1) L^2/(sigma^2 j). The terms are convex in j, so that the trapezoid rule over blocks is an upper bound.

    >>> random_stop_divergence(2.0, 0.0, 100, 0.5)
    0.0134...
    """
    if order == math.inf:
        return math.inf
    squares, weights = _terms(gap, records)
    if order == 1:
        return float(weights @ squares) * ratio * ratio / 2 * (1 + SUM_ROUNDING)
    growth = (order - 1) * order / 2 * ratio * ratio * squares
    with np.errstate(divide="ignore"):
        # log(e^g - 1); past 30 g itself, which is above it
        excess = np.where(growth > 30, growth, np.log(np.expm1(np.minimum(growth, 30.0))))
    top = float(excess.max())
    mean = top + math.log(float(weights @ np.exp(excess - top))) if top > -math.inf else -math.inf
    return float(np.logaddexp(0.0, mean)) / (order - 1) * (1 + SUM_ROUNDING)


@lru_cache(maxsize=64)
def _terms(gap: float, records: int) -> tuple[np.ndarray, np.ndarray]:
    """mu_j^2 at ratio 1, and the weight of each term, which sum to 1."""
    places, counts = _blocks(records)
    later = places - 1.0
    if gap == 0:
        squares = 1 / places
    else:
        rate = math.log1p(-gap) if gap < 1 else -math.inf
        kept = np.exp(2 * later * rate) if gap < 1 else (later == 0).astype(float)
        total = -np.expm1(2 * places * rate) if gap < 1 else np.ones(len(places))
        squares = kept * gap * (2 - gap) / total
    return squares, counts / records


@lru_cache(maxsize=64)
def _blocks(records: int) -> tuple[np.ndarray, np.ndarray]:
    """Places on 1..n and how many terms each stands for: ones, then both ends of longer and longer blocks."""
    near = np.arange(1, min(records, ONE_BY_ONE) + 1, dtype=float)
    places, counts = [near], [np.ones(len(near))]
    if records > ONE_BY_ONE:
        span = math.log(records / ONE_BY_ONE)
        ends = ONE_BY_ONE * np.exp(np.linspace(0, span, max(2, math.ceil(span * FINENESS)) + 1))
        ends = np.unique(np.floor(ends))
        ends[-1] = records
        first, last = ends[:-1] + 1, ends[1:]
        half = (last - first + 1) / 2
        places += [first, last]
        counts += [half, half]
    return np.concatenate(places), np.concatenate(counts)


def random_stop_groups(gap: float, records: int, ratio: float) -> list[tuple[float, float]]:
    """(mu, probability) of a random stop, with places put together under the largest mu of each group.

    >>> random_stop_groups(0.0, 3, 0.5)
    [(0.5, 0.333...), (0.353..., 0.333...), (0.288..., 0.333...)]
    """
    starts, place = [], 1
    while place <= records:
        starts.append(place)
        place += max(1, place // (24 if place < 2000 else 8))
    ends = [*starts[1:], records + 1]
    return [
        (one_pass_mu(gap, start - 1, ratio), (end - start) / records) for start, end in zip(starts, ends, strict=True)
    ]
