"""Allocation of any noise against enumeration, against adaptive attackers, and against what Gaussian noise is known to give."""

from __future__ import annotations

import itertools
import math
from typing import Any

import mpmath
import numpy as np
import pytest

import hush
from hush.curves.pairs.finite import FinitePair
from hush.curves.pairs.normal import NormalPair
from hush.curves.theorems.allocation import AllocationPair
from hush.curves.theorems.any_allocation import AnyAllocation
from hush.mechanisms.neighbours import ADDED, REMOVED


def enumerated(
    p: np.ndarray, q: np.ndarray, steps: int, epsilon: float, later: np.ndarray | None = None
) -> tuple[float, float]:
    """delta of one epoch, remove and add. `later` (a channel per first outcome) is applied to all steps after the first."""
    remove = add = 0.0
    for outcome in itertools.product(range(len(p)), repeat=steps):
        channels = [np.eye(len(p))] + [np.eye(len(p)) if later is None else later[outcome[0]]] * (steps - 1)
        with_record = [float((p @ c)[k]) for c, k in zip(channels, outcome, strict=True)]
        without = [float((q @ c)[k]) for c, k in zip(channels, outcome, strict=True)]
        quiet = math.prod(without)
        loud = (
            sum(math.prod(with_record[j] if j == i else without[j] for j in range(steps)) for i in range(steps)) / steps
        )
        remove += max(loud - math.exp(epsilon) * quiet, 0.0)
        add += max(quiet - math.exp(epsilon) * loud, 0.0)
    return remove, add


def claimed(pair: FinitePair, steps: int, epsilon: float) -> tuple[tuple[float, float], tuple[float, float]]:
    both = AnyAllocation(pair, steps)
    ends = (both.log_delta(epsilon), both.swap().log_delta(epsilon))
    return tuple(tuple(math.exp(end) for end in each) for each in ends)  # type: ignore[return-value]


@pytest.mark.parametrize("seed", range(6))
def test_finite_pairs_vs_enumeration(seed: int) -> None:
    """Zeros on either side too: what only the record can cause, and what it cannot."""
    random = np.random.default_rng(seed)
    p, q = (random.dirichlet(np.ones(3)) for _ in range(2))
    if seed % 3 == 1:
        q = np.array([0.0, 0.4, 0.6])
    if seed % 3 == 2:
        p = np.array([0.0, 0.4, 0.6])
    for steps, epsilon in itertools.product((2, 4), (-0.4, 0.0, 0.3, 1.0)):
        for truth, (low, high) in zip(
            enumerated(p, q, steps, epsilon), claimed(FinitePair.of(p, q), steps, epsilon), strict=True
        ):
            assert low - 1e-12 <= truth <= high + 1e-12
            assert high - low < 1e-9


@pytest.mark.parametrize("seed", range(4))
def test_adaptive_steps_never_reveal_more(seed: int) -> None:
    random = np.random.default_rng(10 + seed)
    p, q = (random.dirichlet(np.ones(2)) for _ in range(2))
    later = random.dirichlet(np.ones(2), size=(2, 2))
    for epsilon in (-0.2, 0.0, 0.2, 0.6):
        for truth, (_, high) in zip(
            enumerated(p, q, 3, epsilon, later), claimed(FinitePair.of(p, q), 3, epsilon), strict=True
        ):
            assert truth <= high + 1e-12


@pytest.mark.parametrize(("shift", "steps"), [(0.5, 10), (0.5, 200), (1.0, 30)])
def test_the_lattice_holds_what_the_transform_finds(shift: float, steps: int) -> None:
    for reverse in (False, True):
        lattice, exact = AnyAllocation(NormalPair.shifted(shift), steps, reverse), AllocationPair(shift, steps, reverse)
        for epsilon in (0.0, 0.1, 0.5):
            low, high = lattice.log_delta(epsilon)
            least, most = exact.log_delta(epsilon)
            assert low <= most and least <= high


def test_it_composes_and_can_be_worse_than_poisson() -> None:
    """'At least as good as Poisson' is a statement about Gaussian noise."""
    answer = hush.RandomizedResponse(epsilon=1.0, relation=hush.Relation.ADD_REMOVE)
    allocated, poisson = answer.on(hush.Allocation(steps=10)), answer.on(hush.Poisson(rate=0.1)).repeat(10)
    assert allocated.delta(epsilon=0.5).lower > 0.018 > 0.013 > poisson.delta(epsilon=0.5).upper
    twice = hush.Laplace(1.0).on(hush.Allocation(steps=20)).repeat(3).epsilon(delta=1e-5)
    assert twice.upper - twice.lower < 1e-3 * twice.upper
    assert twice.upper < hush.Laplace(1.0).repeat(3).epsilon(delta=1e-5).upper


def test_rounds_of_unequal_length_are_products() -> None:
    answer = hush.RandomizedResponse(epsilon=1.0, relation=hush.Relation.ADD_REMOVE)
    whole = answer.on(hush.Allocation(steps=5, times=2))
    parts = answer.on(hush.Allocation(steps=3)).then(answer.on(hush.Allocation(steps=2)))
    for direction in (REMOVED, ADDED):
        ends = [m.evidence(direction).pair.log_delta(0.3) for m in (whole, parts)]
        assert ends[0] == pytest.approx(ends[1], abs=1e-9)


def test_one_step_is_the_step_itself() -> None:
    assert hush.Laplace(1.0).on(hush.Allocation(steps=1)) == hush.Laplace(1.0)


@pytest.mark.parametrize("steps", [2, 3, 5])
@pytest.mark.parametrize("epsilon", [3.0, 0.0025, 1e-6, 1e-12, 1e-16, 1e-20])
def test_small_epsilons_keep_their_digits(epsilon: float, steps: int) -> None:
    """Means of ratios near 1 were rounded before their logarithm was taken: at 1e-20 the upper bound was 0."""
    answer = hush.PureDP(epsilon).on(hush.Allocation(steps=steps))
    with mpmath.workdps(60):
        high = 1 / (1 + mpmath.exp(-mpmath.mpf(epsilon)))
        up, down = high / (1 - high), (1 - high) / high
        remove = add = mpmath.mpf(0)
        for ups in range(steps + 1):
            chance = mpmath.binomial(steps, ups) * (1 - high) ** ups * high ** (steps - ups)
            mean = (ups * up + (steps - ups) * down) / steps
            remove, add = remove + chance * max(mean - 1, 0), add + chance * max(1 - mean, 0)
        found = answer.delta(epsilon=0.0)
        assert found.lower <= max(remove, add) <= found.upper
        assert found.upper - found.lower < 1e-10 * found.upper


@pytest.mark.parametrize("scale", [1e2, 1e4, 1e6, 1e9])
def test_faint_laplace_noise_is_not_known_better_than_it_is(scale: float) -> None:
    """Two steps at delta 0 as a double integral; below a step of the lattice the lower end was that of no sampling."""
    with mpmath.workdps(40):
        d, half = 1 / mpmath.mpf(scale), mpmath.mpf(1) / 2
        top, least = mpmath.exp(d), mpmath.exp(-d)

        def past(need: Any) -> Any:
            """E(V - need)_+ of one step."""
            found = least / 2 * max(top - need, 0) + half * max(least - need, 0)
            if need >= top:
                return found
            start = (mpmath.log(need) / d + 1) / 2 if need > least else mpmath.mpf(0)
            inner = (mpmath.exp(-start * d) - least) / 2
            return found + half * least * (top - mpmath.exp(start * d)) - need * inner

        bend = (mpmath.log(2 - least) / d + 1) / 2
        middle = mpmath.quad(
            lambda x: d / 2 * mpmath.exp(-x * d) * past(2 - mpmath.exp((2 * x - 1) * d)), sorted({0, half, 1, bend})
        )
        truth = (least / 2 * past(2 - top) + past(2 - least) / 2 + middle) / 2
    found = hush.Laplace(scale).on(hush.Allocation(steps=2)).delta(epsilon=0.0)
    assert found.lower <= truth <= found.upper


@pytest.mark.parametrize("depth", [20.0, 36.0, 38.0, 50.0, 150.0])
@pytest.mark.parametrize("steps", [2, 3])
def test_a_ratio_far_below_1_is_not_0(depth: float, steps: int) -> None:
    """V - 1 is -1 in floats where V = e^-38: such losses were taken for infinite, also by the lower bound."""
    pair = FinitePair(
        np.array([-depth, math.log((1 - 0.3 * math.exp(-depth)) / 0.7)]),
        np.array([0.3 * math.exp(-depth), 1 - 0.3 * math.exp(-depth)]),
    )
    for below in (1e-3, 0.1, 1.0, 5.0):
        epsilon = depth - below
        truth = 0.3**steps * -math.expm1(-below)  # all steps show it: else the mean is far above e^-epsilon
        low, high = (math.exp(end) for end in AnyAllocation(pair, steps, reverse=True).log_delta(epsilon))
        assert low <= truth * (1 + 1e-12) and truth <= high * (1 + 1e-12)
        assert high <= truth * (1 + 1e-5)
