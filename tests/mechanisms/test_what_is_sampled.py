"""A sample hands on so many records: what was stated for another number, or shows who took part, is refused."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import numpy as np
import pytest

import hush
from hush import Allocation, Gaussian, Poisson, Relation, Revealed, ShuffledBatches, WithoutReplacement, WithReplacement

LOSS = hush.ConvexLoss(smoothness=1.0, strong_convexity=0.1, sensitivity=2.0)
RUN = {"loss": LOSS, "noise": 1.0, "step_size": 0.5}
STATED_FOR_TEN = [
    hush.KaryResponse(epsilon=1.0).shuffled(people=10),
    hush.NoisyGradientDescent(**RUN, records=10, iterations=5, diameter=math.inf),
    hush.BetaPosterior(flips=10, heads=5.0, tails=5.0),
    hush.GaussianPosterior(10, 1.0, 1.0, 1.0),
    Gaussian(1.0, Relation.REPLACE).on(WithoutReplacement(size=2, population=10)),
    Gaussian(1.0, Relation.REPLACE).on(WithReplacement(size=2, population=10)),
    Gaussian(1.0, Relation.REPLACE).on(Revealed(WithoutReplacement(size=2, population=10))).repeat(2),
    Gaussian(1.0).on(hush.UnequalPoisson([0.1] * 10)).under(Relation.REPLACE),
]
IN_ORDER = [
    hush.OnePassGradientDescent(**RUN, records=10),
    hush.OnePassGradientDescent(**RUN, records=10).stopped_at_random(),
    hush.CyclicGradientDescent(**RUN, diameter=math.inf, batches=2, batch_size=5, epochs=3),
]
NAMED = [hush.KaryResponse(epsilon=1.0), hush.LocalDP(1.0), hush.GaussianReport(2.0)]


@pytest.mark.parametrize("mechanism", STATED_FOR_TEN, ids=str)
@pytest.mark.parametrize("wrap", [lambda m: m, lambda m: m.repeat(2), lambda m: m.then(Gaussian(1.0, m.relation))])
def test_another_number_of_records_is_refused(mechanism: hush.Mechanism, wrap) -> None:
    """A promise for many people, on a sample of few, would be far too small."""
    whole = wrap(mechanism)
    assert whole.scope.populations == {10}
    for scheme in (WithoutReplacement(5, 100), WithReplacement(11, 100), WithoutReplacement(100, 100)):
        with pytest.raises(hush.InvalidParameter, match="as many records as it draws"):
            whole.on(scheme)
    for scheme in (Poisson(rate=0.1), hush.UnequalPoisson([0.1, 0.2]), Revealed(Poisson(rate=0.1))):
        with pytest.raises(hush.InvalidParameter, match="any number of records"):
            whole.on(scheme)
    assert whole.on(Poisson(rate=1)) == whole
    if not whole.scope.no_secret_sample:
        assert whole.on(WithoutReplacement(10, 100)).scope.populations == {100}
    assert whole.on(ShuffledBatches(4)).scope.populations == {40}


@pytest.mark.parametrize("mechanism", IN_ORDER, ids=str)
def test_what_depends_on_the_order_gains_nothing_from_a_secret_sample(mechanism: hush.Mechanism) -> None:
    with pytest.raises(hush.NotCovered, match="order"):
        mechanism.on(WithoutReplacement(10, 100))
    known = mechanism.on(Revealed(WithoutReplacement(10, 100)))
    assert known.delta(epsilon=0.5).upper <= 0.1 * mechanism.delta(epsilon=0.5).upper * (1 + 1e-9)


@pytest.mark.parametrize("mechanism", NAMED, ids=str)
def test_reports_with_names_show_who_was_drawn(mechanism: hush.LocalRandomizer) -> None:
    for whole in (mechanism, mechanism.repeat(3), mechanism.then(Gaussian(1.0, Relation.REPLACE)).group(2)):
        with pytest.raises(hush.NotCovered, match="names"):
            whole.on(WithoutReplacement(10, 100))
    known = mechanism.on(Revealed(WithoutReplacement(10, 100)))
    assert known.epsilon(delta=0).upper == mechanism.epsilon(delta=0).upper
    assert mechanism.shuffled(people=10).on(WithoutReplacement(10, 100)).epsilon(delta=1e-6).upper < math.inf


def test_a_sample_that_is_known_makes_the_one_before_it_known() -> None:
    """The second list shows members of the first: no gain in epsilon but by delta."""
    shown = Gaussian(1.0, Relation.REPLACE).on(Revealed(Poisson(rate=0.5)))
    with pytest.raises(hush.NotCovered, match="known"):
        shown.on(WithoutReplacement(10, 100))
    twice = shown.on(Revealed(WithoutReplacement(10, 100)))
    once = Gaussian(1.0, Relation.REPLACE).on(Revealed(Poisson(rate=0.05)))
    assert twice.delta(epsilon=1.0).upper == pytest.approx(once.delta(epsilon=1.0).upper, rel=1e-9)


def test_nothing_drawn_costs_nothing() -> None:
    for mechanism in (STATED_FOR_TEN[0], *IN_ORDER, *NAMED):
        for scheme in (Poisson(rate=0), WithoutReplacement(0, 100)):
            assert mechanism.on(scheme).epsilon(delta=1e-6).upper == 0


def test_allocation_of_reports_has_no_theorem() -> None:
    for mechanism in (STATED_FOR_TEN[0], NAMED[0]):
        with pytest.raises(hush.NotCovered, match="random allocation"):
            mechanism.on(Allocation(steps=10)).epsilon(delta=1e-6)


# -- shuffled reports of a sample, by enumeration --------------------------------------------------------------


def answers(epsilon: float, choices: int) -> np.ndarray:
    other = 1 / (math.exp(epsilon) + choices - 1)
    return np.full((choices, choices), other) + (math.exp(epsilon) - 1) * other * np.eye(choices)


def histogram(table: np.ndarray, counts: tuple[int, ...]) -> dict[tuple[int, ...], float]:
    """The law of the shuffled reports of so many people of each value."""
    law = {(0,) * table.shape[1]: 1.0}
    for value, people in enumerate(counts):
        for _ in range(people):
            after: dict[tuple[int, ...], float] = {}
            for seen, chance in law.items():
                for answer, share in enumerate(table[value]):
                    more = tuple(n + (k == answer) for k, n in enumerate(seen))
                    after[more] = after.get(more, 0.0) + chance * share
            law = after
    return law


def of_sample(table: np.ndarray, data: tuple[int, ...], size: int, again: bool) -> dict[tuple[int, ...], float]:
    places = range(len(data))
    drawn = list(itertools.product(places, repeat=size) if again else itertools.combinations(places, size))
    kinds = Counter(tuple(np.bincount([data[k] for k in some], minlength=len(table)).tolist()) for some in drawn)
    law: dict[tuple[int, ...], float] = {}
    for counts, times in kinds.items():
        for seen, chance in histogram(table, counts).items():
            law[seen] = law.get(seen, 0.0) + times / len(drawn) * chance
    return law


@pytest.mark.parametrize(("choices", "people", "size"), [(2, 4, 2), (2, 5, 4), (3, 3, 2)])
@pytest.mark.parametrize("again", [False, True])
def test_shuffled_reports_of_a_sample_vs_enumeration(choices: int, people: int, size: int, again: bool) -> None:
    local = 1.5
    table = answers(local, choices)
    scheme = (WithReplacement if again else WithoutReplacement)(size, people)
    mechanism = hush.KaryResponse(epsilon=local, choices=choices).shuffled(people=size).on(scheme)
    others = list(itertools.combinations_with_replacement(range(choices), people - 1))
    laws = [[of_sample(table, (*rest, value), size, again) for value in range(choices)] for rest in others]
    for epsilon in (0.0, 0.05, 0.2, 0.5, 0.9):
        worst = max(
            sum(max(chance - math.exp(epsilon) * q.get(seen, 0.0), 0.0) for seen, chance in p.items())
            for row in laws
            for p, q in itertools.permutations(row, 2)
        )
        bound = mechanism.delta(epsilon=epsilon)
        assert bound.lower <= worst * (1 + 1e-9) + 1e-15
        assert bound.upper >= worst * (1 - 1e-9)
