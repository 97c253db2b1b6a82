"""A real PostgreSQL for tests: the one that HUSH_TEST_POSTGRES names, or one that is started for this session."""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.releases.engine_data import required


@contextmanager
def server() -> Iterator[str]:
    """The address of a database that may be written to."""
    given = os.environ.get("HUSH_TEST_POSTGRES")
    if given:
        yield given
        return
    required("pgserver")
    with tempfile.TemporaryDirectory(prefix="hush-pg") as folder:
        Path(folder).chmod(0o755)  # where tests run as root, the server runs as a user of its own
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of platformdirs, about where sockets lie
            import pgserver

            running = pgserver.get_server(Path(folder) / "data", cleanup_mode="delete")
        try:
            yield running.get_uri()
        finally:
            running.cleanup()
