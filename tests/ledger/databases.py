"""Where books are kept in tests: a file, and a PostgreSQL that is real.

PostgreSQL is the one at HUSH_TEST_POSTGRES, or one that the package pgserver starts. With CI=1 it must be there.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from functools import cache
from pathlib import Path
from uuid import uuid4

import pytest

sa = pytest.importorskip("sqlalchemy", reason="budget books need SQLAlchemy: pip install 'hush-dp[ledger]'")

KINDS = ("SQLite", "PostgreSQL")
HOW = "a real PostgreSQL: pip install pgserver (Python 3.11 or 3.12), or set HUSH_TEST_POSTGRES to an address"


class Server:
    """A PostgreSQL of our own, as a child of this process: it can be killed, and started again on the same files."""

    def __init__(self) -> None:
        self._programs = _programs()
        self._folder = Path(tempfile.mkdtemp(prefix="hush-postgres-"))
        self._user = 65534 if os.geteuid() == 0 else None  # PostgreSQL refuses to run as root: as nobody, then
        if self._user is not None:
            os.chown(self._folder, self._user, -1)
        self._call("initdb", "--auth=trust", "--username=postgres", "--encoding=utf8", "--no-sync").wait()
        self.start()
        atexit.register(self.stop, os.getpid())

    @property
    def address(self) -> str:
        return f"postgresql://postgres@/postgres?host={self._folder}"

    def start(self) -> None:
        self._process = self._call("postgres", "-h", "", "-k", str(self._folder))
        for _ in range(600):
            with contextlib.suppress(sa.exc.OperationalError):
                _run(self.address, "SELECT 1")
                return
            time.sleep(0.05)
        raise TimeoutError("PostgreSQL does not start")

    def kill(self) -> None:
        """As kill -9 does: its helpers see it, and leave."""
        self._process.kill()
        self._process.wait()
        for _ in range(600):
            if not _helpers(self._folder):
                return
            time.sleep(0.05)

    def stop(self, process: int) -> None:
        if os.getpid() == process:
            self._process.send_signal(signal.SIGQUIT)
            self._process.wait()
            shutil.rmtree(self._folder, ignore_errors=True)

    def _call(self, program: str, *options: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [self._programs / program, "-D", self._folder / "data", *options],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=self._folder,
            user=self._user,
        )


def _programs() -> Path:
    """The programs that come with the package pgserver, readable for whoever runs them."""
    os.environ.setdefault("XDG_RUNTIME_DIR", tempfile.mkdtemp(prefix="hush-runtime-"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pgserver
    folder = Path(pgserver.__file__).parent / "pginstall"
    if os.geteuid() == 0:
        for above in folder.parents:
            above.chmod(above.stat().st_mode | 0o111)
    return folder / "bin"


def _helpers(folder: Path) -> bool:
    """Whether a process still runs in the folder of the data."""
    for found in Path("/proc").glob("[0-9]*/cwd"):
        with contextlib.suppress(OSError):
            if found.resolve() == folder / "data":
                return True
    return False


@cache
def server() -> str | None:
    """The address of a server; None where there is none."""
    given = os.environ.get("HUSH_TEST_POSTGRES")
    if given:
        return given
    try:
        return Server().address
    except ImportError:
        return None


def missing() -> None:
    """Without a server: a failure in CI, where a package for this Python exists; a skip elsewhere."""
    if os.environ.get("CI") == "1" and sys.version_info < (3, 13):
        pytest.fail(f"needs {HOW}")
    pytest.skip(f"needs {HOW}")


@cache
def database(address: str, process: int) -> str:
    """A database of this process on the server: others may use the same server."""
    name = f"hush_{process}_{uuid4().hex}"
    _run(address, f"CREATE DATABASE {name}")
    return sa.engine.make_url(address).set(database=name).render_as_string(hide_password=False)


def emptied(address: str) -> str:
    """The database without a book."""
    _run(address, "DROP TABLE IF EXISTS hush_book, hush_budgets, hush_entries")
    return address


def _run(address: str, statement: str) -> None:
    url = sa.engine.make_url(address).set(drivername="postgresql+psycopg")
    engine = sa.create_engine(url, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
    with engine.connect() as connection:
        connection.exec_driver_sql(statement)


def place(kind: str, folder: Path) -> str:
    """Where a new book may be made; one at a time on PostgreSQL."""
    if kind == "SQLite":
        return str(folder / "budget.db")
    found = server()
    if found is None:
        missing()
    return emptied(database(str(found), os.getpid()))
