"""Options of `hush audit`."""

from __future__ import annotations

import argparse

EXAMPLES = """\
examples:
  hush audit scores canaries.csv --claim "gdp 2"
  hush audit scores canaries.npz --claim "gaussian 1.0 | poisson 0.01 | repeat 1000" --delta 1e-5
  hush audit scores runs.csv --claim "pure 1" --runs
  hush audit self
  hush audit demo

scores FILE has a column `score` (larger: more likely a member) and a column `member` (1 or 0), as CSV, npz or parquet:
one row a canary of one training run, each put in by a fair coin of its own; with --runs one row an independent run,
its label saying which of two neighbouring inputs it had. Without --claim the membership attack alone is described.

exit codes: 0 every claim survives, 4 one is refuted (2 bad input, 3 no theorem covers the claim)
"""


def add_audit(commands: argparse._SubParsersAction) -> None:
    """`hush audit scores`, `self` and `demo`."""
    text = "evidence against a claim: attacks on scores, on hush itself, and on data made on the spot"
    added = commands.add_parser(
        "audit",
        help=text,
        description=text,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    kinds = added.add_subparsers(dest="audit", metavar="WHAT", required=True)
    scores = kinds.add_parser("scores", help="audit scores and labels from a file")
    scores.add_argument("file", help="CSV, npz or parquet with columns score and member")
    scores.add_argument("--claim", help="the mechanism that is claimed, as an expression")
    scores.add_argument("--delta", type=float, help="the delta at which epsilon is bounded, where the claim has none")
    scores.add_argument("--runs", action="store_true", help="each row is an independent run, not a canary of one run")
    scores.add_argument("--confidence", type=float, default=0.95)
    scores.add_argument("--out", help="draw it too: a name that ends in .svg, .png or .html")
    every = kinds.add_parser("self", help="audit every mechanism and release of hush, and a training")
    every.add_argument("--effort", type=float, default=1.0, help="multiplies the samples of each audit (1)")
    shown = kinds.add_parser("demo", help="reconstruction and linkage attacks, with and without protection")
    for kind in (scores, every, shown):
        kind.add_argument("--json", action="store_true", help="print one JSON object")
