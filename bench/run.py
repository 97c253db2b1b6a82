"""Compare hush with other accountants: `make bench`, or run this file where all of them are installed.

Every library gets every problem of cases.py in a process of its own, with a limit on time and memory, one
process at a time and on one thread. The tables go to results/accounting.md, the numbers to
results/accounting.json.
"""

import math
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import cases
import peers
import processes
from measure import MEMORY, REPEATS
from processes import Row
from tables import listed, seconds, table, versions, write

HERE = Path(__file__).parent
TIME_LIMIT = 60  # seconds for one library on one problem
ROUNDING = 4 * sys.float_info.epsilon  # the truths are float64 too
COLD_CASE = "everyday"
PACKAGES = ["hush", "dp-accounting", "prv-accountant", "opacus", "autodp", "riskcal", "numpy", "scipy"]


def ask(peer: str, case: str, truth: float) -> Row:
    """One library on one problem, in a fresh process, judged against the truth."""
    row = {"peer": peer, "case": case, "truth": truth}
    row |= processes.row(str(HERE / "measure.py"), peer, case, limit=TIME_LIMIT)
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


def cold(command: Sequence[str], environment: Mapping[str, str]) -> float | None:
    """CPU seconds of a whole process that answers one question; None if it fails."""
    try:
        return min(processes.run(command, limit=TIME_LIMIT, environment=environment)[1] for _ in range(REPEATS))
    except (processes.Failure, OSError):
        return None


def cold_processes() -> list[Row]:
    """The same question to every library from a new process, and to hush from its command line."""
    case = cases.ACCOUNTING[COLD_CASE]
    numbers = {"--noise": case.noise, "--rate": case.rate, "--steps": case.steps, "--delta": case.delta}
    commands = {"hush, command line": [str(Path(sys.executable).with_name("hush")), "epsilon"]}
    commands["hush, command line"] += [str(part) for item in numbers.items() for part in item]
    for peer in peers.EPSILON:
        question = f"import cases, peers; peers.EPSILON[{peer!r}](cases.ACCOUNTING[{COLD_CASE!r}])"
        commands[peer] = [sys.executable, "-W", "ignore", "-c", question]
    beside = processes.ONE_THREAD | {"PYTHONPATH": str(HERE)}
    return [{"peer": peer, "cpu_seconds": cold(command, beside)} for peer, command in commands.items()]


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
        f"{listed(compared)}.",
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
    compared = versions(PACKAGES)
    page = report(results, compared)
    write("accounting", page, {"versions": compared, **results})
    print(page)


if __name__ == "__main__":
    main()
