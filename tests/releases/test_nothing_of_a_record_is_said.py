"""Errors, messages and warnings do not depend on a record: every release and reader, on neighbours of every type."""

from __future__ import annotations

import os
import pickle
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import polars
import pyarrow
import pytest
from pyarrow import parquet

import hush
from hush import releases
from hush.releases.tables import csv_records
from tests.releases.odd_columns import KINDS, Kind

BOUNDS = {"bounds": (0.0, 10.0), "epsilon": 1.0}
REPLACE = hush.Relation.REPLACE
QUERIES: dict[str, releases.Query] = {
    "count": releases.Count(epsilon=1.0),
    "sum": releases.Sum(**BOUNDS),
    "mean": releases.Mean(**BOUNDS),
    "variance": releases.Variance(**BOUNDS, relation=REPLACE),
    "median": releases.Median(**BOUNDS),
    "quantiles": releases.Quantiles(ps=(0.2, 0.8), **BOUNDS),
    "interval": releases.QuantileInterval(p=0.5, size=3, **BOUNDS),
    "smooth": releases.SmoothMedian(bounds=(0.0, 10.0), noise=releases.SmoothStudent(epsilon=1.0)),
    "bounds": releases.Bounds(epsilon=1.0),
    "bins": releases.Histogram(edges=(0, 1, 5), other=True, epsilon=1.0),
    "numbers": releases.Histogram(categories=(1, 2, 0.1), other=True, epsilon=1.0),
    "texts": releases.Histogram(categories=("a", "4711"), other=True, epsilon=1.0),
}
ON_A_SAMPLE = ("count", "mean", "median", "texts", "numbers")
"""Of these also an answer on a sample is asked."""


def shape(value: Any) -> Any:
    """What an answer is made of, its numbers aside."""
    if isinstance(value, dict):
        return {key: shape(item) for key, item in value.items()}
    return tuple(map(shape, value)) if isinstance(value, tuple) else type(value).__name__


def types(rows: Any) -> Any:
    """What a function sees of the schema."""
    if isinstance(rows, dict):
        return {name: types(column) for name, column in rows.items()}
    return type(rows).__name__, str(rows.dtype), rows.ndim


def outcome(action: Callable[[], releases.Release]) -> Any:
    """The form of the answer, or the error in full; a warning is an outcome too."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            found: Any = shape(action().value)
        except Exception as error:
            assert error.__cause__ is None and error.__context__ is None, "an error that carries another one"
            assert isinstance(error, hush.HushError), "an error of somebody else"
            found = type(error).__name__, str(error)
    return found, [str(warning.message) for warning in seen]


def asked(source: Any, column: str | None = None) -> dict[str, Any]:
    """All that can be asked of one column, and what came of it."""
    bits, coin = hush.SeededSource(1), hush.Poisson(rate=0.5)
    found = {n: outcome(lambda q=q: q.release(source, column=column, source=bits)) for n, q in QUERIES.items()}
    for name in ON_A_SAMPLE:
        sampled = QUERIES[name].on(coin)
        found[f"{name} on a sample"] = outcome(lambda: sampled.release(source, column=column, source=bits))  # noqa: B023
    sample = lambda: releases.sample(releases.table(source, column=column), coin, source=bits)  # noqa: E731
    found["apply"] = outcome(lambda: sample().apply(types, guarantee=hush.PureDP(1.0)))
    return found


def by_unit(cells: list[Any], kind: Kind) -> Any:
    """The column as that of the users."""
    table = {"x": np.arange(float(len(cells))), "who": kind.column(cells)}
    users = lambda: releases.table(table, column="x", unit="who", max_contributions=1)  # noqa: E731
    return outcome(lambda: QUERIES["mean"].release(users(), source=hush.SeededSource(1)))


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_neighbours_have_one_outcome(kind: Kind, capfd: pytest.CaptureFixture[str]) -> None:
    expected = asked(kind.column(kind.plain)), by_unit(kind.plain, kind)
    for cells in kind.neighbours():
        assert (asked(kind.column(cells)), by_unit(cells, kind)) == expected
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("kind", [k for k in KINDS if k.name.startswith("arrow")], ids=lambda kind: kind.name)
def test_neighbours_in_a_file(kind: Kind, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path, expected = tmp_path / "t.parquet", None
    for cells in kind.neighbours():
        try:
            parquet.write_table(pyarrow.table({"x": kind.column(cells), "y": [1.0] * len(cells)}), path)
        except (pyarrow.ArrowException, NotImplementedError, ValueError, OverflowError, OSError):
            continue  # the format has no such type, or no such value
        found = asked(path, "x")
        expected = expected or found
        assert found == expected
    assert capfd.readouterr() == ("", "")


NO_COLUMN = ("numpy structured V", "numpy complex D")


@pytest.mark.parametrize("kind", [k for k in KINDS if k.name not in NO_COLUMN], ids=lambda kind: kind.name)
def test_columns_that_are_not_asked_for_are_not_read(kind: Kind) -> None:
    """The same value to the last bit, on all records and on a sample, whatever stands beside them."""
    found = set()
    for odd in (kind.plain[-1], *kind.hostile):
        table = {"x": np.arange(float(len(kind.plain))), "beside": kind.column([*kind.plain[:-1], odd])}
        query, bits = QUERIES["mean"], hush.SeededSource(1)
        sampled = query.on(hush.Poisson(rate=0.5)).release(table, column="x", source=bits).value
        found.add((sampled, query.release(table, column="x", source=bits).value))
    assert len(found) == 1


CELLS = [b"1", b"", b"x", b"\xff\xfe", b"1e999", b"nan", b"\x00", b"1,2,3", b"1" * 3_000_000, b'"1\n2"', b'5" pipe']


@pytest.mark.parametrize("place", [0, 1])
def test_neighbours_in_a_csv_file(place: int, tmp_path: Path) -> None:
    """Also in the column that is not asked for."""
    path, found = tmp_path / "t.csv", []
    for cell in CELLS:
        odd = (cell, b"a") if place == 0 else (b"1", cell)
        path.write_bytes(b"x,y\n1,a\n2,b\n" + b",".join(odd) + b"\n3,a\n")
        found.append(asked(path, "x"))
    assert all(said == found[0] for said in found)


def machine(data: bytes) -> list[bytes]:
    """The records of a CSV file, byte by byte."""
    state, start, found = "start", 0, []
    for place, byte in enumerate(data):
        if state == "quoted":
            state = "closing" if byte == 34 else state
        elif byte == 34 and state in ("start", "closing"):
            state = "quoted"
        elif byte in b"\r\n":
            found.append(data[start : place + 1])
            start, state = place + 1, "start"
        else:
            state = "start" if byte == 44 else "field"
    return [*found, data[start:]] if start < len(data) else found


def test_cuts_of_a_file_vs_a_machine_of_bytes() -> None:
    import io

    random = np.random.default_rng(1)
    for _ in range(1500):
        data = bytes(random.choice(list(b'"",\na\r'), random.integers(0, 25)).tolist())
        expected = machine(data)
        ends = set(np.cumsum([len(record) for record in expected]).tolist())
        for chunk in (1, 2, 3, 5, 100):
            found = list(csv_records.blocks(io.BytesIO(data), chunk=chunk))
            assert b"".join(found) == data
            assert set(np.cumsum([len(block) for block in found]).tolist()) <= ends
        short = b"".join(record for record in expected if len(record) <= 6)
        assert b"".join(csv_records.blocks(io.BytesIO(data), chunk=3, longest=6)) == short


def test_quoted_lines_across_blocks(tmp_path: Path) -> None:
    """How long another record is moves the ends of blocks, and nothing else."""
    for length in (0, 1 << 20, (1 << 22) - 40, (1 << 22) - 30, 5 << 20):
        path = tmp_path / "t.csv"
        row = b'1,"a\nb ""c"", d"\n'
        path.write_bytes(b"x,y\n7," + b"z" * length + b"\n" + row * 2000)
        table = releases.table(path, column="x")
        assert np.array_equal(table.array(numbers=True), [7.0] + [1.0] * 2000)
        assert set(releases.table(path, column="y").array().tolist()[1:]) == {'a\nb "c", d'}


@pytest.mark.parametrize(
    "head", ["größe,b\n".encode("latin-1"), "a,b\n".encode("utf-16"), "a,b\n".encode("utf-16-le"), b""]
)
def test_headers_that_are_none(head: bytes, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(head + b"1,2\n" if head else b"")
    with pytest.raises(hush.InvalidParameter, match="UTF-8 with a header"):
        releases.table(tmp_path / "t.csv")


def test_a_mark_of_utf_8_is_no_part_of_a_name(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes("\ufeffgröße,b\r\n\r\n1,2\r\n".encode())
    assert releases.table(tmp_path / "t.csv", column="größe").array(numbers=True).tolist() == [1.0]


def test_the_first_person_of_a_file_without_a_header_is_not_told(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(b"Ann,4711\nBob,5\n")
    frame = pandas.DataFrame([["Bob", 5]], columns=["Ann", "4711"])
    for source in (tmp_path / "t.csv", str(tmp_path / "t.csv"), frame, frame[["Ann"]]):
        for options in ({}, {"column": "x"}):
            said = outcome(lambda: releases.mean(source, **BOUNDS, **options))  # noqa: B023
            assert "Ann" not in str(said) and "4711" not in str(said) and said[0][0] == "InvalidParameter"


def test_a_column_is_advised_and_taken() -> None:
    frame = pandas.DataFrame({"a": [1.0], "b": [2.0]})
    with pytest.raises(hush.InvalidParameter, match="column= the name of one column"):
        releases.mean(frame, **BOUNDS)
    releases.mean(frame, column="a", **BOUNDS)
    releases.smooth_median(frame, column="a", **BOUNDS)
    with pytest.raises(hush.InvalidParameter, match="a column of the table"):
        releases.count(frame, column="c", epsilon=1.0)


# -- code of the user -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("error", [KeyError, hush.InvalidParameter, SystemExit, BaseException])
def test_what_a_function_raises_is_not_told(error: type[BaseException]) -> None:
    def function(rows: Any) -> float:
        warnings.warn(f"record {rows[0]}", stacklevel=1)
        raise hush.InvalidParameter("f", "no", row=rows[0]) if error is hush.InvalidParameter else error(rows[0])

    sample = releases.sample(np.full(50, 4711.0), hush.Poisson(rate=0.9))
    with pytest.raises(hush.InvalidParameter, match="raises nothing") as caught:
        sample.apply(function, guarantee=hush.PureDP(1.0))
    assert "4711" not in str(caught.value) and caught.value.__context__ is None and len(sample.uses) == 1


def test_warnings_of_a_function_are_not_shown_and_come_back_after_it() -> None:
    sample = releases.sample(np.zeros(9), hush.Poisson(rate=0.5))
    sample.apply(lambda rows: np.ones(3) / np.zeros(3), guarantee=hush.PureDP(1.0))
    with pytest.warns(UserWarning, match="seen"):
        warnings.warn("seen", stacklevel=1)


def test_an_interruption_passes_without_what_it_carries() -> None:
    def function(rows: Any) -> None:
        raise KeyboardInterrupt(f"record {rows[0]}") from ValueError(f"record {rows[0]}")

    with pytest.raises(KeyboardInterrupt) as caught:
        releases.sample(np.full(9, 4711.0), hush.Poisson(rate=0.9)).apply(function, guarantee=hush.PureDP(1.0))
    assert caught.value.args == () and caught.value.__context__ is None and caught.value.__cause__ is None


def test_an_interruption_by_a_cell_carries_nothing() -> None:
    class Interrupts:
        def __hash__(self) -> int:
            raise KeyboardInterrupt("record 4711")

        __float__ = __hash__

    for query in (QUERIES["mean"], QUERIES["texts"]):
        with pytest.raises(KeyboardInterrupt) as caught:
            query.release([Interrupts()])
        assert caught.value.args == () and caught.value.__context__ is None


@pytest.mark.parametrize("made", [list, tuple, lambda cells: np.array(cells, dtype=object)])
def test_a_list_has_one_type_for_a_function(made: Callable[[list[Any]], Any]) -> None:
    for cells in ([1, 2], [1, 2.5], [1, None], [True], ["a"], [[1, 2], [3, 4]], [[1], [2, 3]], []):
        sample = releases.sample({"x": np.zeros(len(cells)), "y": made(cells)}, hush.Poisson(rate=1.0))
        if isinstance(made(cells), np.ndarray) and made(cells).ndim > 1:
            continue
        rows = sample.apply(lambda rows: rows["y"], guarantee=hush.PureDP(1.0)).value
        assert rows.dtype == object and rows.shape == (len(cells),) and rows.tolist() == cells


class Broken(releases.tables.reader.Reader):
    """A reader of the user's own."""

    names = ("x",)

    def kind(self, name: str) -> str:
        return "number"

    def rows(self) -> int | None:
        return None

    def batches(self, names: tuple[str, ...], *, numbers: bool) -> Any:
        yield (np.zeros(3),)
        raise ValueError("record 4711")


def test_what_a_reader_raises_is_not_told() -> None:
    for query in (QUERIES["mean"], QUERIES["mean"].on(hush.Poisson(rate=0.5))):
        said = outcome(lambda: query.release(Broken()))  # noqa: B023
        assert said[0][0] == "InvalidParameter" and "4711" not in str(said)


def test_data_in_the_place_of_a_parameter_are_not_told() -> None:
    rows = np.full(3, 4711.0)
    wrong: list[Callable[[], Any]] = [
        lambda: releases.Sample(hush.Poisson(rate=0.5), rows),
        lambda: releases.sample(rows, hush.Poisson(rate=0.5)).release(rows),  # type: ignore[arg-type]
        lambda: releases.mean(rows, bounds=rows, epsilon=1.0),  # type: ignore[arg-type]
        lambda: releases.mean(rows, bounds=(0, 1), epsilon=rows),  # type: ignore[arg-type]
        lambda: releases.mean(rows, **BOUNDS, source=pandas.Series(rows)),  # type: ignore[arg-type]
        lambda: releases.Count(epsilon=1.0).on(polars.Series(rows)),  # type: ignore[arg-type]
    ]
    for attempt in wrong:
        with pytest.raises(hush.InvalidParameter) as caught:
            attempt()
        assert "4711" not in str(caught.value)


# -- samples ----------------------------------------------------------------------------------------------------------


def test_unequal_rates_by_place_are_for_replaced_records() -> None:
    """One record less would move all others to other rates, and whether there is one rate each would be seen."""
    scheme = hush.UnequalPoisson([0.1, 0.2, 0.3])
    said = [
        outcome(lambda: releases.sample(np.zeros(n), scheme).apply(len, guarantee=hush.PureDP(1.0)))  # noqa: B023
        for n in (2, 3, 4)
    ]
    assert said[0] == said[1] == said[2] and said[0][0][0] == "NotCovered"
    with pytest.raises(hush.NotCovered, match="added or removed"):
        QUERIES["median"].on(scheme)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_forked_sample_is_refused() -> None:
    sample = releases.sample(np.zeros(9), hush.Poisson(rate=0.5))
    sample.release(QUERIES["count"])
    reading, writing = os.pipe()
    if (child := os.fork()) == 0:
        said = [outcome(lambda: sample.release(QUERIES["count"])), outcome(lambda: sample.mechanism)]  # type: ignore[arg-type, return-value]
        os.write(writing, repr([name for (name, _), _ in said]).encode())
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(reading, 1000) == b"['InvalidParameter', 'InvalidParameter']"
    sample.release(QUERIES["count"])
    assert len(sample.uses) == 2


def test_a_release_of_a_sample_can_be_stored() -> None:
    found = releases.sample(np.zeros(9), hush.Poisson(rate=0.5)).release(QUERIES["mean"])
    back = pickle.loads(pickle.dumps(found))
    kept = {name: value for name, value in vars(found).items() if name != "sample"}
    assert {name: value for name, value in vars(back).items() if name != "sample"} == kept
    assert str(back) == str(found) and "all uses of one secret sample" in str(back)
    assert back.sample is None and found.sample is not None


def test_smooth_noise_is_refused_by_its_widest() -> None:
    """The least alpha and the most steps: the noise of one record would be too wide, that of many equal ones not."""
    low, high = 1e-4, 1e-3  # the least epsilon whose alpha is covered lies between
    while np.nextafter(low, 1) < high:
        middle = (low + high) / 2
        try:
            releases.SmoothLaplace(epsilon=middle, delta=0.5, beta=1e-5)
            high = middle
        except hush.InvalidParameter:
            low = middle
    noise = releases.SmoothLaplace(epsilon=high, delta=0.5, beta=1e-5)
    with pytest.raises(hush.InvalidParameter, match="a coarser step"):
        releases.SmoothMedian(bounds=(0, 1 - 2.0**-38), step=2.0**-38, noise=noise)
    releases.SmoothMedian(bounds=(0, 1), noise=noise).release([0.5])


def test_types_of_a_sample_follow_from_the_schema() -> None:
    """Whole numbers that may be missing are floats, whether or not one is."""
    for column in (polars.Series([1, 2]), pyarrow.array([1, 2]), pandas.Series([1, 2], dtype="Int64")):
        sample = releases.sample(column, hush.Poisson(rate=1.0))
        rows = sample.apply(lambda rows: rows, guarantee=hush.PureDP(1.0)).value
        assert rows.dtype == float and rows.tolist() == [1.0, 2.0]
    plain = releases.sample(np.array([1, 2]), hush.Poisson(rate=1.0))
    assert plain.apply(lambda rows: rows.dtype, guarantee=hush.PureDP(1.0)).value == np.int64
