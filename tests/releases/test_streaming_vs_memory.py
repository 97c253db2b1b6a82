"""Every kind of table gives the same records; batches, units and samples do not depend on how they are stored."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hush
from hush import releases
from hush.releases.tables import files
from tests.releases.replay import RecordingSource

pandas = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")
pyarrow = pytest.importorskip("pyarrow")

ROWS = 3000
RANDOM = np.random.default_rng(7)
INCOME = RANDOM.lognormal(5, 0.5, ROWS)
INCOME[::100] = np.nan
WHO = RANDOM.integers(0, 400, ROWS)
ANSWER = RANDOM.choice(["yes", "no", "=cmd|x"], ROWS)
COLUMNS = {"income": INCOME, "who": WHO, "answer": ANSWER}


def arrow() -> Any:
    return pyarrow.table({"income": pyarrow.array(INCOME, from_pandas=True), "who": WHO, "answer": ANSWER})


def parquet(folder: Path) -> str:
    from pyarrow import parquet

    parquet.write_table(arrow(), folder / "t.parquet", row_group_size=700)
    return str(folder / "t.parquet")


def comma(folder: Path) -> Path:
    from pyarrow import csv

    csv.write_csv(arrow(), folder / "t.csv")
    return folder / "t.csv"


MAKERS: dict[str, Callable[[Path], Any]] = {
    "dict": lambda _: COLUMNS,
    "pandas": lambda _: pandas.DataFrame(COLUMNS),
    "pandas, nullable": lambda _: pandas.DataFrame(COLUMNS).convert_dtypes(),
    "polars": lambda _: polars.DataFrame(COLUMNS),
    "arrow": lambda _: arrow(),
    "parquet": parquet,
    "csv": comma,
}


@pytest.fixture(params=MAKERS.values(), ids=MAKERS.keys())
def source(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(files, "BATCH", 512)
    return request.param(tmp_path)


def test_same_records(source: Any) -> None:
    table = releases.table(source, column="income")
    assert np.array_equal(table.array(numbers=True), INCOME, equal_nan=True)
    assert table.rows() == ROWS
    assert releases.table(source, column="answer").array().tolist() == ANSWER.tolist()


def same(one: Any, other: Any) -> bool:
    """All but the subject of their statements, which names a column where there is one."""
    return {**vars(one), "subject": ""} == {**vars(other), "subject": ""}


def test_same_releases(source: Any) -> None:
    for query in (
        releases.Mean(bounds=(0, 2000), epsilon=1.0),
        releases.Variance(bounds=(0, 2000), epsilon=1.0),
        releases.Median(bounds=(0, 2000), epsilon=1.0),
        releases.Histogram(edges=(0, 100, 2000), epsilon=1.0),
    ):
        expected = query.release(INCOME, source=hush.SeededSource(1))
        found = query.release(releases.table(source, column="income"), source=hush.SeededSource(1))
        assert same(found, expected)
    words = releases.Histogram(categories=("yes", "no"), epsilon=1.0)
    expected = words.release(ANSWER, source=hush.SeededSource(1))
    found = words.release(releases.table(source, column="answer"), source=hush.SeededSource(1))
    assert same(found, expected)
    with pytest.raises(hush.InvalidParameter):
        releases.table(source, column="income", unit="nobody", max_contributions=1)


def test_units_are_bounded_across_batches(source: Any) -> None:
    table = releases.table(source, column="income", unit="who", max_contributions=3)
    kept = [k for k in range(ROWS) if np.sum(WHO[:k] == WHO[k]) < 3]
    assert np.array_equal(table.array(numbers=True), INCOME[kept], equal_nan=True)
    query = releases.Sum(bounds=(0, 2000), epsilon=1.0)
    assert query.release(table).mechanism == query.mechanism.group(3)
    sampled = query.on(hush.Poisson(rate=0.2)).release(table)
    assert sampled.mechanism == query.mechanism.on(hush.Poisson(rate=0.2)).group(3)
    one = query.mechanism.on(hush.Poisson(rate=0.2)).epsilon(delta=0).upper
    assert sampled.mechanism.epsilon(delta=0).upper == pytest.approx(3 * one)


@pytest.mark.parametrize("at_once", [10, 10_000])
def test_large_and_small_row_groups(at_once: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "AT_ONCE", at_once)
    monkeypatch.setattr(files, "BATCH", 100)
    assert np.array_equal(releases.table(parquet(tmp_path), column="income").array(), INCOME, equal_nan=True)


def test_units_need_add_remove() -> None:
    table = releases.table(COLUMNS, column="income", unit="who", max_contributions=3)
    query = releases.Sum(bounds=(0, 1), epsilon=1.0, relation=hush.Relation.REPLACE)
    with pytest.raises(hush.NotCovered, match="ADD_REMOVE"):
        query.release(table)


def test_samples_of_a_fixed_size(source: Any) -> None:
    scheme = hush.WithoutReplacement(size=1000, population=ROWS)
    taken = releases.table(source, column="income").drawn(scheme, hush.SeededSource(2)).array(numbers=True)
    assert np.array_equal(taken, INCOME[scheme.draw(ROWS, hush.SeededSource(2))], equal_nan=True)


def test_poisson_samples_have_their_law() -> None:
    """Each record is drawn at the rate, in streams as in memory, and records of one batch independently of another."""
    table = releases.table(np.arange(20_000))
    sizes = [len(table.drawn(hush.Poisson(rate=0.1), hush.SeededSource(k)).array()) for k in range(40)]
    assert abs(np.mean(sizes) - 2000) < 5 * np.sqrt(1800 / 40)


def test_progress_is_reported(source: Any) -> None:
    seen: list[tuple[int, int | None]] = []
    table = releases.table(source, column="income", progress=lambda done, total: seen.append((done, total)))
    releases.sum(table, bounds=(0, 1), epsilon=1.0)
    assert seen[-1][0] == ROWS and all(a[0] < b[0] for a, b in itertools.pairwise(seen))


def test_cells_that_are_no_numbers(tmp_path: Path) -> None:
    """They count as missing, so as the lower bound; rows of another length are left out."""
    (tmp_path / "odd.csv").write_text('a,b\n1,x\n"two",y\n3\n,z\n=4+1,w\n5,v,u\n9,q\n')
    found = releases.table(tmp_path / "odd.csv", column="a").array(numbers=True)
    assert np.array_equal(found, [1, np.nan, np.nan, np.nan, 9], equal_nan=True)


def test_what_is_no_table(tmp_path: Path) -> None:
    (tmp_path / "not.parquet").write_text("nothing")
    (tmp_path / "empty.csv").write_text("")
    for bad in (tmp_path / "not.parquet", tmp_path / "empty.csv", tmp_path / "no.csv", tmp_path, "x.pkl"):
        with pytest.raises(hush.InvalidParameter):
            releases.table(bad)


def test_one_sample_of_many_columns() -> None:
    sample = releases.sample(COLUMNS, hush.Poisson(rate=0.5), source=RecordingSource(1))
    a = sample.release(releases.Count(epsilon=1.0), column="income")
    b = sample.release(releases.Mean(bounds=(0, 2000), epsilon=1.0), column="income")
    drawn = sample.apply(lambda columns: {k: len(v) for k, v in columns.items()}, guarantee=hush.PureDP(1.0))
    assert set(drawn.value) == set(COLUMNS) and len(set(drawn.value.values())) == 1
    assert len(sample.uses) == 3 and a.mechanism != b.mechanism
