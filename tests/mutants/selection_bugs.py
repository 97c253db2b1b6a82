"""Privacy bugs of private selection, bounded batches and clusters, each injected into the real code."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import hush
from hush.curves.pairs.finite import FinitePair
from hush.curves.theorems import selection
from hush.learning.tuning import secret_runs
from hush.mechanisms.combinators import best_of
from hush.mechanisms.schemes.capped_poisson import CappedPoisson
from hush.mechanisms.schemes.surveys.clusters import Clusters

Patch = pytest.MonkeyPatch


def one_direction_twice(patch: Patch) -> None:
    """The trade-off curve of the same direction instead of the opposite one."""
    real = selection.SelectionPair
    patch.setattr(best_of, "SelectionPair", lambda runs, run, opposite: real(runs, run, run))


def no_run_forgotten(patch: Patch) -> None:
    """The chance of no run at all is left out, which matters below epsilon 0."""
    patch.setattr(hush.PoissonRuns, "none", 0.0)


def losing_runs_shown(patch: Patch) -> None:
    """What the search returns holds all runs."""
    shown: list[Any] = []

    def kept(made: tuple[Any, float]) -> tuple[Any, float]:
        shown.append(made[0])
        return shown, made[1]

    patch.setattr(secret_runs, "_checked", kept)


def candidates_in_turn(patch: Patch) -> None:
    """The k-th run tries the k-th candidate: runs are not alike, and no theorem covers them."""
    turn = iter(range(10**9))
    patch.setattr(secret_runs, "integers", lambda _bits, many, size: np.array([next(turn) % many] * size))


def emptier_batches(patch: Patch) -> None:
    """For any number of records: between two numbers the fullness of the smaller one."""
    real = CappedPoisson._cases.func

    def cases(self: CappedPoisson) -> tuple[list[float], list[float]]:
        chances, filled = real(self)
        return chances, [filled[0], *filled[:-1]]

    patch.setattr(CappedPoisson, "_cases", property(cases))


def small_chances_are_none(patch: Patch) -> None:
    """In a lower bound: outcomes that are hardly possible on one side count as impossible there."""

    def lowered(
        runs: Any, one: tuple[np.ndarray, np.ndarray], other: tuple[np.ndarray, np.ndarray], _top: float
    ) -> FinitePair:
        p, q = (np.where(side[0] > 1e-14, side[0], 0.0) for side in (one, other))
        both = (p > 0) & (q > 0)
        assert runs.none == 0
        return FinitePair.ordered(np.log(p[both] / q[both]), p[both], float(p[q == 0].sum()), 0.0)

    patch.setattr(selection, "_lowered", lowered)


def capacity_as_poisson(patch: Patch) -> None:
    """The plain Poisson pair for a batch of bounded size."""
    patch.setattr(CappedPoisson, "_pair", lambda self, free, inner, neighbours: free)


def cluster_as_records(patch: Patch) -> None:
    """Clusters are drawn as a whole, and accounted for as if each record had its own coin."""
    patch.setattr(
        Clusters, "evidence", lambda self, inner, neighbours: hush.Poisson(rate=self.rate).evidence(inner, neighbours)
    )
