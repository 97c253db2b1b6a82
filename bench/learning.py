"""CPU time and memory of one private training step against plain SGD: `python bench/learning.py`.

Every cell (model, batch size) is two fresh processes in which ways take turns, in short slices: what else the machine
does then slows all of them alike. A way's time is the median over the turns of its time over that of plain SGD.
Memory is the growth of the peak during one step, each way in processes of its own. One thread.
"""

import argparse
import ctypes
import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import processes
import torch
from learning_models import BATCHES, batch_of, model_of
from learning_ways import MEMORY_WAYS, WAYS, made
from processes import Row
from tables import RESULTS, listed, table, versions, write

MODELS = ("logistic", "mlp", "cnn", "transformer")
Cell = tuple[str, int]
"""Model and batch size."""
REAL: list[Cell] = [("bert-tiny", 64), ("resnet18", 32)]
"""Models as people have them: they are compared with plain SGD and with Opacus, hooks and ghost, in time and memory."""
EVERY: list[Cell] = [(model, rows) for rows in BATCHES for model in MODELS] + REAL
PROTOTYPE = {
    "logistic": (1.6, 1.0, 1.0),
    "mlp": (2.7, 1.27, 1.10),
    "cnn": (1.19, 1.34, 0.87),
    "transformer": (1.15, 0.95, 0.93),
}
"""What a prototype of this design took, as a multiple of plain SGD, at each batch size."""
PEERS = ("opacus", "vmap")
TURNS = 5
TURN, SLICES = 0.4, 20
"""CPU seconds that each way has in a turn (at least one step), and in how many slices (fewer if steps are long)."""
ABOUT = f"""# One private training step

CPU time of a step over that of plain SGD on the same batch in the same turn; one thread, median of {TURNS} turns, of
{TURN} s for each way in up to {SLICES} slices, or of one step where that takes longer. In turn in one process: plain
SGD, hush, micro-batched SGD; and plain SGD and the peers, in a process of their own, as what they leave on the heap
makes plain SGD faster. `hush fast` has torch's noise, `hush secure` exact noise from cryptographic bits;
`micro-batched SGD` is plain SGD in the micro-batches that hush chose. – : not run (more than 8 GB, or the largest cell,
which is timed for plain SGD and hush alone).
"""
MEMORY = """## Memory

Growth of the peak during one step, megabytes; median of 5 processes up to 512 rows. Differences below half a megabyte
are the heap's.
"""
TOO_LARGE = {("mlp", 4096, "opacus hooks"), ("mlp", 4096, "opacus functorch"), ("mlp", 4096, "vmap(grad)")}
"""More than 8 GB for the gradients of one step."""


def offered(model: str, rows: int) -> dict[str, list[str]]:
    """Ways that share a process: our own and plain SGD, the peers and plain SGD.

    What a peer leaves on the heap spares plain SGD the page faults that it has elsewhere, so they are kept apart.
    On the largest batch of the transformer, a step of which takes ten seconds, peers are not timed.
    """
    own = [name for name in WAYS if not name.startswith(PEERS)]
    peers = [name for name in WAYS if name.startswith(PEERS) and (model, rows, name) not in TOO_LARGE]
    if (model, rows) in REAL:
        peers = [name for name in peers if name in MEMORY_WAYS]
    return {"own": own} if (model, rows) == ("transformer", 4096) else {"own": own, "peers": ["plain", *peers]}


def cell(model: str, rows: int, group: str) -> dict[str, float]:
    """Median CPU time of a step over that of plain SGD, each way in its turn; and that of plain SGD in seconds."""
    batch = batch_of(model, rows)
    steps = {name: made(name, model_of(model), batch) for name in offered(model, rows)[group]}
    once = {name: settled(step) for name, step in steps.items()}
    slices = max(1, min(SLICES, int(TURN / max(once.values()))))
    turns = []
    for _ in range(TURNS):
        spent = dict.fromkeys(steps, 0.0)
        for _ in range(slices):
            for name, step in steps.items():
                spent[name] += timed(step, max(1, round(TURN / slices / once[name]))) / slices
        turns.append(spent)
    found = {name: statistics.median(turn[name] / turn["plain"] for turn in turns) for name in steps}
    plain = {"plain": statistics.median(turn["plain"] for turn in turns)} if group == "own" else {}
    return {name: ratio for name, ratio in found.items() if name != "plain"} | plain


def settled(step: Callable[[], None]) -> float:
    """CPU seconds of a step after the first, which prepares; of the first if it is long in any case."""
    first = timed(step, 1)
    return first if first > 5 * TURN else timed(step, 1)


def timed(step: Callable[[], None], often: int) -> float:
    """CPU seconds of a step, made so often in a row."""
    start = time.process_time()
    for _ in range(often):
        step()
    return (time.process_time() - start) / often


def memory(model: str, rows: int, name: str) -> float:
    """Megabytes that the peak grows by in one step, after a step on a few rows.

    A step of another model comes first, for buffers that libraries make once and keep; and what is free on the heap is
    given back, as it would hide what the step takes.
    """
    large, small = batch_of(model, rows), batch_of(model, 4)
    made(name, model_of(model), large)()
    step_on = made(name, model_of(model), large, small)
    ctypes.CDLL(None).malloc_trim(0)
    before = resident("VmRSS")
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the peak starts anew
    step_on()
    return (resident("VmHWM") - before) / 1024


def growth(model: str, rows: int, name: str) -> float | None:
    """The median of `memory` in some fresh processes; of one where a step is long."""
    found = [asked("--memory", model, str(rows), name).get("megabytes") for _ in range(repeats(model, rows))]
    return None if None in found else statistics.median(found)


def repeats(model: str, rows: int) -> int:
    """Processes that memory is measured in: one where a step is long."""
    return 1 if rows > 512 or (model, rows) in REAL else 5


def resident(field: str) -> float:
    """Kilobytes, from the process's own status."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return float(next(line.split()[1] for line in lines if line.startswith(field)))


def asked(*words: str) -> Row:
    """The answer of a fresh process."""
    return processes.row(__file__, *words, limit=None)


def times_table(rows: list[Row]) -> list[str]:
    """All cells as a table of ratios."""
    own = [name for name in WAYS if name.startswith("hush")]
    peers = [name for name in WAYS if name != "plain" and name not in own]
    head = ["model", "batch", "plain, ms", *own, "1.15 × prototype", *peers]

    def line(row: Row) -> list[object]:
        start = [row["model"], row["rows"]]
        if "failure" in row:
            return [*start, row["failure"], *[""] * (len(head) - 3)]
        known = PROTOTYPE.get(row["model"])
        target = "–" if known is None else f"{1.15 * known[BATCHES.index(row['rows'])]:.2f}"
        ratio = {name: f"{row[name]:.2f}" if name in row else "–" for name in (*own, *peers)}
        mine, theirs = ([ratio[name] for name in names] for names in (own, peers))
        return [*start, f"{1e3 * row['plain']:.2f}", *mine, target, *theirs]

    return table(head, map(line, rows))


def memory_table(rows: list[Row]) -> list[str]:
    """Growth of the peak, in megabytes."""

    def line(row: Row) -> list[object]:
        cells = [f"{row[name]:.1f}" if isinstance(row.get(name), float) else "–" for name in MEMORY_WAYS]
        return [row["model"], row["rows"], *cells]

    return table(["model", "batch", *MEMORY_WAYS], map(line, rows))


def report(chosen: list[Cell], known: dict[Cell, tuple[Row, Row]]) -> None:
    """Measure the cells, and write both tables after each: a long run that is stopped has results."""
    for model, rows in chosen:
        times = {"model": model, "rows": rows}
        for group in offered(model, rows):
            times |= asked("--cell", model, str(rows), group)
        ways = MEMORY_WAYS if (model, rows) in REAL else MEMORY_WAYS[:2]
        sizes = {"model": model, "rows": rows, **{name: growth(model, rows, name) for name in ways}}
        known[model, rows] = times, sizes
        written(known)


def written(known: dict[Cell, tuple[Row, Row]]) -> None:
    """Both tables, cells in their order."""
    cells = [known[cell] for cell in EVERY if cell in known]
    times, sizes = [row for row, _ in cells], [row for _, row in cells]
    compared = listed(versions(["torch", "opacus"]))
    lines = [ABOUT, f"{compared}.", "", *times_table(times), MEMORY, *memory_table(sizes)]
    write("learning", "\n".join(lines), {"times": times, "memory": sizes})


def measured_before() -> dict[Cell, tuple[Row, Row]]:
    """The cells of the tables that exist."""
    numbers = json.loads(RESULTS.joinpath("learning.json").read_text(encoding="utf-8"))
    pairs = zip(numbers["times"], numbers["memory"], strict=True)
    return {(times["model"], times["rows"]): (times, sizes) for times, sizes in pairs}


def main() -> None:
    """Measure one cell, the memory of one way, or everything."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cell", nargs=3)
    parser.add_argument("--memory", nargs=3)
    parser.add_argument("--only", nargs="*", help="cells such as mlp:512; the others stay as they were measured")
    options = parser.parse_args()
    torch.set_num_threads(1)
    if options.cell:
        model, rows, group = options.cell
        sys.stdout.write("\n" + json.dumps(cell(model, int(rows), group)) + "\n")
    elif options.memory:
        model, rows, name = options.memory
        sys.stdout.write("\n" + json.dumps({"megabytes": memory(model, int(rows), name)}) + "\n")
    else:
        chosen = [(w.split(":")[0], int(w.split(":")[1])) for w in options.only or ()]
        report(chosen or EVERY, measured_before() if chosen else {})


if __name__ == "__main__":
    main()
