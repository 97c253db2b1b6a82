"""Known privacy bugs of grouped queries, re-introduced one at a time: the checks of the suite must see each."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import hush
from hush import releases
from hush.releases.group_by.contributions import AtMost
from hush.releases.group_by.noisy_parts import parts
from hush.releases.group_by.noisy_parts.count_parts import RowsPart
from hush.releases.tables.tallying import kept_records, streaming, user_ids
from hush.releases.tables.tallying.codes import Codes, keyed_hash
from hush.releases.tables.tallying.group_keys import FoundKeys
from hush.releases.tables.tallying.user_ids import UserIds
from tests.releases import test_grouped_tallies as tallies
from tests.releases import test_limits_vs_brute_force as limits
from tests.releases.tiny_tables import excess

UNKNOWN, ADDED = releases.Unknown("group"), {"epsilon": 1.0, "delta": 0.05, "unit": "who"}
CAUGHT = 1e-4
"""More than any rounding."""


def users(most: AtMost, **more: Any) -> releases.GroupBy:
    return releases.GroupBy(keys=UNKNOWN, ask={"n": releases.Rows()}, contributions=most, **(ADDED | more))


def test_threshold_on_rows_instead_of_users(monkeypatch: pytest.MonkeyPatch) -> None:
    right = users(AtMost(1, 2), epsilon=3.0)
    assert excess(right, right.mechanism, users=1, only="a") <= 1e-9
    monkeypatch.setattr(releases.GroupBy, "_counting", lambda _, name: RowsPart(name))
    wrong = users(AtMost(1, 2), epsilon=3.0)
    assert excess(wrong, wrong.mechanism, users=1, only="a") > CAUGHT


def test_selection_and_counts_amplified_apart() -> None:
    query = releases.GroupBy(keys=UNKNOWN, ask={"u": releases.Users()}, contributions=AtMost(1, 1), **ADDED)
    sample, whole = hush.Poisson(rate=0.5), query.mechanism
    right = whole.on(sample)
    assert excess(query, right, users=2, most=1, rate=0.5) <= 1e-9
    counts = whole.inner.on(sample)  # type: ignore[attr-defined]
    twice = hush.UnknownKeys(hush.PureDP(1e-9), 1, whole.shown * 0.5).on(sample)  # type: ignore[attr-defined]
    for wrong in (counts, counts.beside(twice)):
        assert excess(query, wrong, users=2, most=1, rate=0.5) > CAUGHT


def test_keys_whose_records_were_all_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    right = streaming._ordered
    kept: dict[str, Any] = {}

    def numbers(self: FoundKeys) -> Any:
        kept["keys"] = found(self)
        return kept["keys"]

    found = FoundKeys.groups
    monkeypatch.setattr(FoundKeys, "groups", numbers)
    monkeypatch.setattr(streaming, "_ordered", lambda adding, _, __, size: right(adding, *kept["keys"], size))
    query = releases.GroupBy(keys=UNKNOWN, ask={"u": releases.Users()}, contributions=AtMost(1, 1), **ADDED)
    assert excess(query, query.mechanism, most=1) > CAUGHT


def test_an_empty_group_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    right = streaming.streamed

    def wrong(reader: Any, tally: Any) -> Any:
        found = right(reader, tally)
        return parts.rows_of(found, np.flatnonzero(found.rows).tolist())

    monkeypatch.setattr("hush.releases.tables.reader.streamed", wrong)
    with pytest.raises(AssertionError):
        tallies.test_given_groups_are_always_shown()


def test_key_order_from_the_data(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FoundKeys, "groups", lambda self: (tuple(self.keys()), np.arange(len(self))))
    with pytest.raises(AssertionError):
        tallies.test_order_of_records_does_not_matter()


def test_records_are_chosen_by_their_number(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(hashes: np.ndarray, content: Any) -> np.ndarray:
        return kept_records.mixed(np.arange(len(hashes), dtype=np.uint64))

    monkeypatch.setattr(kept_records, "record_hash", wrong)
    with pytest.raises(AssertionError):
        for seed in range(5):
            tallies.test_a_user_changes_nobody_elses_records(seed, AtMost(2, 1))


def test_an_odd_id_decides_how_others_are_hashed(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(self: UserIds, ids: list[Any]) -> np.ndarray:
        return np.array([keyed_hash(self._secret, unit) for unit in ids], dtype=np.uint64)

    monkeypatch.setattr(UserIds, "_of_objects", wrong)
    for ids, odd in limits.ODD_IDS.values():
        with pytest.raises(AssertionError):
            limits.test_an_odd_id_changes_no_hash_of_others(ids, odd)


def test_whose_zero_comes_first_decides_its_hash(monkeypatch: pytest.MonkeyPatch) -> None:
    right = Codes.of
    monkeypatch.setattr(
        Codes, "of", lambda self, cells: self._by_value(cells, float) if cells.dtype.kind == "f" else right(self, cells)
    )
    with pytest.raises(AssertionError):
        limits.test_zeros_have_one_hash_whichever_comes_first()


def test_a_missing_id_decides_how_others_are_hashed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(user_ids, "_words", lambda numbers: numbers.view(np.uint64))
    with pytest.raises(AssertionError):
        limits.test_a_missing_id_changes_no_hash_of_others()
