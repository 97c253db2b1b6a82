"""Users looked up in numpy, against a dictionary of Python: the same records are kept, whatever the ids are."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hush.releases.tables.ids import users
from hush.releases.tables.ids.id_slots import TextSlots, WholeSlots
from hush.releases.tables.ids.text_bytes import TextBytes
from hush.releases.tables.ids.users import UserSlots, first_of_each

LARGE = 2**63
WHOLE = st.sampled_from([0, 1, -1, 5, LARGE - 1, -LARGE, 2**53, 2**53 + 1])
BATCHES: dict[str, st.SearchStrategy[Any]] = {
    "whole": st.lists(WHOLE).map(lambda c: np.array(c, dtype=np.int64)),
    "short": st.lists(st.integers(-3, 3)).map(lambda c: np.array(c, dtype=np.int8)),
    "truth": st.lists(st.booleans()).map(lambda c: np.array(c, dtype=bool)),
    "unsigned": st.lists(st.sampled_from([0, 1, LARGE, 2**64 - 1])).map(lambda c: np.array(c, dtype=np.uint64)),
    "floats": st.lists(st.sampled_from([0.0, -0.0, 0.5, np.nan, np.inf, -np.inf, 1.0, 1e300, 5e-324])).map(np.array),
    "short floats": st.lists(st.sampled_from([0.1, -0.0, np.nan])).map(lambda c: np.array(c, dtype=np.float32)),
    "times": st.lists(st.sampled_from(["2020-01-01", "NaT", "1970-01-01"])).map(lambda c: np.array(c, dtype="M8[s]")),
    "words": st.lists(st.sampled_from(["", "a", "b", "ä", "a\x00", "1"])).map(lambda c: np.array(c, dtype=str)),
    "bytes": st.lists(st.sampled_from([b"", b"a", b"1"])).map(lambda c: np.array(c, dtype="S1")),
    "texts of Arrow": st.lists(st.sampled_from([None, "", "a", "b" * 20, "a" * 8, "a" * 9])).map(
        lambda c: pyarrow.chunked_array([pyarrow.array(c, pyarrow.string())])
    ),
    "missing numbers": st.lists(st.sampled_from([None, 1, LARGE - 1, -LARGE, LARGE, 2**64])),
    "missing words": st.lists(st.sampled_from([None, "", "a", "b", "\ud800"])),
    "objects": st.lists(
        st.sampled_from([None, np.nan, "", "a", b"a", 1, 1.0, True, Decimal(1), 0.5, (1, 2), np.str_("a")])
    ),
}


def cells_of(batch: Any) -> list[Any]:
    if isinstance(batch, np.ndarray) and batch.dtype.kind in "mM":
        return [None if np.isnat(cell) else int(cell.view(np.int64)) for cell in batch]
    return batch.to_pylist() if hasattr(batch, "to_pylist") else batch.tolist()


def as_array(batch: Any) -> Any:
    if not isinstance(batch, list):
        return batch
    found = np.empty(len(batch), dtype=object)
    found[:] = batch
    return found


def by_dictionary(batches: list[Any], most: int) -> list[list[bool]]:
    seen: Counter[Any] = Counter()
    kept = []
    for batch in batches:
        kept.append([])
        for cell in cells_of(as_array(batch)):
            nobody = cell is None or cell == "" or cell != cell
            kept[-1].append(not nobody and seen[cell] < most)
            seen[cell] += 1
    return kept


@pytest.mark.parametrize("kind", BATCHES)
@settings(deadline=None)
@given(data=st.data(), most=st.integers(1, 11))
def test_one_kind_of_ids(kind: str, data: st.DataObject, most: int) -> None:
    batches = data.draw(st.lists(BATCHES[kind], max_size=4))
    keep = first_of_each(most)
    assert [keep(as_array(batch)).tolist() for batch in batches] == by_dictionary(batches, most)


@settings(deadline=None)
@given(batches=st.lists(st.one_of(*BATCHES.values()), max_size=5), most=st.integers(1, 3))
def test_ids_whose_type_changes(batches: list[Any], most: int) -> None:
    keep = first_of_each(most)
    assert [keep(as_array(batch)).tolist() for batch in batches] == by_dictionary(batches, most)


@pytest.mark.parametrize("most", [1, 5, 1000])
def test_tables_that_grow(most: int) -> None:
    """State stays with its user when the table moves: many sizes, many repetitions, one user with most records."""
    random = np.random.default_rng(most)
    sizes = [*range(1, 15), 3, 8, 12]
    batches = [np.where(random.random(3000) < 0.3, 7, random.integers(0, 2**k, 3000) << 40) for k in sizes]
    keep = first_of_each(most)
    for batch, expected in zip(batches, by_dictionary(batches, most), strict=True):
        assert np.array_equal(keep(batch), expected)


def test_slots_are_dense_and_stay() -> None:
    table, random = WholeSlots(), np.random.default_rng(1)
    known: dict[int, int] = {}
    for _ in range(20):
        keys = random.integers(0, 5000, 700) * 2**50
        for key, slot in zip(keys.tolist(), table.slots(keys).tolist(), strict=True):
            assert known.setdefault(key, slot) == slot
    assert sorted(known.values()) == list(range(table.size))
    assert table.keys().tolist() == sorted(known, key=known.__getitem__)


def test_texts_with_one_hash_stay_different(monkeypatch: pytest.MonkeyPatch) -> None:
    few = TextBytes.hashes
    monkeypatch.setattr(TextBytes, "hashes", lambda self, key: few(self, 0) & np.uint64(3))
    keep, batches = first_of_each(2), [pyarrow.array([f"u{k % 50}" for k in range(start, 90, 3)]) for start in range(3)]
    assert [keep(batch).tolist() for batch in batches] == by_dictionary(batches, 2)


@settings(deadline=None)
@given(st.lists(st.text(max_size=30)), st.integers(0, 5))
def test_hashes_are_of_the_text_alone(texts: list[str], skipped: int) -> None:
    """Neither the neighbours nor the place in a buffer matter."""
    whole = pyarrow.array(texts, pyarrow.large_string())
    alone = [int(TextBytes(pyarrow.array([t], pyarrow.large_string())).hashes(9)[0]) for t in texts]
    assert TextBytes(whole).hashes(9).tolist() == alone
    assert TextBytes(whole.slice(skipped)).hashes(9).tolist() == alone[skipped:]
    assert len(set(alone)) == len(set(texts))


def test_no_object_per_text() -> None:
    """Texts of Arrow are looked up without a Python object for each of them."""
    found = UserSlots()
    found.slots(pyarrow.array(["a", "b"]))
    assert isinstance(found._table, TextSlots) and not found._names
    assert not hasattr(users, "_coded")
