"""Numbers of people, each with Laplace or Gaussian noise of its own."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from scipy import special

from hush.arrays import Array
from hush.checks import number
from hush.curves.interval import written_up
from hush.curves.pairs.normal import NormalPair
from hush.curves.pairs.pair import Pair
from hush.curves.pairs.segment import SegmentPair
from hush.curves.relation import Relation
from hush.curves.theorems.shuffling.multiset import (
    Plain,
    blanket_of_mass,
    clone,
    one_bit,
)
from hush.curves.theorems.shuffling.normal_blanket import NormalBlanket
from hush.curves.theorems.shuffling.shuffled import Named
from hush.mechanisms.fields import between
from hush.mechanisms.local.checked_reports import checked_numbers
from hush.mechanisms.local.randomizer import LocalRandomizer
from hush.randomness.additive import add_gaussian, add_laplace
from hush.randomness.binary_grid import BinaryGrid
from hush.randomness.float_noise import laplace, normal
from hush.randomness.source import Source


def report_grid(scale: float) -> BinaryGrid:
    """The grid that numbers in [0, 1] are rounded to before they get noise: steps of at most a millionth.

    0 and 1 lie on it, so two rounded numbers are at most 1 apart, and nothing is charged. Noise that is rounded to the
    same grid is a post-processing of the continuous one: no low bits of a float tell the number.

    >>> report_grid(1.0)
    BinaryGrid(power=-20)
    """
    return BinaryGrid.for_scale(scale, sensitivity=1.0)


class NoisyNumber(LocalRandomizer):
    """Each person's number in [0, 1] with noise around it."""

    @abstractmethod
    def tail(self, t: float) -> float:
        """Chance that the report of 0 is above t."""

    @abstractmethod
    def noised(self, numbers: Array, source: Source | None) -> Array:
        """Numbers in [0, 1], each with noise from the source, or from secret bits where there is none."""

    def thresholds(self) -> tuple[float, ...]:
        """An attacker counts the reports above one of these."""
        return 0.5, 1.0

    def below(self, people: int) -> Named:
        known = ((t, one_bit(people, self.tail(t), self.tail(t - 1))) for t in self.thresholds())
        return tuple((f"attained, above {t:g}", found) for t, found in known)

    def bit(self) -> tuple[float, float]:
        return self.tail(1.0), self.tail(0.0)

    def encode(self, values: Any, source: Source | None = None) -> Array:
        """One noisy number per person, from secret bits unless a source is given: see `report_grid`.

        >>> from hush import SeededSource
        >>> LaplaceReport(1.0).encode([0.5, 0.5], SeededSource(1)).shape
        (2,)
        """
        return self.noised(checked_numbers(type(self).__name__, values), source)

    def mean(self, reports: Array) -> float:
        """Unbiased estimate of the mean of the values."""
        return float(np.mean(reports))


@dataclass(frozen=True)
class LaplaceReport(NoisyNumber):
    """Each person's number in [0, 1] with Laplace noise of this scale.

    >>> LaplaceReport(scale=1.0).shuffled(people=10_000).epsilon(delta=1e-6).upper
    0.04...
    """

    scale: float
    relation: Relation = field(init=False, default=Relation.REPLACE)
    theorem = "two Laplace laws at distance 1: Dwork et al. 2006"
    assumes = "one number in [0, 1] per person"

    def __post_init__(self) -> None:
        rule = "1/30 <= scale <= 10000"
        object.__setattr__(self, "scale", number("LaplaceReport", rule, 1 / 30, 1e4, scale=self.scale))

    @property
    def largest(self) -> float:
        return written_up(1 / Fraction(repr(self.scale)))

    def report(self) -> Pair:
        return SegmentPair.laplace(1 / Fraction(repr(self.scale)))

    def above(self, people: int) -> Named:
        """The least density at y is that of the farther end of [0, 1], so the blanket's mass is e^{-eps0/2}."""
        e = self.largest
        blanket = blanket_of_mass(e, math.exp(-e / 2), people)
        return ("blanket", blanket), ("clone", clone(e, people)), ("unshuffled", Plain(self.report()))

    def listed(self, people: int) -> Named:
        return super().listed(people)[1:]

    def tail(self, t: float) -> float:
        return 0.5 * math.exp(-t / self.scale) if t >= 0 else 1 - 0.5 * math.exp(t / self.scale)

    def noised(self, numbers: Array, source: Source | None) -> Array:
        grid = report_grid(self.scale)
        return add_laplace(grid.quantise(numbers), sensitivity=1.0, scale=self.scale, source=source, grid=grid).values

    def standard_error(self, people: int) -> float:
        """Standard error that the noise adds to the mean."""
        return self.scale * math.sqrt(2 / people)

    def simulate(self, contributions: Array, source: Source) -> Array:
        return (contributions > 0) + self.scale * laplace(source, len(contributions))

    def __str__(self) -> str:
        return f"each person's number in [0, 1] with Laplace noise of scale {self.scale:g}"


@dataclass(frozen=True)
class GaussianReport(NoisyNumber):
    """Each person's number in [0, 1] with Gaussian noise of this deviation.

    No epsilon bounds the loss of one report, so theorems for pure randomizers do not apply. The privacy blanket does:
    what all reports have in common, here the lesser of the densities at 0 and at 1.

    >>> GaussianReport(deviation=4.0).shuffled(people=100_000).epsilon(delta=1e-6).upper
    0.0024...
    """

    deviation: float = field(metadata=between(0.1, 1e4))
    relation: Relation = field(init=False, default=Relation.REPLACE)
    theorem = "two normal laws at distance 1: Balle, Wang 2018, Thm 8"
    assumes = "one number in [0, 1] per person"

    @property
    def largest(self) -> float:
        return math.inf

    def report(self) -> Pair:
        return NormalPair.shifted(1 / self.deviation)

    def above(self, people: int) -> Named:
        return ("blanket", NormalBlanket(self.deviation, people)), ("unshuffled", Plain(self.report()))

    def listed(self, people: int) -> Named:
        return ()

    def thresholds(self) -> tuple[float, ...]:
        return (*super().thresholds(), 1 + self.deviation)

    def tail(self, t: float) -> float:
        return float(special.ndtr(-t / self.deviation))

    def noised(self, numbers: Array, source: Source | None) -> Array:
        grid, deviation = report_grid(self.deviation), self.deviation
        steps = grid.quantise(numbers)
        return add_gaussian(steps, sensitivity=1.0, noise_multiplier=deviation, source=source, grid=grid).values

    def standard_error(self, people: int) -> float:
        """Standard error that the noise adds to the mean."""
        return self.deviation / math.sqrt(people)

    def simulate(self, contributions: Array, source: Source) -> Array:
        return (contributions > 0) + self.deviation * normal(source, len(contributions))

    def __str__(self) -> str:
        return f"each person's number in [0, 1] with Gaussian noise of deviation {self.deviation:g}"
