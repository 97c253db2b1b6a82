"""The planner of the page: should I sample, which mechanism, which batch size; before any data is seen."""

from __future__ import annotations

from typing import Any

import hush
from hush.app.public_models import named_model
from hush.app.service.questions.attack_pictures import drawn
from hush.app.service.questions.question_fields import number, numbers, one_of, text_or

STATISTICS = {"mean": hush.plan.mean, "median": hush.plan.median}
RELATIONS = {relation.value: relation for relation in (hush.Relation.ADD_REMOVE, hush.Relation.REPLACE)}


def plan(given: dict[str, Any]) -> dict[str, Any]:
    """Expected error against the sampling rate, for every mechanism; and the answer in a sentence."""
    bounds, model = (number(given, "low"), number(given, "high")), text_or(given, "model", "")
    found = one_of(given, "statistic", STATISTICS)(
        population=number(given, "population"),  # type: ignore[arg-type]
        bounds=bounds,
        epsilon=number(given, "epsilon"),
        delta=number(given, "delta"),
        model=named_model(model, bounds) if model else None,
        relation=one_of({"relation": hush.Relation.REPLACE.value} | given, "relation", RELATIONS),
        queries=number(given, "queries"),  # type: ignore[arg-type]
    )
    told = {"answer": found.answer, "hints": list(found.hints), "sample": found.sample}
    return {"chart": drawn(found.chart()), "table": found.table()} | told


def plan_training(given: dict[str, Any]) -> dict[str, Any]:
    """Noise on a gradient against the batch size, each with the least noise that meets the target."""
    found = hush.plan.training(
        examples=number(given, "examples"),  # type: ignore[arg-type]
        batch_sizes=numbers(given, "batch_sizes"),  # type: ignore[arg-type]
        epochs=numbers(given, "epochs"),
        epsilon=number(given, "epsilon"),
        delta=number(given, "delta"),
    )
    return {"chart": drawn(found.chart()), "table": found.table(), "hints": list(found.hints)}
