"""Time releases on large data: `make bench`, or run this file where the peers are installed.

Ten million records, lognormal(5, 0.5), bounds [0, 2000], ε = 1: every library answers mean and median in a process of
its own, on one thread, as often as 10 s allow (2 to 200 times). Seconds are CPU time, the best answer; the root mean
squared error (± its standard error) is against the data's own mean and median. OpenDP is asked a second time for the
mean without clamping, as if the values were known to lie within the bounds. A mean protects who is added or removed
(the number of records is private) or who is replaced (it is public, and Laplace noise alone gives 2.83e-4). Then a
hundred million records in a Parquet file that this script writes (float64, 800 MB, into the system's temporary
directory): a secret Poisson sample at rate 0.01 and its private median, against DuckDB's own full median, which is
neither sampled nor private; both may use every core, taking turns: wall-clock seconds after the imports and an answer
on one record; memory is the largest resident set of the process. The tables go to results/releases.md, the numbers to
results/releases.json.
"""

import json
import math
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import processes
from processes import Row
from tables import about, listed, table, versions, write

RECORDS = 10_000_000
LARGE = 100_000_000
GROUP = 1_000_000
BOUNDS = (0.0, 2000.0)
BUDGET = 10.0  # CPU seconds of answers for one library and one question
TURNS = 3
TIME_LIMIT = 900  # seconds for one process
PACKAGES = ["hush", "opendp", "diffprivlib", "scikit-learn", "python-dp", "duckdb", "pyarrow", "numpy"]

Ask = Callable[[Any], float]


def hush_mean(replace: bool = False) -> Ask:
    """With a private number of records; if one record is replaced by another, with a public one."""
    import hush

    relation = hush.Relation.REPLACE if replace else hush.Relation.ADD_REMOVE
    return lambda data: hush.releases.mean(data, bounds=BOUNDS, epsilon=1.0, relation=relation).value


def hush_median() -> Ask:
    """The exponential mechanism on the default lattice."""
    import hush

    return lambda data: hush.releases.median(data, bounds=BOUNDS, epsilon=1.0).value


def opendp_mean(clamp: bool = True) -> Ask:
    """Clamp, mean of a public number of records, Laplace."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    if clamp:
        space = dp.vector_domain(dp.atom_domain(T=float, nan=False), size=RECORDS), dp.symmetric_distance()
        mean = space >> dp.t.then_clamp(BOUNDS) >> dp.t.then_mean()
    else:
        space = dp.vector_domain(dp.atom_domain(bounds=BOUNDS, nan=False), size=RECORDS), dp.symmetric_distance()
        mean = space >> dp.t.then_mean()
    scale = dp.binary_search_param(lambda s: mean >> dp.m.then_laplace(s), d_in=2, d_out=1.0)
    return mean >> dp.m.then_laplace(scale)


def opendp_median() -> Ask:
    """Its private quantile on 20,001 candidates, 0.1 apart."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.symmetric_distance()
    candidates = np.linspace(*BOUNDS, 20_001).tolist()

    def make(scale: float) -> Any:
        return space >> dp.m.then_private_quantile(dp.max_divergence(), candidates, 0.5, scale)

    return make(dp.binary_search_param(make, d_in=1, d_out=1.0))


def diffprivlib_mean() -> Ask:
    """With a public number of records."""
    from diffprivlib import tools

    return lambda data: float(tools.mean(data, epsilon=1.0, bounds=BOUNDS))


def diffprivlib_median() -> Ask:
    """By the exponential mechanism."""
    from diffprivlib import tools

    return lambda data: float(tools.median(data, epsilon=1.0, bounds=BOUNDS))


def pydp(kind: str) -> Ask:
    """Bounded mean, and median; it wants a list, which is made before the clock starts."""
    from pydp.algorithms import laplacian

    algorithm = {"mean": laplacian.BoundedMean, "median": laplacian.Median}[kind]
    return lambda data: algorithm(epsilon=1.0, lower_bound=0, upper_bound=2000, dtype="float").quick_result(data)


PEERS: dict[str, dict[str, Callable[[], Ask]]] = {
    "mean": {
        "hush, add or remove": hush_mean,
        "hush, replace": lambda: hush_mean(replace=True),
        "OpenDP, replace": opendp_mean,
        "OpenDP, replace, no clamping": lambda: opendp_mean(clamp=False),
        "diffprivlib, replace": diffprivlib_mean,
        "pydp, add or remove": lambda: pydp("mean"),
    },
    "median": {
        "hush": hush_median,
        "OpenDP, candidates 0.1 apart": opendp_median,
        "diffprivlib": diffprivlib_median,
        "pydp": lambda: pydp("median"),
    },
}


def measure(question: str, peer: str) -> dict[str, object]:
    """Seconds and error of one library on one question."""
    data = np.random.default_rng(1).lognormal(5, 0.5, RECORDS)
    truth = float(np.clip(data, *BOUNDS).mean() if question == "mean" else np.median(data))
    given = data.tolist() if peer.startswith("pydp") else data
    ask = PEERS[question][peer]()
    times: list[float] = []
    errors: list[float] = []
    while len(times) < 2 or (len(times) < 200 and sum(times) < BUDGET):
        start = time.process_time()
        answer = ask(given)
        times.append(time.process_time() - start)
        errors.append(float(answer) - truth)
    squares = np.square(errors)
    error = math.sqrt(squares.mean())
    doubt = float(squares.std(ddof=1)) / (2 * error * math.sqrt(len(errors)))
    return {
        "seconds": min(times),
        "median_seconds": sorted(times)[len(times) // 2],
        "error": error,
        "doubt": doubt,
        "answers": len(times),
    }


def write_large(path: Path) -> None:
    """A hundred million records in groups of a million."""
    import pyarrow as pa
    from pyarrow import parquet

    generator = np.random.default_rng(2)
    with parquet.ParquetWriter(path, pa.schema([("income", pa.float64())]), use_dictionary=False) as writer:
        for _ in range(LARGE // GROUP):
            writer.write_table(pa.table({"income": generator.lognormal(5, 0.5, GROUP)}), row_group_size=GROUP)


def measure_large(peer: str, path: str) -> dict[str, object]:
    """One median of the file: a private one of a secret sample, or DuckDB's."""
    if peer == "hush":
        import pyarrow as pa
        from pyarrow import parquet  # noqa: F401

        import hush

        query = hush.releases.Median(bounds=BOUNDS, epsilon=1.0).on(hush.Poisson(rate=0.01))
        query.release(pa.table({"income": [1.0]}))
        start = time.perf_counter()
        answer = query.release(hush.releases.table(path, column="income")).value
    else:
        import duckdb

        duckdb.sql("select 1").fetchall()
        start = time.perf_counter()
        ((answer,),) = duckdb.sql(f"select median(income) from read_parquet('{path}')").fetchall()  # noqa: S608
    spent = time.perf_counter() - start
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"seconds": spent, "mebibytes": memory, "answer": float(answer)}


def small_rows() -> list[Row]:
    """Every library on both questions."""
    rows: list[Row] = []
    for question, peers in PEERS.items():
        for peer in peers:
            found = processes.row(__file__, "small", question, peer, limit=TIME_LIMIT)
            rows.append({"question": question, "peer": peer} | found)
            print(rows[-1], flush=True)
    return rows


def large_rows() -> list[Row]:
    """Both ways in turn on the file, which is removed afterwards."""
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large.parquet"
        write_large(path)
        for _ in range(TURNS):
            for peer in ("hush", "DuckDB"):
                found = processes.row(__file__, "large", peer, str(path), limit=TIME_LIMIT, environment={})
                rows.append({"peer": peer} | found)
                print(rows[-1], flush=True)
    return rows


def small_table(rows: list[Row], question: str) -> list[str]:
    """The Markdown table of one question."""

    def line(row: Row) -> list[str]:
        if "failure" in row:
            return [row["peer"], row["failure"], "", "", ""]
        error = [f"{row['error']:.2e}", f"{row['doubt']:.0e}"]
        return [row["peer"], f"{row['seconds']:.3g}", *error, str(row["answers"])]

    head = ["library", "CPU seconds", "RMSE", "±", "answers"]
    lines = [f"## {question.capitalize()} of ten million records, ε = 1", ""]
    return lines + table(head, [line(row) for row in rows if row["question"] == question])


def large_table(rows: list[Row]) -> list[str]:
    """The Markdown table of the file: best and all turns."""
    body: list[list[str]] = []
    best: dict[str, float] = {}
    for peer, way in (("hush", "hush: secret sample at 0.01, private"), ("DuckDB", "DuckDB: all, not private")):
        mine = [row for row in rows if row["peer"] == peer and "failure" not in row]
        if not mine:
            body.append([way, "fails", "", ""])
            continue
        times = [row["seconds"] for row in mine]
        best[peer] = min(times)
        memory = max(row["mebibytes"] for row in mine)
        body.append([way, f"{min(times):.3g}", ", ".join(f"{t:.3g}" for t in times), f"{memory:.0f}"])
    head = ["way", "best seconds", "all turns", "largest memory, MiB"]
    lines = ["## Median of a hundred million records in Parquet", "", *table(head, body, words=["all turns"])]
    if len(best) == 2:
        lines += [f"DuckDB takes {best['DuckDB'] / best['hush']:.2g} times as long.", ""]
    return lines


def report(small: list[Row], large: list[Row]) -> str:
    """The Markdown page."""
    found = versions(PACKAGES) | {"cores": str(os.cpu_count())}
    lines = ["# Releases on large data, timed", "", about(__doc__), "", f"{listed(found)}.", ""]
    return "\n".join([*lines, *small_table(small, "mean"), *small_table(small, "median"), *large_table(large)])


def main() -> None:
    """With names: measure. Else: ask everything, write both files."""
    if len(sys.argv) > 1:
        found = measure(*sys.argv[2:]) if sys.argv[1] == "small" else measure_large(*sys.argv[2:])
        print("\n" + json.dumps(found))
        return
    small, large = small_rows(), large_rows()
    page = report(small, large)
    write("releases", page, {"small": small, "large": large})
    print(page)


if __name__ == "__main__":
    main()
