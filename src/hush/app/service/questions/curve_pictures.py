"""Pictures of what sampling does: epsilon of every scheme at some epochs, and the Rényi curve with every route."""

from __future__ import annotations

import math
from typing import Any

import hush
from hush.app.expression import parse
from hush.app.service.questions.attack_pictures import drawn
from hush.app.service.questions.question_fields import number, runs
from hush.checks import delta_in_range
from hush.questions.routes_compared import compare, why
from hush.questions.schemes_compared import compare_schemes


def schemes(given: dict[str, Any]) -> dict[str, Any]:
    """One training run under every way to draw its batches, as `hush compare` gives it."""
    found = compare_schemes(
        noise_multiplier=number(given, "noise"),
        steps=number(given, "steps"),  # type: ignore[arg-type]
        epochs=number(given, "epochs"),  # type: ignore[arg-type]
        delta=number(given, "delta"),
    )
    rows = [
        {"name": row.name, "compared": row.mechanism.compared, "why": row.reason}
        | ({"lower": row.bound.lower, "upper": row.bound.upper} if row.bound else {})
        for row in found.rows
    ]
    return {"epochs": found.epochs, "rows": rows, "mistake": found.mistake}


def renyi(given: dict[str, Any]) -> dict[str, Any]:
    """The Rényi curve of each run, and what every route says of the first."""
    named = {name: parse(said) for name, said in runs(given)}
    return {"chart": drawn(hush.chart.renyi(named))} | routes(next(iter(named.values())), number(given, "delta"))


def routes(mechanism: hush.Mechanism, delta: float) -> dict[str, Any]:
    """What each way to compute epsilon says, and why they differ."""
    delta = delta_in_range("The question", delta)
    rows = compare(mechanism, math.log(delta) if delta > 0 else -math.inf)
    return {"routes": [vars(row) | {"why": why(row.route)} for row in rows]}
