"""The norm to which examples are clipped, step by step: constant, by a schedule, or following a noisy quantile."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, TypeAlias

from torch import Tensor

from hush.checks import count, number, positive
from hush.errors import InvalidParameter
from hush.learning.per_example.clipping import LARGEST_NORM, SMALLEST_NORM, Clipping, checked_norm, totals

FEWEST_COUNTS = 20
"""The count has the noise of one in so many of the planned examples (Andrew et al. 2021 suggest m / 20)."""
MOST_COUNTED = 2.0**23
"""Single precision holds all whole numbers up to here."""
QUIETEST_COUNT = 2.0
"""And at least that of so many noise multipliers: then the noise on gradients grows by at most 1/sqrt(15/16), 3.3 %."""


class ClipNorm(ABC):
    """How the clipping norm goes on during a training; it depends on no record but through what was noised."""

    steady: ClassVar[bool] = False
    """Whether it is one norm for all steps, as noise that is correlated over steps needs it."""

    @abstractmethod
    def begun(self, share: float) -> NormRun:
        """For one training, in which gradients are multiplied by this share: 1 / examples of a step, as planned."""

    def check(self, noise_multipliers: Sequence[float]) -> None:  # noqa: B027 (most have nothing to refuse)
        """Refuse what cannot be accounted for with this noise on each step."""


class NormRun:
    """The clipping norm during one training. This one never changes; others say what is different.

    settings: what a checkpoint compares. state: what goes on from a checkpoint. more: numbers besides the gradient
    that are summed, noised and released in each step.
    """

    more = 0

    def __init__(self, settings: float | str, norm: float, share: float) -> None:
        self.settings, self.state, self.share = settings, norm, share

    def at(self, step: int, noise_multiplier: float) -> NormStep:  # noqa: ARG002 (others need it)
        """The norm of a step, before any of its examples is seen."""
        return NormStep(self.state, self.share)

    def learn(self, step: NormStep, flat: Tensor) -> None:
        """Look at what was released in a step."""


@dataclass
class NormStep:
    """The norm of one step, and how long the vector is at most that one example adds to its sum.

    share: what gradients are multiplied by in the sum. unit: what an example adds to, or takes from, the count beside
    the gradient: a power of two, so that floats hold the count exactly; 0 where nothing is counted.
    """

    norm: float
    share: float
    unit: float = 0.0
    halves: float = field(default=0.0, repr=False)
    """Examples within the norm, less half of all examples that were seen: private until it is noised."""

    @property
    def sensitivity(self) -> float:
        """The length of (clipped gradient, count) at most, in units of the sum."""
        return math.hypot(self.norm * self.share, self.unit) if self.unit else self.norm * self.share

    def clipping(self, inner: Clipping) -> Clipping:
        """The clipping of this step, which counts where that is needed."""
        return CountedClips(inner, self) if self.unit else inner

    def put_count(self, flat: Tensor) -> None:
        """Add the count to the last number of the row; cutting it never increases a distance."""
        if self.unit:
            flat[-1] += min(max(2 * self.halves, -MOST_COUNTED), MOST_COUNTED) * self.unit


@dataclass(frozen=True)
class CountedClips(Clipping):
    """Another clipping, and a count of the examples whose gradient is within the norm."""

    inner: Clipping
    step: NormStep

    def factors(self, squares: Tensor, max_norm: float, share: float = 1.0) -> Tensor:
        found = self.inner.factors(squares, max_norm, share)  # first: what fails is tried again, and counted then
        own = totals(squares)
        within = int((own <= max_norm**2).sum())
        self.step.halves += within - own.numel() / 2
        return found


@dataclass(frozen=True)
class ConstantNorm(ClipNorm):
    """One norm for all steps."""

    steady: ClassVar[bool] = True

    norm: float

    def begun(self, share: float) -> NormRun:
        return NormRun(self.norm, self.norm, share)


@dataclass(frozen=True)
class NormSchedule(ClipNorm):
    """Norms by a public plan: pairs (step, norm), each from its step on; epsilon does not depend on them.

    Noise is in units of the norm, so that every step is the same mechanism.

    >>> run = NormSchedule(((0, 1.0), (100, 0.5))).begun(share=1 / 64)
    >>> [run.at(step, 1.0).norm for step in (0, 99, 100)]
    [1.0, 1.0, 0.5]
    """

    starts: tuple[tuple[int, float], ...]

    def __post_init__(self) -> None:
        rule = "pairs (step, norm) in order of steps, the first at step 0"
        given: object = self.starts
        if not isinstance(given, tuple | list) or not all(isinstance(p, tuple | list) and len(p) == 2 for p in given):
            raise InvalidParameter("NormSchedule", rule, starts=given)
        pairs = tuple((count("NormSchedule", 0, step=s), checked_norm("NormSchedule", n)) for s, n in given)
        steps = [step for step, _ in pairs]
        if not steps or steps[0] != 0 or steps != sorted(set(steps)):
            raise InvalidParameter("NormSchedule", rule, starts=pairs)
        object.__setattr__(self, "starts", pairs)

    def begun(self, share: float) -> NormRun:
        return ScheduledRun(self, share)


class ScheduledRun(NormRun):
    """The norms of a schedule."""

    def __init__(self, schedule: NormSchedule, share: float) -> None:
        super().__init__(repr(schedule), schedule.starts[0][1], share)
        self.schedule = schedule

    def at(self, step: int, noise_multiplier: float) -> NormStep:  # noqa: ARG002
        return NormStep(next(norm for start, norm in reversed(self.schedule.starts) if start <= step), self.share)


@dataclass(frozen=True)
class AdaptiveNorm(ClipNorm):
    """A norm that follows a quantile of the gradients' norms, found with noise (Andrew et al. 2021).

    In each step the number of drawn examples within the norm is released too, with Gaussian noise of deviation
    `count_noise` or up to twice that; the norm is then multiplied by exp(-rate (share within - quantile)). Gradient and
    count are one vector: the plan's noise multiplier is that of both together, so the plan and its epsilon stay as they
    are, and the noise on the gradient is a little larger (Andrew et al. 2021, Thm 1; docs/theory/distributed.md).

    >>> AdaptiveNorm(0.1, quantile=0.5)
    AdaptiveNorm(start=0.1, quantile=0.5, rate=0.2, count_noise=None)
    """

    start: float
    quantile: float = 0.5
    rate: float = 0.2
    count_noise: float | None = None
    """By default a twentieth of the planned batch, and at least two noise multipliers."""

    def __post_init__(self) -> None:
        who = "AdaptiveNorm"
        object.__setattr__(self, "start", checked_norm(who, self.start))
        object.__setattr__(self, "quantile", number(who, "0 <= quantile <= 1", 0.0, 1.0, quantile=self.quantile))
        object.__setattr__(self, "rate", number(who, "0 < rate <= 10", 0.0, 10.0, low_open=True, rate=self.rate))
        if self.count_noise is not None:
            object.__setattr__(self, "count_noise", positive(who, count_noise=self.count_noise))

    def begun(self, share: float) -> NormRun:
        return AdaptiveRun(self, share)

    def check(self, noise_multipliers: Sequence[float]) -> None:
        """A count with less noise than half the noise multiplier would by itself cost more than the plan allows."""
        least = max(noise_multipliers, default=0.0) / 2
        if self.count_noise is not None and not self.count_noise > 1.001 * least:
            rule = f"count_noise above half of the plan's noise multiplier ({least:.6g}): the count is paid by the plan"
            raise InvalidParameter("AdaptiveNorm", rule, count_noise=self.count_noise)


class AdaptiveRun(NormRun):
    """The norm, and how it is moved."""

    more = 1

    def __init__(self, settings: AdaptiveNorm, share: float) -> None:
        super().__init__(repr(settings), settings.start, share)
        self.adaptive = settings

    def at(self, step: int, noise_multiplier: float) -> NormStep:  # noqa: ARG002
        """The unit u of the count for which noise on (gradient, count) is that of one vector.

        In units of the sum one example adds at most S = |(C, u)|, and 2u for each example is the count. Noise of z S on
        it is `count_noise` on the count itself where z S = 2u count_noise. Rounding u down makes that noise larger.
        """
        z, noise = noise_multiplier, self.adaptive.count_noise
        if noise is None:
            noise = max(1 / self.share / FEWEST_COUNTS, QUIETEST_COUNT * z)
        unit = z * self.state * self.share / (2 * math.sqrt((noise - z / 2) * (noise + z / 2)))
        return NormStep(self.state, self.share, 2.0 ** math.floor(math.log2(unit)))

    def learn(self, step: NormStep, flat: Tensor) -> None:
        within = float(flat[-1]) / (2 * step.unit) * self.share + 0.5
        moved = self.state * math.exp(min(max(-self.adaptive.rate * (within - self.adaptive.quantile), -10.0), 10.0))
        self.state = min(max(moved, SMALLEST_NORM), LARGEST_NORM)


MaxNorm: TypeAlias = float | ClipNorm
"""What `max_norm` may be."""


def checked_clip_norm(who: str, given: MaxNorm) -> ClipNorm:
    """A number, a schedule or an adaptive norm."""
    return given if isinstance(given, ClipNorm) else ConstantNorm(checked_norm(who, given))
