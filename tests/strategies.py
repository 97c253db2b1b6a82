"""Hypothesis: random mechanism expressions over everything that hush exports.

Ranges are moderate, so that one question takes milliseconds; extreme parameters are for tests/mechanisms/test_fuzz.py.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from functools import lru_cache

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

import hush
from hush import Mechanism, Relation

LAWS = settings(
    deadline=None,
    derandomize=True,
    database=None,
    max_examples=20,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
)
"""Few examples, always the same ones: a red run can be repeated."""

DELTAS = st.sampled_from([1e-9, 1e-6, 1e-3, 0.05])
EPSILONS = st.floats(0.0, 5.0)
RATES = st.one_of(st.floats(1e-3, 1.0), st.sampled_from([0.0, 0.01, 0.5, 1.0]))


def numbers(low: float, high: float) -> st.SearchStrategy[float]:
    """Log-uniform, with six digits: failures are then easy to type."""
    return st.floats(math.log(low), math.log(high)).map(lambda x: float(f"{math.exp(x):.6g}"))


def probabilities(size: int) -> st.SearchStrategy[list[float]]:
    """So many probabilities, zeros among them."""
    weights = st.lists(st.integers(0, 20), min_size=size, max_size=size).filter(lambda w: sum(w) > 0)
    return weights.map(lambda w: [x / sum(w) for x in w])


@st.composite
def tables(draw: st.DrawFn, relation: Relation) -> Mechanism:
    """A pair supplied as probabilities, disjoint supports excepted (nothing is private there)."""
    size = draw(st.integers(2, 4))
    p, q = draw(probabilities(size)), draw(probabilities(size).filter(lambda q: q[0] > 0))
    p = p if any(a > 0 and b > 0 for a, b in zip(p, q, strict=True)) else q
    return hush.FromPair.of(p, q, relation=relation)


@st.composite
def stated_curves(draw: st.DrawFn, relation: Relation) -> Mechanism:
    """A stated Rényi curve at a few orders."""
    orders = sorted(draw(st.sets(st.sampled_from([1.5, 2.0, 4.0, 8.0, 32.0, 128.0]), min_size=1)))
    divergences = sorted(draw(st.lists(numbers(1e-3, 2.0), min_size=len(orders), max_size=len(orders))))
    return hush.RenyiDP(points=list(zip(orders, divergences, strict=True)), relation=relation)


@st.composite
def stated_profiles(draw: st.DrawFn, relation: Relation) -> Mechanism:
    """Several (epsilon, delta) points; they need not lie on one curve."""
    points = draw(st.lists(st.tuples(numbers(0.05, 2.0), numbers(1e-9, 0.05)), min_size=2, max_size=4))
    return hush.ApproxDP(points=points, relation=relation)


def pair_leaves(relation: Relation) -> st.SearchStrategy[Mechanism]:
    """Mechanisms with a dominating pair."""
    said = st.just(relation)
    return st.one_of(
        st.builds(hush.Gaussian, numbers(0.5, 8.0), said),
        st.builds(hush.Laplace, numbers(0.4, 8.0), said),
        st.builds(hush.DiscreteGaussian, numbers(0.5, 8.0), st.integers(1, 2), said),
        st.builds(hush.DiscreteLaplace, numbers(0.4, 8.0), st.integers(1, 3), said),
        st.builds(hush.RandomizedResponse, epsilon=numbers(0.05, 3.0), choices=st.integers(2, 5), relation=said),
        st.builds(hush.Exponential, numbers(0.05, 3.0), said),
        st.builds(hush.PureDP, numbers(0.01, 2.0), said),
        st.builds(hush.ApproxDP, numbers(0.01, 2.0), st.sampled_from([0.0, 1e-8, 1e-4]), relation=said),
        stated_profiles(relation),
        st.builds(hush.GaussianDP, numbers(0.1, 2.0), said),
        tables(relation),
    )


def curve_leaves(relation: Relation) -> st.SearchStrategy[Mechanism]:
    """Mechanisms known by a Rényi curve alone."""
    said = st.just(relation)
    return st.one_of(
        st.builds(hush.ZCDP, numbers(1e-3, 1.0), said),
        st.builds(hush.TCDP, numbers(1e-3, 0.5), numbers(2.0, 100.0), said),
        stated_curves(relation),
    )


def leaves(relation: Relation = Relation.ADD_REMOVE) -> st.SearchStrategy[Mechanism]:
    """Any mechanism that stands for itself; pairs more often than curves."""
    return st.one_of(pair_leaves(relation), pair_leaves(relation), curve_leaves(relation))


def _on(inner: Mechanism, rate: float) -> Mechanism:
    return inner.on(hush.Poisson(rate=rate))


def _replaced(inner: Mechanism) -> Mechanism:
    return inner.under(Relation.REPLACE)


@lru_cache(maxsize=None)
def expressions(relation: Relation = Relation.ADD_REMOVE, depth: int = 3) -> st.SearchStrategy[Mechanism]:
    """Anything that can be written down, up to so many combinators deep; some of it is not covered by a theorem."""
    if depth == 0:
        return leaves(relation)
    inner = st.deferred(lambda: expressions(relation, depth - 1))
    options = [
        inner,
        st.builds(_on, inner, RATES),
        st.builds(Mechanism.repeat, inner, st.integers(0, 12)),
        st.builds(Mechanism.then, inner, inner),
        st.builds(Mechanism.group, inner, st.integers(1, 3)),
    ]
    if relation is Relation.ADD_REMOVE:
        options.append(st.builds(Mechanism.beside, inner, inner))
    else:
        options.append(st.builds(_replaced, st.deferred(lambda: expressions(Relation.ADD_REMOVE, depth - 1))))
    return st.one_of(*options)


def any_expression(depth: int = 3) -> st.SearchStrategy[Mechanism]:
    """Under either relation."""
    return st.one_of(expressions(Relation.ADD_REMOVE, depth), expressions(Relation.REPLACE, depth))


def is_covered(mechanism: Mechanism) -> bool:
    """Whether a theorem covers every direction of the mechanism's relation."""
    for _, removed, added in mechanism.neighbours():
        try:
            mechanism.pair(removed, added)
        except hush.NotCovered:
            try:
                mechanism.curve(removed, added)
            except hush.NotCovered:
                return False
    return True


def covered(depth: int = 2) -> st.SearchStrategy[Mechanism]:
    """Expressions that have an answer."""
    return any_expression(depth).filter(is_covered)


@lru_cache(maxsize=None)
def plain(depth: int = 2) -> st.SearchStrategy[Mechanism]:
    """Expressions under ADD_REMOVE that both engines can compose without a table: samples of leaves, in sequence."""
    step = st.one_of(pair_leaves(Relation.ADD_REMOVE), st.builds(_on, pair_leaves(Relation.ADD_REMOVE), RATES))
    if depth == 0:
        return step
    repeated = st.builds(Mechanism.repeat, step, st.one_of(st.integers(1, 12), st.sampled_from([100, 1000])))
    return repeated if depth == 1 else st.one_of(repeated, st.builds(Mechanism.then, repeated, repeated))


def parts_of(value: object) -> Iterator[object]:
    """A value and everything inside it: mechanisms, schemes, tuples of them."""
    yield value
    if isinstance(value, tuple):
        for item in value:
            yield from parts_of(item)
    elif is_dataclass(value):
        for field in fields(value):
            yield from parts_of(getattr(value, field.name))
