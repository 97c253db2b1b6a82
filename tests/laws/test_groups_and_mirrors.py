"""A group of one is a record; a pair swapped twice is itself; a swapped profile is the mirror of the profile."""

from __future__ import annotations

import math

from hypothesis import assume, given
from hypothesis import strategies as st

import hush
from hush.curves.pairs.pair import Pair
from hush.mechanisms.neighbours import ADDED, REMOVED
from tests.laws.comparison import overlap
from tests.strategies import DELTAS, EPSILONS, LAWS, add_remove, covered, is_covered

PAIRED = add_remove(2).filter(is_covered)
SIGNED = st.floats(-4.0, 4.0)


def pairs(mechanism: hush.Mechanism) -> list[Pair]:
    try:
        return [mechanism.evidence(REMOVED).pair, mechanism.evidence(ADDED).pair]
    except hush.NotCovered:
        assume(False)
        raise


@LAWS
@given(covered(2))
def test_group_of_one(mechanism: hush.Mechanism) -> None:
    assert mechanism.group(1) == mechanism


@LAWS
@given(covered(2), st.integers(2, 3), DELTAS)
def test_a_group_reveals_no_less(mechanism: hush.Mechanism, size: int, delta: float) -> None:
    group = mechanism.group(size)
    assume(is_covered(group))
    assert mechanism.epsilon(delta=delta).lower <= group.epsilon(delta=delta).upper * (1 + 1e-9)


@LAWS
@given(covered(1), st.integers(2, 3), EPSILONS)
def test_group_vs_generic_group_bound(mechanism: hush.Mechanism, size: int, epsilon: float) -> None:
    """Vadhan 2017, Lemma 2.2: (t eps, delta (e^{t eps} - 1)/(e^eps - 1)) holds for any mechanism."""
    group = mechanism.group(size)
    assume(is_covered(group) and epsilon > 0.01)
    generic = mechanism.delta(epsilon=epsilon).upper * math.expm1(size * epsilon) / math.expm1(epsilon)
    assert group.delta(epsilon=size * epsilon).lower <= generic * (1 + 1e-9)


@LAWS
@given(PAIRED, SIGNED)
def test_swap_twice(mechanism: hush.Mechanism, epsilon: float) -> None:
    for pair in pairs(mechanism):
        assert overlap(pair.log_delta(epsilon), pair.swap().swap().log_delta(epsilon), 1e-9)


@LAWS
@given(PAIRED, SIGNED)
def test_mirror(mechanism: hush.Mechanism, epsilon: float) -> None:
    """delta'(eps) = 1 - e^eps + e^eps delta(-eps)."""
    for pair in pairs(mechanism):
        low, high = (math.exp(x) for x in pair.swap().log_delta(epsilon))
        mirrored = [-math.expm1(epsilon) + math.exp(epsilon) * math.exp(x) for x in pair.log_delta(-epsilon)]
        assert overlap((low, high), (mirrored[0], mirrored[1]), 1e-12 * math.exp(abs(epsilon)))


@LAWS
@given(PAIRED, SIGNED, st.floats(0.01, 1.0))
def test_mixed_profile(mechanism: hush.Mechanism, epsilon: float, rate: float) -> None:
    """Balle, Barthe, Gaboardi 2018, Thm 2: delta'(log(1 + q(e^eps - 1))) = q delta(eps)."""
    for pair in pairs(mechanism):
        mixed = pair.mix(rate).log_delta(math.log1p(rate * math.expm1(epsilon)))
        base = pair.log_delta(epsilon)
        # epsilon' is rounded, which moves a delta near 0 by about 1e-16/q of it
        assert overlap(
            (math.exp(mixed[0]), math.exp(mixed[1])), (rate * math.exp(base[0]), rate * math.exp(base[1])), 1e-13
        )


@LAWS
@given(PAIRED, SIGNED)
def test_profile_is_convex_and_between_its_limits(mechanism: hush.Mechanism, epsilon: float) -> None:
    """max(0, 1 - e^eps) <= delta(eps) <= 1, and convex in e^eps."""
    for pair in pairs(mechanism):
        low, high = (math.exp(x) for x in pair.log_delta(epsilon))
        assert -math.expm1(epsilon) <= high * (1 + 1e-12) + 1e-15
        assert low <= high <= 1
        left, right = epsilon - 0.5, epsilon + 0.5
        weight = (math.exp(right) - math.exp(epsilon)) / (math.exp(right) - math.exp(left))
        chord = weight * math.exp(pair.log_delta(left)[1]) + (1 - weight) * math.exp(pair.log_delta(right)[1])
        assert low <= chord * (1 + 1e-9) + 1e-15
