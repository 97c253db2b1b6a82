"""The largest coefficient over all counts of two kinds of coins: never below enumeration, and close to it."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hush.curves.theorems.shuffling.multiset import BinaryResponses, others_agree
from hush.numerics.special.largest_coefficient import log_largest


def share(epsilon0: float) -> float:
    return 1 / (math.exp(epsilon0) + 1)


@pytest.mark.parametrize("people", [60, 200, 400])
@pytest.mark.parametrize("epsilon0", [0.2, 0.5, 1.0, 1.5])
def test_above_all_data_and_close(people: int, epsilon0: float) -> None:
    exact = BinaryResponses(epsilon0, people)
    covered = 0
    for epsilon in np.linspace(0.0, 0.5 * epsilon0, 9):
        found = log_largest(share(epsilon0), people - 1, math.exp(epsilon), 1e-5)
        truth = exact.log_delta(float(epsilon))
        assert found >= truth[0] - 1e-12
        if found < 0:
            covered += 1
            assert found <= truth[1] + 4 / (people * share(epsilon0))
    assert covered or people < 200


@pytest.mark.parametrize(
    ("people", "epsilon0", "epsilon"), [(10**4, 1.0, 0.03), (10**6, 2.0, 0.006), (10**9, 0.5, 1e-5)]
)
def test_above_what_is_attained_and_close(people: int, epsilon0: float, epsilon: float) -> None:
    low = share(epsilon0)
    attained = others_agree(epsilon0, 1 - low, low, people).log_delta(epsilon)
    found = log_largest(low, people - 1, math.exp(epsilon), 1e-6)
    assert attained[0] <= found <= attained[1] + 20 / (people * low) + 1e-5


def test_tolerance_only_widens() -> None:
    fine, rough = (log_largest(share(1.0), 9999, math.exp(0.03), tolerance) for tolerance in (1e-6, 1e-2))
    assert fine <= rough <= fine + 0.02


def test_out_of_reach_says_nothing() -> None:
    assert log_largest(share(1.0), 5, 1.1, 1e-3) == 0.0
    assert log_largest(share(1.0), 100, math.exp(1.5), 1e-3) == 0.0
