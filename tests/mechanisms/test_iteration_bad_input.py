"""Every condition of the iteration theorems is checked at construction: field, rule and value are named."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import hush
from hush import InvalidParameter, NotCovered, Poisson, Relation

NO_NUMBER = ["1", None, True, 1 + 0j, [1.0], {}, math.nan]
LOSS = hush.ConvexLoss(smoothness=2.0, strong_convexity=0.0, lipschitz=1.0)
CURVED = hush.ConvexLoss(smoothness=2.0, strong_convexity=0.5, sensitivity=1.0)

DESCENT = {"loss": LOSS, "records": 10, "iterations": 5, "noise": 1.0, "step_size": 0.5, "diameter": 1.0}
CYCLIC = {"loss": LOSS, "batches": 3, "batch_size": 4, "epochs": 5, "noise": 1.0, "step_size": 0.5, "diameter": 1.0}
PASS = {"loss": LOSS, "records": 10, "noise": 1.0, "step_size": 0.5}
STEPS = {"sensitivities": [1.0, 0.0], "deviations": 1.0, "contractions": 1.0}
CONVEX = {"smoothness": 2.0, "strong_convexity": 0.1, "lipschitz": 1.0, "sensitivity": 1.0}

MAKERS: dict[str, tuple[Callable[..., object], dict[str, Any]]] = {
    "NoisyGradientDescent": (hush.NoisyGradientDescent, DESCENT),
    "CyclicGradientDescent": (hush.CyclicGradientDescent, CYCLIC),
    "OnePassGradientDescent": (hush.OnePassGradientDescent, PASS),
    "NoisyIteration": (hush.NoisyIteration, STEPS),
    "ConvexLoss": (hush.ConvexLoss, CONVEX),
}


def refuses(name: str, field: str, value: object) -> None:
    make, given = MAKERS[name]
    with pytest.raises(InvalidParameter) as caught:
        make(**given | {field: value})
    assert f"{name} needs " in str(caught.value)
    assert f"{field}=" in str(caught.value)


@pytest.mark.parametrize(("name", "field"), [(name, field) for name, (_, given) in MAKERS.items() for field in given])
def test_every_condition_must_be_stated_and_be_a_number(name: str, field: str) -> None:
    make, given = MAKERS[name]
    if (name, field) not in {("ConvexLoss", "lipschitz"), ("ConvexLoss", "sensitivity")}:
        with pytest.raises(TypeError):
            make(**{key: value for key, value in given.items() if key != field})
    for value in NO_NUMBER:
        if not (name == "NoisyIteration" and value == [1.0]):
            refuses(name, field, value)


@pytest.mark.parametrize("name", ["NoisyGradientDescent", "CyclicGradientDescent", "OnePassGradientDescent"])
@pytest.mark.parametrize("value", [1.0000001, 2.0, 0.0, -0.5, math.inf])
def test_step_size_above_two_over_smoothness(name: str, value: float) -> None:
    refuses(name, "step_size", value)
    make, given = MAKERS[name]
    make(**given | {"step_size": 1.0})  # 2/smoothness itself contracts, barely


@pytest.mark.parametrize("value", [-0.1, 2.1, math.inf])
def test_strong_convexity_between_zero_and_smoothness(value: float) -> None:
    refuses("ConvexLoss", "strong_convexity", value)


@pytest.mark.parametrize("field", ["smoothness", "lipschitz", "sensitivity"])
@pytest.mark.parametrize("value", [0.0, -1.0])
def test_constants_are_positive(field: str, value: float) -> None:
    refuses("ConvexLoss", field, value)


def test_a_loss_states_how_far_a_record_moves_it() -> None:
    with pytest.raises(InvalidParameter, match="lipschitz"):
        hush.ConvexLoss(smoothness=1.0, strong_convexity=0.0)
    # the Lipschitz constant is not the sensitivity: replacing a record moves a gradient by up to twice as much
    twice = hush.ConvexLoss(smoothness=2.0, strong_convexity=0.0, sensitivity=2.0)
    by_lipschitz, by_sensitivity = (
        hush.NoisyGradientDescent(**DESCENT | {"loss": loss})  # type: ignore[arg-type]
        for loss in (LOSS, twice)
    )
    assert by_lipschitz.mu() == by_sensitivity.mu()
    assert by_lipschitz.relation is Relation.REPLACE


def test_strongly_convex_is_not_lipschitz_on_an_unbounded_domain() -> None:
    loss = hush.ConvexLoss(smoothness=2.0, strong_convexity=0.5, lipschitz=1.0)
    with pytest.raises(InvalidParameter, match="diameter=inf"):
        hush.NoisyGradientDescent(**DESCENT | {"loss": loss, "diameter": math.inf})  # type: ignore[arg-type]
    hush.NoisyGradientDescent(**DESCENT | {"loss": CURVED, "diameter": math.inf})  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [0, -1, 2.5, 1e16])
def test_counts(value: float) -> None:
    for name, fields in (
        ("NoisyGradientDescent", ("records", "iterations")),
        ("CyclicGradientDescent", ("batches", "batch_size", "epochs")),
        ("OnePassGradientDescent", ("records",)),
    ):
        for field in fields:
            refuses(name, field, value)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("sensitivities", []),
        ("sensitivities", [1.0, -0.1]),
        ("sensitivities", [1.0, math.inf]),
        ("deviations", [1.0]),
        ("deviations", [1.0, 0.0]),
        ("contractions", [1.0, 1.0000001]),
        ("contractions", -0.1),
        ("contractions", [0.5, 0.5, 0.5]),
    ],
)
def test_schedules(field: str, value: object) -> None:
    refuses("NoisyIteration", field, value)


def test_schedules_of_any_kind_are_kept_as_tuples() -> None:
    one = hush.NoisyIteration(sensitivities=np.array([1, 2]), deviations=2, contractions=(1, 0.5))
    assert one == hush.NoisyIteration(sensitivities=[1.0, 2.0], deviations=[2.0, 2.0], contractions=[1.0, 0.5])
    assert hash(one) == hash(one.after(2))


def test_nothing_differs_costs_nothing() -> None:
    still = hush.NoisyIteration(sensitivities=[0, 0], deviations=1, contractions=1)
    assert still.epsilon(delta=0.0).upper == 0
    assert still.renyi(orders=[2, math.inf]).tolist() == [0, 0]
    assert hush.NoisyIteration(sensitivities=[1], deviations=1, contractions=1).epsilon(delta=0.0).upper == math.inf


@pytest.mark.parametrize("value", [0, 11, 1.5, None, "1"])
def test_record_of_a_pass(value: object) -> None:
    run = hush.OnePassGradientDescent(**PASS)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="record="):
        run.record_epsilon(value, delta=1e-6)  # type: ignore[arg-type]


def test_random_stop_of_a_pass_only() -> None:
    with pytest.raises(InvalidParameter, match="run="):
        hush.RandomStop(hush.NoisyGradientDescent(**DESCENT))  # type: ignore[arg-type]


def test_what_has_no_theorem() -> None:
    run = hush.NoisyGradientDescent(**DESCENT)  # type: ignore[arg-type]
    cyclic = hush.CyclicGradientDescent(**CYCLIC)  # type: ignore[arg-type]
    stop = hush.OnePassGradientDescent(**PASS).stopped_at_random()  # type: ignore[arg-type]
    for ask in (
        lambda: cyclic.on(hush.WithoutReplacement(size=12, population=100)),
        lambda: stop.group(2).epsilon(delta=1e-6),
        lambda: run.under(Relation.ADD_REMOVE),
        lambda: run.beside(run),
    ):
        with pytest.raises(NotCovered, match=r"\w+ \w+ \w+"):
            ask()
    with pytest.raises(InvalidParameter, match="any number of records"):
        run.on(Poisson(rate=0.1))
    # no pair, and nothing that attains it; the Rényi curve of the group still bounds it
    huge = hush.NoisyIteration(sensitivities=[1e9], deviations=1e-9, contractions=1)
    for mechanism in (run.group(11), cyclic.group(5), huge):
        bound = mechanism.epsilon(delta=1e-6)
        assert (bound.lower, bound.route) == (0, "Rényi")
        assert 0 < bound.upper < math.inf


@pytest.mark.parametrize("size", [1e-12, 1e-6, 1.0, 1e6, 1e12])
def test_any_size_that_is_accepted_has_an_answer(size: float) -> None:
    loss = hush.ConvexLoss(smoothness=1.0, strong_convexity=0.5, sensitivity=size)
    for diameter in (math.inf, 1e-12, 1e12):
        run = hush.NoisyGradientDescent(
            loss=loss, records=10**6, iterations=10**15, noise=1.0, step_size=1e-12, diameter=diameter
        )
        try:
            bound = run.epsilon(delta=1e-6)
        except NotCovered:
            continue
        assert 0 <= bound.lower <= bound.upper
        assert run.mu()[0] <= run.mu()[1]
