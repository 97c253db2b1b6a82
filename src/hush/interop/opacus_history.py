"""The history of an Opacus accountant as a mechanism; Opacus itself is not needed for it."""

from __future__ import annotations

import math
from collections.abc import Iterable

from hush.checks import count, listed, number
from hush.errors import InvalidParameter, NotCovered
from hush.mechanisms.combinators.one_after_another import Sequence
from hush.mechanisms.leaves.gaussian import Gaussian
from hush.mechanisms.leaves.stated import ApproxDP, PureDP
from hush.mechanisms.mechanism import Mechanism
from hush.mechanisms.scheme import Scheme
from hush.mechanisms.schemes.poisson import Poisson
from hush.mechanisms.schemes.shuffled_batches import ShuffledBatches

WHO = "from_opacus"
RULE = "a history: a list of (noise multiplier, sample rate, steps)"
NEAR = 1e-9
"""How near 1/rate must be to a whole number of batches, relatively: a rate is 1/len(loader), rounded once."""


def from_opacus(history: Iterable[tuple[float, float, int]], *, scheme: type[Scheme] = Poisson) -> Mechanism:
    """What ran, by `privacy_engine.accountant.history`: phases of (noise multiplier, sample rate, steps).

    `make_private` draws by Poisson sampling unless told otherwise. With poisson_sampling=False the loader shuffles, and
    the history does not tell: give scheme=hush.ShuffledBatches then.

    >>> run = [(1.1, 256 / 60_000, 2_000), (1.5, 256 / 60_000, 1_500)]
    >>> from_opacus(run).epsilon(delta=1e-5).upper
    0.97087...
    >>> from_opacus([(1.1, 1 / 235, 235)], scheme=ShuffledBatches).epsilon(delta=1e-5).upper
    3.9212...
    """
    phases = [_phase(entry, scheme) for entry in listed(WHO, RULE, history=history)]
    return Sequence.of([phase for phase in phases if phase is not None] or [PureDP(0.0)])


def _phase(entry: object, scheme: type[Scheme]) -> Mechanism | None:
    """One phase; None where nothing ran, or nobody was drawn."""
    if not isinstance(entry, tuple | list) or len(entry) != 3:
        raise InvalidParameter(WHO, RULE, history=entry)
    noise = number(WHO, "noise multiplier >= 0", 0.0, math.inf, noise_multiplier=entry[0])
    rate = number(WHO, "0 <= sample rate <= 1", 0.0, 1.0, sample_rate=entry[1])
    steps = count(WHO, 0, steps=entry[2])
    if steps == 0 or rate == 0:
        return None
    step = Gaussian(noise) if noise > 0 else ApproxDP(0.0, 1.0)
    if scheme is Poisson:
        return step.on(Poisson(rate=rate)).repeat(steps)
    if scheme is not ShuffledBatches:
        raise NotCovered(f"loaders of Opacus that draw by {scheme}: known are hush.Poisson and hush.ShuffledBatches")
    batches = round(1 / rate)
    if abs(batches * rate - 1) > NEAR or steps % batches:
        rule = f"whole epochs of shuffled batches: a rate of 1/batches, and a multiple of {batches} steps"
        raise InvalidParameter(WHO, rule, sample_rate=rate, steps=steps)
    return step.on(ShuffledBatches(steps=batches)).repeat(steps // batches)
