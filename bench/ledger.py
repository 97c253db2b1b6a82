"""Time the budget book: `make bench`, or run this file where hush is installed with its extra ledger.

Rates are wall time in one process, as each commit waits for the disk. A bare transaction (BEGIN IMMEDIATE, one row of
700 characters inserted, COMMIT) on another file of the same folder, with the same settings of SQLite (write-ahead log,
synchronous FULL), is timed in turns with reserve + finish, which are two transactions: the ratio is that of the
medians. The large book has 500,000 charges, each with its answer: a million entries and one. The tables go to
results/ledger.md, the numbers to results/ledger.json.
"""

import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tables import about, listed, table, versions, write

TURNS, EACH = 15, 40
"""Turns of either kind, and operations per turn."""
CHARGES = 500_000
PACKAGES = ["hush-dp", "sqlalchemy", "psycopg"]


def bare(folder: Path) -> Callable[[], object]:
    """One transaction of SQLite."""
    connection = sqlite3.connect(folder / "bare.db", isolation_level=None)
    for statement in ("PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL", "CREATE TABLE rows (a TEXT)"):
        connection.execute(statement)

    def run() -> None:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("INSERT INTO rows VALUES (?)", ("x" * 700,))
        connection.execute("COMMIT")

    return run


def book(place: str) -> Callable[[], object]:
    """One charge and its answer."""
    import hush
    from hush.account import Charge
    from hush.ledger import Budget, Ledger

    made = Ledger.create(place)
    made.add("data", Budget(epsilon=8.0, delta=1e-6))
    charge = Charge("Count(epsilon=0.0001)", hush.releases.Count(epsilon=1e-4).mechanism)
    return lambda: made.account("data", purpose="a bench").reserve(charge).finish('{"value": 1000}')


def turns(tasks: dict[str, Callable[[], object]]) -> dict[str, float]:
    """Seconds of one operation of each kind: medians over the turns."""
    found: dict[str, list[float]] = {name: [] for name in tasks}
    for _ in range(TURNS):
        for name, task in tasks.items():
            start = time.perf_counter()
            for _ in range(EACH):
                task()
            found[name].append((time.perf_counter() - start) / EACH)
    return {name: statistics.median(times) for name, times in found.items()}


def large(place: Path, charges: int) -> None:
    """A book with so many charges, each with its answer: written at once, sealed as one by one."""
    import hush
    from hush.ledger import Budget, Ledger
    from hush.ledger.entries import Kind, written_costs, written_units
    from hush.ledger.spending import line, written_mechanism

    made, mechanism = Ledger.create(place), hush.releases.Count(epsilon=1e-4).mechanism
    made.add("data", Budget(epsilon=8.0, delta=1e-6))
    (cost,) = made.node().budget.cost(mechanism)
    costs, said, previous = written_costs({"data": (cost,)}), written_mechanism(mechanism), made.anchor().hash
    connection = sqlite3.connect(place, isolation_level=None)

    def rows() -> Any:
        seal = previous
        for number in range(charges):
            charge = line(Kind.SPEND, "data", key=f"k{number}", what="Count", mechanism=said, costs=costs)
            charge = charge._replace(number=2 + 2 * number).sealed(seal)
            answer = line(Kind.FINISH, "data", about=charge.number, text='{"value": 1000}')
            answer = answer._replace(number=3 + 2 * number).sealed(charge.hash)
            seal = answer.hash
            yield charge
            yield answer

    connection.execute("BEGIN IMMEDIATE")
    connection.executemany("INSERT INTO hush_entries VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows())
    connection.execute("UPDATE hush_budgets SET spent = ?", (written_units((charges * cost,)),))
    connection.execute("COMMIT")
    connection.close()


def opened(place: Path) -> dict[str, float]:
    """Seconds to open a large book, to charge it once more, and to verify it."""
    from hush.ledger import Ledger

    start = time.perf_counter()
    made = Ledger.open(place)
    found = {"open": time.perf_counter() - start}
    start = time.perf_counter()
    entries = made.verify(made.anchor()).entries
    return found | {"verify": time.perf_counter() - start, "entries": entries, "megabytes": place.stat().st_size / 1e6}


def report(rates: dict[str, float], size: dict[str, float]) -> str:
    """The Markdown page."""
    ratio = rates["reserve + finish"] / rates["bare transaction"]
    lines = ["# The budget book, timed", "", about(__doc__), "", f"{listed(versions(PACKAGES))}.", ""]
    times = [[name, f"{1 / each:.0f}", f"{1000 * each:.2f}"] for name, each in rates.items()]
    lines += table(["operation", "per second", "milliseconds"], times)
    lines += [f"Reserve + finish cost {ratio:.2f} times a bare transaction.", ""]
    lines += [
        f"A book of {size['entries']:,.0f} entries ({size['megabytes']:.0f} MB) opens in {1000 * size['open']:.0f} ms "
        f"and is verified in {size['verify']:.0f} s.",
        "",
    ]
    return "\n".join(lines)


def main() -> None:
    """Measure everything, write both files."""
    folder = Path(tempfile.mkdtemp())
    rates = turns({"bare transaction": bare(folder), "reserve + finish": book(str(folder / "budget.db"))})
    large(folder / "large.db", CHARGES)
    size = opened(folder / "large.db")
    page = report(rates, size)
    write("ledger", page, {"seconds": rates, "large": size})
    print(page)


if __name__ == "__main__":
    main()
