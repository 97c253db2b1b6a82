"""How each library is asked, the way its documentation shows it.

A library is imported inside the call, so that a process pays only for the one that it measures, and one
that is broken or missing fails alone. Settings are the library's defaults; prv_accountant has none for its
error and gets ±0.1, the value its documentation suggests.
"""

from __future__ import annotations

import functools
import gc
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from cases import Accounting, Calibration, RandomizedResponse


class NotOffered(Exception):
    """The library has no answer to this kind of question."""


@dataclass(frozen=True)
class Answer:
    """What a library says: the number to act on, and a certified lower end if it gives one."""

    value: float
    lower: float | None = None


def forget() -> None:
    """Empty what hush remembers between calls, so that every timed call starts from nothing."""
    for thing in gc.get_objects():
        if type(thing) is functools._lru_cache_wrapper and (thing.__module__ or "").startswith("hush"):
            thing.cache_clear()


def _hush_mechanism(case: Accounting) -> Any:
    import hush

    if isinstance(case, RandomizedResponse):
        step = hush.RandomizedResponse(epsilon=case.epsilon0, relation=hush.Relation.REPLACE)
    else:
        step = hush.Gaussian(noise_multiplier=case.noise)
        step = step.on(hush.Poisson(rate=case.rate)) if case.rate < 1 else step
    return step.repeat(case.steps)


def hush_epsilon(case: Accounting) -> Answer:
    """The certified interval."""
    bound = _hush_mechanism(case).epsilon(delta=case.delta)
    return Answer(bound.upper, bound.lower)


def hush_noise(target: Calibration) -> Answer:
    """The calibrated noise."""
    import hush

    found = hush.calibrate(
        lambda noise: hush.Gaussian(noise_multiplier=noise).on(hush.Poisson(rate=target.rate)).repeat(target.steps),
        over=(0.1, 100),
        epsilon=target.epsilon,
        delta=target.delta,
    )
    return Answer(found.value)


def _dp_event(noise: float, rate: float, steps: int) -> Any:
    import dp_accounting

    step = dp_accounting.GaussianDpEvent(noise)
    step = dp_accounting.PoissonSampledDpEvent(rate, step) if rate < 1 else step
    return dp_accounting.SelfComposedDpEvent(step, steps)


def _dp_accounting(accountant: Any, case: Accounting) -> Answer:
    import dp_accounting

    if isinstance(case, RandomizedResponse):
        relation = dp_accounting.NeighboringRelation.REPLACE_ONE
        uniform = 2 / (1 + math.exp(case.epsilon0))  # with this probability the bit is drawn afresh
        step = dp_accounting.RandomizedResponseDpEvent(uniform, 2)
        ready = accountant(neighboring_relation=relation)
        composed = ready.compose(dp_accounting.SelfComposedDpEvent(step, case.steps))
    else:
        composed = accountant().compose(_dp_event(case.noise, case.rate, case.steps))
    return Answer(composed.get_epsilon(case.delta))


def dp_accounting_pld(case: Accounting) -> Answer:
    """Privacy loss distributions, connect the dots."""
    from dp_accounting import pld

    return _dp_accounting(pld.PLDAccountant, case)


def dp_accounting_rdp(case: Accounting) -> Answer:
    """Rényi."""
    from dp_accounting import rdp

    return _dp_accounting(rdp.RdpAccountant, case)


def dp_accounting_noise(target: Calibration) -> Answer:
    """Root search over the privacy loss distribution."""
    import dp_accounting
    from dp_accounting import pld

    return Answer(
        dp_accounting.calibrate_dp_mechanism(
            pld.PLDAccountant,
            lambda noise: _dp_event(noise, target.rate, target.steps),
            target.epsilon,
            target.delta,
        )
    )


def prv_accountant(case: Accounting) -> Answer:
    """Privacy random variables, ε to ±0.1."""
    import prv_accountant as prv

    if isinstance(case, RandomizedResponse):
        step = prv.PureDPMechanism(case.epsilon0)
    elif case.rate < 1:
        step = prv.PoissonSubsampledGaussianMechanism(noise_multiplier=case.noise, sampling_probability=case.rate)
    else:
        step = prv.GaussianMechanism(noise_multiplier=case.noise)
    accountant = prv.PRVAccountant(
        prvs=step, max_self_compositions=case.steps, eps_error=0.1, delta_error=case.delta / 1000
    )
    lower, _, upper = accountant.compute_epsilon(case.delta, num_self_compositions=[case.steps])
    return Answer(upper, lower)


def _by_history(accountant: Any, case: Accounting) -> Answer:
    """Opacus and its look-alikes: set the history instead of calling step() up to a million times."""
    if isinstance(case, RandomizedResponse):
        raise NotOffered("only Gaussian noise")
    accountant.history = [(case.noise, case.rate, case.steps)]
    return Answer(accountant.get_epsilon(delta=case.delta))


def opacus_prv(case: Accounting) -> Answer:
    """Privacy random variables."""
    from opacus.accountants import PRVAccountant

    return _by_history(PRVAccountant(), case)


def opacus_rdp(case: Accounting) -> Answer:
    """Rényi."""
    from opacus.accountants import RDPAccountant

    return _by_history(RDPAccountant(), case)


def _opacus_noise(accountant: str, target: Calibration) -> Answer:
    from opacus.accountants.utils import get_noise_multiplier

    return Answer(
        get_noise_multiplier(
            target_epsilon=target.epsilon,
            target_delta=target.delta,
            sample_rate=target.rate,
            steps=target.steps,
            accountant=accountant,
        )
    )


def autodp_rdp(case: Accounting) -> Answer:
    """Rényi, with the improved bound for sampling that holds for Gaussian noise."""
    from autodp import mechanism_zoo, transformer_zoo

    if isinstance(case, RandomizedResponse):
        step = mechanism_zoo.RandresponseMechanism(p=1 / (1 + math.exp(-case.epsilon0)))
    else:
        step = mechanism_zoo.GaussianMechanism(sigma=case.noise)
        if case.rate < 1:
            sample = transformer_zoo.AmplificationBySampling(PoissonSampling=True)
            step = sample(step, case.rate, improved_bound_flag=True)
    return Answer(transformer_zoo.Composition()([step], [case.steps]).get_approxDP(case.delta))


def riskcal_ctd(case: Accounting) -> Answer:
    """Connect the dots, on dp_accounting's distributions."""
    from riskcal.accountants import CTDAccountant

    return _by_history(CTDAccountant(), case)


def riskcal_noise(target: Calibration) -> Answer:
    """Bisection over the same accountant."""
    from riskcal.accountants import CTDAccountant
    from riskcal.calibration import find_noise_multiplier_for_epsilon_delta

    return Answer(
        find_noise_multiplier_for_epsilon_delta(
            CTDAccountant, target.rate, target.steps, epsilon=target.epsilon, delta=target.delta
        )
    )


EPSILON: dict[str, Callable[[Accounting], Answer]] = {
    "hush": hush_epsilon,
    "dp_accounting PLD": dp_accounting_pld,
    "dp_accounting RDP": dp_accounting_rdp,
    "prv_accountant": prv_accountant,
    "opacus PRV": opacus_prv,
    "opacus RDP": opacus_rdp,
    "autodp RDP": autodp_rdp,
    "riskcal": riskcal_ctd,
}

NOISE: dict[str, Callable[[Calibration], Answer]] = {
    "hush": hush_noise,
    "dp_accounting PLD": dp_accounting_noise,
    "opacus PRV": lambda target: _opacus_noise("prv", target),
    "opacus RDP": lambda target: _opacus_noise("rdp", target),
    "riskcal": riskcal_noise,
}
