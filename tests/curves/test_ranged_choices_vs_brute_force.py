"""Choices of bounded range against the recursion on a dense grid of t, coins one by one, and an adaptive attack."""

from __future__ import annotations

import math

import numpy as np
import pytest

import hush
from hush.curves.pairs.segment import SegmentPair
from hush.curves.theorems.ranged_choices import RangedChoices, coin, coins, recursion
from hush.mechanisms.neighbours import REMOVED

BEST_COMMON = [  # range, choices, epsilon, delta of coins of the best common t, delta at t = range/2
    (1.0, 2, 0.5, 0.152451906799, 0.152451906799),
    (1.0, 4, 1.0, 0.145253767435, 0.094895111946),
    (0.5, 10, 1.0, 0.064743889938, 0.051832938453),
    (0.1, 30, 0.3, 0.022361775023, 0.021082889261),
]
"""Binomial sums of 13 digits, the maximum over a grid of 2,001 values of t."""


def envelope(bound: float, epsilon: np.ndarray) -> np.ndarray:
    """delta of one choice in closed form: Dong, Durfee, Rogers 2020, Lemma 3.1."""
    inside = (1 - np.exp((np.clip(epsilon, -bound, bound) - bound) / 2)) ** 2 / -math.expm1(-bound)
    return np.where(epsilon <= -bound, -np.expm1(np.minimum(epsilon, 0.0)), np.where(epsilon >= bound, 0.0, inside))


def dense(bound: float, count: int, epsilon: np.ndarray, tried: int = 400) -> np.ndarray:
    """The recursion with t on a grid: every value is attained, so it is below."""
    if count == 1:
        return envelope(bound, epsilon)
    t = np.linspace(0.0, bound, tried + 1)
    up = np.expm1(t - bound) / math.expm1(-bound)
    places = (epsilon[:, None] - t).ravel()
    low, high = (dense(bound, count - 1, p).reshape(len(epsilon), -1) for p in (places, places + bound))
    return (up * low + (1 - up) * high).max(axis=1)


@pytest.mark.parametrize(("bound", "count", "epsilon", "best", "even"), BEST_COMMON)
def test_the_best_common_t_is_attained(bound: float, count: int, epsilon: float, best: float, even: float) -> None:
    found = hush.Exponential(bound).repeat(count).delta(epsilon=epsilon)
    assert found.lower == pytest.approx(best, abs=1e-11)
    assert best <= found.upper <= 1.03 * best
    assert math.exp(coins(bound, count, bound / 2).log_delta(epsilon)[1]) == pytest.approx(even, abs=1e-11)


@pytest.mark.parametrize("bound", [0.05, 0.7, 3.0])
@pytest.mark.parametrize("count", [2, 3])
def test_recursion_is_above_a_dense_grid_and_near_it(bound: float, count: int) -> None:
    epsilons = np.array([0.0, 0.15, 0.5, 0.9]) * bound * count * 0.7
    truth = dense(bound, count, epsilons, 400 if count == 2 else 60)
    table = recursion(bound, count, 400)
    for epsilon, delta in zip(epsilons.tolist(), truth.tolist(), strict=True):
        high = math.exp(table.log_delta(epsilon)[1])
        assert delta <= high <= delta * (1 + 2e-3) + 1e-6


def test_finer_cells_lower_the_upper_end() -> None:
    values = [recursion(1.0, 5, cells).log_delta(1.2)[1] for cells in (25, 50, 100, 200)]
    assert values == sorted(values, reverse=True)
    assert values[-2] - values[-1] < 1e-4


def test_beside_another_release_the_product_holds_for_an_attacker_who_adapts() -> None:
    """Randomized response of 0.3 first; then one choice of range 1, its t chosen by the answer: 0.19558 at 0.2.

    To start the recursion from the profile of the response would give 0.17194.
    """
    chance = 1 / (1 + math.exp(-0.3))
    attack = chance * float(envelope(1.0, np.array([0.2 - 0.3]))[0]) + (1 - chance) * float(
        envelope(1.0, np.array([0.2 + 0.3]))[0]
    )
    assert attack == pytest.approx(0.19558, abs=1e-5)
    assert hush.PureDP(0.3).then(hush.Exponential(1.0)).delta(epsilon=0.2).upper >= attack


@pytest.mark.parametrize("count", [2, 7])
def test_other_choices_stay_between_what_coins_attain_and_the_envelope(count: int) -> None:
    """With Gaussian noise beside them: above coins of any t, below the envelope's product."""
    found = hush.Exponential(0.5).repeat(count).then(hush.Gaussian(1.0)).delta(epsilon=1.0)
    noise = hush.Gaussian(1.0).evidence(REMOVED).pair
    for share in (0.3, 0.5, 0.8):
        pair = hush.FromPair(coin(0.5, share), coin(0.5, share).swap())
        attained = pair.repeat(count).then(hush.Gaussian(1.0)).delta(epsilon=1.0)
        assert attained.lower <= found.upper
    envelopes = hush.FromPair(SegmentPair.bounded_range(0.5), SegmentPair.bounded_range(0.5))
    above = envelopes.repeat(count).then(hush.FromPair(noise, noise)).delta(epsilon=1.0)
    assert found.lower < found.upper <= above.upper * (1 + 1e-4)
    assert found.upper - found.lower < 0.05 * found.upper


@pytest.mark.parametrize(("bound", "count"), [(1.0, 3), (0.1, 40), (20.0, 3)])
def test_epsilon_inverts_delta(bound: float, count: int) -> None:
    choices = hush.Exponential(bound).repeat(count)
    found = choices.epsilon(delta=1e-4)
    assert found.upper <= bound * count
    assert choices.delta(epsilon=found.upper).lower <= 1e-4 * (1 + 1e-6)
    assert choices.delta(epsilon=found.lower * (1 - 1e-6)).upper >= 1e-4 * (1 - 1e-6)


def test_more_choices_than_a_block() -> None:
    """300 in two blocks is above 256 in one, and both near what coins attain."""
    few, many = (RangedChoices(0.1, count).epsilon(math.log(1e-6)) for count in (256, 300))
    assert few[1] < many[1]
    for low, high in (few, many):
        assert low <= high <= 1.01 * low
