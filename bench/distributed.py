"""Throughput of one private training on two processes against one: `python bench/distributed.py`.

Both processes have one thread. In turn, many times: the first makes steps on the whole batch alone while the other
waits, and both make steps together, each on half of the batch. Noise is secure, the optimizer SGD. What else the
machine does slows both alike, on the average over turns; CPU time per step of the busier process hardly depends on it.
"""

import argparse
import statistics
import sys
import time

import processes
import torch
from learning_models import batch_of, model_of
from tables import about, listed, table, versions, write
from torch import distributed as dist
from torch.nn import functional as F

import hush
from hush.learning import PrivateGradient, Ranks

CELLS = (("cnn", 512), ("mlp", 4096), ("transformer", 128))
TURNS, STEPS = 7, 3
HEAD = ("model", "batch", "one process", "two", "throughput", "CPU: one", "busier of two", "by CPU time")
MEASURED = ("wall alone", "wall together", "cpu alone", "cpu together")


def measured(name: str, rows: int, ranks: Ranks) -> dict[str, float]:
    """Medians over the turns of the ratios, and of seconds per step."""
    batch = batch_of(name, rows)
    steps = TURNS * STEPS + 2
    plan = hush.train_plan(examples=rows, batch_size=rows, epochs=steps, noise_multiplier=1.0, delta=1e-5)
    runs = {}
    for way, group in (("together", ranks), ("alone", None)):
        model = model_of(name)
        gradient = PrivateGradient(model, F.cross_entropy, plan, max_norm=1.0, ranks=group)
        runs[way] = gradient, gradient.batches(batch), torch.optim.SGD(model.parameters(), lr=0.01)
    turns = []
    for turn in range(TURNS + 1):  # the first one warms up
        spent = {}
        for way in runs:
            dist.barrier()
            if way == "together" or ranks.leads:
                spent |= timed(way, *runs[way], 1 if turn == 0 else STEPS)
        turns += [gathered(spent)] if turn else []
    middle = {kind: statistics.median(turn[kind] for turn in turns) for kind in MEASURED}
    ratios = [turn["wall alone"] / turn["wall together"] for turn in turns]
    return middle | {"throughput": statistics.median(ratios), "by cpu": middle["cpu alone"] / middle["cpu together"]}


def timed(way: str, gradient: PrivateGradient, batches: object, optimizer: object, steps: int) -> dict[str, float]:
    wall, cpu = time.perf_counter(), time.process_time()
    for _ in range(steps):
        gradient(next(batches))
        optimizer.step()
    return {f"wall {way}": (time.perf_counter() - wall) / steps, f"cpu {way}": (time.process_time() - cpu) / steps}


def gathered(spent: dict[str, float]) -> dict[str, float]:
    """The longer of both processes' times."""
    times = torch.tensor([spent.get(kind, 0.0) for kind in MEASURED])
    dist.all_reduce(times, op=dist.ReduceOp.MAX)
    return dict(zip(MEASURED, times.tolist(), strict=True))


def child() -> None:
    torch.set_num_threads(1)
    ranks = Ranks()
    found = [{"model": name, "rows": rows, **measured(name, rows, ranks)} for name, rows in CELLS]
    if ranks.leads:
        write_all(found)
    dist.barrier()


def write_all(found: list[dict[str, float]]) -> None:
    body = [
        (
            row["model"],
            row["rows"],
            f"{1000 * row['wall alone']:.0f} ms",
            f"{1000 * row['wall together']:.0f} ms",
            f"{row['throughput']:.2f}",
            f"{1000 * row['cpu alone']:.0f} ms",
            f"{1000 * row['cpu together']:.0f} ms",
            f"{row['by cpu']:.2f}",
        )
        for row in found
    ]
    compared = versions(("torch",)) | {"hush": hush.__version__}
    text = ["# Two processes against one", "", about(__doc__), "", listed(compared), "", *table(HEAD, body)]
    write("distributed", "\n".join(text), {"versions": compared, "turns": TURNS, "steps": STEPS, "cells": found})


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--child", action="store_true")
    if parser.parse_args().child:
        child()
    else:
        started = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
        processes.run([*started, __file__, "--child"], limit=3600)
