"""Columns of every type that Arrow, pandas, Polars and numpy have, and for each type records that are hard to read."""

from __future__ import annotations

import collections
import decimal
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas
import polars
import pyarrow
from pyarrow import compute

SECRET = 86_399_123_456_789
"""A time of the day in nanoseconds, of which microseconds hold no whole number."""
LARGE = [None, SECRET, 2**63 - 1, -(2**63)]
BYTES = [None, b"\xff\xfe4711", b"", b"=4711", b'"', b"a\x00b", "é".encode("latin-1")]


@dataclass(frozen=True)
class Kind:
    """A type: plain records, records that are hard to read, and how a column is made of a list of them."""

    name: str
    plain: list[Any]
    hostile: list[Any]
    column: Callable[[list[Any]], Any]

    def neighbours(self) -> list[list[Any]]:
        """The plain records, then with each hostile one added, and in the place of the last."""
        more = [cells for odd in self.hostile for cells in ([*self.plain, odd], [*self.plain[:-1], odd])]
        return [self.plain, *more, self.plain[:-1], []]


class Raises:
    """An object whose every comparison shows a record; two of them have one hash."""

    error: type[BaseException] = RuntimeError

    def __hash__(self) -> int:
        return hash("a")

    def __eq__(self, other: object) -> bool:
        raise self.error("record 4711")

    def __float__(self) -> float:
        raise self.error("record 4711")


class Warns(Raises):
    """The same with a warning."""

    def __eq__(self, other: object) -> bool:
        warnings.warn("record 4711", stacklevel=1)
        return False


class Panics(Raises):
    """The same with what is no Exception."""

    error = SystemExit


class Exits(Panics):
    """The same, and it has no hash either."""

    def __hash__(self) -> int:
        raise self.error("record 4711")


OBJECTS = [None, np.nan, "4711", b"4711", 2**80, decimal.Decimal("sNaN"), [4711], {}, {"a": 1}, pandas.NA, pandas.NaT]
OBJECTS += [
    Raises(),
    Warns(),
    Exits(),
    Panics(),
    object(),
    np.array([1, 2]),
    1 + 2j,
    np.longdouble("1e400"),
    float,
    "\ud800",
]


# -- Arrow ----------------------------------------------------------------------------------------------------------


def chunks(kind: Any, made: Callable[[Any], Any]) -> Callable[[list[Any]], Any]:
    """One chunk a record: what a record is made of never touches the others."""
    return lambda cells: pyarrow.chunked_array([made(cell) for cell in cells], type=kind)


def seen_as(kind: Any, stored: Any) -> Callable[[list[Any]], Any]:
    """Any bits, seen as this type: nothing is checked."""
    return chunks(kind, lambda cell: pyarrow.array([cell], stored).view(kind))


def arrow() -> list[Kind]:
    p = pyarrow
    found = []
    for width in (8, 16, 32, 64):
        signed, unsigned = getattr(p, f"int{width}")(), getattr(p, f"uint{width}")()
        found.append((signed, [1, 2, 1], [None, 2 ** (width - 1) - 1, -(2 ** (width - 1))], None))
        found.append((unsigned, [1, 2, 1], [None, 2**width - 1], None))
    for kind in (p.float16(), p.float32(), p.float64()):
        found.append((kind, [1.0, 2.0, 1.0], [None, np.nan, np.inf, -np.inf, 65504.0, -0.0, 1e-300], None))
    for kind in (p.decimal32(9), p.decimal64(18, 2), p.decimal128(38), p.decimal256(76)):
        nines = decimal.Decimal(f"{'9' * (kind.precision - 2)}00E{-kind.scale}")
        cells = [decimal.Decimal(100), decimal.Decimal(200), decimal.Decimal(100)]
        found.append((kind, cells, [None, nines, nines.copy_negate()], None))
    long = [p.time64("us"), p.time64("ns"), p.date64()]
    long += [kind(unit) for kind in (p.timestamp, p.duration) for unit in ("s", "ms", "us", "ns")]
    long += [p.timestamp("s", "Asia/Tokyo"), p.timestamp("ns", "no/where")]
    found += [(kind, [1, 2, 1], LARGE, seen_as(kind, p.int64())) for kind in long]
    short = [None, 86_399, 2**31 - 1, -(2**31)]
    found += [(k, [1, 2, 1], short, seen_as(k, p.int32())) for k in (p.date32(), p.time32("s"), p.time32("ms"))]
    texts = [(p.string(), p.binary()), (p.large_string(), p.large_binary()), (p.string_view(), p.binary_view())]
    found += [(kind, [b"a", b"b", b"a"], BYTES, seen_as(kind, stored)) for kind, stored in texts]
    found += [(stored, [b"a", b"b", b"a"], BYTES, None) for _, stored in texts]
    found.append((p.binary(2), [b"aa", b"bb", b"aa"], [None, b"\xff\xff"], None))
    found += [(p.bool_(), [True, False, True], [None], None), (p.null(), [None, None], [None], None)]
    found.append((p.month_day_nano_interval(), [(1, 2, 3), (1, 1, 1)], [None, (2**31 - 1, -1, 2**63 - 1)], None))
    return [*(_arrow(*parts) for parts in found), *wrapped()]


def _arrow(kind: Any, plain: list, hostile: list, made: Any) -> Kind:
    return Kind(f"arrow {kind}", plain, hostile, made or chunks(kind, lambda cell: pyarrow.array([cell], kind)))


def wrapped() -> list[Kind]:
    """Types around types."""
    p = pyarrow
    text = lambda cell: p.array([cell], p.binary()).view(p.string())  # noqa: E731
    time = lambda cell: p.array([cell], p.int64()).view(p.time64("ns"))  # noqa: E731
    words, times, numbers = [b"a", b"b", b"a"], [1, 2, 1], [1, 2, 1]
    whole = lambda cell: p.array([cell], p.int64())  # noqa: E731
    found = []
    for inner, made, plain, hostile in (
        (p.string(), text, words, BYTES),
        (p.time64("ns"), time, times, LARGE),
        (p.int64(), whole, numbers, [None, 2**63 - 1]),
    ):
        ways: list[tuple[Any, Callable[[Any], Any]]] = [
            (p.dictionary(p.int32(), inner), lambda a: p.DictionaryArray.from_arrays(p.array([0], p.int32()), a)),
            (p.run_end_encoded(p.int32(), inner), compute.run_end_encode if inner != p.time64("ns") else None),
            (p.list_(inner), lambda a: p.ListArray.from_arrays(p.array([0, 1], p.int32()), a)),
            (p.large_list(inner), lambda a: p.LargeListArray.from_arrays(p.array([0, 1], p.int64()), a)),
            (p.list_(inner, 1), lambda a: p.FixedSizeListArray.from_arrays(a, 1)),
            (p.struct([("f", inner)]), lambda a: p.StructArray.from_arrays([a], ["f"])),
            (
                p.map_(p.string(), inner),
                lambda a: p.MapArray.from_arrays(p.array([0, 1], p.int32()), p.array(["k"]), a),
            ),
            (
                p.dense_union([p.field("0", inner)]),
                lambda a: p.UnionArray.from_dense(p.array([0], p.int8()), p.array([0], p.int32()), [a]),
            ),
        ]
        for kind, around in ways:
            if around is not None:
                column = chunks(kind, lambda cell, around=around, made=made: around(made(cell)))
                found.append(Kind(f"arrow {kind}", plain, hostile, column))
    small = chunks(p.bool8(), lambda cell: p.ExtensionArray.from_storage(p.bool8(), p.array([cell], p.int8())))
    found.append(Kind("arrow bool8", [1, 0, 1], [None, 77], small))
    key = chunks(p.uuid(), lambda cell: p.ExtensionArray.from_storage(p.uuid(), p.array([cell], p.binary(16))))
    found.append(Kind("arrow uuid", [b"a" * 16, b"b" * 16], [None, b"\xff" * 16], key))
    return found


# -- pandas ---------------------------------------------------------------------------------------------------------


def _pandas() -> list[Kind]:
    found = []
    for name in ("Int8", "Int64", "UInt64", "int64[pyarrow]", "uint8[pyarrow]"):
        found.append((name, [1, 2, 1], [None, 127], None))
    for name in ("Float32", "Float64", "double[pyarrow]", "halffloat[pyarrow]"):
        found.append((name, [1.0, 2.0, 1.0], [None, np.inf, -np.inf], None))
    for name in ("boolean", "bool[pyarrow]"):
        found.append((name, [True, False], [None], None))
    for name in ("str", "string[python]", "string[pyarrow]", "large_string[pyarrow]"):
        found.append((name, ["a", "b", "a"], [None, "", "4711", "=1"], None))
    for name in ("datetime64[ns]", "datetime64[s]", "datetime64[ns, UTC]", "datetime64[us, Asia/Tokyo]"):
        found.append((name, [1, 2, 1], [None, 4711], lambda cells, n=name: _moments(cells, n)))
    found.append(
        ("timedelta64[ns]", [1, 2, 1], [None, 4711], lambda c: pandas.Series(pandas.to_timedelta(c), dtype="m8[ns]"))
    )
    found.append(("period[D]", ["2020-01-01", "2021-01-01"], [None, "9999-12-31"], None))
    spans = pandas.interval_range(0.0, 3.0)
    found.append(("interval", list(spans[:2]), [None, spans[2]], lambda c: pandas.Series(c, dtype=spans.dtype)))
    for name, cells, odd in (("category of texts", ["a", "b"], "4711"), ("category of numbers", [1, 2], 2**53 + 1)):
        kind = pandas.CategoricalDtype([*cells, odd])
        found.append((name, cells, [None, odd], lambda c, kind=kind: pandas.Series(c, dtype=kind)))
    for kind in (np.int64, np.float32):
        found.append(
            (
                f"Sparse[{kind.__name__}]",
                [0, 1, 0],
                [4711],
                lambda c, k=kind: pandas.Series(pandas.arrays.SparseArray(np.array(c, k))),
            )
        )
    for name in ("int64", "float32", "bool", "complex128", "longdouble"):
        odd = [np.longdouble("1e400")] if name == "longdouble" else [0]
        found.append((name, [1, 0, 1], odd, lambda c, n=name: pandas.Series(np.array(c, dtype=n))))
    found.append(("object", ["a", 1], OBJECTS, lambda c: pandas.Series(_objects(c), dtype=object)))
    bad = lambda kind: lambda c: pandas.Series(pandas.arrays.ArrowExtensionArray(seen_as(*kind)(c)))  # noqa: E731
    found.append(("arrow bytes as texts", [b"a", b"b"], BYTES, bad((pyarrow.string(), pyarrow.binary()))))
    found.append(("arrow times", [1, 2], LARGE, bad((pyarrow.time64("ns"), pyarrow.int64()))))
    default = lambda name: lambda cells: pandas.Series(cells, dtype=name)  # noqa: E731
    return [Kind(f"pandas {n}", plain, odd, made or default(n)) for n, plain, odd, made in found]


def _moments(cells: list[Any], name: str) -> Any:
    moments = pandas.Series(pandas.to_datetime(cells, utc=True))
    return (moments if "," in name else moments.dt.tz_localize(None)).astype(name)


def _objects(cells: list[Any]) -> np.ndarray:
    found = np.empty(len(cells), dtype=object)
    for place, cell in enumerate(cells):
        found[place] = cell
    return found


# -- Polars ---------------------------------------------------------------------------------------------------------


def _polars() -> list[Kind]:
    p = polars
    found: list[tuple[Any, list, list, Any]] = []
    for kind in (p.Int8, p.Int16, p.Int32, p.Int64, p.UInt8, p.UInt16, p.UInt32, p.UInt64):
        found.append((kind, [1, 2, 1], [None, 127], None))
    for kind in (p.Int128, *([p.UInt128] if hasattr(p, "UInt128") else [])):
        found.append((kind, [1, 2, 1], [None, 2**127 - 1], None))
    for kind in (p.Float32, p.Float64, *([p.Float16] if hasattr(p, "Float16") else [])):
        found.append((kind, [1.0, 2.0, 1.0], [None, np.nan, np.inf, -np.inf], None))
    found.append((p.Decimal(38, 0), [decimal.Decimal(1), decimal.Decimal(2)], [None, decimal.Decimal(10**37)], None))
    found.append((p.Boolean, [True, False], [None], None))
    found += [
        (kind, ["a", "b"], [None, "", "4711"], None)
        for kind in (p.String, p.Categorical, p.Enum(["a", "b", "", "4711"]))
    ]
    found.append((p.Binary, [b"a", b"b"], BYTES, None))
    ticks = lambda kind, base=p.Int64: lambda cells: p.Series(cells, dtype=base).cast(kind)  # noqa: E731
    for kind in (
        p.Datetime("ms"),
        p.Datetime("us"),
        p.Datetime("ns", "Asia/Tokyo"),
        p.Duration("ms"),
        p.Duration("ns"),
    ):
        found.append((kind, [1, 2, 1], LARGE, ticks(kind)))
    found.append((p.Date, [1, 2, 1], [None, 2**31 - 1, -(2**31)], ticks(p.Date, p.Int32)))
    found.append((p.Time, [1, 2, 1], [None, SECRET], ticks(p.Time)))
    for kind in (p.List(p.Datetime("ms")), p.Array(p.Datetime("ms"), 1)):
        inner = type(kind)(p.Int64) if isinstance(kind, p.List) else p.Array(p.Int64, 1)
        found.append(
            (kind, [[1], [2]], [None, [2**62], [None]], lambda c, k=kind, i=inner: p.Series(c, dtype=i).cast(k))
        )
    found.append(
        (
            p.Struct({"f": p.Time}),
            [{"f": 1}, {"f": 2}],
            [None, {"f": SECRET}],
            lambda c: p.Series(c, dtype=p.Struct({"f": p.Int64})).cast(p.Struct({"f": p.Time})),
        )
    )
    found.append((p.Object, ["a", 1], OBJECTS, lambda c: p.Series("", c, dtype=p.Object)))
    found.append((p.Null, [None, None], [None], None))
    default = lambda kind: lambda cells: p.Series(cells, dtype=kind)  # noqa: E731
    return [Kind(f"polars {k}", plain, odd, made or default(k)) for k, plain, odd, made in found]


# -- numpy ----------------------------------------------------------------------------------------------------------


def _numpy() -> list[Kind]:
    found: list[tuple[str, list, list, Any]] = []
    for letter in "bhilBHIL":
        info = np.iinfo(letter)
        found.append((f"integer {letter}", [1, 2, 1], [info.min, info.max], None))
    for letter in "efd":
        found.append((f"float {letter}", [1.0, 2.0], [np.nan, np.inf, -np.inf, np.finfo(letter).max, -0.0], None))
    found.append(("float g", [1.0, 2.0], [np.longdouble("1e400"), np.longdouble("-1e4000"), np.nan], None))
    found += [("bool ?", [True, False], [False], None), ("complex D", [1.0, 2.0], [np.nan + 1j], None)]
    for unit in ("ns", "us", "s", "D", "Y"):
        for letter in "Mm":
            name = f"{letter}8[{unit}]"
            made = lambda c, n=name: np.array(c, dtype=np.int64).view(n)  # noqa: E731
            found.append((f"time {name}", [1, 2, 1], [2**62, -(2**63), -5], made))
    found += [("text U4", ["a", "b"], ["", "4711"], None), ("bytes S4", [b"a", b"b"], [b"", b"\xff"], None)]
    if hasattr(np.dtypes, "StringDType"):
        kind = np.dtypes.StringDType(na_object=np.nan)
        found.append(("text T", ["a", "b"], ["", "4711", np.nan], lambda c: np.array(c, dtype=kind)))
    found.append(("object O", ["a", 1], OBJECTS, _objects))
    pair = lambda c: np.array([(x, x) for x in c], dtype=[("a", "i4"), ("b", "f8")])  # noqa: E731
    texts = lambda c: np.array([(x, x) for x in c]).reshape(len(c), 2).astype(str)  # noqa: E731
    found.append(("rows of texts", ["a", "b"], ["4711"], texts))
    found.append(("structured V", [1, 2], [4711], pair))
    for letter in ("i", "f", "g", "M8[s]", "O", "U4", "?"):
        cells = {"M8[s]": [1, 2], "O": ["a", 1], "U4": ["a", "b"], "?": [True, False]}.get(letter, [1, 2])
        found.append((f"masked {letter}", cells, [None], _masked(letter, cells[0])))
    default = lambda name: lambda cells: np.array(cells, dtype=name.split()[1])  # noqa: E731
    return [Kind(f"numpy {n}", plain, odd, made or default(n)) for n, plain, odd, made in found]


def _masked(name: str, first: Any) -> Callable[[list[Any]], Any]:
    def made(cells: list[Any]) -> Any:
        filled = np.array([first if cell is None else cell for cell in cells], dtype=name.replace("M8[s]", "l"))
        return np.ma.array(filled.view(name), mask=[cell is None for cell in cells])

    return made


# -- lists ----------------------------------------------------------------------------------------------------------


class Few:
    """A sequence of somebody, of which numpy makes an array by its cells."""

    def __init__(self, cells: list[Any]) -> None:
        self._cells = cells

    def __len__(self) -> int:
        return len(self._cells)

    def __getitem__(self, place: int) -> Any:
        return self._cells[place]


def _lists() -> list[Kind]:
    """They declare no type: none of their cells may."""
    odd = [*OBJECTS, True, 1, 2.5, 10**400, -(2**70), decimal.Decimal(1), np.float32(0.1), np.array(1), (1, 2), "a"]
    plain = {"numbers": [1.0, 2.0, 1.0], "whole": [1, 2, 1], "texts": ["a", "b", "a"], "rows": [[1, 2], [3, 4]]}
    ways = {"list": list, "tuple": tuple, "deque": collections.deque, "own": Few}
    return [Kind(f"{way} of {name}", cells, odd, ways[way]) for way in ways for name, cells in plain.items()]


KINDS = [*arrow(), *_pandas(), *_polars(), *_numpy(), *_lists()]
