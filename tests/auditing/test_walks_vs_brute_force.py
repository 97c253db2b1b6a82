"""The joint test of all numbers of guesses against enumeration, the worst mechanism by linear programming, simulation."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import optimize, special, stats

import hush
from hush.auditing import one_run
from hush.auditing.canaries.chances_of_guesses import chance_of_right
from hush.auditing.canaries.numbers_of_guesses import wrong_on_the_way
from hush.auditing.canaries.random_walk import WalkTest, crossing, most_wrong


def paths(length: int) -> np.ndarray:
    """All of them, one a row, 1 for a right guess."""
    return np.array(list(itertools.product((0, 1), repeat=length)))


def crosses(right: np.ndarray, numbers: np.ndarray, allowed: np.ndarray) -> np.ndarray:
    wrong = np.cumsum(1 - right, axis=1)[:, numbers - 1]
    return (wrong <= allowed).any(axis=1)


def laws(right: np.ndarray, rate: float) -> np.ndarray:
    return np.prod(np.where(right == 1, rate, 1 - rate), axis=1)


def worst_chance(event: np.ndarray, length: int, canaries: int, epsilon: float, delta: float) -> float:
    """The largest chance of an event about right guesses, over all (epsilon, delta)-DP mechanisms.

    Averaged over coins and over the places of canaries, a mechanism is a law p of right guesses such that
    the sums over x of (p(x) - e^eps p(x with guess j flipped))+ add up, over the guesses, to at most m delta.
    """
    size = 2**length
    flips = [np.arange(size) ^ (1 << place) for place in range(length)]
    cost = np.concatenate([-event.astype(float), np.zeros(length * size)])
    rows = np.zeros((length * size + 1, size * (1 + length)))
    for j, flipped in enumerate(flips):
        block = np.arange(size) + j * size
        rows[block, np.arange(size)] = 1
        rows[block, flipped] -= math.exp(epsilon)
        rows[block, size + block] = -1
    rows[-1, size:] = 1
    limits = np.append(np.zeros(length * size), canaries * delta)
    total = np.concatenate([np.ones(size), np.zeros(length * size)])[None, :]
    found = optimize.linprog(cost, A_ub=rows, b_ub=limits, A_eq=total, b_eq=[1.0])
    assert found.success
    return -float(found.fun)


NUMBERS = np.array([2, 4, 5])


@pytest.mark.parametrize("allowed", [(0, 0, 1), (-1, 1, 1), (0, 1, 2), (-1, -1, 0)])
@pytest.mark.parametrize("rate", [0.5, 0.2, 0.01])
def test_crossing_vs_enumeration(allowed: tuple[int, ...], rate: float) -> None:
    every = paths(5)
    exact = laws(every, 1 - rate)[crosses(every, NUMBERS, np.array(allowed))].sum()
    assert crossing(NUMBERS, np.array(allowed), rate) == pytest.approx(exact, rel=1e-7)


def test_crossing_vs_simulation_of_long_walks() -> None:
    walk, epsilon = WalkTest.around(60, canaries=300, delta=0.0), 0.7
    rate = 1 / (1 + math.exp(epsilon))
    allowed = most_wrong(0.02 * walk.weights, walk.numbers, rate)
    random = np.random.default_rng(1)
    seen = crosses(random.random((20_000, 300)) > rate, walk.numbers, allowed).mean()
    assert crossing(walk.numbers, allowed, rate) == pytest.approx(seen, abs=4 * math.sqrt(0.05 / 20_000))


@pytest.mark.parametrize("rate", [0.5, 0.1, 1e-4])
def test_most_wrong_vs_definition(rate: float) -> None:
    numbers = np.array([1, 5, 40, 1000])
    for level in (1e-9, 0.003, 0.2, 0.999, 1.0):
        for number, most in zip(numbers, most_wrong(np.full(4, level), numbers, rate), strict=True):
            chances = special.bdtr(np.arange(number + 1), number, rate)
            assert most == np.count_nonzero(chances <= level) - 1


@pytest.mark.parametrize("seed", range(20))
def test_no_posterior_crosses_more_often_than_the_walk(seed: int) -> None:
    """Any law of right guesses whose chances, given those before, stay within e^eps : 1."""
    random = np.random.default_rng(seed)
    epsilon, length = float(random.exponential(1.0)), 8
    rate = float(special.expit(-epsilon))
    every, numbers = paths(length), np.array([2, 3, 5, 8])
    chance = np.ones(len(every))
    for place in range(length):
        # one chance for each history
        history = every[:, :place] @ (1 << np.arange(place))
        drawn = np.where(random.random(2**place) < 0.6, 1 - rate, random.uniform(rate, 1 - rate, 2**place))[history]
        chance *= np.where(every[:, place] == 1, drawn, 1 - drawn)
    allowed = np.sort(random.integers(-1, 4, 4))
    assert chance[crosses(every, numbers, allowed)].sum() <= crossing(numbers, allowed, rate)


@pytest.mark.parametrize("delta", [0.0, 0.001, 0.02, 0.2])
@pytest.mark.parametrize("epsilon", [0.0, 0.5, 2.0])
@pytest.mark.parametrize("canaries", [5, 12])
def test_leak_vs_worst_mechanism(delta: float, epsilon: float, canaries: int) -> None:
    every = paths(5)
    walk = WalkTest(NUMBERS, np.ones(3), canaries, delta)
    for allowed in ((-1, 0, 0), (0, 0, 1), (-1, 1, 1), (0, 1, 2)):
        event = crosses(every, NUMBERS, np.array(allowed))
        worst = worst_chance(event, 5, canaries, epsilon, delta)
        said = crossing(NUMBERS, np.array(allowed), float(special.expit(-epsilon))) + walk.leak(epsilon)
        assert worst <= min(said, 1.0) + 1e-7


@pytest.mark.parametrize("delta", [0.0, 0.001, 0.05])
@pytest.mark.parametrize("epsilon", [0.0, 1.0, 3.0])
@pytest.mark.parametrize("right", [1, 3, 4, 5])
def test_one_number_is_the_worst_mechanism(delta: float, epsilon: float, right: int) -> None:
    """For one number of guesses the bound is attained, until it exceeds what a probability can be."""
    event = paths(5).sum(axis=1) >= right
    worst = worst_chance(event, 5, 8, epsilon, delta)
    said = float(chance_of_right(right, 5, 8, epsilon=epsilon, delta=delta))
    assert worst <= said + 1e-7
    if said < 0.5:
        assert said == pytest.approx(worst, rel=1e-3)


@pytest.mark.parametrize("epsilon", [0.3, 2.0])
def test_influence_of_one_guess_vs_enumeration(epsilon: float) -> None:
    """1[crossed] - chance is a sum of influences times x - e^eps (1 - x), none above what the leak charges."""
    length, rate = 5, 1 / (1 + math.exp(-epsilon))
    every, allowed = paths(length), np.array([0, 1, 1])
    event = crosses(every, NUMBERS, allowed).astype(float)
    codes = 1 << np.arange(length - 1, -1, -1)
    rebuilt, largest = np.full(len(every), float(event @ laws(every, rate))), 0.0
    for place in range(length):
        others = [k for k in range(length) if k != place]
        influence = np.zeros(len(every))
        for size in range(length):
            weight = 1 / (length * math.comb(length - 1, size))
            for fresh in itertools.combinations(others, size):
                for values in itertools.product((0, 1), repeat=size):
                    mixed = every.copy()
                    mixed[:, list(fresh)] = values
                    mixed[:, place] = 0
                    code = mixed @ codes
                    chance = np.prod([rate if value else 1 - rate for value in values])
                    influence += weight * chance * (event[code + codes[place]] - event[code])
        influence *= 1 - rate
        rebuilt += influence * (every[:, place] - math.exp(epsilon) * (1 - every[:, place]))
        largest = max(largest, influence.max())
    assert rebuilt == pytest.approx(event, abs=1e-12)
    assert largest <= WalkTest(NUMBERS, np.ones(3), 1, 1.0).leak(epsilon)


def test_modes_of_binomials_vs_constant() -> None:
    """Herzog 1947: no binomial probability exceeds 1/sqrt(2 e n p (1 - p))."""
    rates = np.linspace(0.001, 0.5, 200)
    for trials in (1, 2, 3, 5, 10, 40, 300):
        modes = stats.binom.pmf(np.arange(trials + 1)[:, None], trials, rates).max(axis=0)
        assert np.all(modes * np.sqrt(trials * rates * (1 - rates)) <= 1 / math.sqrt(2 * math.e) + 1e-12)


@pytest.mark.parametrize("delta", [0.0, 1e-3])
def test_chance_over_a_range_vs_its_points(delta: float) -> None:
    walk = WalkTest.around(30, canaries=120, delta=delta)
    random = np.random.default_rng(4)
    for _ in range(10):
        wrong = np.cumsum(random.random(120) < 0.25)[walk.numbers - 1]
        low = random.uniform(0, 1)
        high = low + random.exponential(0.2)
        over = walk.chance(wrong, low, high)
        for epsilon in np.linspace(low, high, 5):
            assert walk.chance(wrong, float(epsilon), float(epsilon)) <= over + 1e-9


def test_false_alarms_at_the_truth_of_a_tight_mechanism() -> None:
    """Randomized response of every coin: the test of the true epsilon rejects about as often as it may, not more."""
    walk, epsilon, runs = WalkTest.around(40, canaries=150, delta=0.0), 1.0, 400
    random = np.random.default_rng(5)
    wrong = np.cumsum(random.random((runs, 150)) < special.expit(-epsilon), axis=1)[:, walk.numbers - 1]
    alarms = sum(walk.chance(path, epsilon, epsilon) <= 0.1 for path in wrong)
    assert stats.binom.ppf(0.0005, runs, 0.07) <= alarms <= stats.binom.ppf(0.9995, runs, 0.1)


def test_false_alarms_of_a_mechanism_that_leaks() -> None:
    """Each coin shown in the clear with probability delta, and said to be; else by randomized response."""
    epsilon, delta, canaries, runs = 1.0, 0.004, 150, 300
    walk, random = WalkTest.around(40, canaries=canaries, delta=delta), np.random.default_rng(6)
    clear = random.random((runs, canaries)) < delta
    wrong = (random.random((runs, canaries)) < special.expit(-epsilon)) & ~clear
    first = np.take_along_axis(wrong, np.argsort(~clear, axis=1, kind="stable"), axis=1)
    found = np.cumsum(first, axis=1)[:, walk.numbers - 1]
    forgetful = WalkTest.around(40, canaries=canaries, delta=0.0)
    alarms = sum(walk.chance(path, epsilon, epsilon) <= 0.5 for path in found)
    forgotten = sum(forgetful.chance(path, epsilon, epsilon) <= 0.5 for path in found)
    assert alarms <= stats.binom.ppf(0.9995, runs, 0.5)
    assert forgotten > alarms


@pytest.mark.parametrize("mu", [0.5, 2.0])
def test_bound_vs_truth_of_gaussian_canaries(mu: float) -> None:
    random, above = np.random.default_rng(8), 0
    claim = hush.GaussianDP(mu)
    truth = claim.epsilon(delta=1e-5).upper
    for _ in range(20):
        members = random.random(150) < 0.5
        scores = mu * members + random.standard_normal(150)
        above += one_run(scores, members, claim=claim, delta=1e-5).lower_bound > truth
    assert above <= stats.binom.ppf(0.999, 20, 0.05)


def test_bound_is_where_the_chance_reaches_the_error() -> None:
    random = np.random.default_rng(9)
    members = random.random(400) < 0.5
    scores = 1.5 * members + random.standard_normal(400)
    walk = WalkTest.around(100, canaries=400, delta=1e-6)
    wrong = wrong_on_the_way(members[np.argsort(-scores)], walk.numbers, both=True)
    bound = walk.bound(wrong, error=0.05)
    assert max(walk.chance(wrong, e, e) for e in np.linspace(0, bound, 40).tolist()) <= 0.05
    assert max(walk.chance(wrong, bound + step, bound + step) for step in (0.005, 0.01, 0.02)) > 0.05
