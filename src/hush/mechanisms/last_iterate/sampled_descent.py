"""The last iterate of noisy gradient descent on secret samples of bounded size."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from hush.curves.composition.product import Product
from hush.curves.pairs.normal import NormalPair
from hush.curves.pairs.pair import Pair
from hush.curves.pairs.pointwise import Tightest
from hush.curves.relation import Relation
from hush.curves.theorems import last_iterate
from hush.errors import InvalidParameter, NotCovered
from hush.mechanisms.evidence import IDENTITY, Evidence
from hush.mechanisms.fields import between, instance, whole
from hush.mechanisms.last_iterate.descent import A_LOSS, ConvexLoss
from hush.mechanisms.last_iterate.hidden_iterates import HiddenIterates, checkpoints
from hush.mechanisms.last_iterate.iteration import LARGEST_MU, LEAST_MU, ONLY_LAST, SIZED
from hush.mechanisms.leaf import Leaf
from hush.mechanisms.leaves.gaussian import Gaussian
from hush.mechanisms.mechanism import Mechanism
from hush.mechanisms.neighbours import Neighbours
from hush.mechanisms.schemes.capped_poisson import CappedPoisson
from hush.mechanisms.schemes.poisson import Poisson
from hush.mechanisms.traits import Scope
from hush.numerics.rounding import UNIT

SHARES = (0.3, 0.4, 0.5)
"""Shares of the noise that may hide the distance of the two runs; the rest hides the record in the last steps."""
LONGER = (1.0, 1.75)
"""Numbers of last steps that are tried, in units of the one that looks best: where little is hidden it is too small."""
RESTARTS = 60
"""Numbers of last steps that are looked at."""


@dataclass(frozen=True, kw_only=True)
class SampledGradientDescent(Leaf, HiddenIterates):
    """w -> Proj(w - step_size (sum of gradients of a sample / batch_size + regularization w + N(0, noise^2))).

    Only the last iterate is released. Every step draws a fresh sample of at most `scheme.cap` records, so that the step
    brings no two points apart: step_size <= 2 / (smoothness cap / batch_size + regularization). All iterates stay in a
    convex set of this diameter, around which the start is public. Stated for one record added or removed.

    >>> from hush import CappedPoisson, ConvexLoss
    >>> loss = ConvexLoss(smoothness=0.01, strong_convexity=0, lipschitz=1)
    >>> scheme = CappedPoisson(rate=0.1, cap=100, population=100)
    >>> run = dict(loss=loss, scheme=scheme, batch_size=1, noise=2, step_size=0.5, diameter=1)
    >>> last = SampledGradientDescent(iterations=1000, **run)
    >>> last.delta(epsilon=1).upper < 0.0070 < 0.38 < last.composed().delta(epsilon=1).upper
    True
    """

    loss: ConvexLoss = field(metadata=A_LOSS)
    scheme: CappedPoisson = field(metadata=instance(CappedPoisson, "a hush.CappedPoisson"))
    batch_size: float = field(metadata=SIZED)
    noise: float = field(metadata=SIZED)
    step_size: float = field(metadata=SIZED)
    iterations: int = field(metadata=whole(1))
    diameter: float
    regularization: float = field(default=0.0, metadata=between(0, 1e12))
    relation: Relation = field(init=False, default=Relation.ADD_REMOVE)
    word: ClassVar[str] = ""
    theorem = (
        "both runs are within the diameter some steps before the end; a part of the later noise hides that distance "
        "(shifted interpolation), the rest hides the record in the later samples, step by step: proof in "
        "docs/theory/iteration.md, after Altschuler, Talwar 2022 and Bok, Su, Altschuler 2024"
    )
    assumes = (
        "{self.loss.words}; the start is public and every iterate is projected on a convex set of diameter at most "
        "{self.diameter:g}; sums are divided by a public number; " + ONLY_LAST
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        who = type(self).__name__
        if self.scheme.cap == 0:
            raise InvalidParameter(who, "a scheme with a cap of 1 or more", cap=0)
        if self.diameter == math.inf:
            raise NotCovered(f"{who} without a projection: covered are iterates in a convex set of known diameter")
        object.__setattr__(self, "diameter", SIZED["check"](who, "diameter", self.diameter))
        if self.loss.lipschitz == math.inf or self.loss.strong_convexity:
            rule = "a loss with strong_convexity=0 and a finite lipschitz (an empty batch has no curvature)"
            raise InvalidParameter(
                who, rule, lipschitz=self.loss.lipschitz, strong_convexity=self.loss.strong_convexity
            )
        limit = 2 / self._smoothness * (1 + 2 * UNIT)  # 2/smoothness itself may have been rounded up
        if not self.step_size <= limit:
            rule = f"step_size <= 2 / (smoothness cap / batch_size + regularization) = {limit:g}"
            raise InvalidParameter(who, rule, step_size=self.step_size)

    @property
    def _smoothness(self) -> float:
        """Of the sum over the largest batch."""
        return self.loss.smoothness * self.scheme.cap / self.batch_size + self.regularization

    @property
    def gap(self) -> float:
        """1 - c of every step, also of those with an empty batch."""
        return last_iterate.descent_gap(self.step_size, self._smoothness, self.regularization)

    @property
    def scope(self) -> Scope:
        return Scope(self.scheme.population_of(self))

    def _step(self, share: float = 0.0) -> Mechanism:
        """One step of which all is released, with what is left of the noise."""
        return Gaussian(self.noise * self.batch_size / self.loss.lipschitz * math.sqrt(1 - share)).on(self.scheme)

    def _far(self, last: int) -> float:
        """How far apart two runs may be so many steps before the end: in the set, and no farther than steps can move.

        In a full batch the record takes the place of another one: twice its own gradient.
        """
        full = 1 if self.scheme.population is not None and self.scheme.population <= self.scheme.cap else 2
        moved = full * self.step_size * self.loss.lipschitz / self.batch_size
        earlier = self.iterations - last
        together = moved * earlier
        if self.gap > 0:
            together = min(together, moved * last_iterate.shrunk(self.gap, earlier) / self.gap)
        return min(self.diameter, together * (1 + last_iterate.MU_ROUNDING))

    def _restart(self, last: int, share: float) -> float:
        """mu of the distance so many steps before the end, hidden by this share of their noise."""
        far = self._far(last) / (self.step_size * self.noise * math.sqrt(share))
        return last_iterate.restarted_mu(self.gap, last, 0.0, far) * (1 + last_iterate.MU_ROUNDING)

    @cached_property
    def _chosen(self) -> tuple[tuple[int, float], ...]:
        """(last steps, share of the noise) that look best by a central limit theorem; any of them is valid."""
        rate, scaled = self.scheme.rate, self.noise * self.batch_size / self.loss.lipschitz
        lasts = np.unique(np.geomspace(1, self.iterations, RESTARTS).astype(int)).tolist()
        found = []
        for share in SHARES:
            step = rate**2 * math.expm1(min(1 / (scaled**2 * (1 - share)), 300.0))
            best = min(lasts, key=lambda last: self._restart(last, share) ** 2 + last * step)
            found += [(min(round(longer * best), self.iterations), share) for longer in LONGER]
        return tuple(dict.fromkeys(found))

    def _restarted(self, last: int, share: float, neighbours: Neighbours) -> Pair:
        """The pair of one choice: two normals for the distance, and the last steps, all of them released."""
        mu = self._restart(last, share)
        if mu > LARGEST_MU:
            raise NotCovered(f"{self}: two normals at distance {mu:g}; more than {LARGEST_MU:g} is not covered")
        steps = self._step(share).evidence(neighbours).pair
        return Product.of([(NormalPair.shifted(max(mu, LEAST_MU)), 1), (steps, last)])

    def knows(self, neighbours: Neighbours) -> Evidence:
        if neighbours.in_place:
            raise NotCovered(f"{self} where a record is blanked: a blank takes a place of a full batch")
        return super().knows(neighbours)

    def at(self, removed: int, added: int) -> Pair:
        if (removed, added) not in ((1, 0), (0, 1)):
            raise NotCovered(f"{self} for groups, or where a record is replaced: covered for one added or removed")
        neighbours = Neighbours.of(removed, added)
        composed = self.composed().evidence(neighbours).pair
        pairs = [self._restarted(last, share, neighbours) for last, share in self._chosen if last < self.iterations]
        return Tightest.of([*pairs, composed])

    def attained(self, neighbours: Neighbours, alone: bool) -> tuple[Pair, ...]:
        """None is known."""
        return (IDENTITY,)

    def composed(self) -> Mechanism:
        """The guarantee if every iterate were released."""
        return self._step().repeat(self.iterations)

    def unfilled(self) -> Mechanism:
        """What costs about as much and is cheap to ask, for guesses only: as if none of the last batches were full."""
        last, share = self._chosen[0]
        noise = self.noise * self.batch_size / self.loss.lipschitz * math.sqrt(1 - share)
        steps = Gaussian(noise).on(Poisson(rate=self.scheme.rate)).repeat(last)
        return Gaussian(1 / min(max(self._restart(last, share), LEAST_MU), LARGEST_MU)).then(steps)

    def places(self) -> list[int]:
        return checkpoints(self.iterations)

    def at_place(self, place: int) -> tuple[Mechanism, Mechanism]:
        ended = replace(self, iterations=place)
        return ended, ended.composed()

    def gains_from(self) -> int | None:
        return 1 if self._chosen[0][0] < self.iterations else None

    def gain_in_words(self, first: int | None) -> str:
        if first is None:
            return f"No gain: within {self.iterations} steps composition without amplification is as good."
        return f"Gains: what came before the last {self._chosen[0][0]} steps counts as a distance alone."

    def __str__(self) -> str:
        return (
            f"the last iterate of {self.iterations} noisy gradient steps of size {self.step_size:g} on {self.scheme}, "
            f"noise {self.noise:g} on sums over {self.batch_size:g}"
        )
