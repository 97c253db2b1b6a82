"""The mechanism of a training run: the scheme that draws its batches, how often, and the noise of every step."""

from __future__ import annotations

from collections.abc import Sequence

from hush.checks import count, number
from hush.errors import InvalidParameter, NotCovered
from hush.mechanisms.combinators.one_after_another import sequence
from hush.mechanisms.leaves.gaussian import Gaussian
from hush.mechanisms.mechanism import Mechanism
from hush.mechanisms.scheme import Scheme
from hush.mechanisms.schemes.poisson import Poisson
from hush.mechanisms.schemes.spaced.banded_noise import BandedNoise
from hush.mechanisms.schemes.spaced.cyclic_poisson import CyclicPoisson
from hush.questions.planning.training.noise_schedule import NoiseSchedule, checked_schedule, pieces

STEADY = "correlated noise that changes from step to step: no theorem is built in. Use one of the two"


def training_run(
    *, noise_multiplier: float, examples: int, batch_size: int, epochs: float, scheme: type[Scheme] = Poisson
) -> Mechanism:
    """The mechanism of a training run, as `train_plan` accounts for it: no delta, and no target.

    >>> training_run(noise_multiplier=1.1, examples=60_000, batch_size=256, epochs=15).epsilon(delta=1e-5).upper
    1.13387...
    """
    examples, batch_size, epochs = checked_numbers(examples, batch_size, epochs, scheme)
    way = scheme_of(scheme, None, examples, batch_size, epochs)
    return run_of(way, noise_multiplier, draws_of(way, examples, batch_size, epochs), ())


def checked_numbers(examples: object, batch_size: object, epochs: object, scheme: object) -> tuple[int, int, float]:
    """The numbers of a run, whose scheme is one."""
    who = "train_plan"
    rows, batch = count(who, 1, examples=examples), count(who, 1, batch_size=batch_size)
    if batch > rows:
        raise InvalidParameter(who, f"a batch of at most all examples ({rows})", batch_size=batch)
    passes = number(who, "0 <= epochs <= 10^6", 0.0, 1e6, epochs=epochs)
    if not (isinstance(scheme, type) and issubclass(scheme, Scheme)):
        raise InvalidParameter(who, "a kind of scheme such as hush.Poisson or hush.Allocation", scheme=scheme)
    return rows, batch, passes


def draws_of(scheme: Scheme, examples: int, batch_size: int, epochs: float) -> int:
    """How often the scheme draws: for every step, every cycle or every epoch."""
    return -(-scheme.training_steps(examples=examples, batch_size=batch_size, epochs=epochs) // scheme.steps)


def scheme_of(kind: type[Scheme], noise: BandedNoise | None, examples: int, batch_size: int, epochs: float) -> Scheme:
    """The scheme, if the noise of its steps may be correlated like this."""
    if noise is None:
        return kind.for_training(examples=examples, batch_size=batch_size, epochs=epochs)
    spaced = CyclicPoisson if kind is Poisson else kind
    way = spaced.for_bands(noise.bands, examples=examples, batch_size=batch_size, epochs=epochs)
    noise.require(way)
    return way


def schedule_of(given: Sequence[tuple[int, float]], scheme: Scheme, noise: BandedNoise | None) -> NoiseSchedule:
    """The schedule, if the scheme has steps like these and the noise of each step is its own."""
    schedule = checked_schedule(given, scheme.steps)
    if schedule and noise is not None:
        raise NotCovered(STEADY)
    return schedule


def run_of(scheme: Scheme, noise_multiplier: float, draws: int, schedule: NoiseSchedule) -> Mechanism:
    """Each step clips to norm 1 and adds Gaussian noise: one record added or removed moves its sum by at most 1."""
    steps = pieces(schedule, draws * scheme.steps)
    runs = [Gaussian(noise_multiplier * factor).on(scheme).repeat(length // scheme.steps) for length, factor in steps]
    run = sequence(*runs) if len(runs) > 1 else runs[0] if runs else Gaussian(noise_multiplier).on(scheme).repeat(0)
    return run.under(scheme.covers)
