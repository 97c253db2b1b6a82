"""A book of many entries opens at once and is verified entry by entry; `bench/ledger.py` makes it and times it."""

from __future__ import annotations

import importlib.util
import sys
import time
from pathlib import Path
from types import ModuleType

import pytest

import hush
from hush.ledger import Ledger
from tests.source import PROJECT

pytest.importorskip("sqlalchemy")


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(PROJECT / "bench"))
    spec = importlib.util.spec_from_file_location("bench_ledger", PROJECT / "bench" / "ledger.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.modules.pop("tables", None)
    return module


def check(bench: ModuleType, place: Path, charges: int) -> dict[str, float]:
    bench.large(place, charges)
    found = bench.opened(place)
    assert found["entries"] == 2 * charges + 1
    return found


def test_a_book_that_was_written_at_once_is_the_one_that_was_written_line_by_line(
    bench: ModuleType, tmp_path: Path
) -> None:
    check(bench, tmp_path / "budget.db", 1000)
    book = Ledger.open(tmp_path / "budget.db")
    assert book.verify().charges == 1000 and book.odometer().readings[0].charges == 1000
    assert len(book.chart().line("data").x) == 1001


@pytest.mark.slow
def test_a_million_entries(bench: ModuleType, tmp_path: Path) -> None:
    found = check(bench, tmp_path / "budget.db", 500_000)
    assert found["open"] < 0.2
    assert found["verify"] < 60
    start = time.perf_counter()
    Ledger.open(tmp_path / "budget.db").record(hush.Gaussian(1e4))
    assert time.perf_counter() - start < 0.5


@pytest.mark.slow
def test_reserve_and_finish_against_a_bare_transaction(bench: ModuleType, tmp_path: Path) -> None:
    rates = bench.turns({"bare": bench.bare(tmp_path), "book": bench.book(str(tmp_path / "budget.db"))})
    assert rates["book"] < 0.01
    assert rates["book"] <= 3 * rates["bare"]
