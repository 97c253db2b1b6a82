"""Ids of users that floats, or texts with replaced bytes, could not tell apart: users that stay two in every engine."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any
from uuid import UUID

import duckdb
import numpy as np
import polars
import pyarrow
import pytest
from pyarrow import dataset, parquet

import hush
from hush import releases
from hush.releases.group_by.sampled_users import SampledUsers
from hush.releases.tables import arrow, columns
from hush.releases.tables.opening import open_reader
from tests.releases.postgres_server import server

NEAR = (2**53, 2**53 + 1)
"""One float."""
BYTES = (b"\xff", b"\xfe")
"""No UTF-8."""
GROUPS = ["a", "b", "b"]


def duck(kind: str) -> Any:
    first, second = NEAR
    return duckdb.sql(f"SELECT * FROM (VALUES ({first}::{kind}, 'a'), ({second}::{kind}, 'b'), (NULL, 'b')) t(u, g)")


def invalid() -> pyarrow.Table:
    ids = pyarrow.array([*BYTES, None], pyarrow.binary()).view(pyarrow.string())
    return pyarrow.table({"u": ids, "g": GROUPS})


def extended() -> dict[str, Any]:
    ids = np.array([NEAR[0], NEAR[0], np.nan], dtype=np.longdouble)
    ids[1] += 1
    return {"u": ids, "g": GROUPS}


def csv_file(folder: Path) -> str:
    (folder / "ids.csv").write_bytes(b"u,g\n\xff,a\n\xfe,b\n,b\n")
    return str(folder / "ids.csv")


def in_folders(folder: Path) -> str:
    (folder / "year=2020").mkdir()
    return str(Path(csv_file(folder / "year=2020")).parent.parent)


def parquet_file(folder: Path) -> str:
    parquet.write_table(invalid(), folder / "ids.parquet")
    return str(folder / "ids.parquet")


MAKERS: dict[str, Callable[[Path], Any]] = {
    **{kind: lambda _, kind=kind: duck(kind) for kind in ("HUGEINT", "UHUGEINT", "BIGNUM", "DECIMAL(38,0)")},
    "lazy Int128": lambda _: polars.LazyFrame({"u": polars.Series([*NEAR, None], dtype=polars.Int128), "g": GROUPS}),
    "Int128": lambda _: polars.DataFrame({"u": polars.Series([*NEAR, None], dtype=polars.Int128), "g": GROUPS}),
    "longdouble": lambda _: extended(),
    "bytes in Arrow": lambda _: invalid(),
    "bytes in a dataset": lambda _: dataset.dataset(invalid()),
    "bytes in Parquet": parquet_file,
    "bytes in CSV": csv_file,
    "bytes in folders": in_folders,
}


@pytest.fixture(params=MAKERS.values(), ids=list(MAKERS))
def source(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    if request.node.callspec.id == "longdouble" and np.finfo(np.longdouble).nmant <= np.finfo(float).nmant:
        pytest.skip("here a long double is a double")
    return request.param(tmp_path)


def kept(source: Any) -> list[int]:
    """The users of each group, at most one record of each user."""
    most = releases.AtMost(groups=1, each=1)
    asked = {"n": releases.Users()}
    query = releases.GroupBy(keys={"g": ("a", "b")}, ask=asked, unit="u", contributions=most, epsilon=1.0)
    found = open_reader(source).tally(query.tally(hush.SeededSource(1)))
    assert found.users is not None
    return found.users.tolist()


def test_two_users(source: Any) -> None:
    assert kept(source) == [1, 1]


def test_two_coins(source: Any) -> None:
    assert {len(drawn(source, seed)) for seed in range(16)} == {0, 1, 2}


def drawn(source: Any, seed: int) -> list[str]:
    """The groups of the records of users who are drawn by fair coins."""
    bits, scheme = hush.SeededSource(seed), hush.Poisson(rate=0.5)
    found = SampledUsers(open_reader(source), "u", lambda users: scheme.batches(users, bits)[0])
    return [group for (groups,) in found.batches(("g",), numbers=False) for group in groups]


@pytest.mark.parametrize(
    "name", ["longdouble", "bytes in Arrow", "bytes in Parquet", "bytes in CSV", "bytes in folders"]
)
def test_two_users_of_a_table(name: str, tmp_path: Path) -> None:
    table = releases.table(MAKERS[name](tmp_path), unit="u", max_contributions=1)
    assert releases.Count(epsilon=100.0).release(table, source=hush.SeededSource(1)).value == 2


def test_numerics_of_postgres() -> None:
    pytest.importorskip("adbc_driver_postgresql")
    from adbc_driver_postgresql import dbapi

    with server() as uri:
        with dbapi.connect(uri) as made, made.cursor() as cursor:
            cursor.execute("CREATE TABLE near (u numeric, g text)")
            cursor.execute(
                f"INSERT INTO near VALUES ({NEAR[0]}, 'a'), ({NEAR[1]}, 'b'), ({NEAR[1]}.0, 'b'), ('NaN', 'b')"
            )
            made.commit()
        assert kept(f"{uri}#near") == [1, 1]


def test_replaced_bytes_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bug, made again: ids as all other cells are read."""
    monkeypatch.setattr(columns.Column, "units", lambda column: column.values())
    assert sum(kept(invalid())) == sum(kept(duck("HUGEINT"))) == 1


def test_written_numbers_are_floats_elsewhere() -> None:
    column = pyarrow.array([str(NEAR[1]), "1e400", "NaN", None], pyarrow.large_string())
    found = arrow.of_arrow(column.cast(arrow.written_number()))
    assert found.kind == "number"
    np.testing.assert_array_equal(found.values(), [float(NEAR[1]), np.inf, np.nan, np.nan])


@pytest.mark.parametrize("ids", [[1, 1, True, True], [1.5] * 4, [UUID(int=3)] * 4, [date(2020, 1, 1)] * 4])
def test_one_user_for_limits_is_one_coin(ids: list[Any]) -> None:
    data = {"u": ids, "g": ["a"] * 4}
    assert kept(data) == [1, 0]
    assert {len(drawn(data, seed)) for seed in range(16)} == {0, 4}
