"""One server of the page for all tests that need no other."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.page_server import Served, served


@pytest.fixture(scope="session")
def server() -> Iterator[Served]:
    with served() as found:
        yield found
