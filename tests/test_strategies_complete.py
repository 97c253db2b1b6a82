"""Every mechanism that can be made is reachable by the strategies, so the laws are tried on it."""

from __future__ import annotations

import inspect

import pytest
from hypothesis import Phase, find, settings

import hush
from hush.mechanisms.scheme import Scheme
from tests.source import concrete
from tests.strategies import any_expression, parts_of

# Enough tries that every branch of the strategy is met; the seed is fixed, so this cannot flicker.
TRIES = settings(max_examples=5_000, deadline=None, derandomize=True, database=None, phases=[Phase.generate])


@pytest.mark.parametrize("kind", [*concrete(hush.Mechanism), *concrete(Scheme)], ids=lambda kind: kind.__name__)
def test_reachable(kind: type) -> None:
    found = find(any_expression(2), lambda m: any(type(part) is kind for part in parts_of(m)), settings=TRIES)
    assert any(type(part) is kind for part in parts_of(found))


def test_every_exported_mechanism_is_final() -> None:
    """Wrap a mechanism, don't subclass it: what is exported is either abstract or has no subclass."""
    for value in vars(hush).values():
        if inspect.isclass(value) and issubclass(value, hush.Mechanism) and not inspect.isabstract(value):
            assert value in concrete(hush.Mechanism), value


def test_points_of_several_orders_and_of_one_are_both_drawn() -> None:
    """A stated guarantee is drawn with one point and with several."""
    sizes = {1, 2, 3}
    for size in sizes:
        find(
            any_expression(1),
            lambda m, size=size: any(isinstance(p, hush.ApproxDP) and len(p.points) == size for p in parts_of(m)),
            settings=TRIES,
        )
