"""Monte Carlo: the best event that many runs on neighbours show never exceeds the claimed epsilon (at 1 - 1e-6)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import special

import hush
from hush import releases
from hush.releases.query import OnSample, Query

CHOOSING, RUNS = 200, 1000
"""Runs that choose the event, and all runs: the rest count it."""
MISTAKE = 1e-6
REPLACE = hush.Relation.REPLACE
DATA, ONE_LESS, CHANGED = [0.0] * 8 + [1.0], [0.0] * 8, [0.0] * 9


def outputs(query: Query | OnSample, data: list[float], seed: int) -> np.ndarray:
    source = hush.SeededSource(seed)
    found = [query.release(np.array(data), source=source).value for _ in range(RUNS)]
    return np.array([list(v.values())[-1] if isinstance(v, dict) else v for v in found], dtype=float)


def lower(hits: int, runs: int) -> float:
    return float(special.betaincinv(hits, runs - hits + 1, MISTAKE / 4)) if hits else 0.0


def upper(hits: int, runs: int) -> float:
    return float(special.betaincinv(hits + 1, runs - hits, 1 - MISTAKE / 4)) if hits < runs else 1.0


def evident_epsilon(first: np.ndarray, second: np.ndarray) -> float:
    """A lower bound on epsilon by Clopper-Pearson: the event is chosen on some runs, and counted on the others."""
    runs = RUNS - CHOOSING
    best = 0.0
    for a, b in ((first, second), (second, first)):
        for sign in (1, -1):
            places = np.quantile(sign * a[:CHOOSING], [0.05, 0.1, 0.25, 0.5, 0.75])
            ratio = [
                (np.mean(sign * a[:CHOOSING] >= p) + 0.01) / (np.mean(sign * b[:CHOOSING] >= p) + 0.01) for p in places
            ]
            place = places[int(np.argmax(ratio))]
            hits = [int(np.sum(sign * x[CHOOSING:] >= place)) for x in (a, b)]
            bound = lower(hits[0], runs)
            best = max(best, math.log(bound / upper(hits[1], runs)) if bound > 0 else 0.0)
    return best


CASES: list[tuple[Any, bool]] = [
    (releases.Sum(bounds=(0, 1), epsilon=2.0), True),
    (releases.Mean(bounds=(0, 1), epsilon=2.0), False),
    (releases.Mean(bounds=(0, 1), epsilon=2.0, relation=REPLACE), True),
    (releases.Variance(bounds=(0, 1), epsilon=2.0), False),
    (releases.Histogram(edges=(0, 0.5, 1), epsilon=2.0), True),
    (releases.Sum(bounds=(0, 1), epsilon=2.0).on(hush.Poisson(rate=0.5)), True),
]


@pytest.mark.parametrize(("query", "sharp"), CASES, ids=str)
def test_no_event_beats_the_claim(query: Query | OnSample, sharp: bool) -> None:
    claimed = query.mechanism.epsilon(delta=0).upper
    neighbour = CHANGED if query.mechanism.relation is REPLACE else ONE_LESS
    evident = evident_epsilon(outputs(query, DATA, 1), outputs(query, neighbour, 2))
    assert evident <= claimed
    if sharp:  # the test can see: a claim of a third of it would be refuted
        assert evident > claimed / 3
