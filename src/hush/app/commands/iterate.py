"""`hush iterate`: the last iterate of a noisy descent, against releasing all iterates."""

from __future__ import annotations

import argparse
import math
from argparse import ArgumentParser, Namespace

import hush
from hush.app import output
from hush.app.options import add_examples, add_json

KINDS = {
    "full batch": ("records", "steps"),
    "cyclic": ("batches", "batch_size", "epochs"),
    "random stop": ("records", "random_stop"),
    "one pass": ("records",),
}
"""Options that say which descent it is."""

ABOUT = """\
kinds: --records with --steps is full-batch descent; --batches, --batch-size and --epochs go through fixed batches;
--records alone is one pass, one record per step, and --random-stop ends it after a random number of steps.
Stated for replacing one record; only the last iterate is released.
"""


def add(parser: ArgumentParser) -> None:
    """The options."""
    loss = parser.add_argument_group("the loss of every record is convex, and")
    loss.add_argument("--smoothness", type=float, required=True, help="Lipschitz constant of its gradient")
    loss.add_argument("--strong-convexity", type=float, default=0.0, help="0 (the default): merely convex")
    loss.add_argument("--lipschitz", type=float, default=math.inf, help="bound on the norm of its gradient")
    loss.add_argument("--sensitivity", type=float, default=math.inf, help="distance of two records' gradients, at most")
    parser.add_argument("--noise", type=float, required=True, help="deviation of the noise on the mean gradient")
    parser.add_argument("--step-size", type=float, required=True, help="at most 2/smoothness")
    parser.add_argument("--diameter", type=float, default=math.inf, help="of the convex set that is projected on")
    for name in ("records", "steps", "batches", "batch-size", "epochs"):
        parser.add_argument(f"--{name}", type=float)
    parser.add_argument("--random-stop", action="store_const", const=True, help="end one pass at random")
    parser.add_argument("--rate", type=float, help=argparse.SUPPRESS)
    parser.add_argument("--delta", type=float, required=True)
    add_json(parser)
    add_examples(
        parser,
        "hush iterate --records 1000 --steps 5000 --noise 0.2 --step-size 0.5 --smoothness 1 "
        "--strong-convexity 0.1 \\\n"
        "      --sensitivity 2 --delta 1e-6",
        "hush iterate --records 100 --steps 10000 --noise 0.5 --step-size 0.1 --smoothness 1 --lipschitz 1 "
        "--diameter 1 \\\n      --delta 1e-6",
        "hush iterate --batch-size 50 --batches 10 --epochs 100 --noise 0.2 --step-size 0.5 --smoothness 1 "
        "--sensitivity 2 \\\n      --delta 1e-6",
        "hush iterate --records 1000 --noise 4 --step-size 0.5 --smoothness 1 --lipschitz 1 --delta 1e-6",
        "hush iterate --records 1000 --random-stop --noise 4 --step-size 0.5 --smoothness 1 --lipschitz 1 --delta 1e-6",
        more=ABOUT,
    )


def run(arguments: Namespace) -> str:
    """The table of the comparison, or its JSON."""
    mechanism = _mechanism(arguments)
    gain = hush.iteration_gain(mechanism, delta=arguments.delta)
    if not arguments.json:
        return f"{mechanism}\n{gain}"
    document = {
        "delta": gain.delta,
        "unit": gain.unit,
        "rows": [vars(row) for row in gain.rows],
        "everyone": vars(gain.everyone),
        "gains_from": gain.gains_from,
        "summary": gain.summary,
    }
    return output.about(mechanism, document)


def _mechanism(arguments: Namespace) -> hush.Mechanism:
    if arguments.rate is not None:
        raise hush.NotCovered(
            "descent on random batches: the last-iterate theorem of Altschuler and Talwar 2022 is not built in. "
            "Covered: all records, fixed batches, one pass; or all iterates of sampled steps (hush epsilon)"
        )
    loss = hush.ConvexLoss(
        smoothness=arguments.smoothness,
        strong_convexity=arguments.strong_convexity,
        lipschitz=arguments.lipschitz,
        sensitivity=arguments.sensitivity,
    )
    shared = {"loss": loss, "noise": arguments.noise, "step_size": arguments.step_size}
    said = {name for names in KINDS.values() for name in names if getattr(arguments, name) is not None}
    kind = next((kind for kind, names in KINDS.items() if said == set(names)), None)
    if kind == "full batch":
        run = {"records": arguments.records, "iterations": arguments.steps, "diameter": arguments.diameter}
        return hush.NoisyGradientDescent(**shared, **run)
    if kind == "cyclic":
        run = {name: getattr(arguments, name) for name in KINDS["cyclic"]}
        return hush.CyclicGradientDescent(**shared, **run, diameter=arguments.diameter)
    if kind is None:
        rule = (
            "--records and --steps; --batches, --batch-size and --epochs; or --records, with or without --random-stop"
        )
        raise hush.InvalidParameter("hush iterate", rule, given=sorted(said))
    one_pass = hush.OnePassGradientDescent(**shared, records=arguments.records)
    return one_pass.stopped_at_random() if kind == "random stop" else one_pass
