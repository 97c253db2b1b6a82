"""True delta of analysts who choose every release after seeing the last answer, by enumeration, against the budget."""

from __future__ import annotations

import math
import random
from functools import cache

import pytest

import hush
from hush.ledger import (
    ApproximateZCDPFilter,
    Filter,
    GDPFilter,
    MenuFilter,
    MixtureFilter,
    PureFilter,
    RenyiFilter,
    ZCDPFilter,
)
from tests.ledger.games import (
    DELTA,
    EPSILON,
    Move,
    at_loss,
    leaves,
    library,
    mechanism,
    move,
    random_play,
    scripted_play,
    true_delta,
)

ROUNDING = 1 + 1e-9


def largest(make: object, low: float, high: float) -> Filter:
    """The filter with the largest parameter that promises EPSILON at DELTA."""
    for _ in range(40):
        middle = math.sqrt(low * high)
        good = make(middle).promised(DELTA) <= EPSILON  # type: ignore[operator]
        low, high = (middle, high) if good else (low, middle)
    return make(low)  # type: ignore[operator]


@cache
def filters() -> dict[str, Filter]:
    return {
        "fixed order": RenyiFilter(EPSILON, DELTA),
        "mixture": MixtureFilter(EPSILON, DELTA),
        "zCDP": largest(ZCDPFilter, 1e-3, 1e2),
        "GDP": largest(GDPFilter, 1e-2, 1e2),
        "approximate zCDP": largest(lambda rho: ApproximateZCDPFilter(rho, DELTA / 2), 1e-3, 1e2),
    }


@cache
def moves_of(name: str) -> list[Move]:
    return library(filters()[name], 40, seed=1)


def worst(name: str, games: range, depth: int) -> float:
    return max(random_play(filters()[name], moves_of(name), seed, depth) for seed in games)


@pytest.mark.parametrize("name", filters())
def test_random_strategies_stay_within_the_budget(name: str) -> None:
    games = {"fixed order": 10_000, "mixture": 300}
    assert worst(name, range(games.get(name, 1000)), depth=4) <= DELTA * ROUNDING


@pytest.mark.slow
@pytest.mark.parametrize("name", filters())
def test_ten_thousand_strategies_stay_within_the_budget(name: str) -> None:
    assert worst(name, range(10_000, 20_000), depth=4) <= DELTA * ROUNDING


def test_the_game_is_sharp() -> None:
    """Some strategy comes close to the budget: a filter that admitted a little more would be seen."""
    assert worst("fixed order", range(1000), depth=4) > 0.6 * DELTA
    assert worst("mixture", range(100), depth=4) > 0.4 * DELTA


def test_pure_strategies() -> None:
    filter = PureFilter(EPSILON)
    moves = [found for found in library(filter, 40, seed=2) if filter.admits(found.cost)]
    assert len(moves) > 10
    assert max(random_play(filter, moves, seed, 4) for seed in range(1000)) <= 1e-12


def test_a_menu_covers_every_choice() -> None:
    pairs = [(0.3, 0.15), (0.02, 0.004), (0.6, 0.5)]
    filter = MenuFilter([mechanism(p, q) for p, q in pairs], times=3)
    moves = [move(filter, p, q) for p, q in pairs]
    promised = filter.mechanism.delta(epsilon=EPSILON).upper
    found = max(random_play_of(filter, moves, seed) for seed in range(1000))
    assert 0.2 * promised < found <= promised * ROUNDING
    with pytest.raises(hush.NotCovered, match="not on the menu"):
        filter.cost(mechanism(0.3, 0.14))


def random_play_of(filter: Filter, moves: list[Move], seed: int) -> float:
    drawn = random.Random(seed)
    return true_delta(list(leaves(filter, lambda *_: drawn.sample(moves, len(moves)), 5)), EPSILON)


# -- the two false rules -----------------------------------------------------------------------------------------


def false_rules(filter: Filter) -> dict[str, tuple[Move, tuple[list[Move], list[Move]]]]:
    """One two-way choice each; the whole has about twice the delta of the budget."""
    first = move(filter, 0.06176, 0.04721)
    return {
        # each path: some order is within its own budget B_a(delta), 20 on one and 6 on the other
        "some order": (first, ([at_loss(filter, 0.217, 1.8)], [at_loss(filter, 0.0049, 2.2)])),
        # each path: the exact composition of what ran on it is (EPSILON, DELTA)-DP
        "natural": (first, ([at_loss(filter, natural_plans()[0], 1.8)], [at_loss(filter, natural_plans()[1], 2.2)])),
    }


def plan_delta(p: float, loss: float) -> float:
    """Of the first move and then this one, whatever came out: a plan, by enumeration."""
    q = p * math.exp(-loss)
    first, then = ((0.06176, 0.04721), (0.93824, 0.95279)), ((p, q), (1 - p, 1 - q))
    return true_delta([(a * c, b * d) for a, b in first for c, d in then], EPSILON)


def largest_plan(loss: float) -> float:
    low, high = 1e-6, 0.5
    for _ in range(40):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if plan_delta(middle, loss) <= DELTA else (low, middle)
    return low


@cache
def natural_plans() -> tuple[float, float]:
    """The largest probabilities at two losses that the exact composition allows after the first move."""
    return largest_plan(1.8), largest_plan(2.2)


def test_the_false_rules_are_false() -> None:
    """Each path passes the rule, and the analyst who chooses between them exceeds the budget by two thirds and more."""
    everything = PureFilter(700.0)
    for name, (first, after) in false_rules(everything).items():
        found, went_on = scripted_play(everything, first, after)
        assert went_on == 2
        assert found > 1.6 * DELTA, name
    assert scripted_play(everything, *false_rules(everything)["some order"])[0] == pytest.approx(1.664e-3, rel=1e-3)
    for p, loss in zip(natural_plans(), (1.8, 2.2), strict=True):
        whole = mechanism(0.06176, 0.04721).then(mechanism(p, p * math.exp(-loss)))
        assert whole.delta(epsilon=EPSILON).lower <= plan_delta(p, loss) * ROUNDING <= DELTA * ROUNDING
    assert divergence(0.217, 1.8, 20) <= 1.84540 and divergence(0.0049, 2.2, 6) <= 1.15912


def divergence(p: float, loss: float, order: float) -> float:
    whole = mechanism(0.06176, 0.04721).then(mechanism(p, p * math.exp(-loss)))
    return float(whole.renyi(orders=[order])[0])


@pytest.mark.parametrize("rule", ["some order", "natural"])
@pytest.mark.parametrize("name", filters())
def test_no_filter_follows_a_false_rule(name: str, rule: str) -> None:
    check_false_rule(filters()[name], rule)


def check_false_rule(filter: Filter, rule: str) -> None:
    found, went_on = scripted_play(filter, *false_rules(filter)[rule])
    assert found <= DELTA * ROUNDING
    assert went_on < 2


@pytest.mark.parametrize("rule", ["some order", "natural"])
def test_the_fixed_order_refuses_one_branch(rule: str) -> None:
    """Also the entry of a mutant: see tests/mutants."""
    check_false_rule(RenyiFilter(EPSILON, DELTA), rule)
