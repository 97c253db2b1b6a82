"""Files of scores that are broken, odd or made to break: each is read, or refused in a sentence that shows no cell."""

from __future__ import annotations

import datetime
import decimal
import io
import random
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hush.app.score_files import ScoreColumns, read_scores
from hush.app.service.questions.menu import answered
from hush.errors import HushError

RECORDS = 60
SCORES, MEMBERS = np.arange(RECORDS) / 7, np.arange(RECORDS) % 2
LONG = "8" * 5000
"""Digits that no message may show; Python reads no whole number of so many."""


def npz(score: Any = SCORES, member: Any = MEMBERS) -> bytes:
    made = io.BytesIO()
    np.savez(made, score=score, member=member)
    return made.getvalue()


def headed(header: str, content: bytes = bytes(8)) -> bytes:
    """An npz file whose arrays have this header."""
    array = b"\x93NUMPY\x02\x00" + len(header).to_bytes(4, "little") + header.encode("latin-1") + content
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("score.npy", array)
        file.writestr("member.npy", array)
    return made.getvalue()


def shaped(kind: str, shape: str) -> bytes:
    return headed(f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}}}\n")


def marked(whole: bytes, mark: bytes, further: int, value: int) -> bytes:
    """The file with one byte changed behind every such mark."""
    made, place = bytearray(whole), whole.find(mark)
    while place >= 0:
        made[place + further] = value
        place = whole.find(mark, place + 1)
    return bytes(made)


def packed(method: int) -> bytes:
    return marked(marked(npz(), b"PK\x01\x02", 10, method), b"PK\x03\x04", 8, method)


class Evil:
    def __reduce__(self) -> Any:
        return pytest.fail, ("a pickle was run",)


ARCHIVES: dict[str, bytes] = {
    "no dimension": npz(np.float64(1), np.int64(1)),
    "two dimensions": npz(SCORES.reshape(30, 2)),
    "objects": npz(np.array([Evil()] * RECORDS, object)),
    "complex": npz(SCORES + 1j),
    "dates": npz(SCORES.astype("M8[s]")),
    "records": npz(np.zeros(RECORDS, [("a", "f8")])),
    "void members": npz(SCORES, np.zeros(RECORDS, "V8")),
    "bytes": npz(SCORES, np.array([b"\xff"] * RECORDS)),
    "surrogates": npz(SCORES, np.array(["\ud800"] * RECORDS)),
    "digits": npz(np.array([LONG] * RECORDS), np.array([LONG] * RECORDS)),
    "too large": npz(SCORES.astype(np.longdouble) * np.longdouble("1e4000")),
    "empty": npz(SCORES[:0], MEMBERS[:0]),
    "of two lengths": npz(SCORES, MEMBERS[:3]),
    "a shape of digits": shaped("<f8", f"({LONG},)"),
    "a huge shape": shaped("<f8", f"({'9' * 30},)"),
    "a negative shape": shaped("<f8", "(-1,)"),
    "a shape that overflows": shaped("<f8", "(4294967296, 4294967296)"),
    "a kind that is none": shaped("<Q9", "(1,)"),
    "a deep header": headed("(" * 4000 + ")" * 4000),
    "an open header": headed("{"),
    "an indented header": headed("  {\n  'a': 1"),
    "a header of nothing": headed("{}"),
    "a header with a zero": headed("{'descr': '<f8\0'}"),
    "encrypted": marked(marked(npz(), b"PK\x01\x02", 8, 1), b"PK\x03\x04", 6, 1),
    **{f"packed by {method}": packed(method) for method in (1, 6, 9, 12, 14, 93, 99, 255)},
    **{f"cut at {end}": npz()[:end] for end in (0, 1, 4, 30, 60, 200, -1, -25)},
    "no archive": b"score,member\n1,1\n",
}
TABLES: dict[str, bytes] = {
    "nothing": b"",
    "a head alone": b"score,member\n",
    "half a head": b"score",
    "zeros": b"\0" * 1000,
    "a zero": b"score,member\n\0,1\n",
    "two bytes a letter": "score,member\n1,1\n".encode("utf-16"),
    "no letters": b"score,member\n\xff\xfe,1\n",
    "a surrogate": b"score,member\n\xed\xa0\x80,1\n",
    "digits": f"score,member\n{LONG},1\n-{LONG},0\n".encode(),
    "digits as members": f"score,member\n1,{LONG}\n2,0\n".encode(),
    "a long cell": b"score,member\n" + b"8" * 140_000 + b",1\n",
    "a long cell in many rows": b"score,member\n1," + b"8" * 130_000 + b"\n" + b"1,1\n2,0\n" * 200_000,
    "short rows": b"score,member\n1\n\n1,0,3,4\n,\n",
    "an open quote": b'score,member\n"1,1\n2,0\n',
    "each name twice": b"score,score,member,member\n1,2,1,0\n3,4,0,1\n",
    "many columns": b"score,member" + b",x" * 100_000 + b"\n1,1\n",
    "other numbers": "score,member\n٣,1\n1_0,0\n".encode(),
    "infinite": b"score,member\n1e999,1\n-inf,0\n",
    "none": b"score,member\nnan,1\n1,0\n",
}


def refused_or_read(path: Path) -> None:
    """The reader ends well or says what is wrong, and so does the page; no cell is told."""
    try:
        read_scores(str(path), ScoreColumns())
    except HushError as reason:
        assert "888" not in str(reason)
    except MemoryError:
        pass
    said = answered("scores", {"file": str(path), "expression": "gdp 1", "delta": 1e-5})
    assert "answer" in said or said["error"]["kind"] in ("HushError", "DataError", "InvalidParameter"), said
    assert "888" not in str(said) and str(path.parent) not in str(said)


@pytest.mark.parametrize("kind", ARCHIVES)
def test_archives(tmp_path: Path, kind: str) -> None:
    (tmp_path / "a.npz").write_bytes(ARCHIVES[kind])
    refused_or_read(tmp_path / "a.npz")


@pytest.mark.parametrize("kind", TABLES)
def test_tables(tmp_path: Path, kind: str) -> None:
    (tmp_path / "a.csv").write_bytes(TABLES[kind])
    refused_or_read(tmp_path / "a.csv")


def columns(pa: Any) -> dict[str, tuple[Any, Any]]:
    """Scores and members of odd types."""
    numbers, members = SCORES.tolist(), MEMBERS.tolist()
    day = datetime.date(2020, 1, 1)
    return {
        "decimals": ([decimal.Decimal(k) for k in range(RECORDS)], [decimal.Decimal(k) for k in members]),
        "long decimals": (pa.array([decimal.Decimal("8" * 76)] * RECORDS, pa.decimal256(76, 0)), members),
        "lists": ([[1.0]] * RECORDS, members),
        "lists as members": (numbers, [[1]] * RECORDS),
        "records as members": (numbers, [{"a": 1}] * RECORDS),
        "bytes": ([b"\xff"] * RECORDS, members),
        "bytes as members": (numbers, [b"\xff"] * RECORDS),
        "days": ([day] * RECORDS, [day] * RECORDS),
        "spans": (pa.array([1] * RECORDS, pa.duration("s")), members),
        "missing scores": ([*numbers[:-1], None], members),
        "missing members": (numbers, [*members[:-1], None]),
        "nothing but missing": (pa.nulls(RECORDS), pa.nulls(RECORDS)),
        "digits": ([LONG] * RECORDS, [LONG] * RECORDS),
        "codes": (pa.array(numbers).dictionary_encode(), pa.array(["yes", "no"] * 30).dictionary_encode()),
        "large": (pa.array([2**64 - 1, 2**64 - 2] * 30, pa.uint64()), members),
    }


def test_parquet_of_odd_types(tmp_path: Path) -> None:
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    for scores, members in columns(pa).values():
        parquet.write_table(pa.table({"score": scores, "member": members}), tmp_path / "a.parquet")
        refused_or_read(tmp_path / "a.parquet")


@pytest.mark.parametrize("seed", range(3))
def test_files_with_some_bytes_changed(tmp_path: Path, seed: int) -> None:
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    draw = random.Random(seed)
    parquet.write_table(pa.table({"score": SCORES, "member": MEMBERS}), tmp_path / "whole.parquet")
    for whole, name in ((npz(), "a.npz"), ((tmp_path / "whole.parquet").read_bytes(), "a.parquet")):
        for _ in range(100):
            changed = bytearray(whole)
            for _ in range(draw.choice((1, 3, 10))):
                changed[draw.randrange(len(changed))] = draw.randrange(256)
            (tmp_path / name).write_bytes(changed)
            refused_or_read(tmp_path / name)


def test_texts_are_read_in_every_kind_of_file(tmp_path: Path) -> None:
    words = np.where(MEMBERS == 1, "Train ", "test")
    for member in (words, words.astype("S"), MEMBERS.astype(str), MEMBERS.astype(bool)):
        np.savez(tmp_path / "a.npz", score=SCORES.astype("S"), member=member)
        scores, members = read_scores(str(tmp_path / "a.npz"), ScoreColumns())
        assert np.array_equal(members, MEMBERS) and np.array_equal(scores, SCORES)
        columns = ScoreColumns(value="true" if member.dtype == bool else "1" if member.dtype == "U21" else " TRAIN")
        assert np.array_equal(read_scores(str(tmp_path / "a.npz"), columns)[1], MEMBERS)
