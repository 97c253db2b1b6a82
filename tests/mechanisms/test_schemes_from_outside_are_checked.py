"""What a scheme of a user draws is held against what it is accounted for; no claim rests on its goodwill."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest

import hush
from hush import InvalidParameter, Relation
from hush.app.expression import parse

REPLACE = Relation.REPLACE


@dataclass(frozen=True)
class TenOf(hush.OneSample):
    """Ten of so many records, by hush's own theorem; its draw does not look at the number it is given."""

    population: int = field()
    covers = REPLACE

    @property
    def same(self) -> hush.WithoutReplacement:
        return hush.WithoutReplacement(10, self.population)

    @property
    def drawn(self) -> int | None:
        return 10

    @classmethod
    def for_training(cls, *, examples: int, batch_size: int, epochs: float) -> TenOf:
        return cls(examples)

    def draw(self, population: int, source: hush.Source | None = None) -> np.ndarray:
        return np.arange(10)

    def evidence(self, inner: hush.Mechanism, neighbours: hush.Neighbours) -> hush.Evidence:
        return self.same.evidence(inner, neighbours)

    def listed(self, records: int, least: float) -> tuple[tuple[float, ...], float]:
        return self.same.listed(records, least)

    def theorem(self, relation: Relation) -> tuple[str, str]:
        return self.same.theorem(relation)

    def __str__(self) -> str:
        return f"ten of {self.population}"


def test_a_population_is_enforced() -> None:
    step = hush.Laplace(1.0, REPLACE).on(TenOf(1000))
    with pytest.raises(InvalidParameter, match="as many records as it draws"):
        step.on(hush.WithoutReplacement(20, 1000))
    query = hush.releases.Median(bounds=(0.0, 1.0), epsilon=1.0, relation=REPLACE).on(TenOf(1000))
    with pytest.raises(InvalidParameter, match="accounted for"):
        query.release(np.zeros(12))
    plan = hush.train_plan(examples=1000, batch_size=10, epochs=1, noise_multiplier=1.0, delta=1e-5, scheme=TenOf)
    with pytest.raises(InvalidParameter, match="planned number of examples"):
        plan.batches(20)


@dataclass(frozen=True)
class Odd(hush.Scheme):
    """Draws whatever it is told to."""

    what: str
    steps = 2

    def applied(self, mechanism: hush.Mechanism) -> hush.Mechanism:
        return mechanism.repeat(2)

    def draw(self, population: int, source: hush.Source | None = None) -> Any:
        return DRAWN[self.what]()

    def __str__(self) -> str:
        return self.what


FINE = np.arange(3)
DRAWN: dict[str, Callable[[], Any]] = {
    "too many batches": lambda: [FINE] * 5,
    "too few": lambda: [FINE],
    "records that are not there": lambda: [FINE, np.array([105])],
    "records from the end": lambda: [FINE, np.array([-1])],
    "nested": lambda: [FINE, np.array([[1], [2]])],
    "floats": lambda: [FINE, np.array([0.7])],
    "a mask": lambda: [FINE, np.array([True, False])],
}


@pytest.mark.parametrize("what", DRAWN)
def test_what_is_drawn_is_checked(what: str) -> None:
    with pytest.raises(InvalidParameter, match="as many batches|whole numbers of records"):
        Odd(what).batches(100, hush.SeededSource(1))


def named(noise: float) -> type[hush.Mechanism]:
    @dataclass(frozen=True)
    class TwinNoise(hush.Leaf):
        scale: float
        relation: Relation = Relation.ADD_REMOVE

        def at(self, removed: int, added: int) -> hush.Pair:
            return hush.Laplace(self.scale * noise).at(removed, added)

        def __str__(self) -> str:
            return "a twin"

    return TwinNoise


def test_a_name_that_two_classes_have_means_neither() -> None:
    one = named(1.0)
    text = hush.to_json(one(1.0))  # type: ignore[call-arg]
    assert hush.from_json(text).epsilon(delta=0).upper == 1
    other = named(10.0)
    for read in (lambda: hush.from_json(text), lambda: parse("twin-noise 1")):
        with pytest.raises(InvalidParameter, match="one class alone"):
            read()
    assert one is not other


def test_a_supplied_pair_states_no_more_than_rounding() -> None:
    pair = replace(hush.FinitePair.of([0.7, 0.3], [0.3, 0.7]), blur=1.0)
    with pytest.raises(InvalidParameter, match="blur=1"):
        hush.FromPair(pair, pair.swap())
    assert pair != replace(pair, blur=0.0)


@pytest.mark.parametrize(
    "values", [["SECRET777", 0.5], [{"SECRET777": 1}], [0.5, [0.5]], [10**400], ["0.7"], b"SECRET777"]
)
@pytest.mark.parametrize(
    "randomizer",
    [
        hush.LaplaceReport(1.0),
        hush.GaussianReport(1.0),
        hush.KaryResponse(epsilon=1.0),
        hush.UnaryEncoding(epsilon=1.0, choices=3),
    ],
    ids=str,
)
def test_values_of_people_are_not_told(randomizer: Any, values: Any) -> None:
    with pytest.raises(InvalidParameter) as told:
        randomizer.encode(values)
    assert "SECRET" not in str(told.value)
    assert "777" not in str(told.value)


def test_nobody_reports_nothing() -> None:
    assert len(hush.KaryResponse(epsilon=1.0).encode([])) == len(hush.LaplaceReport(1.0).encode([])) == 0


@pytest.mark.parametrize("schemes", [(1,), hush.Poisson, (hush.UnequalPoisson,)])
def test_schemes_that_cannot_be_compared_are_named(schemes: Any) -> None:
    with pytest.raises(InvalidParameter):
        hush.compare_schemes(noise_multiplier=1.0, steps=10, delta=1e-5, schemes=schemes)
