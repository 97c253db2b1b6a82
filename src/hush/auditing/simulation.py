"""Runs of a mechanism on two neighbouring inputs, for audits: the worst-placed record, all others silent.

Noise is made of floats from the source: good enough to be told apart by nobody with a million samples, never for a
release. Samples are drawn by the scheme's own `draw`, one run after the other.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import singledispatch
from typing import Any, TypeAlias

import numpy as np
from scipy import special

from hush.arrays import Array
from hush.errors import NotCovered
from hush.mechanisms.combinators.compose import Parallel, Repeat, Sequence
from hush.mechanisms.combinators.group import Group, Under
from hush.mechanisms.last_iterate.descent import CyclicGradientDescent, NoisyGradientDescent
from hush.mechanisms.last_iterate.iteration import NoisyIteration
from hush.mechanisms.last_iterate.one_pass import OnePassGradientDescent, RandomStop
from hush.mechanisms.leaves.choice import Exponential, RandomizedResponse, ReportNoisyMax
from hush.mechanisms.leaves.noise import DiscreteGaussian, DiscreteLaplace, Gaussian, Laplace
from hush.mechanisms.leaves.posterior import BetaPosterior, GaussianPosterior
from hush.mechanisms.leaves.skellam import Skellam
from hush.mechanisms.local.randomizer import KaryResponse, LocalRandomizer
from hush.mechanisms.local.reports import GaussianReport, LaplaceReport, UnaryEncoding
from hush.mechanisms.local.shuffled import Shuffled
from hush.mechanisms.mechanism import Mechanism, require
from hush.mechanisms.schemes.allocation import Allocated
from hush.mechanisms.schemes.fixed_size import FixedSize
from hush.mechanisms.schemes.scheme import Sampled, UnequalPoisson
from hush.mechanisms.schemes.shuffled_batches import ShuffledBatches
from hush.randomness.source import Source, source_or_secure

Drawing: TypeAlias = Callable[[int], Array]

OTHERS = 9
"""Records beside the one that differs, where a scheme draws from a population of any size."""


def simulated(mechanism: Mechanism, *, source: Source | None = None) -> tuple[Drawing, Drawing]:
    """Two functions that draw so many outputs: with the record, and without it (or with the one that replaces it).

    >>> import hush
    >>> present, absent = simulated(hush.Laplace(1.0), source=hush.SeededSource(1))
    >>> round(float(np.median(present(10_000)) - np.median(absent(10_000))), 1)
    1.0
    """
    require("simulated", mechanism)
    bits = source_or_secure(source)
    away = -1.0 if isinstance(mechanism, Under) else 0.0
    return (
        lambda size: outputs(mechanism, np.ones(size), bits),
        lambda size: outputs(mechanism, np.full(size, away), bits),
    )


@singledispatch
def outputs(mechanism: Mechanism, weight: Array, source: Source) -> Array:
    """One output a run; weight says how often the record takes part in that run (-1: the one that replaces it)."""
    raise NotCovered(f"{mechanism}: it states a guarantee, and nothing that could be run")


def uniform(source: Source, *shape: int) -> Array:
    """Numbers strictly between 0 and 1."""
    words = source.words(math.prod(shape))
    return ((words >> np.uint64(11)).astype(float) + 0.5).reshape(shape) / 2.0**53


def normal(source: Source, size: int) -> Array:
    """Standard normal numbers."""
    return special.ndtri(uniform(source, size))


def laplace(source: Source, size: int) -> Array:
    """Laplace numbers of scale 1."""
    u = uniform(source, size) - 0.5
    return -np.sign(u) * np.log1p(-2 * np.abs(u))


def from_masses(source: Source, values: Array, masses: Array, size: int) -> Array:
    """Values drawn with these masses."""
    edges = np.cumsum(masses / masses.sum())
    return values[np.minimum(np.searchsorted(edges, uniform(source, size)), len(values) - 1)]


@outputs.register
def _(mechanism: Gaussian, weight: Array, source: Source) -> Array:
    return weight + mechanism.noise_multiplier * normal(source, len(weight))


@outputs.register
def _(mechanism: Laplace, weight: Array, source: Source) -> Array:
    return weight + mechanism.scale * laplace(source, len(weight))


@outputs.register
def _(mechanism: DiscreteGaussian, weight: Array, source: Source) -> Array:
    reach = math.ceil(12 * mechanism.sigma) + 12
    values = np.arange(-reach, reach + 1)
    masses = np.exp(-0.5 * (values / mechanism.sigma) ** 2)
    return weight * mechanism.sensitivity + from_masses(source, values, masses, len(weight))


@outputs.register
def _(mechanism: DiscreteLaplace, weight: Array, source: Source) -> Array:
    ahead, back = np.floor(-np.log(uniform(source, 2, len(weight))) * mechanism.scale)
    return weight * mechanism.sensitivity + ahead - back


@outputs.register
def _(mechanism: Skellam, weight: Array, source: Source) -> Array:
    reach = math.ceil(12 * math.sqrt(mechanism.variance)) + 30
    values = np.arange(-reach, reach + 1)
    masses = special.ive(np.abs(values), mechanism.variance)
    return weight * mechanism.sensitivity + from_masses(source, values, masses, len(weight))


@outputs.register
def _(mechanism: RandomizedResponse, weight: Array, source: Source) -> Array:
    return _response(mechanism.epsilon, mechanism.choices, weight, source)


@outputs.register
def _(mechanism: KaryResponse, weight: Array, source: Source) -> Array:
    return _response(mechanism.epsilon, mechanism.choices, weight, source)


def _response(epsilon: float, choices: int, weight: Array, source: Source) -> Array:
    truth = (weight > 0).astype(int)
    keep, other = uniform(source, 2, len(weight))
    own = 1 / (1 + (choices - 1) * math.exp(-epsilon))
    return np.where(keep < own, truth, (truth + 1 + np.floor(other * (choices - 1)).astype(int)) % choices)


@outputs.register
def _(mechanism: Exponential, weight: Array, source: Source) -> Array:
    # two options, the record for one and against the other
    chance = special.expit(mechanism.epsilon * (weight - 0.5))
    return (uniform(source, len(weight)) < chance).astype(int)


@outputs.register
def _(mechanism: ReportNoisyMax, weight: Array, source: Source) -> Array:
    gumbel = -mechanism.scale * np.log(-np.log(uniform(source, 2, len(weight))))
    against = 0.0 if mechanism.monotone else weight
    return (gumbel[0] + weight > gumbel[1] - against).astype(int)


@outputs.register
def _(mechanism: UnaryEncoding, weight: Array, source: Source) -> Array:
    truth = np.stack([weight <= 0, weight > 0], axis=1)
    return (uniform(source, len(weight), 2) < np.where(truth, mechanism.keep, mechanism.flip)).astype(float)


@outputs.register
def _(mechanism: LaplaceReport, weight: Array, source: Source) -> Array:
    return (weight > 0) + mechanism.scale * laplace(source, len(weight))


@outputs.register
def _(mechanism: GaussianReport, weight: Array, source: Source) -> Array:
    return (weight > 0) + mechanism.deviation * normal(source, len(weight))


@outputs.register
def _(mechanism: BetaPosterior, weight: Array, source: Source) -> Array:
    heads = mechanism.heads + weight
    tails = mechanism.tails + mechanism.flips - weight
    return special.betaincinv(heads, tails, uniform(source, len(weight)))


@outputs.register
def _(mechanism: GaussianPosterior, weight: Array, source: Source) -> Array:
    return mechanism.distance * weight + normal(source, len(weight))


@outputs.register
def _(mechanism: NoisyIteration, weight: Array, source: Source) -> Array:
    place = np.zeros(len(weight))
    for moved, deviation, shrink in zip(
        mechanism.sensitivities, mechanism.deviations, mechanism.contractions, strict=True
    ):
        place = shrink * place + moved * weight + deviation * normal(source, len(weight))
    return place


@outputs.register
def _(mechanism: NoisyGradientDescent, weight: Array, source: Source) -> Array:
    """A quadratic loss of the stated curvature, whose linear term the record moves."""
    if mechanism.diameter < math.inf:
        raise NotCovered(f"{mechanism}: runs are simulated without a projection")
    place, step = np.zeros(len(weight)), mechanism.step_size
    for _ in range(mechanism.iterations):
        gradient = mechanism.loss.strong_convexity * place - weight * mechanism.loss.moved / mechanism.records
        place = place - step * (gradient + mechanism.noise * normal(source, len(weight)))
    return place


@outputs.register
def _(mechanism: CyclicGradientDescent, weight: Array, source: Source) -> Array:
    """The same with the record in the last batch of every epoch."""
    if mechanism.diameter < math.inf:
        raise NotCovered(f"{mechanism}: runs are simulated without a projection")
    place, step = np.zeros(len(weight)), mechanism.step_size
    for taken in range(1, mechanism.epochs * mechanism.batches + 1):
        moved = mechanism.loss.moved / mechanism.batch_size if taken % mechanism.batches == 0 else 0.0
        gradient = mechanism.loss.strong_convexity * place - weight * moved
        place = place - step * (gradient + mechanism.noise * normal(source, len(weight)))
    return place


@outputs.register
def _(mechanism: OnePassGradientDescent, weight: Array, source: Source) -> Array:
    """The record is the last one, which no later noise hides."""
    return _passed(mechanism, weight, mechanism.records, source)[-1]


@outputs.register
def _(mechanism: RandomStop, weight: Array, source: Source) -> Array:
    """The record is the first one, which every run sees; the stop is published."""
    places = np.array(_passed(mechanism.run, weight, 1, source))
    stops = np.minimum((uniform(source, len(weight)) * len(places)).astype(int), len(places) - 1)
    return np.column_stack([stops, places[stops, np.arange(len(weight))]])


def _passed(run: OnePassGradientDescent, weight: Array, record: int, source: Source) -> list[Array]:
    """Every place of one pass, the record being the so-manieth."""
    places = [np.zeros(len(weight))]
    for taken in range(1, run.records + 1):
        gradient = run.loss.strong_convexity * places[-1] - weight * (run.loss.moved if taken == record else 0.0)
        places.append(places[-1] - run.step_size * (gradient + run.noise * normal(source, len(weight))))
    return places[1:]


# -- combinators -----------------------------------------------------------------------------------------------


@outputs.register
def _(mechanism: Repeat, weight: Array, source: Source) -> Array:
    return _columns([outputs(mechanism.inner, weight, source) for _ in range(mechanism.times)])


@outputs.register
def _(mechanism: Sequence, weight: Array, source: Source) -> Array:
    return _columns([outputs(part, weight, source) for part, times in mechanism.parts for _ in range(times)])


@outputs.register
def _(mechanism: Parallel, weight: Array, source: Source) -> Array:
    """The record is in the first part."""
    silent = [outputs(part, np.zeros(len(weight)), source) for part in mechanism.parts[1:]]
    return _columns([outputs(mechanism.parts[0], weight, source), *silent])


@outputs.register
def _(mechanism: Group, weight: Array, source: Source) -> Array:
    return outputs(mechanism.inner, weight * mechanism.size, source)


@outputs.register
def _(mechanism: Under, weight: Array, source: Source) -> Array:
    return outputs(mechanism.inner, weight, source)


@outputs.register
def _(mechanism: Sampled, weight: Array, source: Source) -> Array:
    scheme = mechanism.scheme
    if isinstance(scheme, ShuffledBatches):
        return _epoch(mechanism.inner, scheme, scheme.steps, weight, source)
    population = OTHERS + 1
    if isinstance(scheme, FixedSize):
        population = scheme.population
    place = 0
    if isinstance(scheme, UnequalPoisson):
        population, place = len(scheme.rates), int(np.argmax(scheme.rates))
    taken = np.array([np.count_nonzero(scheme.draw(population, source) == place) for _ in weight])
    # the record's value is that of the present world or of the other; a replaced record is silent there
    return outputs(mechanism.inner, weight * taken, source)


@outputs.register
def _(mechanism: Allocated, weight: Array, source: Source) -> Array:
    return _epoch(mechanism.inner, mechanism.scheme, mechanism.scheme.steps, weight, source)


def _epoch(inner: Mechanism, scheme: Any, steps: int, weight: Array, source: Source) -> Array:
    """All steps of an epoch, the record in the batches that the scheme draws for it."""
    taken = np.array([[float(0 in batch) for batch in scheme.draw(steps, source)] for _ in weight])
    return _columns([outputs(inner, weight * taken[:, step], source) for step in range(steps)])


@outputs.register
def _(mechanism: Shuffled, weight: Array, source: Source) -> Array:
    """The reports in order of size, which is what is left when nobody knows whose they are; the others hold 0."""
    randomizer: LocalRandomizer = mechanism.randomizer
    silent = [outputs(randomizer, np.zeros(len(weight)), source) for _ in range(mechanism.people - 1)]
    reports = np.stack([outputs(randomizer, weight, source), *silent], axis=-1)
    return np.sort(reports, axis=-1).reshape(len(weight), -1)


def _columns(parts: list[Array]) -> Array:
    return np.concatenate([part if part.ndim == 2 else part[:, None] for part in parts], axis=1)
