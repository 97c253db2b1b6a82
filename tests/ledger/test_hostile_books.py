"""Files and databases that are no book, or no longer the one that was written: named errors, and nothing is changed."""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

import hush
from hush import releases
from hush.ledger import Budget, Ledger, store
from hush.ledger.entries import START, digest
from tests.ledger.databases import KINDS, place
from tests.source import PROJECT, ROOT

COUNT = releases.Count(epsilon=0.01)
DATA = [1, 2, 3]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A book with a few entries."""
    book = Ledger.create(tmp_path / "budget.db")
    book.add("census", Budget(epsilon=1.0, delta=1e-6))
    book.add("ann", Budget(epsilon=0.5, delta=1e-6), within="census")
    for number in range(4):
        book.spend(COUNT, DATA, dataset="ann", key=f"count {number}", purpose="a test")
    book.record(hush.Gaussian(100.0), dataset="census")
    return tmp_path / "budget.db"


def changed(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)


def bytes_of(path: Path) -> bytes:
    """The file, its log written into it."""
    if path.exists() and path.read_bytes()[:6] == b"SQLite":
        changed(path, "PRAGMA wal_checkpoint(TRUNCATE)")
    return path.read_bytes()


# -- what is not a book ---------------------------------------------------------------------------------------------


def foreign(path: Path) -> None:
    changed(path, "CREATE TABLE people (name TEXT)", "INSERT INTO people VALUES ('Ann')")


def half_written(path: Path) -> None:
    changed(path, "CREATE TABLE hush_book (id INTEGER PRIMARY KEY, version INTEGER NOT NULL)")


NO_BOOKS: dict[str, Callable[[Path], object]] = {
    "empty": lambda path: path.touch(),
    "text": lambda path: path.write_text("name,age\nAnn,41\n" * 1000),
    "zeros": lambda path: path.write_bytes(bytes(8192)),
    "a header alone": lambda path: path.write_bytes(b"SQLite format 3\0" + bytes(84)),
    "another database": foreign,
    "half written": half_written,
    "a folder": lambda path: path.mkdir(),
}


@pytest.mark.parametrize("what", NO_BOOKS)
def test_what_is_no_book_is_refused_and_left_alone(tmp_path: Path, what: str) -> None:
    path = tmp_path / "thing.db"
    NO_BOOKS[what](path)
    before = path.read_bytes() if path.is_file() else b""
    with pytest.raises(hush.LedgerError) as error:
        Ledger.open(path)
    assert "Ann" not in str(error.value) and error.value.__cause__ is None and error.value.__context__ is None
    assert not path.is_file() or path.read_bytes() == before
    if what not in ("empty", "zeros", "a header alone"):
        with pytest.raises(hush.LedgerError):
            Ledger.create(path)
        assert not path.is_file() or path.read_bytes() == before


def test_a_book_is_not_made_twice_nor_by_opening(path: Path, tmp_path: Path) -> None:
    with pytest.raises(hush.LedgerError, match="something in this file"):
        Ledger.create(path)
    with pytest.raises(hush.LedgerError, match="no book at this place"):
        Ledger.open(tmp_path / "nothing.db")
    assert not (tmp_path / "nothing.db").exists()
    assert Ledger.open(path).verify().charges == 5


@pytest.mark.parametrize(
    "where",
    [
        3,
        None,
        "",
        "mysql://host/name",
        "postgresql://",
        "postgresql://u:secret@127.0.0.1:1/x",
        "postgresql+nothing://h/x",
    ],
)
def test_addresses_that_lead_nowhere(where: object) -> None:
    with pytest.raises((hush.LedgerError, hush.InvalidParameter)) as error:
        Ledger.open(where)  # type: ignore[arg-type]
    assert "secret" not in str(error.value)


def test_a_postgresql_with_other_tables_is_no_book(tmp_path: Path) -> None:
    address = place("PostgreSQL", tmp_path)
    with pytest.raises(hush.LedgerError, match="no budget book"):
        Ledger.open(address)
    book = Ledger.create(address)
    book.add("census", Budget(epsilon=1.0))
    with pytest.raises(hush.LedgerError, match="already"):
        Ledger.create(address)
    assert Ledger.open(address).standing().name == "census"


@pytest.mark.parametrize("keep", [0.3, 0.6, 0.95])
def test_a_truncated_book(path: Path, keep: float) -> None:
    whole = bytes_of(path)
    path.write_bytes(whole[: int(len(whole) * keep)])
    with pytest.raises(hush.LedgerError):
        Ledger.open(path).verify()


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TRIGGER t AFTER UPDATE ON hush_budgets BEGIN UPDATE hush_budgets SET spent = '0'; END",
        "CREATE VIEW v AS SELECT 1",
        "CREATE TABLE more (a)",
        "DROP INDEX hush_entries_about",
        "DROP TABLE hush_budgets",
        "DELETE FROM hush_book",
        "UPDATE hush_book SET version = 'x'",
        "INSERT INTO hush_book VALUES (2, 1)",
        "UPDATE hush_book SET version = 99",
        "UPDATE hush_book SET version = 0",
        "UPDATE hush_budgets SET budget = '{}'",
        "UPDATE hush_budgets SET name = x'00ff' WHERE name = 'ann'",
        "UPDATE hush_budgets SET entry = 'x' WHERE name = 'ann'",
        "UPDATE hush_budgets SET budget = 'NaN'",
        "UPDATE hush_budgets SET above = 'nobody' WHERE name = 'ann'",
        "UPDATE hush_budgets SET budget = replace(budget, '\"epsilon\": 1.0', '\"epsilon\": NaN')",
        "UPDATE hush_budgets SET budget = replace(budget, '\"epsilon\": 1.0', '\"epsilon\": -1')",
        'UPDATE hush_budgets SET budget = replace(budget, \'"epsilon": 1.0\', \'"epsilon": "1"\')',
        'UPDATE hush_budgets SET budget = replace(budget, \'"epsilon": 1.0\', \'"epsilon": 1.0, "epsilon": 9.0\')',
        "UPDATE hush_budgets SET budget = replace(budget, 'RenyiFilter', 'os.system')",
        "UPDATE hush_budgets SET budget = printf('%s%s', replace(hex(zeroblob(100)), '00', '['), budget)",
        "UPDATE hush_budgets SET budget = replace(hex(zeroblob(2000000)), '00', ' ')",
    ],
)
def test_a_book_that_was_changed_is_not_opened(path: Path, statement: str) -> None:
    changed(path, statement)
    before = bytes_of(path)
    with pytest.raises(hush.LedgerError):
        Ledger.open(path)
    assert bytes_of(path) == before


@pytest.mark.parametrize("spent", ["-5", "NaN", "1e3", "", "1 2", "1 1 1", "٣", "0x10", "1.5", "9" * 5000])
def test_what_is_spent_must_be_whole_units(path: Path, spent: str) -> None:
    book = Ledger.open(path)
    before = book.anchor()
    changed(path, f"UPDATE hush_budgets SET spent = '{spent}' WHERE name = 'census'")
    for act in (lambda: book.spend(COUNT, DATA, dataset="ann"), book.verify, book.standings, book.odometer):
        with pytest.raises(hush.LedgerError):
            act()
    assert book.anchor() == before


NUMBERS = {
    "an endless note": "UPDATE hush_entries SET kind = 'note', text = '[Infinity, \"\"]' WHERE number = 4",
    "a huge note": "UPDATE hush_entries SET kind = 'note', text = '[1e999, \"\"]' WHERE number = 4",
    "a cost of many digits": (
        "UPDATE hush_entries SET costs = '{\"ann\": \"' || replace(hex(zeroblob(2500)), '0', '9') || '\"}' WHERE number = 3"
    ),
    "costs of another filter": 'UPDATE hush_entries SET costs = \'{"ann": "1 1", "census": "1"}\' WHERE number = 3',
    "a cost of nobody": 'UPDATE hush_entries SET costs = \'{"eve": "1"}\' WHERE number = 3',
    "a purpose of bytes": "UPDATE hush_entries SET purpose = x'00ff' WHERE number = 3",
    "no time": "UPDATE hush_entries SET time = 'abc' WHERE number = 3",
    "the last number of all": (
        "UPDATE hush_entries SET number = 9223372036854775807 WHERE number = (SELECT max(number) FROM hush_entries)"
    ),
}


@pytest.mark.parametrize("what", NUMBERS)
def test_numbers_that_no_book_has_are_named_errors(path: Path, tmp_path: Path, what: str) -> None:
    """Each way to read or spend works or is a LedgerError, which says nothing of the entry."""
    changed(path, NUMBERS[what])
    book, told = Ledger.open(path), []
    for act in (
        book.verify,
        book.standings,
        book.chart,
        book.odometer,
        book.statement,
        book.anchor,
        lambda: book.export(tmp_path / "book.json"),
        lambda: book.export(tmp_path / "book.csv"),
        lambda: book.spend(COUNT, DATA, dataset="ann", key="count 0", purpose="a test"),
        lambda: book.spend(COUNT, DATA, dataset="ann"),
    ):
        try:
            act()
        except hush.LedgerError as error:
            told.append(str(error))
        except hush.AlreadySpent:
            pass
    assert told and not any("999" in text or "abc" in text or "eve" in text for text in told)


# -- edits -------------------------------------------------------------------------------------------------------


EDITS = {
    "a cost": "UPDATE hush_entries SET costs = replace(costs, '1', '0') WHERE number = 5",
    "an answer": "UPDATE hush_entries SET text = replace(text, '3', '4') WHERE number = 4",
    "a purpose": "UPDATE hush_entries SET purpose = 'other' WHERE number = 3",
    "a time": "UPDATE hush_entries SET time = time + 1 WHERE number = 3",
    "a number as text": "UPDATE hush_entries SET time = 'x' WHERE number = 3",
    "bytes": "UPDATE hush_entries SET text = x'00ff' WHERE number = 4",
    "a key": "UPDATE hush_entries SET key = 'z' WHERE number = 3",
    "a hash": "UPDATE hush_entries SET hash = substr(hash, 2) || substr(hash, 1, 1) WHERE number = 3",
    "a deleted charge": "DELETE FROM hush_entries WHERE number = 5",
    "a deleted last entry": "DELETE FROM hush_entries WHERE number = (SELECT max(number) FROM hush_entries)",
    "a larger budget": "UPDATE hush_budgets SET budget = replace(budget, '\"epsilon\": 1.0', '\"epsilon\": 9.0')",
    "less spent": "UPDATE hush_budgets SET spent = '1' WHERE name = 'census'",
    "a budget more": "INSERT INTO hush_budgets SELECT 'x', NULL, budget, '0', 99 FROM hush_budgets WHERE name = 'census'",
    "a budget of another entry": "UPDATE hush_budgets SET entry = 99 WHERE name = 'ann'",
    "an analyst set free": "UPDATE hush_budgets SET above = NULL WHERE name = 'ann'",
    "two entries in the place of each other": (
        "UPDATE hush_entries SET number = CASE number WHEN 3 THEN -5 WHEN 5 THEN -3 END WHERE number IN (3, 5)"
    ),
}


@pytest.mark.parametrize("edit", EDITS)
def test_edits_are_found(path: Path, edit: str) -> None:
    changed(path, EDITS[edit], "UPDATE hush_entries SET number = -number WHERE number < 0")
    with pytest.raises(hush.LedgerError):
        Ledger.open(path).verify()


def resealed(path: Path) -> None:
    """Write the hashes anew, as somebody who knows how would."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        previous = START
        for row in connection.execute("SELECT * FROM hush_entries ORDER BY number").fetchall():
            previous = digest(row, previous)
            connection.execute("UPDATE hush_entries SET hash = ? WHERE number = ?", (previous, row[0]))


def test_a_history_that_was_written_anew_is_found_by_an_anchor(path: Path) -> None:
    anchor = str(Ledger.open(path).anchor())
    changed(path, "UPDATE hush_entries SET purpose = 'other' WHERE number = 3")
    resealed(path)
    book = Ledger.open(path)
    book.verify()
    with pytest.raises(hush.LedgerError, match="written anew"):
        book.verify(anchor)


@pytest.mark.parametrize("kind", KINDS)
def test_a_restored_copy_is_found_by_an_anchor(kind: str, tmp_path: Path) -> None:
    """Also where new entries were made since: the anchored one is missing, or another stands in its place."""
    where = place(kind, tmp_path)
    book = Ledger.create(where)
    book.add("census", Budget(epsilon=1.0, delta=1e-6))
    book.spend(COUNT, DATA)
    old = Ledger.create(tmp_path / "copy.db")
    entries, budgets = book._store.read(lambda source: (list(source.entries()), source.budgets()))
    old._store.write(
        lambda target: ([target.append(entry) for entry in entries], [target.add(*row) for row in budgets])
    )
    old = Ledger.open(tmp_path / "copy.db")
    assert old.verify().charges == 1
    book.spend(COUNT, DATA)
    anchor = book.anchor()
    book.verify(anchor)
    with pytest.raises(hush.LedgerError, match="older copy"):
        old.verify(anchor)
    old.spend(COUNT, DATA)
    with pytest.raises(hush.LedgerError, match="written anew"):
        old.verify(str(anchor))


def test_a_budget_beyond_its_limit_is_found(path: Path) -> None:
    """Costs and sums that fit together, but not the budget."""
    changed(
        path,
        'UPDATE hush_entries SET costs = \'{"ann": "1152921504606846976", "census": "1152921504606846976"}\' WHERE number = 3',
    )
    resealed(path)
    with pytest.raises(hush.LedgerError, match="beyond its budget"):
        Ledger.open(path).verify()


# -- other versions ----------------------------------------------------------------------------------------------


def test_an_older_book_is_migrated_in_one_transaction(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def next_version(connection: object) -> None:
        connection.exec_driver_sql("ALTER TABLE hush_budgets RENAME COLUMN above TO parent")  # type: ignore[attr-defined]
        connection.exec_driver_sql("ALTER TABLE hush_budgets RENAME COLUMN parent TO above")  # type: ignore[attr-defined]

    monkeypatch.setattr(store, "VERSION", 2)
    monkeypatch.setitem(store.MIGRATIONS, 1, next_version)
    before = Ledger.open(path).anchor()
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT version FROM hush_book").fetchall() == [(2,)]
    assert Ledger.open(path).verify(before).charges == 5
    monkeypatch.setattr(store, "VERSION", 1)
    with pytest.raises(hush.LedgerError, match="version 2"):
        Ledger.open(path)


def test_a_migration_that_fails_changes_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(connection: object) -> None:
        connection.exec_driver_sql("ALTER TABLE hush_budgets RENAME COLUMN above TO parent")  # type: ignore[attr-defined]
        connection.exec_driver_sql("SELECT nothing FROM nowhere")  # type: ignore[attr-defined]

    with monkeypatch.context() as patch:
        patch.setattr(store, "VERSION", 2)
        patch.setitem(store.MIGRATIONS, 1, broken)
        with pytest.raises(hush.LedgerError):
            Ledger.open(path)
    assert Ledger.open(path).verify().charges == 5


# -- disks -------------------------------------------------------------------------------------------------------


SPEND = """
import json, os, resource, signal, sys
import hush
from hush.ledger import Ledger
Ledger.open(sys.argv[1]).would_cost(hush.releases.Count(epsilon=1.0), dataset="census")
hush.releases.count([1], epsilon=1.0)  # what is imported late is imported now
{first}
said, book = [], None
for number in range({times}):
    try:
        book = book or Ledger.open(sys.argv[1])
        standing = book.standing("census")
        book.spend(hush.releases.Count(epsilon=0.0001), [1, 2, 3], dataset="census", key=f"k{{number}}", purpose="x" * 2000)
        said.append("")
    except hush.LedgerError as error:
        said.append(str(error))
print(standing, file=sys.stderr)
print(json.dumps(said))
"""


def spending(path: Path, first: str, times: int) -> list[str]:
    """What a process was told for each of its releases."""
    code = SPEND.format(first=first, times=times)
    environment = os.environ | {"PYTHONPATH": str(ROOT.parent), "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)], capture_output=True, text=True, cwd=PROJECT, env=environment
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_full_disk_spends_nothing_and_shows_nothing(path: Path) -> None:
    """Files of this process may not grow past a limit: sooner or later a commit fails; before that nothing is lost."""
    limit = len(bytes_of(path)) + 100_000
    first = (
        f"signal.signal(signal.SIGXFSZ, signal.SIG_IGN); resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))"
    )
    said = spending(path, first, 60)
    shown = said.count("")
    assert 0 < shown < 60
    assert all(re.fullmatch(r"The book cannot be \w+ \(SQLITE_\w+\)\.", text) for text in said if text)
    book = Ledger.open(path)
    found = book.verify()
    assert shown <= found.charges - 5 <= shown + 60
    for number, text in enumerate(said):
        if text == "":  # what was shown is kept, and given again
            again = book.spend(
                releases.Count(epsilon=0.0001), DATA, dataset="census", key=f"k{number}", purpose="x" * 2000
            )
            assert again.private
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] != limit


def test_a_read_only_file_can_be_read_and_not_spent_from(path: Path) -> None:
    bytes_of(path)
    for name in (path, path.with_name("budget.db-wal"), path.with_name("budget.db-shm")):
        if name.exists():
            name.chmod(0o444)
    for folder in (path.parent, *list(path.parent.parents)[:3]):
        folder.chmod(0o555 if folder == path.parent else folder.stat().st_mode | 0o111)
    try:
        said = spending(path, "os.geteuid() == 0 and os.setuid(65534)", 2)
    finally:
        path.parent.chmod(0o755)
    assert len(said) == 2
    assert said == ["The book cannot be written (SQLITE_READONLY)."] * 2
    assert Ledger.open(path).verify().charges == 5


def test_a_copy_of_the_file_is_the_same_book(path: Path, tmp_path: Path) -> None:
    anchor = Ledger.open(path).anchor()
    bytes_of(path)
    shutil.copy(path, tmp_path / "copy.db")
    assert Ledger.open(tmp_path / "copy.db").verify(anchor).anchor == anchor


def test_a_budget_whose_row_is_gone(path: Path) -> None:
    book = Ledger.open(path)
    changed(path, "DELETE FROM hush_budgets WHERE name = 'census'")
    for act in (lambda: book.standing("census"), lambda: book.spend(COUNT, DATA, dataset="ann"), book.verify):
        with pytest.raises(hush.LedgerError):
            act()


@pytest.mark.parametrize("kind", KINDS)
def test_every_commit_is_synced(kind: str, tmp_path: Path) -> None:
    """Also where the server says otherwise; asked on the connections that write."""
    book = Ledger.create(place(kind, tmp_path))
    question = "PRAGMA synchronous" if kind == "SQLite" else "SHOW synchronous_commit"
    for _ in range(3):
        found = book._store.write(lambda t: t._connection.exec_driver_sql(question).scalar())
        assert found == (2 if kind == "SQLite" else "on")
    if kind == "SQLite":
        assert book._store.write(lambda t: t._connection.exec_driver_sql("PRAGMA journal_mode").scalar()) == "wal"


def test_a_book_is_not_stored_with_a_model(path: Path) -> None:
    import copy
    import pickle

    book = Ledger.open(path)
    assert copy.deepcopy(book) is book
    for account in (book, book.account("ann")):
        with pytest.raises(hush.InvalidParameter, match="ledger=None"):
            pickle.dumps(account)
        assert str(path) not in repr(account)


def test_no_message_of_a_database_is_passed_on(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error of SQLAlchemy holds the statement with its values: an answer, a purpose."""
    book = Ledger.open(path)
    changed(path, "ALTER TABLE hush_entries RENAME COLUMN purpose TO goal")
    with pytest.raises(hush.LedgerError) as error:
        book.spend(COUNT, DATA, dataset="ann", purpose="the secret purpose")
    assert "secret" not in str(error.value)
    assert error.value.__cause__ is None and error.value.__context__ is None
