"""Plans for a median or another quantile: samples of the public model are simulated by their order statistics.

A row draws the sample's quantile and that of the population jointly, exactly in law: the first has a beta law; given
it and a binomial number of other records below it, the second is beta again. The order statistics around the first
come from exponential gaps; smooth sensitivities and the exponential mechanism need no others. The seed is fixed and
public: what is simulated is the model.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from scipy.special import betaincinv, expit, ndtri

from hush.arrays import Array
from hush.curves.relation import Relation
from hush.curves.theorems.smooth_sensitivity import (
    LEAST_ALPHA,
    laplace_alpha,
    laplace_textbook,
    least_noise,
    student_alpha,
)
from hush.errors import NotCovered
from hush.numerics.clamped_error import LAPLACE, STUDENT, NoiseShape
from hush.numerics.order_windows import Windows, uniform_windows
from hush.questions.planning.cost import Cost
from hush.questions.planning.model import Model
from hush.questions.planning.result import PlanRow
from hush.questions.planning.target import Target
from hush.randomness.source import SeededSource

SEED = 20_210_317
DRAWS = 4000
"""Pairs of a sample's quantile and the population's."""
GAPS = 300_000
"""Exponential gaps that the windows of one row may take."""
FEWEST, MOST = 16, 1000
"""Windows of a row."""
FARTHEST = 200_000
"""Ranks on either side that a window may have."""
LARGE = 100_000
FADED = 25.0
"""The exponential mechanism's weights are followed down to exp(-25) of the largest, a share of the range taken off."""

STEPS = 2.0**40
"""Points of the lattice that a released quantile lies on."""
VARYING, SIZES = 2000, 33
"""Poisson samples of up to so many records are simulated at so many sizes."""

EXPONENTIAL = "exponential mechanism"
CALIBRATED = "smooth sensitivity, Laplace"
TEXTBOOK = "smooth sensitivity, Laplace, textbook"
STUDENT_NOISE = "smooth sensitivity, Student"


class Samples(ABC):
    """Samples at one rate, and the error of every mechanism on them."""

    given: Target
    p: float
    rate: float

    @property
    def size(self) -> int:
        return self.given.size(self.rate)

    @property
    @abstractmethod
    def sampling_error(self) -> float:
        """Root of the mean squared distance of the sample's quantile from the population's."""

    @abstractmethod
    def smooth(self, shape: NoiseShape, alpha: float, beta: float) -> float:
        """Expected squared error with noise of scale S/alpha, S the beta-smooth sensitivity; clamped."""

    @abstractmethod
    def exponential(self, decay: float) -> float:
        """Expected squared error of the exponential mechanism, weights exp(-decay ranks)."""

    def squares(self, epsilon: float, delta: float) -> Iterator[tuple[str, float]]:
        """Every mechanism with its expected squared error."""
        change = 1.0 if self.given.relation is Relation.REPLACE else max(self.p, 1 - self.p)
        yield EXPONENTIAL, self.exponential(epsilon / (2 * change))
        if self.given.relation is Relation.ADD_REMOVE:  # smooth sensitivity is known for a fixed number of records
            return
        for name, shape, chosen in _smooth_noises(epsilon, delta):
            if chosen[0] >= LEAST_ALPHA:  # a release refuses less, too
                yield name, self.smooth(shape, *chosen)


def _smooth_noises(epsilon: float, delta: float) -> Iterator[tuple[str, NoiseShape, tuple[float, float]]]:
    """Noises for a smooth sensitivity that meet the target, each with its alpha and beta."""
    if delta == 0:
        yield STUDENT_NOISE, STUDENT, least_noise(lambda beta: student_alpha(epsilon, 3, beta))
    elif delta < 1:
        yield CALIBRATED, LAPLACE, least_noise(lambda beta: laplace_alpha(epsilon, delta, beta))
        plain = laplace_textbook(epsilon, delta)
        if plain:
            yield TEXTBOOK, LAPLACE, plain


def samples_of(given: Target, model: Model | None, p: float, rate: float) -> Samples:
    """Samples of the model, or of the worst case; small Poisson samples vary in number."""
    if model is None:
        return AtTheBounds(given, p, rate)
    if given.relation is Relation.ADD_REMOVE and rate < 1 and rate * given.population <= VARYING:
        return Varying(given, p, rate, model)
    return Simulated(given, p, rate, model)


def rows(given: Target, model: Model | None, p: float, cost: Cost) -> list[PlanRow]:
    """One row for each rate and each mechanism that the target allows."""
    found: list[PlanRow] = []
    for rate in given.rates:
        samples = samples_of(given, model, p, rate)
        epsilon, delta = given.inner(rate)
        seconds = cost.seconds(given.population, rate)
        for name, square in samples.squares(epsilon, delta):
            error = math.sqrt(square)
            found.append(PlanRow(name, rate, samples.size, epsilon, delta, error, samples.sampling_error, seconds))
    return found


@dataclass(frozen=True)
class AtTheBounds(Samples):
    """The worst case: all records lie at the bounds, and the quantile is the last one at the lower bound.

    On all records the exponential mechanism is then uniform: its density falls away from the quantile, so no data are
    worse for it; and the smooth sensitivity is the whole range, so its noise and its error are the largest there are.
    """

    given: Target
    p: float
    rate: float

    @cached_property
    def lacking(self) -> Array:
        """By how many records the quantile of a sample lies beyond those at the lower bound (negative: within)."""
        from scipy.stats import hypergeom  # slow to import, and only plans need it

        whole, n = self.given.population, self.size
        if n == whole:
            return np.zeros(1)
        levels, low = (np.arange(DRAWS) + 0.5) / DRAWS, rank_of(whole, self.p)
        share = low / whole
        middle, deviation = n * share, math.sqrt(n * share * (1 - share) * (whole - n) / (whole - 1))
        if whole > LARGE:  # the normal law is close, and quick
            return rank_of(n, self.p) - np.rint(middle + deviation * ndtri(levels))
        ends = max(middle - 10 * deviation - 10, 0, n - (whole - low)), min(middle + 10 * deviation + 10, n, low)
        counts = np.arange(math.ceil(ends[0]), math.floor(ends[1]) + 1)
        below = np.cumsum(hypergeom.pmf(counts, whole, low, n))
        return rank_of(n, self.p) - counts[np.searchsorted(below[:-1], levels)]

    @property
    def sampling_error(self) -> float:
        return self.given.spread * math.sqrt(float(np.mean(self.lacking > 0)))

    def smooth(self, shape: NoiseShape, alpha: float, beta: float) -> float:
        low, high = self.given.bounds
        moves = np.where(self.lacking > 0, self.lacking - 1, -self.lacking)  # records to replace before it can jump
        scale = self.given.spread * np.exp(-np.minimum(beta * moves, 600.0)) / alpha
        return float(np.mean(shape.error(np.where(self.lacking > 0, high, low), low, low, high, scale)))

    def exponential(self, decay: float) -> float:
        """All points between the bounds lose the same; the bound with most records loses nothing, but is one point."""
        ranks = self.p * self.size - (rank_of(self.size, self.p) - self.lacking)
        between = expit(math.log(STEPS) - decay * np.abs(ranks))
        return self.given.spread**2 * float(np.mean(np.where(ranks > 0, 1 - between * 2 / 3, between / 3)))


@dataclass(frozen=True)
class Simulated(Samples):
    """Samples of a public model."""

    given: Target
    p: float
    rate: float
    model: Model
    records: int | None = None
    """How many records a sample has, if not the rate's share of all."""
    draws: int = DRAWS
    source: SeededSource = field(default_factory=lambda: SeededSource(SEED))

    @property
    def size(self) -> int:
        return super().size if self.records is None else self.records

    @property
    def rank(self) -> int:
        return rank_of(self.size, self.p)

    @cached_property
    def levels(self) -> Array:
        """One uniform number in each of equal parts: how high the sample's quantile came out."""
        return (np.arange(self.draws) + self._uniform(self.draws)) / self.draws

    @cached_property
    def places(self) -> tuple[Array, Array]:
        """The sample's quantile and the population's, as probabilities of the model."""
        from scipy.stats import binom  # slow to import, and only plans need it

        n, whole, rank = self.size, self.given.population, self.rank
        drawn = betaincinv(rank, n + 1 - rank, self.levels)
        if n == whole:
            return drawn, drawn
        reached = rank + binom.ppf(self._uniform(self.draws), whole - n, drawn)
        ahead = rank_of(whole, self.p) - reached  # ranks from the sample's quantile up to the population's
        chance = self._uniform(self.draws)
        with np.errstate(invalid="ignore"):
            up = drawn + (1 - drawn) * betaincinv(
                np.maximum(ahead, 1), np.maximum(whole - reached - ahead + 1, 1), chance
            )
            down = drawn * betaincinv(np.maximum(reached + ahead, 1), np.maximum(-ahead, 1), chance)
        return drawn, np.where(ahead > 0, up, np.where(ahead < 0, down, drawn))

    @cached_property
    def values(self) -> tuple[Array, Array]:
        """The sample's quantile and the population's."""
        drawn, true = self.places
        return self.model.quantiles(drawn), self.model.quantiles(true)

    @property
    def sampling_error(self) -> float:
        drawn, true = self.values
        return math.sqrt(float(np.mean((drawn - true) ** 2)))

    def smooth(self, shape: NoiseShape, alpha: float, beta: float) -> float:
        windows = self.windows(self._reach_of_smooth(beta))
        scale = self._spread_over(windows.smooth_sensitivity(beta)) / alpha
        drawn, true = self.values
        least = 1e-12 * self.given.spread  # no noise at all where all records are alike
        return float(np.mean(shape.error(drawn, true, *self.given.bounds, np.maximum(scale, least))))

    def exponential(self, decay: float) -> float:
        first, second = self.windows(self._reach_of_exponential(decay)).exponential_moments(
            decay, self.p * self.size - self.rank
        )
        drawn, true = self.values
        off = drawn - true
        return float(np.mean(self._spread_over(second) + 2 * off * self._spread_over(first) + off**2))

    def windows(self, reach: int) -> Windows:
        """Samples around their quantile: as many as the budget of gaps allows."""
        n, rank = self.size, self.rank
        if min(reach, n) > FARTHEST:
            raise NotCovered(
                f"a plan for a quantile at so small an epsilon: more than {FARTHEST} ranks around it matter. "
                "Covered: a larger epsilon, or a smaller population; without a model every one is"
            )
        below, above = min(reach, rank - 1), min(reach, n - rank)
        many = int(np.clip(GAPS * self.draws // DRAWS // max(below + above, 1), FEWEST, MOST))
        levels = (np.arange(many) + 0.5) / many
        gaps = -np.log(self._uniform(many * (below + above))).reshape(many, below + above)
        down, up = uniform_windows(n, rank, below, above, levels, self._uniform(2 * many).reshape(many, 2), gaps)
        low, high = (np.full((many, 1), bound) for bound in self.given.bounds)
        downwards, upwards = self.model.quantiles(down), self.model.quantiles(up)
        return Windows(
            np.concatenate([downwards, low], axis=1) if below == rank - 1 else downwards,
            np.concatenate([upwards, high], axis=1) if above == n - rank else upwards,
        )

    def _reach_of_smooth(self, beta: float) -> int:
        """Past it exp(-beta k) times the range is below what a sample at the quantiles of the model has."""
        n, rank = self.size, self.rank
        steps = np.unique(np.geomspace(1, n + 1, 60).astype(np.int64))
        up, down = (np.clip((rank + sign * steps) / (n + 1), 0.0, 1.0) for sign in (0.5, -0.5))
        typical = np.max((self.model.quantiles(up) - self.model.quantiles(down)) * np.exp(-beta * (steps - 1)))
        depth = math.log(self.given.spread / max(float(typical) / 3, 1e-12 * self.given.spread))
        return min(n, math.ceil(depth / beta) + 2)

    def _reach_of_exponential(self, decay: float) -> int:
        return min(self.size, math.ceil((FADED + math.log(self.size)) / decay) + 2)

    def _spread_over(self, found: Array) -> Array:
        """What was found on the windows, for each draw: that of the window whose quantile came out as high."""
        return found[np.minimum((self.levels * len(found)).astype(np.int64), len(found) - 1)]

    def _uniform(self, many: int) -> Array:
        """Uniform numbers strictly between 0 and 1."""
        return ((self.source.words(many) >> np.uint64(11)).astype(float) + 0.5) * 2.0**-53


@dataclass(frozen=True)
class Varying(Samples):
    """Poisson samples of a public model, whose number of records varies: a mean over samples of several sizes.

    Of small samples the smallest err most. Without any record the exponential mechanism is uniform.
    """

    given: Target
    p: float
    rate: float
    model: Model

    @cached_property
    def parts(self) -> tuple[tuple[float, Simulated], ...]:
        """Samples of some sizes, each with its weight; sizes in between are shared by the two next to them."""
        from scipy.stats import binom  # slow to import, and only plans need it

        law = binom(self.given.population, self.rate)
        low, high = (int(law.ppf(tail)) for tail in (1e-9, 1 - 1e-9))
        every, sizes = np.arange(low, high + 1), np.unique(np.rint(np.linspace(low, high, SIZES)))
        weights = [float(law.pmf(every) @ np.interp(every, sizes, row)) for row in np.eye(len(sizes))]
        source = SeededSource(SEED)
        return tuple(
            (weight, Simulated(self.given, self.p, self.rate, self.model, int(size), DRAWS // 8, source))
            for weight, size in zip(weights, sizes, strict=True)
        )

    def _mean(self, square: Callable[[Simulated], float]) -> float:
        low, high = self.given.bounds
        true = float(self.model.quantiles(np.array(self.p)))
        uniform = ((high - true) ** 3 + (true - low) ** 3) / (3 * self.given.spread)
        return sum(weight * (square(part) if part.size else uniform) for weight, part in self.parts)

    @property
    def sampling_error(self) -> float:
        return math.sqrt(self._mean(lambda part: part.sampling_error**2))

    def smooth(self, shape: NoiseShape, alpha: float, beta: float) -> float:
        return self._mean(lambda part: part.smooth(shape, alpha, beta))

    def exponential(self, decay: float) -> float:
        return self._mean(lambda part: part.exponential(decay))


def rank_of(size: int, p: float) -> int:
    """The rank (from 1) of the p-quantile among so many: the least rank with at least a share p up to it.

    >>> rank_of(5, 0.5), rank_of(4, 0.5), rank_of(3, 0.0)
    (3, 2, 1)
    """
    return min(max(math.ceil(p * size), 1), max(size, 1))
