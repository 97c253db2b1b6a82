"""Random allocation against simulation, against neighbouring answers, and against what it must never beat."""

from __future__ import annotations

import math

import numpy as np
import pytest

import hush
from hush import Allocation, Gaussian, InvalidParameter, NotCovered, Poisson, Relation
from hush.curves.composition.product import Product
from hush.curves.theorems.allocation import AllocationPair
from hush.randomness.source import SeededSource

STEP = Gaussian(noise_multiplier=1.0)
EPOCH = STEP.on(Allocation(steps=100))


def ratios(sigma: float, steps: int, size: int, seed: int) -> np.ndarray:
    """dP/dQ of one epoch under Q."""
    generator = np.random.default_rng(seed)
    rows = [np.exp(generator.standard_normal((size // 10, steps)) / sigma).mean(axis=1) for _ in range(10)]
    return np.concatenate(rows) * math.exp(-1 / (2 * sigma**2))


@pytest.mark.parametrize("sigma, steps", [(1.0, 100), (0.7, 3), (2.0, 50)])
def test_one_epoch_vs_simulation(sigma: float, steps: int) -> None:
    """A hundred thousand draws: the certified value lies within five standard errors."""
    ratio = ratios(sigma, steps, 100_000, 1)
    pair = AllocationPair(1 / sigma, steps)
    for factor in (-1.0, 0.0, 1.0, 2.0):
        epsilon = factor * pair.mean.width
        for gains, direction in (
            (np.maximum(ratio - math.exp(epsilon), 0), pair),
            (np.maximum(1 - math.exp(epsilon) * ratio, 0), pair.swap()),
        ):
            low, high = direction.log_delta(epsilon)
            error = 5 * gains.std() / math.sqrt(len(gains))
            assert abs(math.exp(low) - gains.mean()) < error
            assert high - low < 1e-9


def test_epochs_vs_simulation() -> None:
    epochs, size = 4, 60_000
    loss = sum(np.log(ratios(1.0, 30, size, seed)) for seed in range(epochs))
    product = Product.of([(AllocationPair(1.0, 30), epochs)])
    for epsilon in (0.0, 0.4, 0.8):
        gains = np.maximum(np.exp(loss) - math.exp(epsilon), 0)
        low, high = product.log_delta(epsilon)
        assert abs(math.exp(high) - gains.mean()) < 5 * gains.std() / math.sqrt(size)
        assert high - low < 1e-3


@pytest.mark.parametrize("sigma, steps", [(1.0, 1000), (0.5, 100), (3.0, 20), (1.0, 2)])
def test_tables_enclose_the_pair(sigma: float, steps: int) -> None:
    """The finite pairs that are composed lie on either side of the profile, in both directions, also between points."""
    for pair in (AllocationPair(1 / sigma, steps), AllocationPair(1 / sigma, steps, reverse=True)):
        below, above = pair.enclosure()
        for factor in (-4.1, -1.33, -0.2, 0.0, 0.117, 0.9, 2.2, 4.4, 7.7):
            epsilon = factor * pair.mean.width
            low, high = pair.log_delta(epsilon)
            assert below.log_delta(epsilon)[0] <= high
            assert above.log_delta(epsilon)[1] >= low


def test_contour_vs_grid() -> None:
    """One epoch by its contour, and composed with nothing through the lattice: the answers overlap and are narrow."""
    pair = AllocationPair(1.0, 1000)
    for direction in (pair, pair.swap()):
        exact = direction.epsilon(math.log(1e-6))
        grid = Product(((direction, 1),)).epsilon(math.log(1e-6))
        assert grid[0] <= exact[1] and exact[0] <= grid[1]
        assert grid[1] - grid[0] < 2e-4 * grid[1]


def test_widths() -> None:
    assert STEP.on(Allocation(steps=10_000)).epsilon(delta=1e-6).width < 1e-7
    assert STEP.on(Allocation(steps=1000)).epsilon(delta=1e-15).width < 1e-7
    assert Gaussian(2.0).on(Allocation(steps=1000)).epsilon(delta=1e-30).width < 1e-7
    assert STEP.on(Allocation(steps=1000)).repeat(10).epsilon(delta=1e-5).width < 1e-4


def test_a_round_of_one_step_is_no_allocation() -> None:
    assert STEP.on(Allocation(steps=1)) == STEP
    assert STEP.on(Allocation(steps=3, times=3)) == STEP.repeat(3)


def test_rounds_are_composed() -> None:
    rounds = STEP.on(Allocation(steps=40, times=2))
    epochs = STEP.on(Allocation(steps=20)).repeat(2)
    assert rounds.epsilon(delta=1e-6) == epochs.epsilon(delta=1e-6)


@pytest.mark.parametrize("delta", [1e-3, 1e-6, 1e-9])
def test_monotone(delta: float) -> None:
    """More noise, more steps, fewer epochs: never more is revealed."""
    for better, worse in (
        (STEP.on(Allocation(steps=200)), EPOCH),
        (Gaussian(1.3).on(Allocation(steps=100)), EPOCH),
        (EPOCH, EPOCH.repeat(2)),
        (EPOCH, STEP),
    ):
        assert better.epsilon(delta=delta).upper <= worse.epsilon(delta=delta).upper
        assert better.epsilon(delta=delta).lower <= worse.epsilon(delta=delta).upper


def test_never_below_a_single_step() -> None:
    """Looking at one step alone is looking at less."""
    single = STEP.on(Poisson(rate=0.01))
    for epsilon in (0.0, 0.2, 0.5):
        assert EPOCH.delta(epsilon=epsilon).upper >= single.delta(epsilon=epsilon).lower


@pytest.mark.parametrize("delta", [1e-15, 1e-30, 1e-200])
def test_tiny_delta_is_honest(delta: float) -> None:
    """Where floats give out the interval widens; it stays between one step alone and the plain mechanism."""
    for mechanism in (EPOCH, EPOCH.repeat(3)):
        found = mechanism.epsilon(delta=delta)
        assert found.lower >= STEP.on(Poisson(rate=0.01)).epsilon(delta=delta).lower * (1 - 1e-9)
        assert found.upper <= STEP.repeat(3).epsilon(delta=delta).upper * (1 + 1e-9)
        assert found.lower <= found.upper


def test_composed_with_other_mechanisms() -> None:
    """The whole is at least each part, and at most what the parts' epsilons and deltas add up to."""
    other = hush.Laplace(2.0)
    whole = EPOCH.then(other).epsilon(delta=1e-6)
    assert whole.lower >= EPOCH.epsilon(delta=1e-6).lower
    assert whole.upper <= EPOCH.epsilon(delta=1e-6).upper + 0.5
    assert whole.width < 1e-3
    sampled = STEP.on(Poisson(rate=0.01)).repeat(100)
    assert EPOCH.then(sampled).epsilon(delta=1e-6).width < 5e-3


def test_renyi_vs_pair() -> None:
    """Markov's inequality at every order stays above the certified delta."""
    for removed in ("remove", "add"):
        pair = EPOCH.pairs()[removed]
        for order in (1.5, 2.0, 3.7, 8.0, 40.0):
            low, high = pair.renyi(order)
            assert 0 <= low <= high <= order / 2 * (1 + 1e-12)
            for epsilon in (0.1, 0.4):
                bound = (order - 1) * (high - epsilon) - math.log(order - 1) + order * math.log1p(-1 / order)
                assert pair.log_delta(epsilon)[0] <= bound


def test_a_sample_of_an_epoch() -> None:
    sampled = EPOCH.on(Poisson(rate=0.1))
    assert sampled.epsilon(delta=1e-6).upper < EPOCH.epsilon(delta=1e-6).lower


def test_what_is_not_covered() -> None:
    for mechanism in (
        Gaussian(1.0, Relation.REPLACE).on(Allocation(steps=10)),
        EPOCH.under(Relation.REPLACE),
        EPOCH.group(2),
    ):
        with pytest.raises(NotCovered, match="Poisson"):
            mechanism.epsilon(delta=1e-6)


@pytest.mark.parametrize("value", [0, -1, 1.5, math.nan, math.inf, "10", None, True, 10**10])
def test_bad_steps(value: object) -> None:
    with pytest.raises(InvalidParameter, match="steps="):
        Allocation(steps=value)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("value", [0, -1, 1.5, math.nan, "2", None, True, 20])
def test_bad_times(value: object) -> None:
    with pytest.raises(InvalidParameter, match="times="):
        Allocation(steps=10, times=value)  # pyright: ignore[reportArgumentType]


def test_each_record_is_once_in_each_round() -> None:
    scheme, people = Allocation(steps=12, times=3), 500
    batches = scheme.draw(people, SeededSource(3))
    assert len(batches) == 12
    for start in (0, 4, 8):
        members = np.concatenate(batches[start : start + 4])
        assert sorted(members.tolist()) == list(range(people))
    assert all(np.all(np.diff(batch) > 0) for batch in batches)
    assert [len(batch) for batch in scheme.draw(0)] == [0] * 12


def test_places_are_uniform_and_independent() -> None:
    """Chi-square on the place of one record, and on the places of two, over many epochs."""
    scheme, source, tries = Allocation(steps=5), SeededSource(11), 4000
    places = np.zeros((tries, 2), dtype=int)
    for k in range(tries):
        for step, batch in enumerate(scheme.draw(2, source)):
            places[k, batch] = step
    single = np.bincount(places[:, 0], minlength=5)
    joint = np.bincount(5 * places[:, 0] + places[:, 1], minlength=25)
    assert ((single - tries / 5) ** 2 / (tries / 5)).sum() < 23.5  # 1 - 1e-4 quantile, 4 degrees
    assert ((joint - tries / 25) ** 2 / (tries / 25)).sum() < 59.7  # 24 degrees
