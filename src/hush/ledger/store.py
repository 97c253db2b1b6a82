"""The only place that sees a database: SQLite in a file, or PostgreSQL by its address.

Writers wait for each other: one transaction reads the last entry, checks, and appends. SQLite runs with a write-ahead
log and syncs every commit; PostgreSQL is told to do so. No message of a database is passed on: it may hold what was
stored.
"""

from __future__ import annotations

import contextlib
import os
import re
import weakref
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.engine import URL, Connection, Engine, make_url
from sqlalchemy.exc import ArgumentError, NoSuchModuleError, SQLAlchemyError

from hush.errors import InvalidParameter, LedgerError, NotInstalled
from hush.ledger.entries import START, Entry, Kind
from hush.randomness.source import this_process

VERSION = 1
"""Of the tables. A book of a later version is refused, one of an earlier version is migrated when it is opened."""
MIGRATIONS: dict[int, Callable[[Connection], None]] = {}
"""From a version to the next one, inside the transaction that then writes down the new version."""
WAIT = 120
"""Seconds that a writer waits for others."""
SYNCED = "-c synchronous_commit=on"
"""What PostgreSQL is told, whatever the server's own setting is."""
DRIVERS = ("sqlite3", "psycopg")
"""Where errors of a database come from, beside SQLAlchemy."""
PIECE = 10_000
"""Entries that are read at once."""

LAST_NUMBER = 2**63 - 1
"""The largest number that a database has room for."""

Result = TypeVar("Result")

TABLES = sa.MetaData()
BOOK = sa.Table(
    "hush_book",
    TABLES,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("version", sa.Integer, nullable=False),
)
BUDGETS = sa.Table(
    "hush_budgets",
    TABLES,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("above", sa.Text),
    sa.Column("budget", sa.Text, nullable=False),
    sa.Column("spent", sa.Text, nullable=False),
    sa.Column("entry", sa.BigInteger, nullable=False),
)
ENTRIES = sa.Table(
    "hush_entries",
    TABLES,
    sa.Column("number", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True, autoincrement=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("time", sa.BigInteger, nullable=False),
    sa.Column("budget", sa.Text, nullable=False),
    sa.Column("key", sa.Text, unique=True),
    sa.Column("request", sa.Text, nullable=False),
    sa.Column("what", sa.Text, nullable=False),
    sa.Column("mechanism", sa.Text, nullable=False),
    sa.Column("purpose", sa.Text, nullable=False),
    sa.Column("costs", sa.Text, nullable=False),
    sa.Column("about", sa.BigInteger),
    sa.Column("text", sa.Text, nullable=False),
    sa.Column("hash", sa.Text, nullable=False),
)
ABOUT = sa.Index("hush_entries_about", ENTRIES.c.about)

LOCK = sa.select(BOOK.c.version).with_for_update()
LAST = sa.select(ENTRIES.c.number, ENTRIES.c.hash).order_by(ENTRIES.c.number.desc()).limit(1)
BY_KEY = sa.select(ENTRIES).where(ENTRIES.c.key == sa.bindparam("key"))
FOLLOWING = sa.select(ENTRIES).where(ENTRIES.c.about == sa.bindparam("about")).order_by(ENTRIES.c.number)
SPENT = sa.select(BUDGETS.c.spent).where(BUDGETS.c.name == sa.bindparam("name"))
CHARGED = sa.update(BUDGETS).where(BUDGETS.c.name == sa.bindparam("named")).values(spent=sa.bindparam("units"))
APPENDED, ADDED = sa.insert(ENTRIES), sa.insert(BUDGETS)


@lru_cache(maxsize=256)
def _written(statement: Any, dialect: Any) -> tuple[str, list[str] | None, dict[str, Any]]:
    """A statement in the words of a database: its text, the order of its parameters, and values that it has itself."""
    compiled = statement.compile(dialect=dialect)
    return str(compiled), compiled.positiontup, dict(compiled.params)


class Transaction:
    """Questions to the tables, and what is appended to them, all at once or not at all.

    SQLAlchemy writes each statement once. The driver's own cursor runs those that spend, in a third of the time.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._cursor = connection.connection.cursor()

    def _asked(self, statement: Any, **values: Any) -> Any:
        text, order, own = _written(statement, self._connection.dialect)
        given = own | values
        return self._cursor.execute(text, given if order is None else [given[name] for name in order])

    def version(self) -> object:
        """The version of the book; with it comes the lock that writers of PostgreSQL wait for."""
        return (self._asked(LOCK).fetchone() or [None])[0]

    def last(self) -> tuple[int, str]:
        """Number and hash of the last entry."""
        found = self._asked(LAST).fetchone()
        if found is None:
            return 0, START
        if not isinstance(found[0], int) or not 0 < found[0] < LAST_NUMBER:
            raise LedgerError("The last entry has a number that no entry has: the book was edited.")
        return found[0], str(found[1])

    def append(self, entry: Entry) -> Entry:
        """Seal the entry behind the last one."""
        number, previous = self.last()
        sealed = entry._replace(number=number + 1).sealed(previous)
        self._asked(APPENDED, **sealed._asdict())
        return sealed

    def by_key(self, key: str) -> Entry | None:
        """The charge of this key."""
        found = self._asked(BY_KEY, key=key).fetchone()
        return None if found is None else Entry(*found)

    def following(self, number: int) -> list[Entry]:
        """Notes and the answer of a charge."""
        return [Entry(*row) for row in self._asked(FOLLOWING, about=number).fetchall()]

    def spent(self, names: tuple[str, ...]) -> dict[str, str]:
        """What is spent of budgets, by name, as it is written; those that are not there are left out."""
        found = {name: self._asked(SPENT, name=name).fetchone() for name in names}
        return {name: row[0] for name, row in found.items() if row is not None}

    def spend(self, name: str, units: str) -> None:
        """Write down what is spent of a budget."""
        self._asked(CHARGED, named=name, units=units)

    def add(self, name: str, above: str | None, budget: str, spent: str, entry: int) -> None:
        """A new budget."""
        self._asked(ADDED, name=name, above=above, budget=budget, spent=spent, entry=entry)

    def budgets(self) -> list[tuple[str, str | None, str, str, int]]:
        """Name, name of the one above, budget, what is spent and number of the entry, in the order of those."""
        return [tuple(row) for row in self._connection.execute(sa.select(BUDGETS).order_by(BUDGETS.c.entry))]  # type: ignore[misc]

    def entries(self, kinds: tuple[Kind, ...] = ()) -> Iterator[Entry]:
        """All entries in order, or those of some kinds; few of them are in memory at once."""
        chosen = sa.select(ENTRIES).order_by(ENTRIES.c.number)
        if kinds:
            chosen = chosen.where(ENTRIES.c.kind.in_(kinds))
        with self._connection.execute(chosen, execution_options={"yield_per": PIECE}) as rows:
            for row in rows:
                yield Entry(*row)

    def newest(self, count: int) -> list[Entry]:
        """The last entries, the newest first."""
        chosen = sa.select(ENTRIES).order_by(ENTRIES.c.number.desc()).limit(count)
        return [Entry(*row) for row in self._connection.execute(chosen)]

    def mechanisms(self, names: tuple[str, ...]) -> list[tuple[str, int]]:
        """The mechanisms that were charged to budgets, each with how often it was."""
        counted = sa.select(ENTRIES.c.mechanism, sa.func.count()).where(
            ENTRIES.c.kind.in_((Kind.SPEND, Kind.HAND)), ENTRIES.c.budget.in_(names)
        )
        rows = self._connection.execute(counted.group_by(ENTRIES.c.mechanism).order_by(ENTRIES.c.mechanism))
        return [(str(row[0]), int(row[1])) for row in rows]


class Store:
    """A database with the tables of a book."""

    def __init__(self, url: URL) -> None:
        self._url, self._sqlite = url, url.get_backend_name() == "sqlite"
        self._made: tuple[tuple[int, int], Engine] | None = None

    @classmethod
    def at(cls, place: str | Path) -> Store:
        """The database in a file, or at an address that begins with postgresql://."""
        if not isinstance(place, str | Path) or not str(place).strip() or "\0" in str(place):
            raise InvalidParameter("Ledger", "a file, or an address such as postgresql://host/name", place=place)
        if isinstance(place, Path) or not re.match(r"\w+(\+\w+)?://", place):
            return cls(URL.create("sqlite", database=str(Path(place).absolute())))
        try:
            url = make_url(place)
            backend = url.get_backend_name()
        except (ArgumentError, NoSuchModuleError, ValueError):
            raise LedgerError("The address of the book cannot be read: write postgresql://user@host/name.") from None
        if backend != "postgresql":
            raise InvalidParameter("Ledger", "an address of PostgreSQL, or a file", address=backend)
        return cls(url.set(drivername="postgresql+psycopg"))

    def create(self) -> None:
        """Make the tables, in a database that has none of them; a file that holds anything else is left alone."""
        _told("made", self._created)

    def _created(self) -> None:
        if self._sqlite and self._file.exists() and self._tables(self._reader):
            raise LedgerError("There is something in this file already: open it, or choose another name.")
        with contextlib.closing(self._engine.connect()) as connection:
            if self._sqlite:
                connection.exec_driver_sql("PRAGMA journal_mode = WAL")
            with self._begun(connection, "BEGIN IMMEDIATE" if self._sqlite else "BEGIN"):
                if not self._sqlite and self._tables(connection):
                    raise LedgerError("There is a book in this database already: open it.")
                TABLES.create_all(connection)
                connection.execute(sa.insert(BOOK), {"id": 1, "version": VERSION})

    def check(self) -> None:
        """Refuse what is not a book, or one of another version; an older one is migrated."""
        if _told("read", self._checked) < VERSION:
            self.write(lambda _: None)

    def _checked(self) -> int:
        if self._sqlite and not self._file.is_file():
            raise LedgerError("There is no book at this place: Ledger.create makes one.")
        with contextlib.closing(self._reader) as connection:
            return self._version(connection)

    def write(self, action: Callable[[Transaction], Result]) -> Result:
        """What the action gives in a transaction that no other writer is in; all of it is kept, or nothing."""

        def written() -> Result:
            with contextlib.closing(self._engine.connect()) as connection:
                with self._begun(connection, "BEGIN IMMEDIATE" if self._sqlite else "BEGIN"):
                    book = Transaction(connection)
                    self._migrated(connection, book.version())
                    return action(book)

        return _told("written", written)

    def read(self, action: Callable[[Transaction], Result]) -> Result:
        """What the action gives in a transaction that sees the book as it is at one moment."""

        def found() -> Result:
            begin = "BEGIN" if self._sqlite else "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
            with contextlib.closing(self._engine.connect()) as connection, self._begun(connection, begin):
                return action(Transaction(connection))

        return _told("read", found)

    def sound(self) -> bool:
        """Whether every page of a file is where it should be; PostgreSQL sees to its own."""

        def asked() -> bool:
            with contextlib.closing(self._engine.connect()) as connection:
                return connection.exec_driver_sql("PRAGMA quick_check(1)").scalar() == "ok"

        return not self._sqlite or _told("read", asked)

    # -- the database ------------------------------------------------------------------------------------------

    @property
    def _file(self) -> Path:
        return Path(self._url.database or "")

    @property
    def _engine(self) -> Engine:
        """Connections of this process: none may be used by a process that was forked."""
        process = this_process()
        if self._made is None or self._made[0] != process:
            if self._made is not None:
                self._made[1].dispose(close=False)
            engine = self._connected()
            weakref.finalize(self, _closed, engine, process)
            self._made = process, engine
        return self._made[1]

    def _connected(self) -> Engine:
        try:
            url = self._unchanged if self._read_only else self._url
            given = {"timeout": WAIT} if self._sqlite else {"connect_timeout": 30, "options": SYNCED}
            engine = sa.create_engine(
                url, isolation_level="AUTOCOMMIT", connect_args=given, pool_pre_ping=not self._sqlite
            )
        except ModuleNotFoundError:
            raise NotInstalled("A book in PostgreSQL", "psycopg", "ledger") from None
        if self._sqlite:
            event.listen(engine, "connect", _every_commit_is_synced)
        return engine

    @property
    def _reader(self) -> Connection:
        """A connection that changes nothing, not even the header of a file."""
        if not self._sqlite:
            return self._engine.connect()
        return sa.create_engine(self._unchanged, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool).connect()

    @property
    def _unchanged(self) -> URL:
        """The file, to be read alone. Where nobody here can write, no log can be opened either: it must have none."""
        log = self._file.with_name(f"{self._file.name}-wal")
        query = {"mode": "ro", "uri": "true"}
        if self._read_only and not (log.exists() and log.stat().st_size):
            query["immutable"] = "1"
        return URL.create("sqlite", database=self._file.as_uri(), query=query)

    @property
    def _read_only(self) -> bool:
        """Whether a file is there that this process cannot write to."""
        here = self._sqlite and self._file.exists()
        return here and not (os.access(self._file, os.W_OK) and os.access(self._file.parent, os.W_OK))

    def _tables(self, connection: Connection) -> set[tuple[str, str]]:
        """What is in the database, by kind and name; of PostgreSQL, which of our tables are."""
        if not self._sqlite:
            found = sa.inspect(connection).get_table_names()
            return {("table", name) for name in found if name in TABLES.tables}
        with contextlib.closing(connection):
            rows = connection.exec_driver_sql("SELECT type, name FROM sqlite_master").all()
        return {(str(kind), str(name)) for kind, name in rows if not str(name).startswith("sqlite_")}

    def _version(self, connection: Connection) -> int:
        """The version of the book, if it is one: our tables and no other, no view and no trigger."""
        expected = {("table", name) for name in TABLES.tables}
        if self._sqlite:
            expected |= {("index", "hush_entries_about")}
            found = self._tables(self._reader)
        else:
            found = self._tables(connection)
        if not expected & found:
            raise LedgerError("This is no budget book of hush.")
        if expected - found or (self._sqlite and found - expected):
            raise LedgerError("This book was not made whole, or was changed: its tables are not those of hush.")
        rows = connection.execute(sa.select(BOOK)).all()
        return _known_version(rows[0][1] if len(rows) == 1 else None)

    def _migrated(self, connection: Connection, found: object) -> None:
        """Bring the tables to this version, step by step."""
        version = _known_version(found)
        while version < VERSION:
            MIGRATIONS[version](connection)
            version += 1
            connection.execute(sa.update(BOOK).values(version=version))

    @contextlib.contextmanager
    def _begun(self, connection: Connection, begin: str) -> Iterator[None]:
        cursor = connection.connection.cursor()
        cursor.execute(begin)
        try:
            yield
            cursor.execute("COMMIT")
        except BaseException:
            with contextlib.suppress(Exception):
                cursor.execute("ROLLBACK")
            raise


def _closed(engine: Engine, process: tuple[int, int]) -> None:
    """Close what this process opened: a forked one must not say goodbye in the name of its parent."""
    if this_process() == process:
        engine.dispose()


def _known_version(found: object) -> int:
    if isinstance(found, bool) or not isinstance(found, int):
        raise LedgerError("This book was not made whole: it has no version.")
    if found > VERSION or (found < VERSION and found not in MIGRATIONS):
        raise LedgerError(f"This book is of version {found}, and this hush knows version {VERSION}.")
    return found


def _every_commit_is_synced(connection: Any, _: object) -> None:
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA trusted_schema = OFF")


def _told(done: str, action: Callable[[], Result]) -> Result:
    """What the action gives; what goes wrong in a database is told by its code alone."""
    try:
        return action()
    except Exception as error:
        if not isinstance(error, SQLAlchemyError | OSError) and type(error).__module__.split(".")[0] not in DRIVERS:
            raise
        reason = _code(getattr(error, "orig", None) or error)
    # outside of the handler: an error raised in it would carry the other, with all it says, as its context
    raise LedgerError(f"The book cannot be {done} ({reason}).")


def _code(error: BaseException) -> str:
    names = ("sqlite_errorname", "sqlstate", "strerror")
    return next((str(code) for name in names if (code := getattr(error, name, None))), type(error).__name__)
