"""Private selection: a secret, random number of runs, of which only the best is released."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import ClassVar

from hush.curves.pairs.pair import Pair
from hush.curves.pairs.public_choice import Blend
from hush.curves.renyi.curve import RenyiCurve
from hush.curves.theorems.selection import SelectionPair, witnesses
from hush.mechanisms.as_a_whole import AsAWhole
from hush.mechanisms.evidence import Evidence
from hush.mechanisms.fields import instance
from hush.mechanisms.mechanism import ALGEBRA, Mechanism
from hush.mechanisms.neighbours import Neighbours
from hush.mechanisms.runs import Runs
from hush.mechanisms.traits import Step
from hush.mechanisms.wrapper import Wrapper
from hush.numerics.work import attempt

THEOREM = (
    "the best of K runs has the density phi'(1-x) against one run, phi the generating function of K: Papernot, Steinke "
    "2022; the profile by layers of x, each direction with the other's trade-off curve: proof in "
    "docs/theory/selection.md (Koskela, Redberg, Wang 2024 for one layer)"
)
ASSUMES = (
    "each run, its score included, is this mechanism whatever candidate it tries; all runs are alike: each draws its "
    "candidate by itself from one public law, not in turn from a list; that law, the law of the number of runs and how "
    "ties are broken do not depend on the data; the number of runs and the losing runs stay secret"
)


@dataclass(frozen=True)
class BestOf(AsAWhole, Wrapper):
    """The best of a random number of runs, by a score that is part of each run's private output.

    >>> from hush import Gaussian, GeometricRuns
    >>> Gaussian(2.0).best_of(runs=GeometricRuns(gamma=0.1)).epsilon(delta=1e-6)
    Bound(epsilon=2.49 to 3.26, lower=2.4903..., upper=3.2567..., delta=1e-06)
    >>> Gaussian(2.0).repeat(20).epsilon(delta=1e-6).upper
    12.5952...
    """

    runs: Runs = field(metadata=instance(Runs, "a law of the number of runs, such as hush.GeometricRuns(gamma=0.1)"))
    verb: ClassVar[str] = "best_of"

    @classmethod
    def of(cls, inner: Mechanism, runs: Runs) -> Mechanism:
        return cls(inner, runs)

    def together(self, neighbours: Neighbours) -> Evidence:
        run, opposite = self.inner.evidence(neighbours), self.inner.evidence(neighbours.swap())
        return Evidence(
            lambda: SelectionPair(self.runs, run.pair, opposite.pair),
            lambda: self._curve(run.curve, opposite.curve),
            lambda _: self._attained(run),
        )

    def _attained(self, run: Evidence) -> tuple[Pair, ...]:
        """Runs whose score tells all, and runs that all have one score: the best of those is any of them."""
        members = run.attained(False)
        told = [pair for member in members[:1] for pair in attempt(lambda m=member: witnesses(self.runs, m), ())]
        return (*told, *(Blend.of([(member, 1 - self.runs.none)]) for member in members))

    def _curve(self, run: RenyiCurve, opposite: RenyiCurve) -> RenyiCurve:
        def divergence(order: float) -> float:
            return math.inf if order == 1 else self.runs.renyi(order, run, opposite)

        return RenyiCurve.each(divergence)

    def derivation(self) -> Step:
        return Step(f"the best of {self.runs}", THEOREM, ASSUMES, (self.inner.derivation(),))

    def __str__(self) -> str:
        return f"{self.inner}, the best of {self.runs}"


ALGEBRA.best_of = BestOf.of
