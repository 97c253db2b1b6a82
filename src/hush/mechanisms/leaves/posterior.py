"""Samples from an exponential family whose parameters depend on the data: posterior sampling."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy import special

from hush.arrays import Array
from hush.checks import number
from hush.curves.pairs.normal import NormalPair
from hush.curves.pairs.pair import Pair
from hush.curves.relation import Relation
from hush.curves.renyi.curve import RenyiCurve
from hush.curves.renyi.families import exponential_family as family_curve
from hush.curves.renyi.families import log_beta_ends
from hush.errors import InvalidParameter, NotCovered
from hush.mechanisms.fields import above, between, whole
from hush.mechanisms.leaf import Leaf
from hush.mechanisms.leaves.stated_curves import CurveLeaf, RenyiDP
from hush.mechanisms.mechanism import Mechanism
from hush.mechanisms.traits import Scope
from hush.numerics.rounding import UNIT
from hush.randomness.float_noise import normal, uniform
from hush.randomness.source import Source

FAMILY = "the divergence of two members of an exponential family: Geumlek, Song, Chaudhuri 2017, Prop. 4"


def exponential_family(
    log_partition: Callable[[Array], Array],
    *,
    neighbouring: Sequence[tuple[Sequence[float], Sequence[float]]],
    relation: Relation = Relation.ADD_REMOVE,
) -> Mechanism:
    """One draw from an exponential family: its log-partition and the natural parameters of the worst neighbours.

    Each of the neighbouring pairs of parameters is taken in both directions (Geumlek, Song, Chaudhuri 2017). The
    log-partition takes an array whose rows are parameters and gives infinity outside of the natural domain.

    >>> draw = exponential_family(lambda eta: eta[:, 0] ** 2 / 2, neighbouring=[((1.0,), (0.0,))])
    >>> draw.renyi(orders=[2, 8]).round(6).tolist()
    [1.0, 4.0]
    """
    who = "exponential_family"
    if not callable(log_partition):
        raise InvalidParameter(who, "a function of rows of natural parameters", log_partition=log_partition)
    pairs = [[[_finite(who, x) for x in side] for side in pair] for pair in neighbouring]
    if not pairs or any(len(pair) != 2 or len(pair[0]) != len(pair[1]) or not pair[0] for pair in pairs):
        raise InvalidParameter(who, "pairs of natural parameters of one length", neighbouring=neighbouring)
    curves = [
        family_curve(log_partition, np.array(above), np.array(below))
        for one, other in pairs
        for above, below in ((one, other), (other, one))
    ]
    return RenyiDP(function=RenyiCurve.largest(curves), relation=relation)


@dataclass(frozen=True)
class BetaPosterior(CurveLeaf):
    """One draw of a coin's bias from its posterior, after so many flips, with a Beta prior; one flip is replaced.

    The number of flips is public. All possible counts of heads are tried. The divergence is finite below order 1 + the
    smaller prior parameter: stronger priors protect more.

    >>> BetaPosterior(flips=100, heads=10.0, tails=10.0).renyi(orders=[2, 50]).round(4).tolist()
    [0.1145, inf]
    """

    flips: int = field(metadata=whole(1, 10_000))
    heads: float = field(default=1.0, metadata=between(0.001, 1e6))
    tails: float = field(default=1.0, metadata=between(0.001, 1e6))
    relation: Relation = field(init=False, default=Relation.REPLACE)
    theorem = FAMILY
    assumes = "the number of flips is public, and one draw is released when you replace a flip"

    @property
    def scope(self) -> Scope:
        return Scope(populations=frozenset([self.flips]))

    def curve_at(self, steps: int) -> RenyiCurve:
        if steps > 1:
            raise NotCovered(f"{self} for groups: no theorem is built in")
        seen = np.arange(self.flips)
        more = np.stack([self.heads + seen + 1, self.tails + self.flips - seen - 1], axis=1)
        less = np.stack([self.heads + seen, self.tails + self.flips - seen], axis=1)

        def divergence(order: float) -> float:
            order = max(order, 1 + 1e-6)
            if order == math.inf:
                return math.inf
            return float(np.maximum(_worst_beta(more, less, order), _worst_beta(less, more, order)))

        return RenyiCurve.each(divergence)

    def simulate(self, contributions: Array, source: Source) -> Array:
        """All flips but one are tails."""
        heads = self.heads + contributions
        tails = self.tails + self.flips - contributions
        return special.betaincinv(heads, tails, uniform(source, len(contributions)))

    def __str__(self) -> str:
        return f"a posterior draw of a coin's bias after {self.flips} flips, prior Beta({self.heads:g}, {self.tails:g})"


def _worst_beta(above: Array, below: Array, order: float) -> float:
    """Largest divergence over rows of neighbouring parameters, rounded up."""
    between = below + order * (above - below)
    # such parameters are off by a few units of their terms. From `least` on, log B falls by 1/a + log((a+b)/a) at most
    # per unit of a, as log x - 1/x <= digamma(x) <= log x
    blur = 4 * UNIT * (np.abs(below) + order * np.abs(above - below))
    least = np.maximum(between - blur, np.finfo(float).tiny)
    steepness = 1 / least + np.log(np.maximum(between.sum(axis=1, keepdims=True), least) / least)
    sides = np.where(between > blur, between, 0.0), above, below
    (middle, first, second), errors = zip(*(log_beta_ends(side) for side in sides), strict=True)
    terms = middle - order * first + (order - 1) * second
    slack = 4 * UNIT * (np.abs(middle) + order * np.abs(first) + (order - 1) * np.abs(second))
    slack += (
        (blur * np.minimum(steepness, 1 / UNIT**2)).sum(axis=1)
        + errors[0]
        + order * errors[1]
        + (order - 1) * errors[2]
    )
    return float(np.max(np.maximum(terms + slack, 0.0))) / (order - 1)


@dataclass(frozen=True)
class GaussianPosterior(Leaf):
    """One draw of a normal mean from its posterior; one of so many values, each in an interval, is replaced.

    The posterior is normal with precision 1/prior_variance + records/noise_variance, and a value that moves by
    data_range moves its mean by data_range/(noise_variance precision): Gaussian noise, with its exact pair.

    >>> GaussianPosterior(records=5, prior_variance=10.0, noise_variance=3.0, data_range=1.0).renyi(orders=[1.25])
    array([0.03930818])
    """

    records: int = field(metadata=whole(1))
    prior_variance: float = field(metadata=above(0))
    noise_variance: float = field(metadata=above(0))
    data_range: float = field(metadata=above(0))
    relation: Relation = field(init=False, default=Relation.REPLACE)
    attains_curve = mirrored = True
    theorem = FAMILY + "; here two normals of one deviation"
    assumes = "the number of values is public, and one draw is released when you replace a value"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 1e-9 <= self.distance <= 1e6:
            raise InvalidParameter("GaussianPosterior", "a shift of 1e-9 to 1e6 deviations", shift=self.distance)

    @property
    def distance(self) -> float:
        """How far one value moves the posterior mean, in posterior deviations."""
        precision = 1 / self.prior_variance + self.records / self.noise_variance
        return self.data_range / (self.noise_variance * math.sqrt(precision))

    @property
    def scope(self) -> Scope:
        return Scope(populations=frozenset([self.records]))

    def at(self, removed: int, added: int) -> Pair:
        return NormalPair.shifted(self.steps(removed, added) * self.distance)

    def simulate(self, contributions: Array, source: Source) -> Array:
        return self.distance * contributions + normal(source, len(contributions))

    def __str__(self) -> str:
        return f"a posterior draw of a normal mean after {self.records} values of range {self.data_range:g}"


def _finite(who: str, value: object) -> float:
    return number(who, "finite parameters", -math.inf, math.inf, low_open=True, high_open=True, parameter=value)
