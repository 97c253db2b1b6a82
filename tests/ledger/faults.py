"""Many processes spend from one book while they, or the database itself, are killed at random; then all is counted.

`python -m tests.ledger.faults SQLite|PostgreSQL PROCESSES SPENDS KILLS RESTARTS SEED` prints one JSON object. Every
process writes down, on its own, each answer that it was given (that is: acknowledged). A process that is killed is
replaced by another, which asks for the same again under the same keys.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import tempfile
import time
from pathlib import Path

import hush
from hush.ledger import Budget, Ledger
from hush.ledger.entries import Kind
from tests.ledger.databases import Server, database

EACH = 2.0**-14
"""Epsilon of a release: sums of it are exact."""
QUERY = hush.releases.Count(epsilon=EACH)
DATA = [1, 2, 3]
ALLOWED = 0.8
"""Part of the releases that the budget has room for."""


def work(place: str, name: int, spends: int, log: Path) -> None:
    """Ask for every release that is not acknowledged yet; each answer goes to the log before the next is asked for."""
    done = {line.split("\t")[0] for line in log.read_text().splitlines()} if log.exists() else set()
    with log.open("a") as file:
        for number in range(spends):
            key = f"{name}-{number}"
            if key not in done:
                file.write(f"{key}\t{asked(place, key)}\n")
                file.flush()


_BOOK: dict[str, Ledger] = {}


def asked(place: str, key: str) -> str:
    """The answer, or why there is none; a database that is away is waited for."""
    for _ in range(2000):
        try:
            if place not in _BOOK:
                _BOOK[place] = Ledger.open(place)
            return repr(_BOOK[place].spend(QUERY, DATA, key=key).value)
        except hush.AlreadySpent:
            return "unknown"
        except hush.BudgetExceeded:
            return "refused"
        except hush.LedgerError:
            time.sleep(0.05)
    return "away"


def forked(place: str, name: int, spends: int, log: Path) -> int:
    """A process that works, and never returns into what its parent does."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            work(place, name, spends, log)
            code = 0
        finally:
            os._exit(code)
    return pid


def run(
    place: str, folder: Path, processes: int, spends: int, kills: int, server: Server | None, restarts: int, seed: int
) -> dict:
    """Fork, kill, replace and restart, until all is done; then count."""
    drawn = random.Random(seed)
    book = Ledger.create(place)
    book.add("data", Budget(epsilon=EACH * int(ALLOWED * processes * spends)))
    del book
    logs = [folder / f"{name}.log" for name in range(processes)]
    alive = {forked(place, name, spends, logs[name]): name for name in range(processes)}
    killed = restarted = 0
    start, total = time.monotonic(), processes * spends
    while alive:
        time.sleep(0.01)
        for pid in list(alive):
            found, status = os.waitpid(pid, os.WNOHANG)
            if found:
                name = alive.pop(pid)
                if status != 0:  # killed before it was done
                    alive[forked(place, name, spends, logs[name])] = name
        answered = sum(log.read_bytes().count(b"\n") for log in logs if log.exists())
        if alive and killed < kills and answered * (kills + 1) >= killed * total:
            os.kill(drawn.choice(list(alive)), signal.SIGKILL)
            killed += 1
        if server is not None and restarted < restarts and answered * (restarts + 1) >= (restarted + 1) * total:
            server.kill()
            restarted += 1
            server.start()
        if time.monotonic() - start > 3000:
            raise TimeoutError("the processes do not come to an end")
    return counted(place, logs, total) | {"killed": killed, "restarted": restarted, "seconds": time.monotonic() - start}


def counted(place: str, logs: list[Path], total: int) -> dict:
    """What the processes were told, against what the book says."""
    said = dict(line.split("\t") for log in logs for line in log.read_text().splitlines())
    book = Ledger.open(place)
    verified = book.verify(book.anchor())
    charges, answers = {}, {}
    for entry in book._store.read(lambda entries: list(entries.entries())):
        if entry.kind == Kind.SPEND:
            charges[entry.number] = entry.key
        elif entry.kind == Kind.FINISH:
            answers[charges[entry.about]] = repr(json.loads(entry.text)["value"])
    shown = {key: value for key, value in said.items() if value not in ("unknown", "refused", "away")}
    standing = book.standing()
    return {
        "asked": total,
        "told": len(said),
        "answers": len(shown),
        "unknown": sum(value == "unknown" for value in said.values()),
        "refused": sum(value == "refused" for value in said.values()),
        "away": sum(value == "away" for value in said.values()),
        "charges": verified.charges,
        "over": max(standing.spent[0] - standing.limits[0], 0),
        "spent": standing.spent[0] == len(charges) * standing.budget.cost(QUERY.mechanism)[0],
        "lost": sum(answers.get(key) != value for key, value in shown.items()),
    }


def main(kind: str, *numbers: str) -> None:
    processes, spends, kills, restarts, seed = map(int, numbers)
    folder = Path(tempfile.mkdtemp(prefix="hush-faults-"))
    server = None
    if kind == "PostgreSQL":
        server = Server()
        place = database(server.address, os.getpid())
    else:
        place = str(folder / "budget.db")
    print(json.dumps(run(place, folder, processes, spends // processes, kills, server, restarts, seed)))


if __name__ == "__main__":
    main(*sys.argv[1:])
