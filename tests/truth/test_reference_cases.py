"""Every reference case of a covered kind: the truth lies in the certified interval, which is narrow."""

from __future__ import annotations

import time
from functools import cache

import pytest

from tests.truth import reference
from tests.truth.curve_kinds import CHECKED_CURVES
from tests.truth.order_statistics import ORDER_STATISTICS
from tests.truth.reference import Answer, Case, load
from tests.truth.shuffling import SHUFFLING

CHECKED = reference.CHECKED | CHECKED_CURVES | SHUFFLING | ORDER_STATISTICS

CASES: dict[str, Case] = {case["id"]: case for name in ("cases.json", "amplification.json") for case in load(name)}
COVERED = [name for name, case in CASES.items() if case["kind"] in CHECKED]

ELSEWHERE = {"alloc_delta", "alloc_eps", "alloc_eps_epochs", "alloc_renyi"}
"""Kinds of test_allocation_cases.py."""
NOT_BUILT: dict[str, str] = {}


@cache
def answers(name: str) -> tuple[tuple[Answer, ...], float]:
    """All answers to one case, and the CPU seconds that each took on average."""
    case = CASES[name]
    start = time.process_time()
    found = tuple(CHECKED[case["kind"]](case))
    return found, (time.process_time() - start) / len(found)


def test_every_kind_is_checked_or_named_as_not_built() -> None:
    kinds = {case["kind"] for case in CASES.values()}
    assert kinds == CHECKED.keys() | NOT_BUILT.keys() | ELSEWHERE
    assert not CHECKED.keys() & NOT_BUILT.keys()


@pytest.mark.parametrize("name", COVERED)
def test_truth_in_interval(name: str) -> None:
    for answer in answers(name)[0]:
        assert answer.lower <= answer.upper, answer
        assert answer.sound, (CASES[name]["params"], answer)


@pytest.mark.parametrize("name", COVERED)
def test_interval_is_narrow_and_quick(name: str) -> None:
    found, seconds = answers(name)
    for answer in found:
        assert answer.tight, (CASES[name]["params"], answer)
    # Most take milliseconds; this only tells a hang from an answer, on a slow machine.
    assert seconds < 60
