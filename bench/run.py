"""Compare hush with other accountants: `make bench`, or run this file where all of them are installed.

Every library gets every problem of cases.py in a process of its own, with a limit on time and memory, one
process at a time and on one thread. The tables go to results/accounting.md, the numbers to
results/accounting.json.
"""

import json
import math
import os
import platform
import resource
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import cases
import peers
from measure import MEMORY, REPEATS

HERE = Path(__file__).parent
RESULTS = HERE / "results"
TIME_LIMIT = 60  # seconds for one library on one problem
ROUNDING = 4 * sys.float_info.epsilon  # the truths are float64 too
COLD_CASE = "everyday"
PACKAGES = ["hush", "dp-accounting", "prv-accountant", "opacus", "autodp", "riskcal", "numpy", "scipy"]

Row = dict[str, object]


def run(command: list[str]) -> subprocess.CompletedProcess[str]:
    """Run a command beside this file, on one thread and within the time limit."""
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    return subprocess.run(
        command, cwd=HERE, env=os.environ | threads, capture_output=True, text=True, timeout=TIME_LIMIT
    )


def ask(peer: str, case: str, truth: float) -> Row:
    """One library on one problem, in a fresh process, judged against the truth."""
    row: Row = {"peer": peer, "case": case, "truth": truth}
    try:
        child = run([sys.executable, "measure.py", peer, case])
    except subprocess.TimeoutExpired:
        return row | {"failure": f"over {TIME_LIMIT} s"}
    if child.returncode != 0:
        return row | {"failure": f"process ended with code {child.returncode}"}
    row |= json.loads(child.stdout.splitlines()[-1])
    return row | judged(row, truth)


def judged(row: Row, truth: float) -> Row:
    """How far the answer is above the truth, and whether it is on the wrong side."""
    value, lower = row.get("value"), row.get("lower")
    if not isinstance(value, float):
        return {}
    verdict: Row = {"excess": value / truth - 1}
    if value < truth * (1 - ROUNDING):
        verdict["wrong"] = "below the truth"
    elif isinstance(lower, float) and lower > truth * (1 + ROUNDING):
        verdict["wrong"] = "lower end above the truth"
    return verdict


def with_ratios(rows: list[Row]) -> list[Row]:
    """The same rows with each CPU time as a multiple of hush's on that problem."""
    ours = {row["case"]: row.get("cpu_seconds") for row in rows if row["peer"] == "hush"}

    def ratio(row: Row) -> Row:
        mine, theirs = ours.get(row["case"]), row.get("cpu_seconds")
        return {"ratio": theirs / mine} if isinstance(mine, float) and isinstance(theirs, float) else {}

    return [row | ratio(row) for row in rows]


def cold(command: list[str]) -> float | None:
    """CPU seconds of a whole process that answers one question; None if it fails."""
    times = []
    for _ in range(REPEATS):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        try:
            child = run(command)
        except (subprocess.TimeoutExpired, OSError):
            return None
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if child.returncode != 0:
            return None
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(times)


def cold_processes() -> list[Row]:
    """The same question to every library from a new process, and to hush from its command line."""
    case = cases.ACCOUNTING[COLD_CASE]
    numbers = {"--noise": case.noise, "--rate": case.rate, "--steps": case.steps, "--delta": case.delta}
    commands = {"hush, command line": [str(Path(sys.executable).with_name("hush")), "epsilon"]}
    commands["hush, command line"] += [str(part) for item in numbers.items() for part in item]
    for peer in peers.EPSILON:
        question = f"import cases, peers; peers.EPSILON[{peer!r}](cases.ACCOUNTING[{COLD_CASE!r}])"
        commands[peer] = [sys.executable, "-W", "ignore", "-c", question]
    return [{"peer": peer, "cpu_seconds": cold(command)} for peer, command in commands.items()]


def versions() -> dict[str, str]:
    """What was compared; a library that is not installed is left out."""
    found = {"Python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found


def table(head: list[str], body: list[list[str]]) -> list[str]:
    """A Markdown table, words to the left and numbers to the right."""
    sides = ["---" if name in ("library", "note") else "---:" for name in head]
    lines = [head, sides, *body]
    return ["| " + " | ".join(line) + " |" for line in lines] + [""]


def seconds(time: object) -> str:
    """CPU seconds with three digits, in milliseconds below one."""
    if not isinstance(time, float):
        return "–"
    return f"{time:.3g} s" if time >= 1 else f"{1000 * time:.3g} ms"


def result_line(row: Row, digits: int = 10) -> list[str]:
    """One row of a table of answers: the answer or why there is none, then its cost."""
    if "value" not in row:
        missing = row.get("failure") or f"not offered: {row.get('not_offered')}"
        text = " ".join(str(missing).replace("|", "/").split())
        return [str(row["peer"]), "–", "–", "–", "–", "–", text if len(text) <= 100 else text[:99] + "…"]
    lower, ratio = row["lower"], row.get("ratio")
    return [
        str(row["peer"]),
        f"{row['value']:.{digits}g}",
        "–" if lower is None else f"[{lower:.{digits}g}, {row['value']:.{digits}g}]",
        f"{row['excess']:+.1e}",
        seconds(row["cpu_seconds"]),
        "–" if ratio is None else f"{ratio:.3g}",
        f"**{row['wrong']}**" if "wrong" in row else "",
    ]


def answers(head: list[str], rows: list[Row]) -> list[str]:
    """A table of answers."""
    return table(head, [result_line(row) for row in rows])


def summary_line(peer: str, rows: list[Row]) -> list[str]:
    """One library over all problems."""
    given = [row for row in rows if row["peer"] == peer and "value" in row]
    asked = [row for row in rows if row["peer"] == peer and "not_offered" not in row]
    right = [row for row in given if "wrong" not in row]
    ratios = [row["ratio"] for row in right if "ratio" in row]
    excess = [row["excess"] for row in right]
    return [
        peer,
        f"{len(given)} of {len(asked)}",
        str(len(given) - len(right)),
        f"{max(excess):.1e}" if excess else "–",
        f"{math.exp(math.fsum(map(math.log, ratios)) / len(ratios)):.3g}" if ratios else "–",
    ]


def report(results: dict[str, list[Row]], compared: dict[str, str]) -> str:
    """The Markdown page."""
    head = ["library", "ε", "certified", "excess", "CPU", "x hush", "note"]
    lines = ["# Accounting, compared", ""]
    lines += [
        "CPU time of a warm process on one thread: the best of three calls after a warm-up, caches emptied.",
        f"Each library and problem has its own process with {TIME_LIMIT} s and {MEMORY // 2**30} GB.",
        "Excess is the relative distance of the answer (the upper end, where there are two) above the truth.",
        "An answer below the truth promises more privacy than there is; the summary counts it as an answer,",
        "but leaves it out of its last two columns. Made by `make bench` with",
        ", ".join(f"{name} {version}" for name, version in compared.items()) + ".",
        "",
        "## Summary",
        "",
    ]
    totals = ["library", "answers", "wrong side", "largest excess", "CPU, x hush (geometric mean)"]
    lines += table(totals, [summary_line(peer, results["accounting"]) for peer in peers.EPSILON])
    for name, case in cases.ACCOUNTING.items():
        rows = [row for row in results["accounting"] if row["case"] == name]
        lines += [f"## {case.title}", "", f"True ε: {case.truth:.15g}", "", *answers(head, rows)]
    target = cases.CALIBRATION
    lines += [f"## Calibration: {target.title}", "", f"True noise: {target.truth:.15g}", ""]
    lines += answers([head[0], "noise", *head[2:]], results["calibration"])
    lines += [f"## A cold process: {cases.ACCOUNTING[COLD_CASE].title}", "", "Imports included.", ""]
    lines += table(["library", "CPU"], [[str(r["peer"]), seconds(r["cpu_seconds"])] for r in results["cold"]])
    return "\n".join(lines)


def main() -> None:
    """Ask everything, write both files."""
    accounting = []
    for name, case in cases.ACCOUNTING.items():
        for peer in peers.EPSILON:
            accounting.append(ask(peer, name, case.truth))
            print(*result_line(accounting[-1]), name, sep="  ", flush=True)
    calibration = [ask(peer, "calibration", cases.CALIBRATION.truth) for peer in peers.NOISE]
    results = {"accounting": with_ratios(accounting), "calibration": with_ratios(calibration)}
    results["cold"] = cold_processes()
    RESULTS.mkdir(exist_ok=True)
    page = report(results, versions())
    RESULTS.joinpath("accounting.md").write_text(page, encoding="utf-8")
    numbers = json.dumps({"versions": versions(), **results}, indent=1, allow_nan=False)
    RESULTS.joinpath("accounting.json").write_text(numbers + "\n", encoding="utf-8")
    print(page)


if __name__ == "__main__":
    main()
