"""Choices per group: quantiles from counts of a lattice, and the most frequent values."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from hush.curves.relation import Relation
from hush.mechanisms.leaves.exponential_mechanism import Exponential, ReportNoisyMax
from hush.mechanisms.leaves.stated import PureDP
from hush.mechanisms.mechanism import Mechanism
from hush.randomness.source import Source
from hush.releases.group_by.noisy_parts.parts import (
    Answering,
    CellColumn,
    NoiseLevel,
    Part,
    Protected,
    Wanted,
    of_sample,
)
from hush.releases.noise.lattice import Lattice
from hush.releases.noise.permute_and_flip import NAMED, PUBLISHED, extra_ranks, flipped_option, flipped_quantile
from hush.releases.noise.quantile_selection import draw_quantile
from hush.releases.noise.weighted_choice import draw_option
from hush.releases.row_wise.row_expressions import Expression
from hush.releases.statistics.quantile import change_of_loss
from hush.releases.tables.tally import Categories, LatticeCells, Steps


class ChoicePart(Part):
    """Choices whose loss has a range of so much per record, each made once in every group.

    Where epsilons add up, permute and flip with the same weights costs the same and is nearer; else its range counts.

    A user is in up to l0 groups, with up to L records in each: l0 choices, each of L times the range. Where `total`
    allows less than that, one choice of `total` times the range is above all of them: ranges of choices add up.
    """

    @property
    def times(self) -> int:
        """How many choices are made in a group."""
        return 1

    @abstractmethod
    def choice(self, loss_range: float) -> Mechanism:
        """One choice whose loss has this range when the records of a group that belong together come or go."""

    def mechanism(self, level: NoiseLevel, unit: Protected) -> Mechanism:
        _, groups = self._worst(unit)
        spent = self.range_of(level, unit)
        one = PureDP(spent, reason=PUBLISHED, named=NAMED) if level.pure else self.choice(spent)
        if unit.relation is Relation.REPLACE:
            one = one.under(Relation.REPLACE)
        return one.repeat(groups * self.times)

    def _worst(self, unit: Protected) -> tuple[int, int]:
        """Records per group, and groups, of the user that is charged."""
        most = unit.most
        return (most.linf, most.l0) if most.l0 * most.linf == most.l1 else (most.l1, 1)

    def range_of(self, level: NoiseLevel, unit: Protected) -> float:
        """The range of the choice in one group: all sum to the level, or, beside Gaussian noise, cost as much as it.

        A loss of range R has a Rényi curve of at most alpha R^2/8; that of Gaussian noise of 1/level deviations is
        alpha level^2/2.
        """
        _, groups = self._worst(unit)
        if level.gaussian:
            return 2 * level.value / (unit.turns * math.sqrt(groups * self.times))
        return level.value / (unit.turns * groups * self.times)

    def per_record(self, loss_range: Fraction, unit: Protected) -> Fraction:
        """The range of the loss per record, exactly, so that the records of a user in a group make the whole."""
        return loss_range / self._worst(unit)[0]


@dataclass(frozen=True, eq=False)
class QuantilePart(ChoicePart):
    """A quantile of a column in each group, on a lattice of public bounds."""

    asked: str
    title: str
    value: Expression
    p: float
    lattice: Lattice
    bounds: tuple[float, float]
    missing: float | None

    @property
    def titles(self) -> tuple[str, ...]:
        return (self.title,)

    @property
    def wanted(self) -> Wanted:
        steps = Steps(self.value, *self.bounds, 0.0, self.lattice.grid.power, self.missing)
        return Wanted(cells=(LatticeCells(steps, self.lattice.first, self.lattice.points),))

    @property
    def size(self) -> float:
        return self.bounds[1] - self.bounds[0]

    def choice(self, loss_range: float) -> Mechanism:
        return Exponential(loss_range)

    def _eta(self, level: NoiseLevel, unit: Protected) -> Fraction:
        one = self.per_record(Fraction(self.range_of(level, unit)), unit)
        return one / (2 * change_of_loss(Fraction(self.p), Relation.ADD_REMOVE))

    def errors(self, level: NoiseLevel, unit: Protected, size: float, rate: float) -> dict[str, float]:
        # ranks are off by about a two-sided exponential variable; values are spread evenly over the bounds
        ranks, drawn = math.sqrt(2) / float(self._eta(level, unit)), of_sample(size, rate, unit.most.linf) / size
        off = math.hypot(ranks / (size * rate), drawn * math.sqrt(self.p * (1 - self.p)))
        step = float(self.lattice.grid.step) / math.sqrt(12)  # values are rounded to the lattice
        return {self.title: math.hypot(min(off, 0.3) * self.size, step)}

    def ranks_off(self, level: NoiseLevel, unit: Protected, sure: float) -> float:
        """The records between a value and the quantile: points of loss t and more weigh at most points exp(-eta t),
        and the quantile itself, on the lattice, weighs 1."""
        eta = self._eta(level, unit)
        return math.log(self.lattice.points / (1 - sure)) / float(eta) + (extra_ranks(eta) if level.pure else 0.0)

    def answer(self, run: Answering) -> list[CellColumn]:
        eta, draw = self._eta(run.level, run.unit), self._flipped if run.level.pure else self._drawn
        places = [draw(run.source, np.cumsum(counts), eta) for counts in run.found.cells[0]]
        return [CellColumn(self.title, [self.lattice.value(place) for place in places])]

    def _flipped(self, source: Source, upto: np.ndarray, eta: Fraction) -> int:
        return flipped_quantile(source, upto=upto, p=Fraction(self.p), eta=eta) + self.lattice.first

    def _drawn(self, source: Source, upto: np.ndarray, eta: Fraction) -> int:
        return draw_quantile(
            source,
            window=lambda first, last: _ranked(upto, first, last) + self.lattice.first,
            size=int(upto[-1]),
            p=Fraction(self.p),
            eta=eta,
            lattice=self.lattice,
        )


def _ranked(upto: np.ndarray, first: int, last: int) -> np.ndarray:
    """The cells of the records of ranks first to last, from the counts up to each cell."""
    return np.searchsorted(upto, np.arange(first, last + 1), side="left")


@dataclass(frozen=True, eq=False)
class TopPart(ChoicePart):
    """The most frequent of given values in each group: one after the other, each among those that are left."""

    asked: str
    cells: Categories
    k: int

    @property
    def titles(self) -> tuple[str, ...]:
        return tuple(f"{self.asked}_{place}" for place in range(1, self.k + 1))

    @property
    def wanted(self) -> Wanted:
        return Wanted(cells=(self.cells,))

    @property
    def size(self) -> float:
        return 1.0

    @property
    def times(self) -> int:
        return self.k

    def choice(self, loss_range: float) -> Mechanism:
        return ReportNoisyMax(_at_least(1 / Fraction(loss_range)), monotone=True)

    def errors(self, level: NoiseLevel, unit: Protected, size: float, rate: float) -> dict[str, float]:
        # how many records the chosen value may be behind the most frequent one
        behind = math.hypot(1 / float(self._eta(level, unit)) / rate, of_sample(size, rate, unit.most.linf))
        return dict.fromkeys(self.titles, behind)

    def _eta(self, level: NoiseLevel, unit: Protected) -> Fraction:
        return self.per_record(1 / Fraction(_at_least(1 / Fraction(self.range_of(level, unit)))), unit)

    def answer(self, run: Answering) -> list[CellColumn]:
        eta = self._eta(run.level, run.unit)
        chosen = [self._chosen(run, counts.tolist(), eta) for counts in run.found.cells[0]]
        return [CellColumn(title, [members[place] for members in chosen]) for place, title in enumerate(self.titles)]

    def _chosen(self, run: Answering, counts: list[int], eta: Fraction) -> list[object]:
        left, found = list(range(len(counts))), []
        for _ in range(self.k):
            most = max(counts[option] for option in left)
            behind = [most - counts[option] for option in left]
            draw = flipped_option if run.level.pure else draw_option
            place = draw(run.source, behind, eta)
            found.append(self.cells.members[left.pop(place)])
        return found


def _at_least(value: Fraction) -> float:
    nearest = float(value)
    return nearest if Fraction(nearest) >= value else math.nextafter(nearest, math.inf)
