"""Hypothesis: random mechanism expressions over everything that hush exports.

Ranges are moderate, so that one question takes milliseconds; extreme parameters are for tests/mechanisms/test_fuzz.py.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import fields, is_dataclass

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st

import hush
from hush import Mechanism, Relation

LAWS = settings(
    deadline=None,
    derandomize=True,
    database=None,
    max_examples=25,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
)
"""Few examples, always the same ones: a red run can be repeated. No shrinking: it would take minutes."""

DELTAS = st.sampled_from([1e-9, 1e-6, 1e-3, 0.05])
EPSILONS = st.sampled_from([0.0, 0.01, 0.1, 0.3, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0])


def numbers(low: float, high: float, count: int = 31) -> st.SearchStrategy[float]:
    """Log-uniform, four digits: hypothesis prefers the ends of wide ranges, and failures are easy to type."""
    ratio = math.log(high / low) / (count - 1)
    return st.sampled_from([float(f"{low * math.exp(k * ratio):.4g}") for k in range(count)])


RATES = st.one_of(numbers(1e-3, 1.0), numbers(1e-3, 1.0), st.sampled_from([0.0, 0.01, 0.5, 1.0]))


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


def _pair_leaves(relation: Relation) -> list[st.SearchStrategy[Mechanism]]:
    said = st.just(relation)
    return [
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
    ]


def _curve_leaves(relation: Relation) -> list[st.SearchStrategy[Mechanism]]:
    said = st.just(relation)
    return [
        st.builds(hush.ZCDP, numbers(1e-3, 1.0), said),
        st.builds(hush.TCDP, numbers(1e-3, 0.5), numbers(2.0, 100.0), said),
        stated_curves(relation),
    ]


def pair_leaves(relation: Relation = Relation.ADD_REMOVE) -> st.SearchStrategy[Mechanism]:
    """Mechanisms with a dominating pair."""
    return st.one_of(_pair_leaves(relation))


def curve_leaves(relation: Relation = Relation.ADD_REMOVE) -> st.SearchStrategy[Mechanism]:
    """Mechanisms known by a Rényi curve alone."""
    return st.one_of(_curve_leaves(relation))


def leaves(relation: Relation = Relation.ADD_REMOVE) -> st.SearchStrategy[Mechanism]:
    """Any mechanism that stands for itself."""
    return st.one_of(_pair_leaves(relation) + _curve_leaves(relation))


@st.composite
def expressions(draw: st.DrawFn, relation: Relation = Relation.ADD_REMOVE, depth: int = 3) -> Mechanism:
    """Anything that can be written down, exactly so many combinators deep; some of it is covered by no theorem."""
    if depth == 0:
        return draw(leaves(relation))
    side = "beside" if relation is Relation.ADD_REMOVE else "under"
    verb = draw(st.sampled_from(["on", "repeat", "then", "group", side]))
    if verb == "under":
        return draw(expressions(Relation.ADD_REMOVE, depth - 1)).under(Relation.REPLACE)
    inner = draw(expressions(relation, depth - 1))
    if verb == "on":
        return inner.on(hush.Poisson(rate=draw(RATES)))
    if verb == "repeat":
        return inner.repeat(draw(st.integers(0, 12)))
    if verb == "group":
        return inner.group(draw(st.integers(1, 3)))
    other = draw(expressions(relation, draw(st.integers(0, depth - 1))))
    return inner.then(other) if verb == "then" else inner.beside(other)


@st.composite
def any_expression(draw: st.DrawFn, depth: int = 3) -> Mechanism:
    """Under either relation, up to so many combinators deep."""
    relation = draw(st.sampled_from([Relation.ADD_REMOVE, Relation.ADD_REMOVE, Relation.REPLACE]))
    return draw(expressions(relation, draw(st.integers(0, depth))))


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


@st.composite
def plain(draw: st.DrawFn, depth: int = 2) -> Mechanism:
    """Expressions under ADD_REMOVE that both engines can compose without a table: samples of leaves, in sequence."""
    step = draw(pair_leaves())
    if draw(st.booleans()):
        step = step.on(hush.Poisson(rate=draw(RATES)))
    if depth >= 1:
        step = step.repeat(draw(st.one_of(st.integers(1, 12), st.sampled_from([100, 1000]))))
    return step.then(draw(plain(1))) if depth == 2 and draw(st.booleans()) else step


def parts_of(value: object) -> Iterator[object]:
    """A value and everything inside it: mechanisms, schemes, tuples of them."""
    yield value
    if isinstance(value, tuple):
        for item in value:
            yield from parts_of(item)
    elif is_dataclass(value):
        for field in fields(value):
            yield from parts_of(getattr(value, field.name))
