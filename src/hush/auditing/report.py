"""What an audit found: the claim, the bound, how sure it is, and whether the claim survives."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from functools import cached_property

from scipy import special

from hush.auditing.claims import ROUNDED, Claim
from hush.markup import Shown
from hush.numerics.decimals import rounded_down
from hush.questions.charts import chart
from hush.questions.charts.drawing import Axis, Chart, ChartLine, Stroke

TOO_RARE = 1e-4
"""A sound audit fails its null check with at most this probability."""


@dataclass(frozen=True)
class NullCheck:
    """False alarms of the same audit where there is nothing to find.

    >>> NullCheck(alarms=1, runs=20, error=0.05).passes, NullCheck(alarms=12, runs=20, error=0.05).passes
    (True, False)
    """

    alarms: int
    runs: int
    error: float

    @property
    def passes(self) -> bool:
        """Whether so many alarms can be chance."""
        return self.alarms == 0 or float(special.bdtrc(self.alarms - 1, self.runs, self.error)) > TOO_RARE

    @property
    def words(self) -> str:
        """What was found, in a few words."""
        said = f"{self.alarms} false alarms in {self.runs} audits of equal inputs"
        return said if self.passes else f"FAILED, {said}: the runs are not independent, nothing follows from them"


@dataclass(frozen=True)
class AuditReport(Shown):
    """A lower bound on the privacy parameter of what ran, which holds with the stated confidence.

    `survives` is False where the bound exceeds the claim, or the attacker lies outside the certified trade-off curve.
    """

    claim: Claim
    lower_bound: float
    confidence: float
    samples: int
    attacker: str
    method: str
    limits: tuple[tuple[float, float], ...]
    """Corners: but for the error, the attacker's false positive rate is at most x and its true positive rate at least
    y for one (x, y) of them."""
    null: NullCheck
    curve: tuple[tuple[float, float], ...] = ()
    """(false positive, true positive) rates of the attacker at its thresholds, as counted."""

    @cached_property
    def survives(self) -> bool:
        """Whether the claim is still possible after what was seen."""
        if not self.null.passes or self.lower_bound == 0:
            return True
        # the claim itself is rounded in its last digits
        if self.lower_bound > self.claim.value * (1 + ROUNDED):
            return False
        return not self.limits or self.claim.allows(self.limits)

    @property
    def verdict(self) -> str:
        """In a few words: the claim is refuted, it survives, or there is no evidence at all."""
        if not self.null.passes:
            return "no evidence: the null check failed"
        if self.lower_bound == 0:
            return "no evidence against the claim"
        return "the claim survives" if self.survives else "the claim is REFUTED"

    def __str__(self) -> str:
        at = f" at delta {self.claim.delta:g}" if self.claim.quantity == "epsilon" and self.claim.delta else ""
        lines = [
            f"{self.verdict}: {self.claim.words}, {self.claim.mechanism}",
            f"  {self.claim.quantity} >= {rounded_down(self.lower_bound, 5)}{at}, confidence {self.confidence:.4g}",
            f"  attacker    {self.attacker}; {self.method}, {self.samples} samples behind the bound",
            f"  null check  {self.null.words}",
        ]
        return "\n".join(lines)

    def to_json(self) -> str:
        """All of it but the curve, as one JSON object."""
        document = {
            "claim": self.claim.words,
            "mechanism": str(self.claim.mechanism),
            "quantity": self.claim.quantity,
            "claimed": "inf" if math.isinf(self.claim.value) else self.claim.value,
            "delta": self.claim.delta,
            "lower_bound": self.lower_bound,
            "confidence": self.confidence,
            "survives": self.survives,
            "verdict": self.verdict,
            "samples": self.samples,
            "attacker": self.attacker,
            "method": self.method,
            "limits": [{"false_positive_rate": x, "true_positive_rate": y} for x, y in self.limits],
            "null_alarms": self.null.alarms,
            "null_runs": self.null.runs,
        }
        return json.dumps(document, allow_nan=False, ensure_ascii=False)

    def chart(self) -> Chart:
        """The attacker inside the certified trade-off curve of the claim."""
        certified = chart.tradeoff({"claim": self.claim.mechanism})
        lines = [*certified.lines]
        if self.curve:
            rates, found = zip(*self.curve, strict=True)
            missed = tuple(1 - y for y in found)
            lines.append(ChartLine(f"attacker, as counted: {self.attacker}", rates, missed, stroke=Stroke.DASHED))
        if self.limits:
            # its true rates lie below and left of one of the corners; if all are below the claim's curve it is refuted
            edge = [point for x, y in self.limits for point in ((x, 1 - y), (x, 0.0))]
            label = f"its limits, confidence {self.confidence:.4g}"
            lines.append(ChartLine(label, tuple(x for x, _ in edge), tuple(y for _, y in edge)))
        x, y = Axis("false positive rate", domain=(0.0, 1.0)), Axis("false negative rate", domain=(0.0, 1.0))
        subtitle = f"{self.verdict}; {certified.subtitle}"
        return Chart(f"An audit of {self.claim.words}", subtitle, x, y, tuple(lines))
