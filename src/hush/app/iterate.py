"""`hush iterate`: the last iterate of a noisy descent, against releasing all iterates."""

from __future__ import annotations

import json
from argparse import Namespace

import hush
from hush.mechanisms.mechanism import Mechanism
from hush.questions.iteration_gain import GainRow
from hush.questions.json.strict import from_number

KINDS = {
    "full batch": ("records", "steps"),
    "cyclic": ("batches", "batch_size", "epochs"),
    "random stop": ("records", "random_stop"),
    "one pass": ("records",),
}
"""Options that say which descent it is."""


def answer(arguments: Namespace) -> str:
    """The table of the comparison, or its JSON."""
    mechanism = _mechanism(arguments)
    gain = hush.iteration_gain(mechanism, delta=arguments.delta)
    if not arguments.json:
        return f"{mechanism}\n{gain}"
    document = {
        "delta": gain.delta,
        "unit": gain.unit,
        "rows": [_row(row) for row in gain.rows],
        "everyone": _row(gain.everyone),
        "gains_from": gain.gains_from,
        "summary": gain.summary,
        "relation": mechanism.relation.value,
        "mechanism": json.loads(hush.to_json(mechanism)),
    }
    return json.dumps(document, allow_nan=False)


def _row(row: GainRow) -> dict[str, object]:
    return {
        "place": row.place,
        "last_iterate": from_number(row.last_iterate),
        "all_iterates": from_number(row.all_iterates),
    }


def _mechanism(arguments: Namespace) -> Mechanism:

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
    run = hush.OnePassGradientDescent(**shared, records=arguments.records)
    return run.stopped_at_random() if kind == "random stop" else run
