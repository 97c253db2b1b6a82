"""Plans for a mean: Laplace and Gaussian noise, on all records or on a sample, in closed form."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import log_ndtr

from hush.curves.relation import Relation
from hush.numerics.clamped_error import LAPLACE, NORMAL, NoiseShape
from hush.numerics.roots import decreasing_root
from hush.questions.planning.cost import Cost
from hush.questions.planning.model import Model
from hush.questions.planning.result import PlanRow
from hush.questions.planning.target import Target

NODES, _PARTS = np.polynomial.hermite_e.hermegauss(64)
WEIGHTS = _PARTS / _PARTS.sum()
"""Gauss-Hermite: means over a standard normal law."""
PLACES = np.linspace(0.0, 1.0, 65)
"""Where in the bounds the mean may lie in the worst case."""


def rows(given: Target, model: Model | None, cost: Cost) -> list[PlanRow]:
    """One row for each rate and each noise that the target allows."""
    found: list[PlanRow] = []
    for name, shape in (("Laplace noise", LAPLACE), ("Gaussian noise", NORMAL)):
        for rate in given.rates:
            epsilon, delta = given.inner(rate)
            if shape is NORMAL and not 0 < delta < 1:
                continue
            scale = sensitivity(given, rate) * (1 / epsilon if shape is LAPLACE else multiplier(epsilon, delta))
            error, sampling = errors(given, model, rate, shape, scale)
            time = cost.seconds(given.population, rate)
            found.append(PlanRow(name, rate, given.size(rate), epsilon, delta, error, sampling, time))
    return found


def sensitivity(given: Target, rate: float) -> float:
    """How far one record can move the mean of the sample, divided by its public (or expected) size.

    A replaced record moves it by the whole range. One that is added or removed moves the sum of the distances from
    the middle of the bounds, divided by the public number pN, by half of it.
    """
    whole = given.spread / (rate * given.population)
    return whole if given.relation is Relation.REPLACE else whole / 2


def multiplier(epsilon: float, delta: float) -> float:
    """The least Gaussian noise over sensitivity for (epsilon, delta)-DP (Balle, Wang 2018, Thm 8).

    >>> multiplier(1.0, 1e-6)
    4.22467...
    """

    def excess(log_shift: float) -> float:
        shift = math.exp(log_shift)
        first, second = shift / 2 - epsilon / shift, -shift / 2 - epsilon / shift
        rest = -math.expm1(min(epsilon + float(log_ndtr(second)) - float(log_ndtr(first)), 0.0))
        return float(log_ndtr(first)) + math.log(max(rest, 1e-300)) - math.log(delta)

    return math.exp(-decreasing_root(lambda log_shift: -excess(log_shift), -40.0, 10.0)[0])


def errors(given: Target, model: Model | None, rate: float, shape: NoiseShape, scale: float) -> tuple[float, float]:
    """Expected error of the clamped release, and of sampling alone; the largest over all means in the worst case."""
    if model is None:
        means = given.bounds[0] + given.spread * PLACES
        variances = (means - given.bounds[0]) * (given.bounds[1] - means)
        away = np.full_like(means, (given.spread / 2) ** 2)
    else:
        means, variances = np.array([model.mean]), np.array([model.variance])
        away = np.array([model.around(given.middle)])
    sampling = sampling_variance(given, rate, variances, away)
    centres = means[:, None] + np.sqrt(sampling)[:, None] * NODES
    if given.relation is Relation.REPLACE:  # the mean of a sample cannot leave the bounds
        centres = np.clip(centres, *given.bounds)
    squares = shape.error(centres, means[:, None], *given.bounds, scale) @ WEIGHTS
    return math.sqrt(float(np.max(squares))), math.sqrt(float(np.max(sampling)))


def sampling_variance(given: Target, rate: float, variance: np.ndarray, away: np.ndarray) -> np.ndarray:
    """Variance of the mean of the sample: (1 - n/N) S²/n without replacement; (1/p - 1) E(x - middle)²/N by Poisson."""
    if given.relation is Relation.REPLACE:
        return (1 - rate) * variance / (rate * given.population)
    return (1 / rate - 1) * away / given.population
