"""The options of `hush plan`, without anything heavy."""

from __future__ import annotations

import argparse

EXAMPLES = """\
examples:
  hush plan mean --population 10001 --bounds 0 2000 --epsilon 0.5 --model "lognormal 5 0.5"
  hush plan median --population 10001 --bounds 0 2000 --epsilon 0.1 --model "lognormal 5 0.5" --out plan.svg
  hush plan quantile --p 0.9 --population 100000 --bounds 0 1 --epsilon 1 --public-pilot last_year.txt
  hush plan mean --population 10001 --bounds 0 1 --epsilon 1 --relation add-remove --queries 100 --delta 1e-6
  hush plan training --examples 60000 --batch-sizes 64 256 1024 --epochs 10 --epsilon 2 --delta 1e-5

a model is public: "normal MEAN SD", "lognormal MU SIGMA", "uniform LOW HIGH", "exponential MEAN", "beta A B" (between
the bounds), or --public-pilot, a file of public numbers; without one it is the worst case.
"""


def add_options(added: argparse.ArgumentParser) -> None:
    """What `hush plan` understands."""
    added.add_argument("statistic", choices=("mean", "median", "quantile", "training"), help="what to plan")
    added.add_argument("--population", type=float, help="number of records")
    added.add_argument("--bounds", type=float, nargs=2, metavar=("LOW", "HIGH"), help="public bounds of the values")
    added.add_argument("--epsilon", type=float, required=True)
    added.add_argument("--delta", type=float, default=0.0, help="(0)")
    added.add_argument("--p", type=float, help="which quantile")
    added.add_argument("--model", help="a public distribution of the values")
    added.add_argument("--public-pilot", metavar="FILE", help="public numbers to plan with, one a line")
    added.add_argument(
        "--relation",
        choices=("replace", "add-remove"),
        default="replace",
        help="replace: samples without replacement; add-remove: Poisson sampling (replace)",
    )
    added.add_argument("--rates", type=float, nargs="+", help="sampling rates to try")
    added.add_argument("--queries", type=float, default=1, help="how many such releases share the budget (1)")
    added.add_argument("--examples", type=float, help="training: number of examples")
    added.add_argument("--batch-sizes", type=float, nargs="+", help="training: expected batch sizes")
    added.add_argument("--epochs", type=float, nargs="+", help="training: passes over the data")
    added.add_argument("--out", help="draw it too: a name that ends in .svg, .png or .html")
    added.add_argument("--json", action="store_true", help="print one JSON object")
