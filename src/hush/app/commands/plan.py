"""`hush plan`: expected errors before any data is seen."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from typing import Any

import hush
from hush.app import output, table_options
from hush.app.options import PICTURE, SCHEMES, add_examples, add_json
from hush.app.public_models import named_model
from hush.errors import InvalidParameter

NEEDED = {
    "mean": ("population", "bounds"),
    "median": ("population", "bounds"),
    "quantile": ("population", "bounds", "p"),
    "training": ("examples", "batch_sizes", "epochs"),
    "search": ("run",),
    "designs": ("population", "bounds", "deviation", "between", "designs"),
    "table": (),
}
"""What can be planned, and the options without which it makes no sense."""
TABLE = ("group_sizes", "unit", "max_contributions", "max_groups", "max_per_group")
"""Options of a table beside those that say what is asked of each group."""
ABOUT = """\
a model is public: "normal MEAN SD", "lognormal MU SIGMA", "uniform LOW HIGH", "exponential MEAN", "beta A B" (between
the bounds), or --public-pilot, a file of public numbers; without one, the plan is for the worst case.
a table is asked for as in `hush release table`, with --bounds COLUMN LOW HIGH; without --by it is one group of all
records, so that a count, a sum or a variance can be planned too. Its samples are Poisson samples.
designs are words of `hush words`: "poisson RATE", "stratified SIZE POPULATION ...", "clusters RATE SIZES ...",
"two-stage RATE INSIDE SIZES ...", "systematic STEP POPULATION", and others; 200x50 is 200 clusters of 50.
"""


def add(parser: ArgumentParser) -> None:
    """The options."""
    parser.add_argument("statistic", choices=tuple(NEEDED), help="what to plan")
    parser.add_argument("--population", type=float, help="number of records")
    parser.add_argument("--bounds", nargs="+", action="append", metavar="LOW HIGH", help="public bounds of the values")
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
    parser.add_argument(
        "--scheme", choices=SCHEMES, help="training, with one batch size and one number of epochs: who draws (poisson)"
    )
    parser.add_argument("--run", metavar="EXPRESSION", help="search: what one run of it is, its score included")
    parser.add_argument(
        "--correlated", action="store_true", help="training: noise that takes back some of the noise before it"
    )
    parser.add_argument("--designs", nargs="+", metavar="DESIGN", help="designs: ways to draw a survey's sample")
    parser.add_argument("--deviation", type=float, help="designs: standard deviation of the values, public or guessed")
    parser.add_argument("--between", type=float, help="designs: share of their variance between strata or clusters")
    parser.add_argument("--out", help=PICTURE)
    parser.add_argument("--group-sizes", type=float, nargs="+", help="table: records of each group (1000)")
    parser.add_argument("--unit", metavar="COLUMN", help="table: the column of users")
    parser.add_argument("--max-contributions", type=int, metavar="K", help="table: records kept of each user")
    table_options.add_query(parser, "a table (hush plan table)")
    add_json(parser)
    add_examples(
        parser,
        'hush plan mean --population 10001 --bounds 0 2000 --epsilon 0.5 --model "lognormal 5 0.5"',
        'hush plan median --population 10001 --bounds 0 2000 --epsilon 0.1 --model "lognormal 5 0.5" --out plan.svg',
        "hush plan quantile --p 0.9 --population 100000 --bounds 0 1 --epsilon 1 --public-pilot last_year.txt",
        "hush plan mean --population 10001 --bounds 0 1 --epsilon 1 --relation add-remove --queries 100 --delta 1e-6",
        "hush plan training --examples 60000 --batch-sizes 256 --epochs 10 --epsilon 2 --delta 1e-5",
        "hush plan table --by region=N,S --count --variance age --bounds age 0 120 --epsilon 1 --group-sizes 900 80",
        "hush plan training --examples 60000 --batch-sizes 64 256 1024 --epochs 10 --epsilon 2 --delta 1e-5",
        "hush plan training --examples 60000 --batch-sizes 256 --epochs 4 --epsilon 2 --delta 1e-6 --correlated",
        'hush plan search --run "gaussian 4 | poisson 0.01 | repeat 1000" --epsilon 3 --delta 1e-6',
        "hush plan designs --population 10000 --bounds 0 100 --deviation 20 --between 0.05 --epsilon 1 --designs "
        '"poisson 0.1" "stratified 500 5000 500 5000" "clusters 0.1 200x50" "two-stage 0.2 0.5 200x50"',
        more=ABOUT,
    )


def run(arguments: Namespace) -> str:
    """The table and the answer, or their JSON; of one training run also its outlook."""
    _check(arguments)
    if arguments.statistic in WORDED:
        return _worded(arguments)
    plans = {"training": _trainings, "table": _table}
    found: list[Any] = plans.get(arguments.statistic, _release)(arguments)
    if arguments.out:
        output.saved(found[0].chart(), arguments.out)
    if arguments.json:
        first, *others = (part.document() for part in found)
        return output.as_json(first | ({"run": others[0]} if others else {}))
    return "\n\n".join(map(str, found))


def _worded(arguments: Namespace) -> str:
    """A plan that is told in words of expressions: a table, and no picture."""
    if arguments.out:
        raise InvalidParameter(
            f"hush plan {arguments.statistic}", "no --out: a table is all there is", out=arguments.out
        )
    found = WORDED[arguments.statistic](arguments)
    return output.as_json(found.document()) if arguments.json else str(found)


def _search(arguments: Namespace) -> Any:
    from hush.app.expression import parse

    return hush.plan.search(parse(arguments.run), epsilon=arguments.epsilon, delta=arguments.delta)


def _designs(arguments: Namespace) -> Any:
    from hush.app.expression import scheme

    return hush.plan.designs(
        [scheme(words) for words in arguments.designs],
        population=arguments.population,
        bounds=_bounds(arguments),
        deviation=arguments.deviation,
        between=arguments.between,
        epsilon=arguments.epsilon,
        delta=arguments.delta,
    )


WORDED: dict[str, Callable[[Namespace], Any]] = {"search": _search, "designs": _designs}
"""Plans for which an expression, or designs, are written down."""


def _check(arguments: Namespace) -> None:
    """All options that the plan depends on, and none of another plan."""
    own = NEEDED[arguments.statistic]
    missing = [_option(name) for name in own if getattr(arguments, name) is None]
    if missing:
        raise InvalidParameter(f"hush plan {arguments.statistic}", "all that it depends on", missing=missing)
    others = dict.fromkeys(name for names in NEEDED.values() for name in names if name not in own)
    if arguments.statistic == "table":
        del others["bounds"]
    else:
        others |= dict.fromkeys((*TABLE, *table_options.PLAIN, *table_options.ONLY))
    surplus = [_option(name) for name in others if getattr(arguments, name) not in (None, False, [])]
    if arguments.statistic != "training":
        surplus += [_option(name) for name in ("scheme", "correlated") if getattr(arguments, name)]
    if surplus:
        raise InvalidParameter(f"hush plan {arguments.statistic}", "no option of another plan", given=surplus)


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _trainings(arguments: Namespace) -> list[Any]:
    """Every batch size with every number of epochs; of one of each, what that run means."""
    one = len(arguments.batch_sizes) == len(arguments.epochs) == 1
    poisson = arguments.scheme in (None, "poisson") and not arguments.correlated
    if not one and not poisson:
        rule = "one batch size and one number of epochs with --scheme and --correlated"
        raise InvalidParameter("hush plan training", rule, scheme=arguments.scheme)
    return ([_batches(arguments)] if poisson else []) + ([_outlook(arguments)] if one else [])


def _outlook(arguments: Namespace) -> hush.RunOutlook:
    scheme = getattr(hush, SCHEMES[arguments.scheme or "poisson"])
    return hush.plan.outlook(
        hush.train_plan(
            examples=arguments.examples,
            batch_size=arguments.batch_sizes[0],
            epochs=arguments.epochs[0],
            epsilon=arguments.epsilon,
            delta=arguments.delta,
            scheme=scheme,
            noise="correlated" if arguments.correlated else "independent",
        )
    )


def _batches(arguments: Namespace) -> hush.TrainingPlans:
    return hush.plan.training(
        examples=arguments.examples,
        batch_sizes=arguments.batch_sizes,
        epochs=arguments.epochs,
        epsilon=arguments.epsilon,
        delta=arguments.delta,
    )


def _table(arguments: Namespace) -> list[Any]:
    sizes = arguments.group_sizes or [1000.0]
    return [hush.plan.table(table_options.asked(arguments), sizes=sizes, rates=arguments.rates)]


def _bounds(arguments: Namespace) -> tuple[float, float]:
    rule = "--bounds LOW HIGH, two numbers"
    try:
        low, high = map(float, arguments.bounds[-1])
    except ValueError:
        raise InvalidParameter(f"hush plan {arguments.statistic}", rule, bounds=arguments.bounds[-1]) from None
    return low, high


def _release(arguments: Namespace) -> list[Any]:
    shared: dict[str, Any] = {
        "population": arguments.population,
        "bounds": _bounds(arguments),
        "epsilon": arguments.epsilon,
        "delta": arguments.delta,
        "model": _model(arguments),
        "relation": hush.Relation(arguments.relation.replace("-", "_")),
        "rates": arguments.rates,
        "queries": arguments.queries,
    }
    if arguments.statistic == "quantile":
        return [hush.plan.quantile(p=arguments.p, **shared)]
    return [hush.plan.mean(**shared) if arguments.statistic == "mean" else hush.plan.median(**shared)]


def _model(arguments: Namespace) -> object:
    if arguments.model and arguments.public_pilot:
        raise InvalidParameter("hush plan", "--model or --public-pilot, not both", model=arguments.model)
    if arguments.public_pilot:
        return _pilot(arguments.public_pilot)
    return named_model(arguments.model, _bounds(arguments)) if arguments.model else None


def _pilot(file: str) -> hush.PublicPilot:
    import numpy as np

    try:
        return hush.PublicPilot(np.loadtxt(file, ndmin=1))
    except (OSError, ValueError) as reason:
        raise InvalidParameter("hush plan", "a file of numbers, one per line", public_pilot=file) from reason
