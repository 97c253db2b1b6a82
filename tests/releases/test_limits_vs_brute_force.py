"""What is kept of each user, however records come, against sorting all records of a user by the definition."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hush.releases.tables.tally import Limits
from hush.releases.tables.tallying import kept_records
from hush.releases.tables.tallying.codes import Codes
from hush.releases.tables.tallying.kept_records import KeptRecords
from hush.releases.tables.tallying.user_ids import UserIds

SHORT = [0, 1, 2, 2**63, 2**64 - 1, 3 << 62]
"""Few hashes, some of them alike in their first bits: ties and near ties are the rule."""
Record = tuple[int, int, int]
"""User, group, content."""


def kept_by_definition(records: list[Record], limits: Limits, ranks: np.ndarray, hashed: Any) -> list[Record]:
    mine: dict[int, list[Record]] = defaultdict(list)
    for record in records:
        mine[record[0]].append(record)
    found = []
    for own in mine.values():
        group = lambda r: (hashed(r)[0], ranks[r[1]])  # noqa: E731
        by_group = sorted(own, key=lambda r: (*group(r), hashed(r)[1], r[2]))
        names = list(dict.fromkeys(map(group, by_group)))[: limits.groups]
        counts: dict[Any, int] = defaultdict(int)
        kept = []
        for record in by_group:
            counts[group(record)] += 1
            if group(record) in names and counts[group(record)] <= (limits.each or len(own)):
                kept.append(record)
        if limits.groups is None:
            kept.sort(key=lambda r: (hashed(r)[1], ranks[r[1]], hashed(r)[0], r[2]))
        found += kept[: limits.total]
    return sorted(found)


def listed(kept: KeptRecords) -> list[Record]:
    columns = [(users, groups, *content) for users, groups, content in kept.finished()]
    return [record for some in columns for record in zip(*(column.tolist() for column in some), strict=True)]


@settings(deadline=None)
@given(
    batches=st.lists(
        st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 3)), min_size=1), max_size=5
    ),
    limits=st.tuples(*[st.one_of(st.none(), st.integers(1, 3))] * 3),
    of_group=st.lists(st.sampled_from(SHORT), min_size=16, max_size=16),
    of_record=st.lists(st.sampled_from(SHORT), min_size=4, max_size=4),
    pending=st.sampled_from([1, 4, 1000]),
)
def test_any_records_in_any_batches(
    batches: list[list[Record]], limits: Any, of_group: list[int], of_record: list[int], pending: int
) -> None:
    asked, ranks = Limits(None, *limits, secret=b""), np.array([2, 0, 3, 1])  # type: ignore[arg-type]
    hashed = lambda r: (of_group[4 * r[0] + r[1]], of_record[r[2]])  # noqa: E731
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kept_records, "PENDING", pending)
        patch.setattr(kept_records, "record_hash", lambda _, content: np.array(of_record, dtype=np.uint64)[content[0]])
        kept = KeptRecords(asked, lambda: ranks)
        for batch in batches:
            users, groups, content = map(np.array, zip(*batch, strict=True))
            hashes = np.array([hashed(record)[0] for record in batch], dtype=np.uint64)
            within = kept.within(users, hashes)
            kept.add(users[within], groups[within], hashes[within], [content[within]])
        found = sorted(listed(kept))
    assert found == kept_by_definition([r for batch in batches for r in batch], asked, ranks, hashed)


@pytest.mark.parametrize("limits", [(2, 1, None), (None, None, 2), (3, 2, 4), (None, 1, 2), (None, 2, None)])
def test_order_and_other_users_do_not_matter(limits: Any) -> None:
    """Long data: the same records in another order, and without some users, keep the same of the others."""
    random = np.random.default_rng(3)
    users, groups, content = (
        random.integers(0, 400, 20_000),
        random.integers(0, 30, 20_000),
        random.integers(0, 9, 20_000),
    )
    hashes = kept_records.mixed((users * 100 + groups).astype(np.uint64))

    def kept(chosen: np.ndarray) -> set[Record]:
        found = KeptRecords(Limits(None, *limits, secret=b""), lambda: None)  # type: ignore[arg-type]
        for rows in np.array_split(chosen, 7):
            found.add(users[rows], groups[rows], hashes[rows], [content[rows]])
        return set(listed(found))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kept_records, "PENDING", 3000)
        whole, mixed = kept(np.arange(20_000)), kept(random.permutation(20_000))
        less = kept(np.flatnonzero(users % 7))
    assert whole == mixed
    assert less == {record for record in whole if record[0] % 7}


@pytest.mark.parametrize(
    "ids",
    [
        np.array([5, 6, 2**40]),
        np.array([5, 6, 2**40], dtype=np.uint64),
        np.array([5, 6, 2**40, None], dtype=object)[:3],
        np.array(["5", "six", "ä" * 30]),
        np.array(["5", "six", "ä" * 30], dtype=object),
        np.array([0.5, -0.0, 1e300]),
    ],
    ids=lambda ids: str(ids.dtype),
)
def test_hashes_of_ids_are_of_what_they_are(ids: np.ndarray) -> None:
    """Not of the slot, of the batch, of other users, nor of the width of the type; another secret gives others."""
    one, other = UserIds(b"secret"), UserIds(b"secret")
    first = one.hashed(ids)
    slots = other.slots(np.concatenate([ids[::-1], ids]))
    assert other.hashes[slots[3:]].tolist() == first.tolist()
    assert len(set(first.tolist())) == 3
    assert not set(first.tolist()) & set(UserIds(b"other").hashed(ids).tolist())
    if ids.dtype.kind in "uO" and isinstance(ids.tolist()[0], int):
        assert first.tolist() == one.hashed(ids.astype(np.int64)).tolist()


ODD_IDS: dict[str, tuple[Any, Any]] = {
    "a number that no 64 bits hold": (np.array([7, 8], dtype=object), 2**70),
    "a number beside null that no signed 64 bits hold": (np.array([7, 8, None], dtype=object), 2**63 + 5),
    "a number among texts": (np.array(["ann", "bob"], dtype=object), 5),
    "a text among numbers": (np.array([7, 8], dtype=object), "ann"),
    "a text among floats": (np.array([7.0, 8.5]), "ann"),
    "a fraction among whole numbers": (np.array([7, 8]), 7.5),
    "a text among truth values": (np.array([True, False]), "ann"),
    "a text that is no UTF-8": (np.array(["ann", "bob"], dtype=object), "\udcff"),
    "a text that is no UTF-8 beside an Arrow column": (pyarrow.array(["ann", "bob"]), "\udcff"),
}


@pytest.mark.parametrize(("ids", "odd"), ODD_IDS.values(), ids=ODD_IDS.keys())
def test_an_odd_id_changes_no_hash_of_others(ids: Any, odd: object) -> None:
    beside = np.array([*ids.tolist(), odd][::-1], dtype=object)
    alone, together = UserIds(b"secret"), UserIds(b"secret")
    slots, others = alone.slots(ids), together.slots(beside)[::-1]
    assert alone.hashes[slots[:2]].tolist() == together.hashes[others[:2]].tolist()
    assert len(set(together.hashes.tolist())) == 3


def test_zeros_have_one_hash_whichever_comes_first() -> None:
    """Different values are told apart by hashes, which decide what is kept: another user's -0.0 must not be in them."""
    found = []
    for first in (0.0, -0.0):
        codes = Codes()
        codes.of(np.array([first, 1.5]))
        found.append(codes.hashes(b"secret", b"")[codes.of(np.array([-0.0, 0.0, 1.5]))].tolist())
    assert found[0] == found[1] and found[0][0] == found[0][1] != found[0][2]


def test_a_missing_id_changes_no_hash_of_others() -> None:
    """pandas makes a column of whole numbers one of floats as soon as one record has no id."""
    whole, floats = UserIds(b"secret"), UserIds(b"secret")
    here, there = whole.slots(np.array([7, -8, 0, 2**40])), floats.slots(np.array([7.0, -8.0, -0.0, 2.0**40, np.nan]))
    assert whole.hashes[here].tolist() == floats.hashes[there[:4]].tolist()
    assert there[4] == -1
