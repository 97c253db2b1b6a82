"""No scheme's upper bound is below what is attained by another that it can simulate, or that reveals less.

Each pair is (less, more): whatever an attacker sees of `less` can be made from what `more` shows, or the former is one
case of the latter; the comment beside it is the proof. So `less.lower <= more.upper`, whatever theorem gave the ends.
"""

from __future__ import annotations

from random import Random

import pytest

import hush
from hush import (
    Allocation,
    Gaussian,
    Mechanism,
    Poisson,
    Relation,
    Revealed,
    ShuffledBatches,
    UnequalPoisson,
    WithoutReplacement,
    WithReplacement,
)
from tests.strategies import number

REPLACE = Relation.REPLACE
DELTAS = (1e-9, 1e-6, 1e-3, 0.05)
EPSILONS = (0.0, 0.03, 0.3, 1.0, 3.0)
SLACK = 1e-9
SEEDS = pytest.mark.parametrize("seed", range(2))
Pairs = list[tuple[Mechanism, Mechanism]]


def check(pairs: Pairs, random: Random) -> None:
    """Raw ends of two of the pairs, at a random delta and a random epsilon."""
    for less, more in random.sample(pairs, 2):
        delta, epsilon = random.choice(DELTAS), random.choice(EPSILONS)
        asked = f"{less} against {more}"
        assert less.epsilon(delta=delta).lower <= more.epsilon(delta=delta).upper * (1 + SLACK), asked
        assert less.log_delta(epsilon=epsilon).lower <= more.log_delta(epsilon=epsilon).upper + SLACK, asked


def noise(random: Random, relation: Relation = Relation.ADD_REMOVE) -> Gaussian:
    """Moderate Gaussian noise."""
    return Gaussian(number(random, 0.6, 6.0), relation)


def leaf(random: Random, relation: Relation = Relation.ADD_REMOVE) -> Mechanism:
    """Noise of one of several kinds."""
    scale = number(random, 0.6, 6.0)
    kinds = [Gaussian(scale, relation), hush.Laplace(scale, relation), hush.DiscreteGaussian(scale, 1, relation)]
    return random.choice([*kinds, hush.RandomizedResponse(epsilon=1 / scale, relation=relation)])


@SEEDS
def test_allocation(seed: int) -> None:
    random = Random(seed)
    step, steps = noise(random), random.choice([2, 5, 40, 300])
    epoch = step.on(Allocation(steps=steps))
    pairs: Pairs = [
        (step.on(Poisson(rate=1 / steps)), epoch),  # look at one step alone: the record is in it so often
        (Gaussian(step.noise_multiplier * steps**0.5), epoch),  # look at the sum of all steps
        (epoch, step),  # tell the place too: then it is one step (joint convexity)
        (epoch, step.on(Allocation(steps=2 * steps, times=2))),  # look at the first round alone
        (epoch, epoch.repeat(2)),  # look at the first epoch alone
        # the larger epoch tells in which half the record is (joint convexity); the other half is plain noise
        (step.on(Allocation(steps=2 * steps)), epoch),
    ]
    check(pairs, random)


@SEEDS
def test_shuffled_batches(seed: int) -> None:
    random = Random(seed)
    step, steps = noise(random), random.choice([2, 5, 40, 300])
    epoch = step.on(ShuffledBatches(steps))
    pairs: Pairs = [
        (step.on(Allocation(steps=steps)), epoch),  # one case of it: the others contribute nothing
        (step.on(Poisson(rate=1 / steps)), epoch),  # the same, and look at one step alone
        (epoch, step),  # tell the order too: then the record is in one known step
        (epoch, epoch.repeat(3)),  # look at the first epoch alone
    ]
    check(pairs, random)


@SEEDS
def test_revealed(seed: int) -> None:
    random = Random(seed)
    step, population = noise(random, REPLACE), random.randint(2, 500)
    few = random.randint(1, min(20, population))
    coins, subset, draws = Poisson(rate=0.01), WithoutReplacement(few, population), WithReplacement(few, population)
    pairs: Pairs = [(step.on(scheme), step.on(Revealed(scheme))) for scheme in (subset, draws)]  # forget who was drawn
    pairs += [(step.on(Revealed(scheme)), step) for scheme in (coins, subset)]  # draw in public first, then run
    norms = Gaussian(2 * step.noise_multiplier)  # the same noise, relative to each record's norm
    pairs.append((norms.on(coins).under(REPLACE), step.on(Revealed(coins))))  # forget who was drawn
    check(pairs, random)


@SEEDS
def test_fixed_sizes(seed: int) -> None:
    random = Random(seed)
    step, population = leaf(random, REPLACE), random.randint(3, 500)
    small, large = sorted(random.sample(range(1, population + 1), 2))
    louder, quieter = Gaussian(number(random, 0.6, 2.0), REPLACE), Gaussian(number(random, 2.0, 6.0), REPLACE)
    pairs: Pairs = []
    for kind in (WithoutReplacement, WithReplacement):
        # with the large sample the step may draw the small one from it first: that meets the same declaration
        pairs.append((step.on(kind(small, population)), step.on(kind(large, population))))
        pairs.append((quieter.on(kind(small, population)), louder.on(kind(small, population))))  # add noise afterwards
    pairs.append((step.on(WithoutReplacement(small, population)), step))  # tell who was drawn: at most the step
    check(pairs, random)


@SEEDS
def test_unequal_rates(seed: int) -> None:
    random = Random(seed)
    step, times = leaf(random), random.choice([1, 7])
    rates = [number(random, 1e-3, 1.0) for _ in range(3)]
    mixed = step.on(UnequalPoisson(rates)).repeat(times)
    pairs: Pairs = [(step.on(Poisson(rate=rate)).repeat(times), mixed) for rate in rates]  # one record's case
    pairs.append((mixed, step.on(Poisson(rate=max(rates))).repeat(times)))  # thin a larger sample again
    equal, plain = step.on(UnequalPoisson(rates[:1] * 3)).repeat(times), step.on(Poisson(rate=rates[0])).repeat(times)
    pairs += [(equal, plain), (plain, equal)]  # the same sample
    check(pairs, random)


@SEEDS
def test_one_sample_of_many_mechanisms(seed: int) -> None:
    random = Random(seed)
    parts = [leaf(random) for _ in range(random.randint(2, 3))]
    scheme = Poisson(rate=number(random, 1e-3, 1.0))
    whole = hush.sequence(*parts).on(scheme)
    pairs: Pairs = [(part.on(scheme), whole) for part in parts]  # look at one output alone
    pairs.append((whole, hush.sequence(*parts)))  # a secret sample hides more (joint convexity)
    replaced, drawn = [noise(random, REPLACE) for _ in range(2)], WithoutReplacement(random.randint(1, 50), 50)
    pairs += [(part.on(drawn), hush.sequence(*replaced).on(drawn)) for part in replaced]  # look at one output alone
    check(pairs, random)


@SEEDS
def test_groups_and_epochs(seed: int) -> None:
    random = Random(seed)
    rate, times = number(random, 1e-3, 1.0), random.choice([1, 5])
    step, noisy = leaf(random).on(Poisson(rate=rate)), noise(random).on(Poisson(rate=rate)).repeat(times)
    pairs: Pairs = [(noisy.group(size), noisy.group(size + 1)) for size in (1, 2)]  # one of the group stays
    pairs.append((step.repeat(2), step.repeat(3)))  # do not look at the last one
    pairs.append((noisy, noisy.under(REPLACE)))  # to be replaced by what contributes nothing is to be removed
    check(pairs, random)


@SEEDS
def test_renyi_route(seed: int) -> None:
    """The curve bounds what any mechanism of the declaration attains, so its epsilon is above every lower end."""
    random = Random(seed)
    steps, delta = random.choice([3, 60]), random.choice(DELTAS)
    schemes = [Poisson(rate=number(random, 1e-3, 1.0)), Allocation(steps=steps), ShuffledBatches(steps)]
    for scheme in schemes:
        ran = noise(random).on(scheme).repeat(1 if isinstance(scheme, Allocation) else random.choice([1, 3]))
        assert ran.epsilon(delta=delta).lower <= ran.renyi_curve().epsilon(delta=delta) * (1 + SLACK), ran
