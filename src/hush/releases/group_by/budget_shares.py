"""One budget for all parts of a query: shares, the kind of noise, and the scale that just meets the target."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from scipy import special

from hush.curves.relation import Relation
from hush.errors import InvalidParameter, NotCovered
from hush.mechanisms.combinators.one_after_another import Sequence as InSequence
from hush.mechanisms.leaves.stated import ApproxDP
from hush.mechanisms.leaves.unknown_keys import UnknownKeys
from hush.mechanisms.mechanism import Mechanism
from hush.questions.calibrate import calibrate
from hush.releases.group_by.noisy_parts.bounded_noise import bound_for, chance_of_bound
from hush.releases.group_by.noisy_parts.count_parts import RowsPart
from hush.releases.group_by.noisy_parts.parts import AdditivePart, NoiseLevel, Part, Protected
from hush.releases.target import MARGINS

SPLITS = ("equal", "error")
NOISES = ("auto", "laplace", "gaussian")
KEY_SHARE = 0.9
"""Beside Gaussian noise, the share of delta that new keys may take; the rest is that of the noise."""
TOO_MUCH = "a query of this epsilon: its parts add up to more, whatever the noise"
EXACT, NEAR = 1e-6, 1e-3
"""How close the cost comes to the budget, relatively: Gaussian noise alone, and what takes long to compose."""


@dataclass(frozen=True)
class TableBudget:
    """What may be spent, and how it is split."""

    epsilon: float
    delta: float
    split: str
    weights: dict[str, float]
    noise: str

    def shares(self, parts: Sequence[Part], gaussian: bool) -> list[float]:
        """The share of each part: equal, in proportion to weights, or such that the weighted squared error is least.

        Laplace noise has variance 2 (size/level)^2 with levels that sum up: levels in proportion to w^{1/3} size^{2/3}.
        Gaussian noise has variance (size/level)^2 with squares of levels that sum up: to w^{1/4} size^{1/2}.
        """
        weights = [self.weight(part) for part in parts]
        if self.split == "error":
            power = (0.25, 0.5) if gaussian else (1 / 3, 2 / 3)
            weights = [w ** power[0] * part.size ** power[1] for w, part in zip(weights, parts, strict=True)]
        total = math.fsum(weights)
        return [weight / total for weight in weights]

    def weight(self, part: Part) -> float:
        """The weight of a part: that of its column, or of the name under which it was asked for."""
        named = [self.weights[title] for title in (*part.titles, part.asked) if title in self.weights]
        return named[0] if named else 1.0


@dataclass(frozen=True)
class NoisePlan:
    """The noise of every part, and what all of it gives away."""

    levels: tuple[NoiseLevel, ...]
    mechanism: Mechanism
    threshold: int | None = None
    """A group of unknown key is shown where its noisy number of users reaches this."""
    selection: tuple[float, float] | None = None
    """Epsilon and delta of the choice of each key, where only keys are asked for."""


@dataclass(frozen=True)
class Planning:
    """A query's parts and unit; `counted` is the part whose noisy count decides which unknown keys are shown."""

    parts: tuple[Part, ...]
    unit: Protected
    budget: TableBudget
    counted: RowsPart | None = None

    def plan(self) -> NoisePlan:
        """The kind of noise with the least expected error among those that the budget allows."""
        if not self.parts:
            return self._selected()
        if self.budget.delta == 0:
            if self.budget.noise == "gaussian":
                raise InvalidParameter("GroupBy", "a delta for Gaussian noise", delta=None)
            return self._pure()
        wanted = self.budget.noise
        found = [self._laplace()] if wanted in ("auto", "laplace") else []
        if wanted == "auto" and self.counted is not None and self.unit.most.l0 == self.unit.turns == 1:
            found = [self._bounded()]
        if wanted == "gaussian" or (wanted == "auto" and self._composes):
            found.append(self._gaussian())
        return min(found, key=self._error)

    def _selected(self) -> NoisePlan:
        """Keys alone: each is chosen with the same epsilon and delta, composed exactly over the groups of a user."""
        if self.unit.relation is Relation.REPLACE:
            raise NotCovered(
                "keys alone for replaced users: take Relation.ADD_REMOVE, or ask for the number of users too"
            )
        groups, (epsilon, delta) = self.unit.most.l0, (self.budget.epsilon, self.budget.delta)
        if groups == 1:
            return NoisePlan((), ApproxDP(epsilon, delta), selection=(epsilon, delta))
        each = _each(delta / 2, groups)
        found = calibrate(
            lambda e: ApproxDP(e, each).repeat(groups),
            over=(epsilon / groups / 2, epsilon),
            epsilon=epsilon,
            delta=delta,
        )
        return NoisePlan((), found.mechanism, selection=(float(found.value), each))

    @property
    def _composes(self) -> bool:
        """Whether Gaussian noise can be composed exactly with the rest over all groups of a user."""
        noise_alone = all(isinstance(part, AdditivePart) for part in self.parts)
        return noise_alone or self.counted is None or self.unit.most.l0 == 1

    def _error(self, plan: NoisePlan) -> float:
        """The sum of the logs of all expected errors, so that units do not matter."""
        pairs = zip(self.parts, plan.levels, strict=True)
        # the errors of a group so large that none is cut by the bounds
        errors = [part.errors(level, self.charged, 1e12, 1.0) for part, level in pairs]
        return math.fsum(math.log(max(error, 1e-300)) for each in errors for error in each.values())

    @property
    def charged(self) -> Protected:
        """The unit whose sensitivity sets the noise: where keys are unknown, what a user does in one group."""
        if self.counted is None:
            return self.unit
        return replace(self.unit, most=self.unit.most.in_one_group, relation=Relation.ADD_REMOVE)

    def _made(self, levels: Sequence[NoiseLevel], share: float = 1.0, *, sought: bool = False) -> NoisePlan:
        """The plan of these levels; with unknown keys, new ones take at most this share of delta.

        While a scale is sought they are charged all of their share: what whole thresholds save goes up and down.
        """
        each = zip(self.parts, levels, strict=True)
        inner = InSequence.of(part.mechanism(level, self.charged) for part, level in each)
        if self.counted is None:
            return NoisePlan(tuple(levels), inner)
        level = levels[self.parts.index(self.counted)]
        groups = self.unit.most.l0
        if level.bound is not None:
            shown = chance_of_bound(level.value, level.bound)
            whole = UnknownKeys(inner, groups, shown).under(self.unit.relation)
            return NoisePlan(tuple(levels), whole, level.bound + 1)
        threshold, shown = threshold_for(self._scale(level), level.gaussian, groups, share * self.budget.delta)
        whole = UnknownKeys(inner, groups, _each(share * self.budget.delta, groups) if sought else shown)
        return NoisePlan(tuple(levels), whole.under(self.unit.relation), threshold)

    def _scale(self, level: NoiseLevel) -> float:
        """The scale of the noise of the count that decides."""
        deviation = self.counted.noise(level, self.charged) if self.counted is not None else 0.0
        return deviation if level.gaussian else deviation / math.sqrt(2)

    def _levels(self, scale: float, gaussian: bool, *, pure: bool = False) -> list[NoiseLevel]:
        shares = self.budget.shares(self.parts, gaussian)
        return [NoiseLevel(scale * share, gaussian, pure=pure) for share in shares]

    def _pure(self) -> NoisePlan:
        """Laplace noise and choices whose epsilons add up; where keys are unknown, new ones take all of delta."""
        turns = 1 if self.counted is None else self.unit.most.l0 * self.unit.turns
        for margin in MARGINS:
            made = self._made(self._levels(self.budget.epsilon * (1 - margin) / turns, False, pure=True), 1 - margin)
            if made.mechanism.epsilon(delta=self.budget.delta).upper <= self.budget.epsilon:
                return made
        raise NotCovered(TOO_MUCH)

    def _bounded(self) -> NoisePlan:
        """Bounded noise on the count that decides, where a user comes or goes in one group; Laplace noise on the rest.

        What makes a new group show, and what tells an old one, is the same outcome: the end of the noise's range. Its
        chance is all of delta.
        """
        place = self.parts.index(self.counted) if self.counted is not None else 0
        for margin in MARGINS:
            levels = self._levels(self.budget.epsilon * (1 - margin), False, pure=True)
            bound = bound_for(levels[place].value, self.budget.delta * (1 - margin))
            levels[place] = replace(levels[place], bound=bound)
            made = self._made(levels)
            if made.mechanism.epsilon(delta=self.budget.delta).upper <= self.budget.epsilon:
                return made
        raise NotCovered(TOO_MUCH)

    def _laplace(self) -> NoisePlan:
        """The same noise, accounted exactly at this delta, where the keys are given."""
        if self.counted is not None:
            return self._pure()
        start = self.budget.epsilon
        over = (start * 0.999, start * (1 + len(self.parts)))
        scale = self._calibrated(lambda t: self._made(self._levels(t, False)).mechanism, over, NEAR)
        return self._made(self._levels(scale, False))

    def _gaussian(self) -> NoisePlan:
        if not self._composes:
            raise NotCovered(
                "Gaussian noise beside quantiles or top values, for users in several groups of unknown keys: take "
                "noise='laplace', or given keys"
            )
        shares = self.budget.shares(self.parts, True)
        unit = math.sqrt(math.fsum(share * share for share in shares) * (self.unit.most.l0 if self.counted else 1))
        # Gaussian noise of one deviation per unit is in reach of every epsilon up to 500
        close = EXACT if all(isinstance(part, AdditivePart) for part in self.parts) else NEAR
        scale = self._calibrated(
            lambda t: self._made(self._levels(t, True), KEY_SHARE, sought=True).mechanism,
            (1e-6 / unit, 40.0 / unit),
            close,
        )
        return self._made(self._levels(scale, True), KEY_SHARE)

    def _calibrated(self, build: Callable[[float], Mechanism], over: tuple[float, float], close: float) -> float:
        epsilon, delta = self.budget.epsilon, self.budget.delta
        return float(calibrate(build, over=over, epsilon=epsilon, delta=delta, tolerance=close).value)


def threshold_for(scale: float, gaussian: bool, groups: int, delta: float) -> tuple[int, float]:
    """The least threshold that some of so many groups of one user pass with at most this chance, and the chance of one.

    The noise is rounded to whole numbers: 1 + noise reaches the threshold where the noise is at least that less 1.5.

    >>> threshold_for(1.0, False, 1, 1e-6)
    (15, 6.85...e-07)
    """
    each = _each(delta, groups)
    if gaussian:
        reach = -float(special.ndtri(each)) * scale
    else:
        reach = -scale * math.log(2 * min(each, 0.5))
    threshold = max(math.ceil(reach + 1.5), 2)
    while (shown := tail(threshold - 1.5, scale, gaussian)) > each:
        threshold += 1
    return threshold, shown


def _each(delta: float, groups: int) -> float:
    """The chance of one group such that none of so many is met with probability 1 - delta."""
    return -math.expm1(math.log1p(-min(delta, 1 - 1e-16)) / groups)


def tail(reach: float, scale: float, gaussian: bool) -> float:
    """The chance that the noise is at least this large, rounded up."""
    found = float(special.ndtr(-reach / scale)) if gaussian else math.exp(-reach / scale) / 2
    return found * (1 + 1e-12)
