"""Mechanisms inside each other: as many as may be built can be asked, and one more is refused by name."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import hush
from hush import InvalidParameter, Mechanism, Poisson, Relation
from hush.app.expression import parse
from hush.mechanisms.mechanism import DEEPEST

LAPLACE = hush.Laplace(3.0)
STEPS: dict[str, list[Callable[[Mechanism], Mechanism]]] = {
    "samples": [lambda m: m.on(Poisson(rate=0.9))],
    "repeated samples": [lambda m: m.on(Poisson(rate=0.9)), lambda m: m.repeat(2)],
    "sequences": [lambda m: m.on(Poisson(rate=0.9)), lambda m: m.then(LAPLACE)],
    "side by side": [lambda m: m.beside(LAPLACE), lambda m: m.then(LAPLACE)],
    "groups": [lambda m: m.on(Poisson(rate=0.9)), lambda m: m.group(2)],
    "relations": [lambda m: m.on(Poisson(rate=0.9)), lambda m: m.repeat(2), lambda m: m.under(Relation.REPLACE)],
}


def nested(steps: list[Callable[[Mechanism], Mechanism]], depth: int) -> Mechanism:
    mechanism: Mechanism = hush.PureDP(0.1)
    for place in range(10 * depth):
        if mechanism.depth == depth:
            break
        mechanism = steps[place % len(steps)](mechanism)
    return mechanism


@pytest.mark.parametrize("name", STEPS)
def test_the_deepest_can_be_kept(name: str) -> None:
    mechanism = nested(STEPS[name], DEEPEST)
    assert mechanism.depth == DEEPEST
    again = hush.from_json(hush.to_json(mechanism))
    assert again == mechanism
    assert hash(again) == hash(mechanism)
    assert str(mechanism)
    assert mechanism.derivation().inner


@pytest.mark.parametrize("name", STEPS)
def test_one_more_is_refused(name: str) -> None:
    with pytest.raises(InvalidParameter, match=f"at most {DEEPEST} mechanisms inside each other"):
        nested(STEPS[name], DEEPEST + 1)


def test_a_long_expression_is_answered_or_refused() -> None:
    assert parse("pure .1" + " | poisson .9" * (DEEPEST - 1)).epsilon(delta=1e-5).upper < 0.1
    with pytest.raises(InvalidParameter, match="inside each other"):
        parse("pure .1" + " | poisson .9" * 700)


@pytest.mark.parametrize("levels", [2, 8])
def test_samples_of_samples_are_answered(levels: int) -> None:
    """Each level is a table of the one inside; without charges for looking at it the work grows with each."""
    found = parse("gaussian 1" + " | poisson .5 | repeat 2" * levels).epsilon(delta=1e-5)
    assert found.lower <= found.upper
    assert found.upper > 0
