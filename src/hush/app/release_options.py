"""The options of `hush release`: kept apart, so that the help needs no arithmetic."""

from __future__ import annotations

import argparse

STATISTICS = ("count", "sum", "mean", "variance", "median", "quantile", "histogram")

EXAMPLES = """\
examples:
  hush release median data.parquet --column income --bounds 0 2000 --epsilon 1 --sample 0.01
  hush release mean data.csv --column income --bounds 0 2000 --epsilon 1 --size 10000
  hush release quantile data.parquet --column age --p 0.9 --bounds 0 120 --epsilon 0.5
  hush release histogram data.csv --column answer --categories yes no --other --epsilon 1
  hush release sum data.parquet --column minutes --bounds 0 60 --epsilon 1 --unit user_id --max-contributions 5
  hush release mean data.parquet --column income --bounds 0 2000 --epsilon 1 --delta 1e-6

--epsilon is what the release gives away in the end: with --sample, after amplification; with --unit, for a whole user.
The noise is what just meets it; both are printed. Bounds, categories and edges are public: never read them off the
data. Cells of a CSV file that are no number, and missing values, count as the lower bound.
"""


def add_options(added: argparse.ArgumentParser) -> None:
    """The options of `hush release`."""
    added.add_argument("statistic", choices=STATISTICS)
    added.add_argument("file", help="a .parquet or .csv file")
    added.add_argument("--column", help="the column, unless there is only one")
    added.add_argument("--epsilon", type=float, required=True, help="what the release may give away in the end")
    added.add_argument("--delta", type=float, default=0.0, help="0 (the default): pure, with Laplace noise")
    added.add_argument("--bounds", type=float, nargs=2, metavar=("LOW", "HIGH"), help="where numbers are clamped to")
    added.add_argument("--sample", type=float, metavar="RATE", help="run on a secret Poisson sample of this rate")
    added.add_argument("--p", type=float, help="which quantile, 0 to 1")
    added.add_argument("--size", type=float, help="public number of records, for a mean")
    added.add_argument("--categories", nargs="+", help="the categories of a histogram")
    added.add_argument("--edges", type=float, nargs="+", help="the edges of a histogram's bins")
    added.add_argument("--other", action="store_true", help="count what is in no category or bin, too")
    added.add_argument("--unit", metavar="COLUMN", help="protect all records that share a value of this column")
    added.add_argument("--max-contributions", type=int, metavar="K", help="records kept of each unit")
    added.add_argument("--confidence", type=float, default=0.95, help="of the intervals (0.95)")
    added.add_argument("--json", action="store_true", help="print one JSON object")
