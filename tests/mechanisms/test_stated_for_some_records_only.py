"""What is stated for a number of records, or knows how many there are, is refused where the number is random."""

from __future__ import annotations

import pytest

import hush
from hush import Relation

GAUSSIAN = hush.Gaussian(1.0)
CAPPED = GAUSSIAN.on(hush.CappedPoisson(1.0, 1, 1000))
SHUFFLED = GAUSSIAN.on(hush.ShuffledBatches(2))


@pytest.mark.parametrize(
    "scheme",
    [
        hush.CyclicPoisson(1.0, 1000),
        hush.CyclicPoisson(0.5, 10),
        hush.CyclicAllocation(1000, 1000),
        hush.BallsInBins(bins=1000, epochs=1, bands=1000),
        hush.Allocation(steps=10),
    ],
    ids=str,
)
@pytest.mark.parametrize("inner", [CAPPED, SHUFFLED], ids=["capped", "shuffled"])
def test_random_parts_of_the_records(scheme: hush.Scheme, inner: hush.Mechanism) -> None:
    with pytest.raises(hush.NotCovered):
        inner.on(scheme).delta(epsilon=0.5)


@pytest.mark.parametrize("part", [CAPPED, SHUFFLED], ids=["capped", "shuffled"])
def test_one_of_two_releases(part: hush.Mechanism) -> None:
    with pytest.raises(hush.NotCovered):
        hush.Either(part, hush.PureDP(1e-6), chance=0.5)


@pytest.mark.parametrize(
    "around", [SHUFFLED, SHUFFLED.then(hush.PureDP(1e-6)), SHUFFLED.repeat(2)], ids=["alone", "then", "repeat"]
)
def test_shuffled_batches_of_a_sample(around: hush.Mechanism) -> None:
    """Sizes of batches tell how many were drawn: the truth is .002771 at epsilon 2, Poisson's pair gives .002272."""
    with pytest.raises(hush.NotCovered):
        around.on(hush.Poisson(rate=0.5)).delta(epsilon=2)


def test_a_known_capped_sample_has_no_lower_end_that_is_not_attained() -> None:
    """One of 1000 is drawn, so that a share of 1/1000 is all that is revealed."""
    sample = hush.Revealed(hush.CappedPoisson(rate=1.0, cap=1, population=1000))
    bound = hush.Gaussian(1.0, Relation.REPLACE).on(sample).delta(epsilon=0.5)
    assert bound.lower <= 2.39e-4 <= bound.upper


def test_a_user_in_several_places_has_one_number_of_records() -> None:
    user = hush.RandomContributions(GAUSSIAN, [0.9, 0.1])
    drawn = user.under(Relation.REPLACE).on(hush.WithReplacement(size=3, population=1))
    assert drawn.delta(epsilon=1).upper >= 0.0599  # .9 N(0) + .1 N(3) against .9 N(0) + .1 N(-3)
    with pytest.raises(hush.NotCovered):
        user.group(2).delta(epsilon=1)
    assert "anew for each run" in str(user.repeat(2).explain(delta=1e-5))


def test_a_blank_in_a_capped_descent() -> None:
    loss = hush.ConvexLoss(smoothness=1, strong_convexity=0, lipschitz=1)
    run = hush.SampledGradientDescent(
        loss=loss,
        scheme=hush.CappedPoisson(0.5, 1),
        batch_size=1.0,
        noise=1.0,
        step_size=0.5,
        iterations=4,
        diameter=1e3,
    )
    with pytest.raises(hush.NotCovered):
        run.under(Relation.ZERO_OUT).delta(epsilon=0.5)
