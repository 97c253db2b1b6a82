"""Columns that are hard on every engine, and random tallies over them, with what this process makes of them."""

from __future__ import annotations

import math
import os
from importlib.util import find_spec
from typing import Any

import numpy as np
import pyarrow
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import hush
from hush import releases
from hush.releases.row_wise.row_expressions import Arithmetic, Constant, Expression, col
from hush.releases.tables.in_memory import in_memory
from hush.releases.tables.tally import Bins, Categories, LatticeCells, Limits, Measure, Steps, Tallied, Tally

HOSTILE = "Robert'); DROP TABLE t; --"
FLOATS = [0.0, -0.0, None, math.nan, math.inf, -math.inf, 1e308, -1e308, 5e-324, 0.5, 1.5, 2.5, -0.5, 1e-9, 7.25, 1e300]
WHOLE = [0, 1, -1, None, 2**62, -(2**62), 2**53 + 1, 2**53, 3, 4711, 2**63 - 1, -(2**63)]
TEXTS = [
    "a",
    "A",
    "",
    None,
    "ä",
    "a ",
    " a",
    "é",
    "e\u0301",
    HOSTILE,
    '"',
    "%s",
    "\\",
    "$1",
    "ß",
    "true",
    "1",
    "\u4e2d",
]
ROWS = 700


def columns() -> pyarrow.Table:
    """Every row a random mixture; x holds halves of many grids."""
    random = np.random.default_rng(5)

    def chosen(cells: list[Any], kind: Any) -> Any:
        return pyarrow.array([cells[k] for k in random.integers(0, len(cells), ROWS)], kind)

    halves = np.ldexp(random.integers(-(2**40), 2**40, ROWS) + 0.5, random.integers(-45, 5, ROWS)).tolist()
    short = [None if v is None else float(np.clip(v, -3e38, 3e38)) for v in FLOATS]
    return pyarrow.table(
        {
            "x": pyarrow.array(
                [
                    h if k % 2 else f
                    for k, (h, f) in enumerate(zip(halves, chosen(FLOATS, pyarrow.float64()).to_pylist(), strict=True))
                ],
                pyarrow.float64(),
            ),
            "f": chosen(short, pyarrow.float32()),
            "i": chosen(WHOLE, pyarrow.int64()),
            "n": chosen([0, 1, 2, None, -7], pyarrow.int32()),
            "b": chosen([True, False, None], pyarrow.bool_()),
            "s": chosen(TEXTS, pyarrow.string()),
            'odd "name`; --': chosen(["u", "v"], pyarrow.string()),
            "who": chosen([None, *range(60)], pyarrow.int64()),
        }
    )


TABLE = columns()
MEMORY = in_memory(TABLE)
"""The same in this process: what every engine must give."""


ODD = 'odd "name`; --'
NUMBERS, WORDS = ("x", "f", "i", "n"), ("s", ODD)
CONSTANTS = st.sampled_from([0.0, 0.5, -1.0, 3.0, 2.0**53, 1e300, 7.25])


def conditions() -> st.SearchStrategy[Expression]:
    numbers = st.sampled_from(NUMBERS).map(col)
    sides = st.one_of(numbers, CONSTANTS.map(Constant))
    compared = st.tuples(numbers, st.sampled_from(["<", "<=", ">", ">=", "==", "!="]), sides).map(
        lambda t: {
            "<": t[0] < t[2],
            "<=": t[0] <= t[2],
            ">": t[0] > t[2],
            ">=": t[0] >= t[2],
            "==": t[0] == t[2],
            "!=": t[0] != t[2],
        }[t[1]]
    )
    texts = st.tuples(st.sampled_from(WORDS), st.sampled_from([t for t in TEXTS if t])).map(lambda t: col(t[0]) == t[1])
    leaves = st.one_of(
        compared,
        texts,
        st.just(col("b")),
        st.just(col("s") != col(ODD)),
        st.sampled_from(["x", "i", "s", "b"]).map(lambda name: col(name).is_null()),
        st.just(col("s").is_in(["a", HOSTILE, "ß"])),
        st.just(col("n").is_in([1, 2])),
        st.just(col("b") == True),  # noqa: E712
        st.just(Arithmetic("/", col("x"), col("n")) > 1),
    )
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.tuples(inner, inner).map(lambda t: t[0] & t[1]),
            st.tuples(inner, inner).map(lambda t: t[0] | t[1]),
            inner.map(lambda e: ~e),
        ),
        max_leaves=4,
    )


@st.composite
def steps(draw: st.DrawFn, bits: int = 36) -> Steps:
    low, high = draw(
        st.sampled_from(
            [(0.0, 2000.0), (-1.0, 1.0), (-1e308, 1e308), (0.0, 1e-290), (1e15, 1e15 + 1), (-7.5, 0.25), (0.0, 2.0**53)]
        )
    )
    power = math.frexp(high / 2 - low / 2)[1] - bits
    centre = draw(st.sampled_from([0.0, low / 2 + high / 2]))
    if abs(centre) < math.ldexp(1.0, min(53 + power, 1000)):
        centre = math.ldexp(round(math.ldexp(centre, -power)), power)
    value = draw(st.sampled_from([col("x"), col("f"), col("i"), col("n"), col("b"), col("x") * col("n")]))
    if max(abs(low - centre), abs(high - centre)) * 2.0**-power > 2.0**61:
        centre = low / 2 + high / 2
    return Steps(value, low, high, centre, power, draw(st.sampled_from([None, low, high, 0.5])))


@st.composite
def cells(draw: st.DrawFn) -> Any:
    kind = draw(st.sampled_from(["lattice", "bins", "texts", "numbers", "truths"]))
    if kind == "lattice":
        return LatticeCells(draw(steps(bits=5)), draw(st.sampled_from([-8, 0])), 17)
    if kind == "bins":
        return Bins(draw(st.sampled_from([col("x"), col("i")])), (-1.0, 0.0, 0.5, 7.25, 1e300))
    if kind == "numbers":
        return Categories(col("n"), (2, 0, 9))
    return Categories(col("b"), (False, True)) if kind == "truths" else Categories(col("s"), ("ä", HOSTILE, "z", "A"))


DIFFERENT = [col("x"), col("s"), col("i"), col("b"), col("x") * col("n")]
KEYS: dict[str, list[Any]] = {
    "s": ["a", "ä", HOSTILE, "nobody's", None],
    "n": [0, 2, -7, None, 5],
    "i": [2**62, 2**53 + 1, 2**63 - 1, 3, True],
    "b": [False, True, None, 1],
    ODD: ["u", "w"],
}


@st.composite
def tallies(draw: st.DrawFn, *, limits: bool = False) -> Tally:
    names = draw(st.lists(st.sampled_from(list(KEYS)), max_size=2, unique=True))
    domain = None
    if not names or draw(st.booleans()):
        members = [
            draw(st.lists(st.sampled_from(KEYS[name]), min_size=1, max_size=3, unique_by=repr)) for name in names
        ]
        domain = tuple(tuple(key) for key in _product(members))
    most = draw(st.sampled_from([(None, None, None), (2, None, None), (None, 1, None), (2, 1, None), (None, None, 3)]))
    limit = Limits(draw(st.sampled_from([col("who"), col("s"), col("i")])), *most, b"secret" * 6)
    return Tally(
        tuple(map(col, names)),
        domain,
        draw(st.one_of(st.none(), conditions())),
        tuple(
            Measure(draw(steps(bits=bits)), degree)
            for degree, bits in draw(st.sampled_from([[], [(1, 36)], [(2, 23), (1, 36)]]))
        ),
        tuple(draw(st.lists(cells(), max_size=2))),
        tuple(draw(st.lists(st.sampled_from(DIFFERENT), max_size=2))) if limits else (),
        limit if limits else None,
    )


def _product(members: list[list[Any]]) -> list[list[Any]]:
    found: list[list[Any]] = [[]]
    for part in members:
        found = [[*known, value] for known in found for value in part]
    return found


def plain(found: Tallied) -> dict[str, Any]:
    """A tally as lists, to be compared whole."""
    typed = [tuple((type(part).__name__, part) for part in key) for key in found.groups]
    return {
        "groups": typed,
        "rows": found.rows.tolist(),
        "users": None if found.users is None else found.users.tolist(),
        "sums": [list(total) for total in found.sums],
        "counts": [count.tolist() for count in found.counts],
        "cells": [cell.tolist() for cell in found.cells],
        "distinct": [numbers.tolist() for numbers in found.distinct],
    }


def required(package: str) -> None:
    """Skip what needs a package that is missing; in CI it must not be."""
    if find_spec(package) is None:
        if os.environ.get("CI") == "1":
            pytest.fail(f"{package} is not installed: tests of an engine would be left out", pytrace=False)
        pytest.skip(f"{package} is not installed", allow_module_level=True)


def some_tallies(count: int) -> list[Tally]:
    """The same random tallies each time: for an engine of which every question takes long."""
    found: list[Tally] = []

    @settings(
        max_examples=count,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(tallies())
    def draw(tally: Tally) -> None:
        found.append(tally)

    draw()
    return found


def grouped() -> list[releases.GroupBy]:
    """Grouped queries of given keys, of unknown keys, and of users."""
    ask = {"rows": releases.Rows(), "x": releases.Stats("x", bounds=(0, 10), mean=True, median=True)}
    return [
        releases.GroupBy(
            keys={"n": (0, 1, None), "b": (True, False)},
            ask=ask,
            where="i >= 0 and s != 'a'",
            missing={"x": "drop"},
            epsilon=3.0,
        ),
        releases.GroupBy(keys=releases.Unknown("s"), ask={"rows": releases.Rows()}, epsilon=3.0, delta=0.1),
        releases.GroupBy(
            keys={"b": (True, False)},
            ask={"who": releases.Users(), "x": releases.Stats("x", bounds=(0, 10), sum=True)},
            unit="who",
            contributions=releases.AtMost(groups=2, each=1),
            epsilon=3.0,
        ),
    ]


def released(query: releases.GroupBy, data: Any) -> dict[str, list[Any]]:
    """The table that a seeded source gives."""
    return query.release(data, source=hush.SeededSource(1)).value.to_dict()
