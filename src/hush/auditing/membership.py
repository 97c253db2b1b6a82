"""Membership inference: how well scores tell members from others, with intervals that hold for every sample size."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special

from hush.arrays import Array
from hush.auditing.checked_scores import finite_numbers, zeros_and_ones
from hush.auditing.confidence import at_least, at_most, confidence_in_range
from hush.checks import number
from hush.errors import InvalidParameter
from hush.markup import Shown
from hush.questions.charts.drawing import Axis, Chart, ChartLine, Stroke

RATES = (1e-3, 1e-2, 0.1)
"""False positive rates that are reported unless others are asked for."""


@dataclass(frozen=True)
class Estimate:
    """A number with the ends of its confidence interval."""

    value: float
    lower: float
    upper: float

    def __str__(self) -> str:
        return f"{self.value:.4f} ({self.lower:.4f} to {self.upper:.4f})"


@dataclass(frozen=True)
class RateAt:
    """True positives at a false positive rate."""

    false_positive_rate: float
    most: float
    """An upper limit on the rate of false positives at the threshold that was used."""
    true_positive_rate: Estimate


@dataclass(frozen=True)
class MembershipReport(Shown):
    """What an attacker with these scores finds: ROC, area, advantage, true positives at low false positives."""

    attack: str
    members: int
    others: int
    confidence: float
    area: Estimate
    advantage: Estimate
    rates: tuple[RateAt, ...]
    curve: tuple[tuple[float, float], ...]
    """(false positive, true positive) rates at every threshold."""

    def __str__(self) -> str:
        lines = [
            f"{self.attack}: {self.members} members, {self.others} others, confidence {self.confidence:.4g} each",
            f"  area under ROC  {self.area}",
            f"  advantage       {self.advantage}",
        ]
        for rate in self.rates:
            lines.append(
                f"  true positives at {rate.false_positive_rate:g} false positives (surely <= {rate.most:.4g})"
                f"  {rate.true_positive_rate}"
            )
        return "\n".join(lines)

    def to_json(self) -> str:
        """All of it but the curve, as one JSON object."""
        document = {
            "attack": self.attack,
            "members": self.members,
            "others": self.others,
            "confidence": self.confidence,
            "area": vars(self.area),
            "advantage": vars(self.advantage),
            "rates": [vars(rate) | {"true_positive_rate": vars(rate.true_positive_rate)} for rate in self.rates],
        }
        return json.dumps(document, allow_nan=False)

    def chart(self) -> Chart:
        """The ROC curve on logarithmic axes, where low false positive rates can be read."""
        x, y = Axis("false positive rate", log=True), Axis("true positive rate", log=True)
        seen = ChartLine(self.attack, tuple(x for x, _ in self.curve), tuple(y for _, y in self.curve))
        guess = ChartLine("no information", (1e-4, 1.0), (1e-4, 1.0), stroke=Stroke.DOTTED)
        said = f"{self.members} members, {self.others} others; advantage {self.advantage}"
        return Chart("What a membership attack finds (ROC)", said, x, y, (seen, guess))


def membership(
    scores: Any,
    members: Any,
    *,
    false_positive_rates: tuple[float, ...] = RATES,
    confidence: float = 0.95,
    attack: str = "membership inference",
) -> MembershipReport:
    """The ROC curve of scores that are larger for members: area, advantage, true positives at low false positives.

    Intervals: the area by Hoeffding's inequality for two-sample averages, the advantage by that of Dvoretzky, Kiefer,
    Wolfowitz (Massart 1990) for both sides, the rates by order statistics of the others and Clopper and Pearson. Each
    has the stated confidence.

    >>> scores, members = np.arange(200.0), np.arange(200) >= 100
    >>> membership(scores, members).area
    Estimate(value=1.0, lower=0.86..., upper=1.0)
    """
    confidence = confidence_in_range("membership", confidence)
    scored = finite_numbers("membership", scores=scores)
    inside = zeros_and_ones("membership", len(scored), members=members)
    present, absent = np.sort(scored[inside]), np.sort(scored[~inside])
    if min(len(present), len(absent)) < 2:
        sizes = f"{len(present)} members, {len(absent)} others"
        raise InvalidParameter("membership", "at least 2 members and 2 others", members=sizes)
    rates = tuple(_rate_at(present, absent, rate, confidence) for rate in false_positive_rates)
    return MembershipReport(
        attack, len(present), len(absent), confidence, _area(present, absent, confidence),
        _advantage(present, absent, confidence), rates, _curve(present, absent),
    )  # fmt: skip


def loss_threshold(
    losses: Any, members: Any, *, false_positive_rates: tuple[float, ...] = RATES, confidence: float = 0.95
) -> MembershipReport:
    """The simplest attack (Yeom et al. 2018): members have smaller losses.

    >>> loss_threshold([0.1, 0.2, 0.9, 0.8], [1, 1, 0, 0]).advantage.value
    1.0
    """
    return membership(
        -finite_numbers("loss_threshold", losses=losses),
        members,
        false_positive_rates=false_positive_rates,
        confidence=confidence,
        attack="loss threshold",
    )


def _area(present: Array, absent: Array, confidence: float) -> Estimate:
    below = np.searchsorted(absent, present) + np.searchsorted(absent, present, side="right")
    value = float(below.mean()) / (2 * len(absent))
    # Hoeffding 1963, section 5b: as sharp as for min(n, m) independent terms in [0, 1]
    width = math.sqrt(math.log(2 / (1 - confidence)) / (2 * min(len(present), len(absent))))
    return Estimate(value, max(0.0, value - width), min(1.0, value + width))


def _advantage(present: Array, absent: Array, confidence: float) -> Estimate:
    cuts = np.concatenate([present, absent])
    gap = np.searchsorted(absent, cuts, side="right") / len(absent) - np.searchsorted(
        present, cuts, side="right"
    ) / len(present)
    value = max(float(gap.max()), 0.0)
    error = (1 - confidence) / 2
    width = sum(math.sqrt(math.log(2 / error) / (2 * len(side))) for side in (present, absent))
    return Estimate(value, max(0.0, value - width), min(1.0, value + width))


def _rate_at(present: Array, absent: Array, rate: float, confidence: float) -> RateAt:
    rate = number("membership", "0 <= false_positive_rates <= 1", 0.0, 1.0, false_positive_rate=rate)
    allowed = len(absent) if rate >= 1 else min(math.floor(rate * len(absent) + 1e-9), len(absent) - 1)
    # the threshold is an order statistic of the non-members, and members are independent of it
    threshold = math.inf if rate >= 1 else absent[len(absent) - 1 - allowed]
    found = len(present) if rate >= 1 else int(np.count_nonzero(present > threshold))
    value, (lower, upper) = found / len(present), _limits_at(present, absent, rate, (1 - confidence) / 4)
    most = float(at_most(allowed, len(absent), 1 - confidence))
    return RateAt(rate, most, Estimate(value, min(lower, value), max(upper, value)))


def _limits_at(present: Array, absent: Array, rate: float, error: float) -> tuple[float, float]:
    """Limits on the true positives at exactly this false positive rate: four statements, each wrong with the error.

    The k-th largest score of the others is passed by another of them with a probability that is Beta(k, n - k + 1).
    """
    places = np.arange(1, len(absent) + 1)
    below = int(np.count_nonzero(special.bdtr(places - 1, len(absent), rate) <= error))
    above = int(np.count_nonzero(special.bdtrc(places - 1, len(absent), rate) > error)) + 1
    lower, upper = 0.0, 1.0
    if below > 0:
        passed = int(np.count_nonzero(present > absent[len(absent) - below]))
        lower = float(at_least(passed, len(present), error))
    if above <= len(absent):
        passed = int(np.count_nonzero(present >= absent[len(absent) - above]))
        upper = float(at_most(passed, len(present), error))
    return lower, upper


def _curve(present: Array, absent: Array) -> tuple[tuple[float, float], ...]:
    cuts = np.unique(np.concatenate([present, absent]))
    if len(cuts) > 500:
        far = len(cuts) - np.unique(np.geomspace(1, len(cuts), 300).astype(int))
        cuts = np.unique(np.concatenate([cuts[far], cuts[:: len(cuts) // 200]]))
    rates = [1 - np.searchsorted(side, cuts, side="left") / len(side) for side in (absent, present)]
    return tuple(zip(rates[0].tolist(), rates[1].tolist(), strict=True))[::-1]


# -- shadow models -----------------------------------------------------------------------------------------------


def likelihood_ratio(scores: Any, shadow_scores: Any, shadow_members: Any) -> Array:
    """Scores of the likelihood-ratio attack (LiRA; Carlini et al. 2022) for one model, from shadow models.

    A shadow model is one of the same kind, trained on other examples by the attacker. `scores` has the attacked model's
    score of each example (such as log p - log(1 - p) of the true class); row k of `shadow_scores` has those of shadow
    model k, and `shadow_members` says which examples it was trained on. Normal laws are fitted to each example's scores
    inside and outside, with one variance for all where models are few. Where some example was inside fewer than two
    shadow models, every test is against 'outside' alone.

    >>> outside, inside = np.zeros((8, 1)) + np.arange(8)[:, None] % 2, np.arange(8)[:, None] % 4 > 1
    >>> bool(likelihood_ratio([5.0], outside + 4 * inside, inside) > 0)
    True
    """
    observed = finite_numbers("likelihood_ratio", scores=scores)
    shadows, inside = np.asarray(shadow_scores, dtype=float), np.asarray(shadow_members, dtype=bool)
    if shadows.shape != inside.shape or shadows.ndim != 2 or shadows.shape[1] != len(observed):
        rule = f"one row per shadow model and {len(observed)} columns, for scores and for members"
        raise InvalidParameter("likelihood_ratio", rule, shadow_scores=shadows.shape, shadow_members=inside.shape)
    if not np.isfinite(shadows).all():
        raise InvalidParameter("likelihood_ratio", "finite numbers", shadow_scores="some are not")
    if np.any((~inside).sum(axis=0) < 2):
        raise InvalidParameter("likelihood_ratio", "each example left out of 2 shadow models", shadow_members="fewer")
    middle_out, spread_out = _fitted(shadows, ~inside)
    if np.any(inside.sum(axis=0) < 2):
        return special.log_ndtr((observed - middle_out) / spread_out) - special.log_ndtr(
            -(observed - middle_out) / spread_out
        )
    middle_in, spread_in = _fitted(shadows, inside)
    return _log_normal(observed, middle_in, spread_in) - _log_normal(observed, middle_out, spread_out)


FEW_MODELS = 64
"""Below so many shadow models, all examples share one variance: that of each is too uncertain."""


def _fitted(shadows: Array, used: Array) -> tuple[Array, Array]:
    count = used.sum(axis=0)
    middle = np.where(used, shadows, 0.0).sum(axis=0) / count
    squares = np.where(used, (shadows - middle) ** 2, 0.0).sum(axis=0)
    variance = squares / np.maximum(count - 1, 1) if count.min() >= FEW_MODELS else squares.sum() / max(count.sum(), 1)
    return middle, np.sqrt(np.maximum(variance, 1e-12))


def _log_normal(x: Array, middle: Array, spread: Array) -> Array:
    return -0.5 * ((x - middle) / spread) ** 2 - np.log(spread)
