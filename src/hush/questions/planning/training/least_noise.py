"""The least noise with which a training run meets its target."""

from __future__ import annotations

from collections.abc import Callable

from hush.checks import number
from hush.curves.relation import Relation
from hush.mechanisms.leaves.gaussian import Gaussian
from hush.mechanisms.mechanism import Mechanism
from hush.mechanisms.scheme import Scheme
from hush.mechanisms.schemes.poisson import Poisson
from hush.questions.calibrate import calibrate
from hush.questions.planning.training.accounted_run import run_of
from hush.questions.planning.training.central_limit import like_samples
from hush.questions.planning.training.noise_schedule import NoiseSchedule, pieces


def least_noise(
    scheme: Scheme, draws: int, rate: float, epsilon: object, delta: float, schedule: NoiseSchedule
) -> float:
    """The least noise multiplier that meets the target; a run of no steps meets any."""
    limit = number("train_plan", "1e-6 <= epsilon <= 100", 1e-6, 100.0, epsilon=epsilon)
    if draws == 0:
        return 1.0
    times = draws * (1 if scheme.one_sample else max(round(scheme.steps * scheme.step_share), 1))
    alone = calibrate(lambda noise: Gaussian(noise).repeat(times), over=(0.01, 1e8), epsilon=limit, delta=delta).value
    if not scheme.gains and not schedule:
        return float(alone)
    # No sample needs more noise than all examples would as often as one of them is used (twice that where one is
    # replaced), and hardly less than the central limit theorem's share of it.
    most = 2.1 * alone if scheme.covers is Relation.REPLACE else 1.01 * alone
    least = min(max(0.5 * rate * alone, 0.25), 0.5 * alone)
    factors = [factor for _, factor in schedule] or [1.0]
    return float(
        calibrate(
            lambda noise: run_of(scheme, noise, draws, schedule),
            over=(least / max(factors), most / min(factors)),
            epsilon=limit,
            delta=delta,
            tolerance=1e-6 if scheme.quick else 1e-4,
            like=_like(scheme, rate, draws, schedule),
        ).value
    )


def _like(scheme: Scheme, rate: float, draws: int, schedule: NoiseSchedule) -> list[Callable[[float], Mechanism]]:
    """What costs about as much and is cheaper to ask: a central limit theorem's normals, then Poisson sampling."""
    steps, replaced = draws * scheme.steps // scheme.bands, scheme.covers is Relation.REPLACE

    def limit(noise: float) -> Mechanism:
        each = [(noise * factor, length) for length, factor in pieces(schedule, steps)]
        return like_samples(each, rate=rate, replaced=replaced)

    def poisson(noise: float) -> Mechanism:
        return Gaussian(noise / 2 if replaced else noise).on(Poisson(rate=rate)).repeat(steps)

    return [limit] if scheme.quick or schedule else [limit, poisson]
