"""Finer questions give narrower answers, and more steps, larger rates and smaller deltas give larger ones."""

import math
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hush
from tests.strategies import LAWS, covered

TOLERANCE = 1e-6


@LAWS
@given(covered(), st.floats(-9, -2), st.sampled_from([(1e-2, 1e-5), (1e-3, 1e-7), (1e-6, 1e-8)]))
def test_a_finer_tolerance_never_widens_an_answer(mechanism, log10_delta, tolerances):
    coarse, fine = (mechanism.epsilon(delta=10**log10_delta, tolerance=t) for t in tolerances)
    assert coarse.lower <= fine.lower
    assert fine.upper <= coarse.upper


def training(noise, rate, steps):
    return hush.Gaussian(noise).on(hush.Poisson(rate=rate)).repeat(steps)


problem = st.tuples(st.floats(math.log(0.3), math.log(5)), st.floats(math.log(1e-7), math.log(0.3)), st.floats(0, 13))


@settings(max_examples=40, deadline=None)
@given(problem, st.floats(-12, -3), st.floats(0, 3), st.sampled_from(["steps", "rate", "delta"]))
def test_answers_rise_with_steps_rate_and_depth(point, log10_delta, more, what):
    noise, rate, steps = (math.exp(v) for v in point)
    delta, factor = 10**log10_delta, math.exp(more)
    less = training(noise, rate, int(steps)).epsilon(delta=delta)
    if what == "steps":
        larger = training(noise, rate, int(int(steps) * factor)).epsilon(delta=delta)
    elif what == "rate":
        larger = training(noise, min(rate * factor, 1.0), int(steps)).epsilon(delta=delta)
    else:
        larger = training(noise, rate, int(steps)).epsilon(delta=delta / factor)
    assert less.lower <= larger.upper
    assert less.upper <= larger.upper * (1 + TOLERANCE) + 1e-300


@pytest.mark.parametrize("relation", [hush.Relation.ADD_REMOVE, hush.Relation.REPLACE])
def test_answers_rise_with_the_steps_where_hits_are_rare(relation):
    step = hush.Gaussian(0.6).on(hush.Poisson(rate=1e-4)).under(relation)
    bounds = [step.repeat(n).epsilon(delta=1e-7) for n in (10, 100, 130, 1000, 3000, 10_000)]
    for less, more in pairwise(bounds):
        assert less.upper <= more.lower
    assert all(bound.upper - bound.lower <= 1e-6 * bound.upper for bound in bounds)
