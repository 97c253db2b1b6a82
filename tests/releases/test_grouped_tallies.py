"""Tallies against plain Python: sums, keys, limits, missing values, batches, files; one user changes nobody else's records."""

from __future__ import annotations

import gzip
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import polars
import pyarrow
import pytest
from pyarrow import csv, dataset, parquet

import hush
from hush import releases
from hush.errors import InvalidParameter
from hush.releases.group_by.contributions import AtMost
from hush.releases.row_wise.row_expressions import Expression, col
from hush.releases.row_wise.row_parser import row_expression
from hush.releases.tables.in_memory import in_memory
from hush.releases.tables.opening import open_reader
from hush.releases.tables.tally import Bins, Categories, LatticeCells, Limits, Measure, Steps, Tally
from hush.releases.tables.tallying import kept_records
from hush.releases.tables.tallying.accumulators import GroupSums

STEPS = Steps(col("x"), -4.0, 4.0, 0.0, -2, None)
DOMAIN = (("a",), ("b",), ("c",))


def people(seed: int, size: int = 300) -> dict[str, np.ndarray]:
    random = np.random.default_rng(seed)
    x = random.normal(0, 3, size)
    x[random.random(size) < 0.1] = np.nan
    return {
        "g": random.choice(np.array(["a", "b", "x"], dtype=object), size),
        "who": random.integers(0, 25, size),
        "x": x,
        "age": random.integers(0, 80, size),
    }


def rows(data: dict[str, np.ndarray], chosen: np.ndarray) -> dict[str, np.ndarray]:
    return {name: column[chosen] for name, column in data.items()}


TALLY = Tally(
    (col("g"),),
    DOMAIN,
    col("age") >= 18,
    (Measure(STEPS), Measure(replace(STEPS, missing=9.0), 2)),
    (Bins(col("x"), (-1.0, 0.0, 2.5)), LatticeCells(replace(STEPS, power=0), -4, 9), Categories(col("age"), (20, 30))),
    (col("age"),),
)


def answer(found: Any) -> list[Any]:
    parts = [
        found.rows,
        found.users if found.users is not None else (),
        *found.sums,
        *found.counts,
        *found.cells,
        *found.distinct,
    ]
    return [found.groups, *(np.asarray(part).tolist() for part in parts)]


def steps(x: float) -> int:
    return round(min(max(x, -4.0), 4.0) * 4)


def test_a_tally_is_what_plain_python_counts() -> None:
    data = people(1)
    found = in_memory(data).tally(TALLY)
    records = list(zip(*(data[n].tolist() for n in ("g", "x", "age")), strict=True))
    for place, (group,) in enumerate(DOMAIN):
        mine = [(x, age) for g, x, age in records if g == group and age >= 18]
        known = [x for x, _ in mine if x == x]
        assert found.rows[place] == len(mine)
        assert found.sums[0][place] == sum(map(steps, known)) and found.counts[0][place] == len(known)
        assert found.sums[1][place] == sum(steps(x if x == x else 9.0) ** 2 for x, _ in mine)
        inside = [sum(low <= x < high for x in known) for low, high in ((-1.0, 0.0), (0.0, 2.5))]
        assert found.cells[0][place].tolist() == inside
        places = Counter(round(min(max(x, -4.0), 4.0)) for x in known)
        assert found.cells[1][place].tolist() == [places[k] for k in range(-4, 5)]
        assert found.cells[2][place].tolist() == [sum(age == a for _, age in mine) for a in (20, 30)]
        assert found.distinct[0][place] == len({age for _, age in mine})


LIMITED = replace(TALLY, limits=Limits(col("who"), 2, 2, 3, b"s" * 32))


@pytest.mark.parametrize("tally", [TALLY, LIMITED, replace(TALLY, domain=None), replace(LIMITED, domain=None)])
@pytest.mark.parametrize("pending", [1 << 21, 7])
def test_order_and_batches_do_not_matter(
    tally: Tally, pending: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    data = people(2)
    expected = answer(in_memory(data).tally(tally))
    monkeypatch.setattr(kept_records, "PENDING", pending)
    mixed = rows(data, np.random.default_rng(3).permutation(300))
    parquet.write_table(pyarrow.table(mixed), tmp_path / "t.parquet", row_group_size=41)
    sources = [mixed, pandas.DataFrame(mixed), polars.DataFrame(mixed), pyarrow.table(mixed), tmp_path / "t.parquet"]
    sources += [dataset.dataset(tmp_path / "t.parquet"), pyarrow.table(mixed).to_reader(50)]
    for source in sources:
        assert answer(open_reader(source).tally(tally)) == expected


def test_order_of_records_does_not_matter() -> None:
    data = people(2)
    for tally in (replace(TALLY, domain=None), replace(LIMITED, domain=None)):
        one, other = (in_memory(rows(data, order)).tally(tally) for order in (np.arange(300), np.arange(300)[::-1]))
        assert answer(one) == answer(other)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("most", [AtMost(1, 1), AtMost(2, 1), AtMost(2, 3), AtMost(2, 2, 3), AtMost(total=2)], ids=str)
def test_a_user_changes_nobody_elses_records(seed: int, most: AtMost) -> None:
    """Without one user all sums of the others stay, and they move by no more than the limits allow."""
    data = people(seed)
    limits = Limits(col("who"), most.groups, most.each, most.total, b"k" * 32)
    for domain in (DOMAIN, None):
        tally = replace(TALLY, domain=domain, where=None, limits=limits)
        whole = in_memory(data).tally(tally)
        alone = [in_memory(rows(data, data["who"] == who)).tally(tally) for who in range(25)]
        for kind in ("rows", "users"):
            total = Counter()
            for one in alone:
                counts = dict(zip(one.groups, getattr(one, kind).tolist(), strict=True))
                total.update(counts)
                assert sum(n > 0 for n in counts.values()) <= most.l0
                assert max(counts.values(), default=0) <= most.linf and sum(counts.values()) <= most.l1
            assert {g: n for g, n in zip(whole.groups, getattr(whole, kind).tolist(), strict=True) if n} == {
                g: n for g, n in total.items() if n
            }
        for measure in range(2):
            sums = Counter()
            for one in alone:
                sums.update(dict(zip(one.groups, one.sums[measure], strict=True)))
            assert {g: s for g, s in zip(whole.groups, whole.sums[measure], strict=True) if s} == {
                g: s for g, s in sums.items() if s
            }


def test_given_groups_are_always_shown() -> None:
    query = releases.GroupBy(keys={"g": ("c", "b", "a")}, ask={"n": releases.Rows()}, epsilon=1.0)
    found = query.release({"g": ["a", "x", "a"]}, source=hush.SeededSource(1))
    assert found.value.groups == (("c",), ("b",), ("a",))


@pytest.mark.parametrize("keys", [{"g": ("a", "b")}, releases.Unknown("g")])
def test_users_of_whom_no_record_is_left_are_no_fault(keys: Any) -> None:
    """Whether any record passes the condition is private: an answer comes either way."""
    asked: dict[str, Any] = {"ask": {"u": releases.Users()}, "unit": "who", "contributions": AtMost(groups=1, each=1)}
    query = releases.GroupBy(keys=keys, where=col("x") > 100, epsilon=1.0, delta=1e-6, **asked)
    for x in ([1.0, 2.0, 3.0], [101.0, 2.0, 3.0]):
        query.release({"g": ["a", "b", "a"], "x": x, "who": [1, 2, 3]})


def test_sums_beyond_64_bits() -> None:
    sums = GroupSums(bits=60)
    for _ in range(40):
        sums.add(np.zeros(10, dtype=np.int64), np.full(10, 2**59))
        sums.add(np.ones(10, dtype=np.int64), np.full(10, -(2**59)))
    assert sums.totals(3).tolist() == [400 * 2**59, -400 * 2**59, 0]


def test_files_folders_and_patterns(tmp_path: Path) -> None:
    data, expected = people(4), answer(in_memory(people(4)).tally(TALLY))
    for name in ("a", "b", "x"):
        mine = rows(data, data["g"] == name)
        del mine["g"]
        folder = tmp_path / "hive" / f"g={name}"
        folder.mkdir(parents=True)
        parquet.write_table(pyarrow.table(mine), folder / "part.parquet")
    assert answer(open_reader(tmp_path / "hive").tally(TALLY)) == expected
    assert answer(open_reader(str(tmp_path / "hive" / "**" / "*.parquet")).tally(TALLY)) == expected
    options = csv.WriteOptions(delimiter=";")
    csv.write_csv(pyarrow.table(data), tmp_path / "t.csv", options)
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress((tmp_path / "t.csv").read_bytes()))
    for name in ("t.csv", "t.csv.gz"):
        assert answer(open_reader(tmp_path / name, ";").tally(TALLY)) == expected


def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    parquet.write_table(pyarrow.table(people(1)), path)
    reader = open_reader(path)
    parquet.write_table(pyarrow.table(people(2)), path)
    with pytest.raises(InvalidParameter, match="stay as they are|can be read"):
        reader.tally(TALLY)


def test_a_stream_is_read_once() -> None:
    reader = open_reader(pyarrow.table(people(1)).to_reader())
    reader.tally(TALLY)
    with pytest.raises(InvalidParameter, match="read again"):
        reader.tally(TALLY)


VALUES = {
    "a": np.array([1.0, 2.0, np.nan, 0.0]),
    "b": np.array([2.0, 0.0, 1.0, 0.0]),
    "t": np.array(["x", None, "", "y"], dtype=object),
}
KINDS = {"a": "number", "b": "number", "t": "words"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a > 1", [0, 1, -1, 0]),
        ("a / b > 1", [0, -1, -1, -1]),
        ("a is null or b = 2", [1, 0, 1, 0]),
        ("a > 1 and b > 5", [0, 0, 0, 0]),
        ("a > 0 or b >= 0", [1, 1, 1, 1]),
        ("not a > 1", [1, 0, -1, 1]),
        ("t in ('x', 'z')", [1, -1, -1, 0]),
        ("t not in ('x')", [0, -1, -1, 1]),
        ("t != 'x' and t is not null", [0, 0, 0, 1]),
        ("-a + 2 * b = 3", [1, 0, -1, 0]),
        ('"a" in (1, 2.0)', [1, 1, -1, 0]),
    ],
)
def test_expressions_follow_sql(text: str, expected: list[int]) -> None:
    from hush.releases.tables.tallying.row_values import RowValues

    assert RowValues(VALUES, KINDS, 4).truths(row_expression(text)).tolist() == expected
    again = row_expression(str(row_expression(text)))
    assert again.same(row_expression(text))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a >",
        "a > 'x' or",
        "f(a)",
        "a; drop table t",
        "a == b == ",
        "(a",
        "a in ()",
        "1 1",
        "a in (b)",
        "__import__('os')",
        "a" * 20000,
    ],
)
def test_no_other_text_is_an_expression(text: str) -> None:
    with pytest.raises(InvalidParameter):
        row_expression(text)


@pytest.mark.parametrize(
    "bad", [col("t") > 1, col("t") < "x", col("a") + col("t"), ~col("a"), col("zz") > 1, col("a") == "x"], ids=str
)
def test_types_are_checked_by_the_schema(bad: Expression) -> None:
    with pytest.raises(InvalidParameter):
        bad.gives(KINDS)
    query = releases.GroupBy(keys={}, ask={"n": releases.Rows()}, where=bad, epsilon=1.0)
    with pytest.raises(InvalidParameter):
        query.release({"a": VALUES["a"], "b": VALUES["b"], "t": polars.Series(["x", None, "", "y"])})


def test_a_public_table_is_joined_by_a_unique_key() -> None:
    place = col("g").looked_up({"a": "north", "b": "south"})
    query = releases.GroupBy(
        keys={"where": ("north", "south")}, derived={"where": place}, ask={"n": releases.Rows()}, epsilon=500.0
    )
    found = query.release({"g": ["a", "b", "a", "z", None]}, source=hush.SeededSource(1))
    assert found.to_dict()["n"] == [2, 1]


@pytest.mark.parametrize("rows", [0, 1, 3])
def test_far_bounds_of_any_number_of_records(rows: int) -> None:
    """Steps from 0 beyond 64 bits: an empty table is answered as a full one is."""
    ask = {"x": releases.Stats("x", bounds=(1e15, 1e15 + 1), sum=True, mean=True, variance=True)}
    query = releases.GroupBy(keys={"g": ("a", "b")}, ask=ask, epsilon=300.0)
    found = query.release({"g": ["a"] * rows, "x": [1e15] * rows}, source=hush.SeededSource(1)).to_dict()
    assert found["x_sum"][0] == pytest.approx(rows * 1e15, rel=1e-6, abs=1e14)
