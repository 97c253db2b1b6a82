"""Finite pairs above and below a pair that is known at some points of a lattice, against the pair itself."""

from __future__ import annotations

import math

import numpy as np
import pytest

import hush
from hush.curves.pairs import finite_bounds
from hush.curves.pairs.finite import FinitePair
from hush.curves.pairs.normal import NormalPair
from hush.curves.pairs.pair import Pair
from hush.mechanisms.neighbours import Neighbours


def excess(pair: Pair, losses: np.ndarray, side: int) -> np.ndarray:
    """A bound on delta - max(1 - t, 0) at t = e^loss."""
    deltas = np.array([math.exp(pair.log_delta(float(l), 1e-12)[side]) for l in losses])
    return np.maximum(deltas + np.expm1(np.minimum(losses, 0.0)), 0.0)


@pytest.mark.parametrize("step", [0.5, 0.11, 0.03])
@pytest.mark.parametrize("seed", range(6))
def test_few_outcomes_whose_profile_bends_between_the_points(seed: int, step: float) -> None:
    random = np.random.default_rng(seed)
    size = int(random.integers(2, 6))
    pair = FinitePair.of(random.dirichlet(np.ones(size)), random.dirichlet(np.ones(size)))
    check(pair, step, 8.0)


@pytest.mark.parametrize("step", [0.4, 0.05])
def test_normals(step: float) -> None:
    check(NormalPair.shifted(1.0), step, 9.0)


def check(pair: Pair, step: float, reach: float) -> None:
    losses = step * np.arange(-round(reach / step), round(reach / step) + 1)
    low, high = (excess(pair, losses, side) for side in (0, 1))
    below, above = finite_bounds.below(losses, low, high, step), finite_bounds.above(losses, high, step)
    for epsilon in np.linspace(-reach, reach, 173).tolist():
        least, most = (math.exp(end) for end in pair.log_delta(epsilon, 1e-12))
        assert math.exp(below.log_delta(epsilon)[0]) <= most * (1 + 1e-9) + 1e-14
        assert math.exp(above.log_delta(epsilon)[1]) >= least * (1 - 1e-9) - 1e-14


def test_two_people_and_a_large_local_epsilon() -> None:
    """The profile of few reports ends in a corner: a lower table once ran past it, beyond the largest loss."""
    mechanism = hush.KaryResponse(epsilon=9.0, choices=1000).shuffled(people=2)
    for pair in mechanism.evidence(Neighbours.of(1, 1)).attained(False):
        assert pair.max_loss <= 9.0 * (1 + 1e-12)
    found = mechanism.repeat(3).epsilon(delta=1e-5)
    assert found.lower <= found.upper <= 27.0
