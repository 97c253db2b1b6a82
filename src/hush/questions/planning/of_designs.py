"""Survey designs side by side: what each costs in precision (its design effect) and what it gains in privacy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hush.checks import ends, listed, number
from hush.curves.relation import Relation
from hush.errors import InvalidParameter, NotCovered
from hush.markup import Shown
from hush.mechanisms.leaves.gaussian import Gaussian
from hush.mechanisms.leaves.laplace import Laplace
from hush.mechanisms.mechanism import Mechanism
from hush.mechanisms.scheme import Scheme
from hush.mechanisms.schemes.one_sample import OneSample
from hush.questions.calibrate import calibrate
from hush.questions.text_table import aligned

SCALES = 0.01, 1e4
"""Noise, in units of what one record can move, among which the least is sought that meets the target."""


@dataclass(frozen=True)
class DesignRow:
    """What one design gives for a mean."""

    scheme: OneSample
    relation: Relation
    size: float
    """Expected number of records in the sample."""
    design_effect: float
    """Variance of its mean over that of a simple random sample of the same size."""
    sampling: float
    """Standard error by sampling alone."""
    noise: float
    """Standard deviation of the noise that meets the target; infinite where no theorem is known."""
    why: str = ""

    @property
    def error(self) -> float:
        """Both together."""
        return math.hypot(self.sampling, self.noise)


@dataclass(frozen=True)
class DesignPlan(Shown):
    """Designs side by side; its text is a table."""

    epsilon: float
    delta: float
    rows: tuple[DesignRow, ...]

    @property
    def best(self) -> DesignRow:
        """The design with the smallest error."""
        return min(self.rows, key=lambda row: row.error)

    def document(self) -> dict[str, Any]:
        """The plan as JSON has it."""
        rows = [
            {
                "design": str(row.scheme),
                "relation": row.relation.value,
                "records": row.size,
                "design_effect": row.design_effect,
                "sampling": row.sampling,
                "noise": row.noise,
                "error": row.error,
                "why": row.why,
            }
            for row in self.rows
        ]
        return {"epsilon": self.epsilon, "delta": self.delta, "rows": rows}

    def __str__(self) -> str:
        head = ("design", "neighbours", "records", "design effect", "sampling", "noise", "error")
        lines = [
            (
                str(row.scheme),
                row.relation.words.removesuffix(" one record"),
                *(f"{value:.4g}" for value in (row.size, row.design_effect, row.sampling, row.noise, row.error)),
            )
            for row in self.rows
        ]
        said = f"A mean, epsilon {self.epsilon:g}, delta {self.delta:g}: standard errors"
        notes = [f"{row.scheme}: {row.why}" for row in self.rows if row.why]
        return "\n".join([said, "", *aligned([head, *lines], left=2), *notes])


def designs(
    schemes: Sequence[Scheme],
    *,
    population: int,
    bounds: tuple[float, float],
    deviation: float,
    between: float,
    epsilon: float,
    delta: float = 0.0,
) -> DesignPlan:
    """Expected error of a private mean under each design, its privacy and its design effect together.

    `deviation` is the (public, or guessed) standard deviation of the values, `between` the share of their variance that
    lies between strata or clusters. Noise is Laplace, or Gaussian where delta > 0, by the design's own theorem.

    >>> import hush
    >>> two = [hush.Clusters(0.1, [50] * 200), hush.Stratified([500, 500], [5000, 5000])]
    >>> found = designs(two, population=10_000, bounds=(0, 100), deviation=20.0, between=0.05, epsilon=1.0)
    >>> [round(row.design_effect, 2) for row in found.rows], found.best.scheme == two[1]
    ([3.45, 0.95], True)
    """
    low, high = ends("plan.designs", "bounds=(low, high), two finite numbers with low < high", bounds=bounds)
    spread = number("plan.designs", "deviation >= 0", 0.0, (high - low) / 2, deviation=deviation)
    share = number("plan.designs", "0 <= between <= 1", 0.0, 1.0, between=between)
    records = number("plan.designs", "1 <= population <= 1e15", 1, 1e15, population=population)
    rows = []
    for scheme in listed("plan.designs", "a list of schemes that draw one sample", schemes=schemes):
        if not isinstance(scheme, OneSample) or not scheme.one_sample:
            raise InvalidParameter("plan.designs", "schemes that draw one sample", scheme=scheme)
        rows.append(_row(scheme, records, (high - low, spread), share, epsilon, delta))
    return DesignPlan(epsilon, delta, tuple(rows))


def _row(
    scheme: OneSample, population: float, spreads: tuple[float, float], between: float, epsilon: float, delta: float
) -> DesignRow:
    rate, effect = scheme.survey(between)
    size, relation = rate * population, scheme.covers
    sampling = spreads[1] * math.sqrt(effect * max(1 - rate, 0.0) / size)
    one = spreads[0] / size / (1 if relation is Relation.REPLACE else 2)
    try:
        scale = _least(scheme, relation, epsilon, delta)
    except NotCovered as reason:
        return DesignRow(scheme, relation, size, effect, sampling, math.inf, str(reason))
    return DesignRow(scheme, relation, size, effect, sampling, one * scale * (1 if delta > 0 else math.sqrt(2)))


def _least(scheme: OneSample, relation: Relation, epsilon: float, delta: float) -> float:
    """The least noise, in units of what one record moves under the relation, that meets the target on this design.

    Noise for records of norm one half each, of which a replacement moves two, has twice the multiplier.
    """
    noise = Gaussian if delta > 0 else Laplace

    def build(scale: float) -> Mechanism:
        made = noise(scale, relation) if relation is Relation.REPLACE else noise(scale)
        return made.on(scheme)

    return calibrate(build, over=SCALES, epsilon=epsilon, delta=delta, tolerance=1e-4).value
