"""Windows of ranks that are read off a file in several passes, against all records sorted; and what they take."""

from __future__ import annotations

import os
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

import hush
from hush import releases
from hush.releases.noise.lattice import Lattice
from hush.releases.statistics import ordered_records
from hush.releases.statistics.ordered_records import Counted, InMemory, without_nan

NUMBERS = st.one_of(
    st.sampled_from([0.0, -0.0, 1.0, np.nan, np.inf, -np.inf, 1e308, 7.0, 7.0]), st.floats(-3, 40), st.integers(0, 9)
)


@pytest.fixture
def few_held(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ordered_records, "HELD", 6)
    monkeypatch.setattr(ordered_records, "CELLS", 3)


@settings(deadline=None)
@given(st.lists(st.lists(NUMBERS, min_size=1), min_size=1, max_size=5), st.data())
@pytest.mark.parametrize("step", [1.0, 0.125, None])
def test_any_window(step: float | None, batches: list[list[float]], data: st.DataObject) -> None:
    lattice, arrays = Lattice.within((0, 30), step=step), [np.array(batch, dtype=float) for batch in batches]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ordered_records, "HELD", 6)
        patch.setattr(ordered_records, "CELLS", 3)
        indices = [lattice.indices(without_nan(a, lattice)) for a in arrays]
        parts = data.draw(st.integers(0, len(arrays)))
        counted = Counted(
            lambda function: [function(iter(indices[:parts])), function(iter(indices[parts:]))],
            first=lattice.first,
            last=lattice.last,
        )
        memory = InMemory(without_nan(np.concatenate(arrays), lattice), lattice)
        assert counted.size == memory.size
        first = data.draw(st.integers(1, counted.size))
        last = data.draw(st.integers(first, counted.size))
        assert counted.window(first, last).tolist() == memory.window(first, last).tolist()


def test_a_window_within_ties(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ordered_records, "HELD", 6)
    values = np.repeat([3, 4, 900], [50, 60, 70])
    counted = Counted(lambda function: [function(iter([values]))], first=0, last=1000)
    for first, last in ((1, 180), (10, 20), (45, 115), (110, 111), (180, 180)):
        assert counted.window(first, last).tolist() == values[first - 1 : last].tolist()


def file_of(folder: Path, values: Any, group: int = 100) -> Path:
    path = folder / "x.parquet"
    parquet.write_table(pyarrow.table({"x": values, "who": np.arange(len(values)) % 40}), path, row_group_size=group)
    return path


QUERIES = [
    releases.Median(bounds=(0, 2000), epsilon=1.0),
    releases.Quantile(p=0.9, bounds=(0, 2000), epsilon=0.1, step=1.0),
    releases.QuantileInterval(p=0.5, bounds=(0, 2000), epsilon=3.0, size=900),
    releases.SmoothMedian(bounds=(0, 2000), noise=releases.SmoothLaplace(epsilon=1.0, delta=1e-6)),
]


@pytest.mark.usefixtures("few_held")
@pytest.mark.parametrize("query", QUERIES, ids=lambda query: type(query).__name__)
def test_releases_are_the_same(query: Any, tmp_path: Path) -> None:
    values = np.random.default_rng(1).lognormal(5, 1, 1000)
    values[::7], values[3::50] = 100.0, np.nan
    path = file_of(tmp_path, values)
    units = {"unit": "who", "max_contributions": 3} if query.relation is hush.Relation.ADD_REMOVE else {}
    for unit in ({}, units):
        table = {"x": values, "who": np.arange(1000) % 40}
        found = [
            query.release(releases.table(data, column="x", **unit), source=hush.SeededSource(3)).value
            for data in (path, table)
        ]
        assert found[0] == found[1]


@pytest.mark.usefixtures("few_held")
def test_many_quantiles_of_a_file(tmp_path: Path) -> None:
    """Other random bits tell equal values apart, so the answers are those of the same law, not the same."""
    values = np.random.default_rng(1).integers(0, 60, 3000)
    path = file_of(tmp_path, values)
    query = releases.Quantiles(ps=(0.1, 0.25, 0.5, 0.75, 0.9), bounds=(0, 64), epsilon=400.0, step=1.0)
    found = query.release(releases.table(path, column="x")).value
    assert np.abs(np.array(found) - np.quantile(values, query.ps)).max() <= 1


@pytest.mark.usefixtures("few_held")
def test_a_file_that_changes_between_passes_is_refused() -> None:
    rounds = iter([np.arange(50)] * 1 + [np.arange(49)] * 9)
    counted = Counted(lambda function: [function(iter([next(rounds)]))], first=0, last=1000)
    with pytest.raises(hush.InvalidParameter, match="stay as they are"):
        counted.window(20, 30)


@pytest.mark.usefixtures("few_held")
def test_a_stream_that_can_be_read_once() -> None:
    """However many records it has: whether it raised would tell how many."""
    batches = pyarrow.table({"x": np.arange(500.0)}).to_batches(max_chunksize=50)
    for query in (*QUERIES[:2], releases.Quantiles(ps=(0.2, 0.5), bounds=(0, 500), epsilon=1.0)):
        stream = pyarrow.RecordBatchReader.from_batches(batches[0].schema, batches)
        found = query.release(releases.table(stream, column="x"), source=hush.SeededSource(1))
        assert found.value == query.release(np.arange(500.0), source=hush.SeededSource(1)).value


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_a_file_that_is_written_anew_is_refused(kind: str, tmp_path: Path) -> None:
    path = tmp_path / f"x.{kind}"

    def write(values: list[float]) -> None:
        if kind == "csv":
            path.write_text("x\n" + "\n".join(map(str, values)) + "\n")
        else:
            parquet.write_table(pyarrow.table({"x": values}), path)

    write([1.0, 2.0])
    table = releases.table(path, column="x")
    assert table.array(numbers=True).tolist() == [1.0, 2.0]
    write([4711.0, 2.0])
    os.utime(path, ns=(1, 1))
    with pytest.raises(hush.InvalidParameter, match="stay as they are") as told:
        releases.Median(bounds=(0, 5000), epsilon=1.0).release(table)
    assert "4711" not in str(told.value)
    path.unlink()
    with pytest.raises(hush.InvalidParameter):
        table.array()


def test_memory_of_a_median_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A column of 8 MB: at most a few row groups are in memory at once."""
    monkeypatch.setattr(ordered_records, "HELD", 1 << 14)
    path = file_of(tmp_path, np.random.default_rng(1).lognormal(5, 1, 1_000_000), group=1 << 14)
    query, table = releases.Median(bounds=(0, 2000), epsilon=1.0), releases.table(path, column="x")
    query.release(table)
    tracemalloc.start()
    query.release(table)
    assert tracemalloc.get_traced_memory()[1] < 4 << 20
    tracemalloc.stop()
