"""The options of `hush iterate`: kept apart, so that the help needs no arithmetic."""

from __future__ import annotations

import argparse
import math

EXAMPLES = """\
examples:
  hush iterate --records 1000 --steps 5000 --noise 0.2 --step-size 0.5 --smoothness 1 --strong-convexity 0.1 \\
      --sensitivity 2 --delta 1e-6
  hush iterate --records 100 --steps 10000 --noise 0.5 --step-size 0.1 --smoothness 1 --lipschitz 1 --diameter 1 \\
      --delta 1e-6
  hush iterate --batch-size 50 --batches 10 --epochs 100 --noise 0.2 --step-size 0.5 --smoothness 1 --sensitivity 2 \\
      --delta 1e-6
  hush iterate --records 1000 --noise 4 --step-size 0.5 --smoothness 1 --lipschitz 1 --delta 1e-6
  hush iterate --records 1000 --random-stop --noise 4 --step-size 0.5 --smoothness 1 --lipschitz 1 --delta 1e-6

kinds: --records with --steps is full-batch descent; --batches, --batch-size and --epochs go through fixed batches;
--records alone is one pass, a record a step, and --random-stop ends it after a random number of steps.
Stated for replacing one record; only the last iterate is released.
"""


def add_options(added: argparse.ArgumentParser) -> None:
    """The options of `hush iterate`."""
    loss = added.add_argument_group("the loss of every record is convex, and")
    loss.add_argument("--smoothness", type=float, required=True, help="Lipschitz constant of its gradient")
    loss.add_argument("--strong-convexity", type=float, default=0.0, help="0 (the default): merely convex")
    loss.add_argument("--lipschitz", type=float, default=math.inf, help="bound on the norm of its gradient")
    loss.add_argument("--sensitivity", type=float, default=math.inf, help="distance of two records' gradients, at most")
    added.add_argument("--noise", type=float, required=True, help="deviation of the noise on the mean gradient")
    added.add_argument("--step-size", type=float, required=True, help="at most 2/smoothness")
    added.add_argument("--diameter", type=float, default=math.inf, help="of the convex set that is projected on")
    for name in ("records", "steps", "batches", "batch-size", "epochs"):
        added.add_argument(f"--{name}", type=float)
    added.add_argument("--random-stop", action="store_const", const=True, help="end one pass at random")
    added.add_argument("--rate", type=float, help=argparse.SUPPRESS)
    added.add_argument("--delta", type=float, required=True)
    added.add_argument("--json", action="store_true", help="print one JSON object")
