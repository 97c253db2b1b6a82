"""The planner of the page: should I sample, which mechanism, which batch size; before any data is seen."""

from __future__ import annotations

from typing import Any

import hush
from hush.app.public_models import named_model
from hush.app.service.questions.attack_pictures import drawn
from hush.app.service.questions.question_fields import number, numbers, text
from hush.errors import InvalidParameter

STATISTICS = {"mean": hush.plan.mean, "median": hush.plan.median}


def plan(given: dict[str, Any]) -> dict[str, Any]:
    """Expected error against the sampling rate, for every mechanism; and the answer in a sentence."""
    statistic, bounds = text(given, "statistic"), (number(given, "low"), number(given, "high"))
    if statistic not in STATISTICS:
        raise InvalidParameter("A plan", "mean or median", statistic=statistic)
    relations = {relation.value: relation for relation in (hush.Relation.ADD_REMOVE, hush.Relation.REPLACE)}
    found = STATISTICS[statistic](
        population=number(given, "population"),  # type: ignore[arg-type]
        bounds=bounds,
        epsilon=number(given, "epsilon"),
        delta=number(given, "delta"),
        model=named_model(given["model"], bounds) if given.get("model") else None,
        relation=relations[given.get("relation", "replace")],
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
