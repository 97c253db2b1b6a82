"""Bounded noise on the count that decides which unknown keys are shown, against sums over all that can come out."""

from __future__ import annotations

import math

import numpy as np
import pytest

import hush
from hush import releases
from hush.randomness.source import SeededSource
from hush.releases.group_by.noisy_parts.bounded_noise import add_bounded, bound_for, chance_of_bound, surely_within


def law(epsilon: float, bound: int) -> dict[int, float]:
    """The chances of the noise, by their definition."""
    weights = {x: math.exp(-epsilon * abs(x)) for x in range(-bound, bound + 1)}
    total = math.fsum(weights.values())
    return {x: weight / total for x, weight in weights.items()}


def shown(epsilon: float, bound: int, users: int) -> dict[int | None, float]:
    """What is seen of a group of so many users: its noisy count from the threshold on, or nothing."""
    if users == 0:
        return {None: 1.0}
    found: dict[int | None, float] = {None: 0.0}
    for x, chance in law(epsilon, bound).items():
        seen = users + x if users + x >= bound + 1 else None
        found[seen] = found.get(seen, 0.0) + chance
    return found


def test_reference_values() -> None:
    assert bound_for(1.0, 1e-5) == 11
    assert chance_of_bound(1.0, 11) == pytest.approx(7.7182118276e-6, rel=1e-10)
    assert 1 - shown(1.0, 11, 12)[None] == pytest.approx(0.7310606544, abs=1e-10)


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-5), (0.3, 1e-3), (2.5, 1e-9), (0.05, 0.01)])
def test_all_neighbours_vs_the_stated_guarantee(epsilon: float, delta: float) -> None:
    bound = bound_for(epsilon, delta)
    chance = law(epsilon, bound)[bound]
    assert chance <= chance_of_bound(epsilon, bound) <= delta < law(epsilon, bound - 1)[bound - 1]
    claim = hush.UnknownKeys(
        hush.ApproxDP(epsilon, chance_of_bound(epsilon, bound)), 1, chance_of_bound(epsilon, bound)
    )
    for at in (0.0, epsilon / 2, epsilon, 2 * epsilon):
        stated, worst = claim.delta(epsilon=at).upper, 0.0
        for users in range(2 * bound + 3):
            less, more = shown(epsilon, bound, users), shown(epsilon, bound, users + 1)
            for one, other in ((less, more), (more, less)):
                apart = math.fsum(max(p - math.exp(at) * other.get(seen, 0.0), 0.0) for seen, p in one.items())
                worst = max(worst, apart)
        assert worst <= stated + 1e-15  # the chances are sums of floats
        assert worst >= stated * (1 - 1e-6)  # and it is attained


def test_draws_vs_the_law() -> None:
    drawn = add_bounded(np.full(200_000, 7), 0.5, 3, SeededSource(3)) - 7
    for x, chance in law(0.5, 3).items():
        found = int(np.count_nonzero(drawn == x))
        assert abs(found - 200_000 * chance) < 5 * math.sqrt(200_000 * chance)
    assert np.abs(drawn).max() == 3


@pytest.mark.parametrize("sure", [0.5, 0.9, 0.99, 1 - 1e-5])
def test_how_far_it_reaches(sure: float) -> None:
    chances, reach = law(0.7, 20), surely_within(0.7, 20, sure)
    within = lambda size: math.fsum(chance for x, chance in chances.items() if abs(x) <= size)  # noqa: E731
    assert within(reach) >= sure > within(reach - 1)


def test_it_is_the_default_for_users_in_one_group() -> None:
    asked = {"people": releases.Users()}
    given = {"keys": releases.Unknown("g"), "ask": asked, "epsilon": 1.0, "delta": 1e-5, "unit": "who"}
    one = releases.GroupBy(**given, contributions=releases.AtMost(groups=1, each=1))
    assert one.plan.levels[0].bound == 11 and one.plan.threshold == 12
    assert one.mechanism.epsilon(delta=1e-5).upper <= 1
    assert releases.GroupBy(**given, contributions=releases.AtMost(groups=2, each=1)).plan.levels[0].bound is None
    assert releases.GroupBy(**given, contributions=one.contributions, noise="laplace").plan.levels[0].bound is None
    data = {"g": ["a"] * 30 + ["b"], "who": list(range(31))}
    for seed in range(20):
        found = one.release(data, source=SeededSource(seed)).value
        assert found.groups in ((("a",),), ()) and all(19 <= value <= 41 for value in found.column("people").values)
