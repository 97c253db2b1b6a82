"""`hush plan`: expected errors before any data is seen."""

from __future__ import annotations

import json
import math
from argparse import Namespace
from dataclasses import asdict

import numpy as np

import hush
from hush.app.pictures import saved
from hush.errors import InvalidParameter

FAMILIES = {
    "normal": ("MEAN", "SD"),
    "lognormal": ("MU", "SIGMA"),
    "uniform": ("LOW", "HIGH"),
    "exponential": ("MEAN",),
    "beta": ("A", "B"),
}
"""Public models that can be named, and their numbers."""
RELATIONS = {"replace": hush.Relation.REPLACE, "add-remove": hush.Relation.ADD_REMOVE}
NEEDED = {
    "mean": ("population", "bounds"),
    "median": ("population", "bounds"),
    "quantile": ("population", "bounds", "p"),
    "training": ("examples", "batch_sizes", "epochs"),
}


def answer(arguments: Namespace) -> str:
    """The table and the answer, or their JSON."""
    missing = [_option(name) for name in NEEDED[arguments.statistic] if getattr(arguments, name) is None]
    if missing:
        raise InvalidParameter(f"hush plan {arguments.statistic}", "all that it depends on", missing=missing)
    surplus = [
        _option(name)
        for name in dict.fromkeys(name for names in NEEDED.values() for name in names)
        if name not in NEEDED[arguments.statistic] and getattr(arguments, name) is not None
    ]
    if surplus:
        raise InvalidParameter(f"hush plan {arguments.statistic}", "no option of another plan", given=surplus)
    found = _training(arguments) if arguments.statistic == "training" else _release(arguments)
    if arguments.out:
        saved(found.chart(), arguments.out)
    return json.dumps(_document(found), allow_nan=False) if arguments.json else str(found)


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _training(arguments: Namespace) -> hush.TrainingPlans:
    return hush.plan.training(
        examples=arguments.examples,
        batch_sizes=arguments.batch_sizes,
        epochs=arguments.epochs,
        epsilon=arguments.epsilon,
        delta=arguments.delta,
    )


def _release(arguments: Namespace) -> hush.Plan:
    shared = {
        "population": arguments.population,
        "bounds": tuple(arguments.bounds),
        "epsilon": arguments.epsilon,
        "delta": arguments.delta,
        "model": _model(arguments),
        "relation": RELATIONS[arguments.relation],
        "rates": arguments.rates,
        "queries": arguments.queries,
    }
    if arguments.statistic == "quantile":
        return hush.plan.quantile(p=arguments.p, **shared)
    return hush.plan.mean(**shared) if arguments.statistic == "mean" else hush.plan.median(**shared)


def _model(arguments: Namespace) -> object:
    if arguments.model and arguments.public_pilot:
        raise InvalidParameter("hush plan", "--model or --public-pilot, not both", model=arguments.model)
    if arguments.public_pilot:
        try:
            return hush.PublicPilot(np.loadtxt(arguments.public_pilot, ndmin=1))
        except (OSError, ValueError) as reason:
            raise InvalidParameter(
                "hush plan", "a file of numbers, one a line", public_pilot=arguments.public_pilot
            ) from reason
    return _named(arguments.model, arguments.bounds) if arguments.model else None


def _named(text: str, bounds: tuple[float, float]) -> object:
    """A model in words: `lognormal 5 0.5`."""
    from scipy import stats

    family, *words = text.split()
    rule = "one of: " + ", ".join(f"{name} {' '.join(numbers)}" for name, numbers in FAMILIES.items())
    try:
        first, *rest = (float(word) for word in words)
    except ValueError:
        raise InvalidParameter("A model", rule, model=text) from None
    if len(words) != len(FAMILIES.get(family, ())) or not all(map(math.isfinite, (first, *rest))):
        raise InvalidParameter("A model", rule, model=text)
    if family == "normal":
        return stats.norm(first, rest[0])
    if family == "lognormal":
        return stats.lognorm(rest[0], scale=math.exp(min(first, 700.0)))
    if family == "uniform":
        return stats.uniform(first, rest[0] - first)
    if family == "exponential":
        return stats.expon(scale=first)
    return stats.beta(first, rest[0], loc=bounds[0], scale=bounds[1] - bounds[0])


def _document(found: hush.Plan | hush.TrainingPlans) -> dict[str, object]:
    rows = [asdict(row) for row in found.rows]
    shared: dict[str, object] = {"epsilon": found.epsilon, "delta": found.delta, "rows": rows, "hints": found.hints}
    if isinstance(found, hush.TrainingPlans):
        return {"examples": found.examples, **shared}
    about = {
        "statistic": found.statistic,
        "population": found.population,
        "bounds": found.bounds,
        "relation": found.relation.value,
        "model": found.model,
        "queries": found.queries,
        "sample": found.sample,
        "answer": found.answer,
        "best": asdict(found.best),
    }
    return about | shared
