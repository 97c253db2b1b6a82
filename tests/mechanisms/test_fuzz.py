"""Parameters over many orders of magnitude: no NaN, no negative epsilon, no warning, lower <= upper, in bounded time."""

from __future__ import annotations

import itertools
import math
import time
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hush
from hush import Bound, Mechanism, Poisson, Relation
from tests.strategies import LAWS

SECONDS = 60.0
"""CPU time that one question may take: most take milliseconds."""

FUZZ = settings(LAWS, max_examples=10)
SEEDS = st.integers(0, 2**32 - 1)


def log_uniform(random: Random, low: float, high: float) -> float:
    return math.exp(random.uniform(math.log(low), math.log(high)))


def leaf(random: Random) -> Mechanism:
    """Any noise, from almost none to almost only."""
    return random.choice(
        [
            lambda: hush.Gaussian(log_uniform(random, 0.05, 1000)),
            lambda: hush.Gaussian(log_uniform(random, 0.05, 1000)),
            lambda: hush.Laplace(log_uniform(random, 0.01, 1000)),
            lambda: hush.DiscreteGaussian(log_uniform(random, 0.25, 300), random.choice([1, 2, 7])),
            lambda: hush.DiscreteLaplace(log_uniform(random, 0.05, 300), random.choice([1, 2, 7])),
            lambda: hush.RandomizedResponse(
                epsilon=log_uniform(random, 1e-4, 20), choices=random.choice([2, 3, 50]), relation=Relation.ADD_REMOVE
            ),
            lambda: hush.Exponential(log_uniform(random, 1e-4, 20)),
            lambda: hush.ApproxDP(log_uniform(random, 1e-4, 20), log_uniform(random, 1e-12, 0.1)),
        ]
    )()


def whole(bound: Bound) -> None:
    assert not math.isnan(bound.lower)
    assert not math.isnan(bound.upper)
    assert bound.lower <= bound.upper
    assert bound.lower >= 0


def timed_epsilon(mechanism: Mechanism, delta: float) -> Bound:
    start = time.process_time()
    bound = mechanism.epsilon(delta=delta)
    assert time.process_time() - start < SECONDS, (mechanism, delta)
    whole(bound)
    return bound


@FUZZ
@given(SEEDS)
def test_sampled_gaussian_training(seed: int) -> None:
    random = Random(seed)
    sigma, rate = log_uniform(random, 0.05, 1000), log_uniform(random, 1e-8, 1)
    times, delta = round(log_uniform(random, 1, 1e9)), log_uniform(random, 1e-100, 0.5)
    bound = timed_epsilon(hush.Gaussian(sigma).on(Poisson(rate=rate)).repeat(times), delta)
    assert bound.upper < math.inf
    # never above the same without a sample, whose epsilon is known in closed form
    assert bound.lower <= hush.Gaussian(sigma).repeat(times).epsilon(delta=delta).upper * (1 + 1e-9)


@FUZZ
@given(SEEDS)
def test_any_leaf_repeated(seed: int) -> None:
    random = Random(seed)
    mechanism = leaf(random)
    if random.random() < 0.6:
        mechanism = mechanism.on(Poisson(rate=log_uniform(random, 1e-8, 1)))
    timed_epsilon(mechanism.repeat(round(log_uniform(random, 1, 1e7))), log_uniform(random, 1e-60, 0.5))


@FUZZ
@given(SEEDS)
def test_delta_of_any_epsilon(seed: int) -> None:
    random = Random(seed)
    mechanism = leaf(random).on(Poisson(rate=log_uniform(random, 1e-6, 1))).repeat(round(log_uniform(random, 1, 1e6)))
    epsilon = log_uniform(random, 1e-6, 300)
    start = time.process_time()
    bound = mechanism.delta(epsilon=epsilon)
    assert time.process_time() - start < SECONDS, (mechanism, epsilon)
    whole(bound)
    assert bound.upper <= 1


@FUZZ
@given(SEEDS)
def test_several_kinds_in_sequence(seed: int) -> None:
    random = Random(seed)
    parts = [leaf(random).repeat(round(log_uniform(random, 1, 1e4))) for _ in range(random.randint(2, 4))]
    timed_epsilon(hush.sequence(*parts), log_uniform(random, 1e-30, 0.5))


@FUZZ
@given(SEEDS)
def test_renyi_curve(seed: int) -> None:
    random = Random(seed)
    mechanism = leaf(random).on(Poisson(rate=log_uniform(random, 1e-8, 1)))
    orders = sorted(1 + log_uniform(random, 1e-3, 1e4) for _ in range(4))
    start = time.process_time()
    values = mechanism.renyi(orders=orders).tolist()
    assert time.process_time() - start < SECONDS, (mechanism, orders)
    assert all(value >= 0 for value in values)
    assert all(a <= b * (1 + 1e-6) + 1e-12 for a, b in itertools.pairwise(values))


@pytest.mark.parametrize("times", [10, 10**5, 10**9])
@pytest.mark.parametrize("rate", [1e-8, 1e-4, 0.5])
@pytest.mark.parametrize("sigma", [0.05, 1.0, 1000.0])
def test_corners(sigma: float, rate: float, times: int) -> None:
    bound = timed_epsilon(hush.Gaussian(sigma).on(Poisson(rate=rate)).repeat(times), 1e-6)
    assert bound.upper < math.inf
