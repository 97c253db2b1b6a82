"""Grouped tables, fast and accurate: `make bench`, or `python grouped.py PEERS TUMULT [RECORDS [SECONDS]]`.

A hundred million records (or as many as told) of four columns in a Parquet file that this script writes into the
system's temporary directory: a group of 1000, one of a million, one of a million users, and a number. Each question is
answered once in a process of its own, which may use every core: seconds by the clock after the imports, CPU seconds of
all threads, and the largest resident set of the process. What hush is asked for is the whole release: exact counts and
sums, noise, intervals and the table. DuckDB's own group-by of doubles, which is neither exact nor private, stands
beside it. PipelineDP gets a hundredth of the records, and OpenDP keeps the first groups of each user. Then mean and
median income and the number of people by four regions, of 4,000 people with whole incomes (medians are whole where a
library can be told), at a total ε of 1: the mean error of each column over all regions and 1,000 releases, or as many
as five minutes (or so many seconds as told) allow. PEERS and TUMULT are the Pythons of the other libraries. The tables
go to results/tables.md, the numbers to results/tables.json.
"""

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import processes
from made_records import pieces
from processes import Row
from table_peers import ACCURACY, BOUNDS, CONTRIBUTIONS, GROUPS, REGIONS, repeated, timed
from tables import about, listed, table, versions, write

RECORDS = 100_000_000
MANY, USERS = 1_000_000, 1_000_000
PEOPLE, RELEASES, SECONDS = 4000, 1000, 300.0
TIME_LIMIT = 1800
SHARE = {"PipelineDP": 100}  # a peer gets one record in so many
HERE = Path(__file__).parent
QUESTIONS = {
    "groups": "4 s, 300 MiB",
    "many groups": "5 s, 400 MiB",
    "records of a user": "6 s, 400 MiB",
    "groups of a user": "40 s, 1600 MiB",
    "medians": "60 s",
}
OFFERED = {
    "DuckDB, inexact and not private": ("groups", "many groups"),
    "OpenDP": ("groups", "records of a user", "groups of a user"),
    "PipelineDP": ("groups", "records of a user"),
}
WORDS = {
    "groups": "count and mean, 1e3 groups",
    "many groups": "count and mean, 1e6 groups",
    "records of a user": "5 records of each of 1e6 users, 1e3 groups",
    "groups of a user": "5 groups of each of 1e6 users, 2 records in each",
    "medians": "median, 1e3 groups",
}


def columns(random: np.random.Generator, size: int) -> dict[str, Any]:
    """Groups, users and numbers of so many records."""
    return {
        "g": random.integers(0, GROUPS, size, dtype=np.int32),
        "many": random.integers(0, MANY, size, dtype=np.int32),
        "who": random.integers(0, USERS, size),
        "x": np.round(random.lognormal(5, 0.5, size), 2),
    }


def make(folder: Path, records: int) -> None:
    """The files: of all records, of the share that slow peers get, and of the people."""
    import pyarrow
    from pyarrow import parquet

    for name, size in [("all", records), *((peer, records // share) for peer, share in SHARE.items())]:
        writer = None
        for piece in pieces(size, columns):
            writer = writer or parquet.ParquetWriter(folder / f"{name}.parquet", piece.schema)
            writer.write_table(piece)
        if writer:
            writer.close()
    random = np.random.default_rng(2)
    income = np.clip(np.rint(random.lognormal(5, 0.5, PEOPLE)), *BOUNDS).astype(np.int64)
    region = random.choice(REGIONS, PEOPLE, p=[0.4, 0.3, 0.2, 0.1])
    parquet.write_table(pyarrow.table({"region": region, "income": income}), folder / "people.parquet")


def query(question: str) -> Any:
    """What hush is asked for."""
    from hush import releases

    ask = {"n": releases.Rows(), "x": releases.Stats("x", bounds=BOUNDS, mean=True)}
    if question == "medians":
        ask = {"x": releases.Stats("x", bounds=BOUNDS, median=True)}
    keys = {"many": range(MANY)} if question == "many groups" else {"g": range(GROUPS)}
    limits = {
        "records of a user": releases.AtMost(total=CONTRIBUTIONS),
        "groups of a user": releases.AtMost(groups=CONTRIBUTIONS, each=2),
    }
    most = limits.get(question)
    return releases.GroupBy(keys=keys, ask=ask, epsilon=1.0, unit=most and "who", contributions=most)


def people() -> Any:
    """The table of regions, at a total epsilon of 1."""
    from hush import releases

    ask = {
        "people": releases.Rows(),
        "income": releases.Stats("income", bounds=BOUNDS, mean=True, median=True, step=1.0),
    }
    return releases.GroupBy(keys={"region": REGIONS}, ask=ask, epsilon=1.0)


def answers(folder: Path, seconds: float) -> list[Any]:
    """Releases of the table of regions by hush."""
    from pyarrow import parquet

    asked, data = people(), parquet.read_table(folder / "people.parquet")

    def ask() -> list[list[float]]:
        found = asked.release(data).to_dict()
        return [list(row) for row in zip(found["people"], found["income_mean"], found["income_median"], strict=True)]

    return repeated(ask, RELEASES, seconds)


def truth(folder: Path) -> np.ndarray:
    """People, mean and median income of each region."""
    from pyarrow import parquet

    data = parquet.read_table(folder / "people.parquet")
    region, income = np.array(data["region"].to_pylist()), data["income"].to_numpy()
    mine = [income[region == name] for name in REGIONS]
    return np.array([[len(some), some.mean(), np.median(some)] for some in mine])


def errors(found: list[Any], exact: np.ndarray) -> Row:
    """The mean error of each column, with its standard error."""
    off = np.abs(np.array(found, dtype=float) - exact).mean(axis=1)
    return {
        "releases": len(off),
        "mean": off.mean(axis=0).tolist(),
        "error": (off.std(axis=0) / len(off) ** 0.5).tolist(),
    }


def speed(folder: Path, python: str) -> dict[str, dict[str, Row]]:
    """Every question to everybody who offers it."""
    own = {name: _asked(sys.executable, __file__, str(folder), "speed", name) for name in QUESTIONS}
    print("hush", own, flush=True)
    found = {"hush": own}
    for peer, offered in OFFERED.items():
        file = str(folder / f"{peer if peer in SHARE else 'all'}.parquet")
        runs = sys.executable if peer.startswith("DuckDB") else python
        found[peer] = {name: _asked(runs, str(HERE / "table_peers.py"), peer, "speed", name, file) for name in offered}
        print(peer, found[peer], flush=True)
    return found


def _asked(python: str, script: str, *names: str) -> Row:
    return processes.row(script, *names, limit=TIME_LIMIT, environment={}, python=python)


def accuracy(folder: Path, pythons: dict[str, str], seconds: float) -> dict[str, Row]:
    """The table of regions by everybody."""
    file, found = str(folder / "people.parquet"), {"hush": errors(answers(folder, seconds), truth(folder))}
    for peer, python in pythons.items():
        script = str(HERE / "table_peers.py")
        given = _asked(python, script, peer, "accuracy", file, str(RELEASES), str(seconds))
        found[peer] = errors(given, truth(folder)) if isinstance(given, list) else given
        print(peer, found[peer], flush=True)
    return found


def shown(row: Row | None) -> str:
    """One measurement in a cell."""
    if row is None or "failure" in row:
        return "" if row is None else str(row["failure"])
    return f"{row['seconds']:.1f} s, CPU {row['cpu']:.1f} s, {row['memory']} MiB"


def page(records: int, fast: dict[str, dict[str, Row]], near: dict[str, Row]) -> str:
    """The Markdown page."""
    head = ["question", "wanted", *fast]
    body = [[WORDS[name], wanted, *(shown(by.get(name)) for by in fast.values())] for name, wanted in QUESTIONS.items()]
    columns = ["people", "mean", "median"]
    lines = [
        [peer, row["releases"], *(f"{m:.3g} ± {e:.1g}" for m, e in zip(row["mean"], row["error"], strict=True))]
        if "mean" in row
        else [peer, row.get("failure", ""), "", "", ""]
        for peer, row in near.items()
    ]
    spent = people().mechanism.epsilon(delta=0)
    said = [about(__doc__), f"{records:,} records; PipelineDP has {records // SHARE['PipelineDP']:,}."]
    compared = listed(versions(["hush", "duckdb", "pyarrow", "numpy"]))
    cost = f"hush spends an ε of at most {spent.upper!r}, and of no less than {spent.lower!r}."
    return "\n\n".join(
        [
            "# Tables",
            *said,
            compared,
            "\n".join(table(head, body, words=head)),
            cost,
            "\n".join(table(["library", "releases", *columns], lines, words=columns)),
        ]
    )


def main(python: str, tumult: str, records: int = RECORDS, seconds: float = SECONDS) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        processes.run([sys.executable, __file__, name, "make", str(records)], limit=None)
        fast = speed(folder, python)
        near = accuracy(folder, {peer: tumult if peer == "Tumult" else python for peer in ACCURACY}, seconds)
    write("tables", page(records, fast, near), {"records": records, "speed": fast, "accuracy": near})


if __name__ == "__main__":
    if sys.argv[2:3] == ["make"]:  # in a process of its own: a child begins with the largest memory of its parent
        make(Path(sys.argv[1]), int(sys.argv[3]))
    elif sys.argv[2:3] == ["speed"]:
        asked = query(sys.argv[3])
        print(json.dumps(timed(lambda: asked.release(str(Path(sys.argv[1]) / "all.parquet")))))
    else:
        main(*sys.argv[1:3], *map(int, sys.argv[3:]))
