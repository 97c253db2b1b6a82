"""`hush plan`: expected errors before any data is seen."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Any

import hush
from hush.app import output
from hush.app.options import PICTURE, add_examples, add_json
from hush.app.public_models import named_model
from hush.errors import InvalidParameter

NEEDED = {
    "mean": ("population", "bounds"),
    "median": ("population", "bounds"),
    "quantile": ("population", "bounds", "p"),
    "training": ("examples", "batch_sizes", "epochs"),
}
"""What can be planned, and the options without which it makes no sense."""
ABOUT = """\
a model is public: "normal MEAN SD", "lognormal MU SIGMA", "uniform LOW HIGH", "exponential MEAN", "beta A B" (between
the bounds), or --public-pilot, a file of public numbers; without one, the plan is for the worst case.
"""


def add(parser: ArgumentParser) -> None:
    """The options."""
    parser.add_argument("statistic", choices=tuple(NEEDED), help="what to plan")
    parser.add_argument("--population", type=float, help="number of records")
    parser.add_argument("--bounds", type=float, nargs=2, metavar=("LOW", "HIGH"), help="public bounds of the values")
    parser.add_argument("--epsilon", type=float, required=True)
    parser.add_argument("--delta", type=float, default=0.0, help="(0)")
    parser.add_argument("--p", type=float, help="which quantile")
    parser.add_argument("--model", help="a public distribution of the values")
    parser.add_argument("--public-pilot", metavar="FILE", help="public numbers to plan with, one per line")
    parser.add_argument(
        "--relation",
        choices=("replace", "add-remove"),
        default="replace",
        help="replace: samples without replacement; add-remove: Poisson sampling (replace)",
    )
    parser.add_argument("--rates", type=float, nargs="+", help="sampling rates to try")
    parser.add_argument("--queries", type=float, default=1, help="how many such releases share the budget (1)")
    parser.add_argument("--examples", type=float, help="training: number of examples")
    parser.add_argument("--batch-sizes", type=float, nargs="+", help="training: expected batch sizes")
    parser.add_argument("--epochs", type=float, nargs="+", help="training: passes over the data")
    parser.add_argument("--out", help=PICTURE)
    add_json(parser)
    add_examples(
        parser,
        'hush plan mean --population 10001 --bounds 0 2000 --epsilon 0.5 --model "lognormal 5 0.5"',
        'hush plan median --population 10001 --bounds 0 2000 --epsilon 0.1 --model "lognormal 5 0.5" --out plan.svg',
        "hush plan quantile --p 0.9 --population 100000 --bounds 0 1 --epsilon 1 --public-pilot last_year.txt",
        "hush plan mean --population 10001 --bounds 0 1 --epsilon 1 --relation add-remove --queries 100 --delta 1e-6",
        "hush plan training --examples 60000 --batch-sizes 64 256 1024 --epochs 10 --epsilon 2 --delta 1e-5",
        more=ABOUT,
    )


def run(arguments: Namespace) -> str:
    """The table and the answer, or their JSON."""
    _check(arguments)
    found = _training(arguments) if arguments.statistic == "training" else _release(arguments)
    if arguments.out:
        output.saved(found.chart(), arguments.out)
    return output.as_json(found.document()) if arguments.json else str(found)


def _check(arguments: Namespace) -> None:
    """All options that the plan depends on, and none of another plan."""
    own = NEEDED[arguments.statistic]
    missing = [_option(name) for name in own if getattr(arguments, name) is None]
    if missing:
        raise InvalidParameter(f"hush plan {arguments.statistic}", "all that it depends on", missing=missing)
    others = dict.fromkeys(name for names in NEEDED.values() for name in names if name not in own)
    surplus = [_option(name) for name in others if getattr(arguments, name) is not None]
    if surplus:
        raise InvalidParameter(f"hush plan {arguments.statistic}", "no option of another plan", given=surplus)


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
    shared: dict[str, Any] = {
        "population": arguments.population,
        "bounds": tuple(arguments.bounds),
        "epsilon": arguments.epsilon,
        "delta": arguments.delta,
        "model": _model(arguments),
        "relation": hush.Relation(arguments.relation.replace("-", "_")),
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
        return _pilot(arguments.public_pilot)
    return named_model(arguments.model, arguments.bounds) if arguments.model else None


def _pilot(file: str) -> hush.PublicPilot:
    import numpy as np

    try:
        return hush.PublicPilot(np.loadtxt(file, ndmin=1))
    except (OSError, ValueError) as reason:
        raise InvalidParameter("hush plan", "a file of numbers, one per line", public_pilot=file) from reason
