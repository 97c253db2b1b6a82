"""What ran and what is accounted for must be the same thing: each usual mismatch is refused, or said, or priced."""

from __future__ import annotations

import pytest

import hush
from hush import Gaussian, InvalidParameter, NotCovered, Poisson, Relation, ShuffledBatches, WithoutReplacement
from hush.mechanisms.neighbours import Neighbours

REPLACE = Relation.REPLACE


def test_poisson_accounting_on_a_shuffled_loader() -> None:
    """The object that shuffles accounts for shuffling, and its explanation says that Poisson's epsilon is not its."""
    shuffled = Gaussian(1.0).on(ShuffledBatches(steps=100))
    claimed = Gaussian(1.0).on(Poisson(rate=0.01)).repeat(100).epsilon(delta=1e-6).upper
    assert shuffled.epsilon(delta=1e-6).lower > 4 * claimed
    assert "Poisson's epsilon does not apply" in shuffled.explain(delta=1e-6)


def test_replace_one_with_the_sensitivity_of_adding() -> None:
    """Relations do not mix, and restating noise for replacement doubles the distance."""
    with pytest.raises(InvalidParameter, match="relation"):
        Gaussian(1.0).then(Gaussian(1.0, REPLACE))
    restated, stated = Gaussian(2.0).under(REPLACE).epsilon(delta=1e-6), Gaussian(1.0, REPLACE).epsilon(delta=1e-6)
    assert restated.upper == pytest.approx(stated.upper, rel=1e-9)
    with pytest.raises(NotCovered, match="ADD_REMOVE"):
        Gaussian(1.0, REPLACE).under(Relation.ADD_REMOVE)


@pytest.mark.parametrize("scheme", [WithoutReplacement(10, 100), hush.WithReplacement(10, 100)])
def test_fixed_size_under_add_or_remove(scheme: hush.WithoutReplacement) -> None:
    with pytest.raises(NotCovered, match="Poisson"):
        Gaussian(1.0).on(scheme).epsilon(delta=1e-6)


def test_one_sample_used_twice() -> None:
    """Two answers on one sample cost more than on two, and saying `on` twice claims two samples, which is said."""
    scheme, one, other = Poisson(rate=0.05), Gaussian(1.0), hush.Laplace(1.0)
    same, fresh = hush.sequence(one, other).on(scheme), one.on(scheme).then(other.on(scheme))
    assert same != fresh
    assert same.epsilon(delta=1e-6).lower > fresh.epsilon(delta=1e-6).upper
    assert "independently of all else" in fresh.explain(delta=1e-6)


def test_a_sample_that_became_known() -> None:
    """No gain in epsilon itself; and to add or remove a listed record is not hidden at all."""
    known = hush.Revealed(Poisson(rate=0.01))
    assert hush.Laplace(1.0, REPLACE).on(known).epsilon(delta=0).upper == 1.0
    with pytest.raises(NotCovered, match="the record itself"):
        Gaussian(1.0).on(known).epsilon(delta=1e-6)


def test_shuffle_bound_outside_its_range() -> None:
    from hush.curves.theorems.shuffling.shuffled import clone_closed_form

    with pytest.raises(NotCovered, match="epsilon0 <= log"):
        clone_closed_form(5.0, 1000, 1e-6)
    with pytest.raises(NotCovered, match="group"):
        hush.LocalDP(1.0).shuffled(people=1000).group(2).evidence(Neighbours.of(1, 1)).require()


def test_a_stronger_clone_for_any_randomizer() -> None:
    """The restricted class is checked on the table of the randomizer: no other gets its bound."""
    import numpy as np

    from hush.curves.theorems.shuffling.multiset import stronger_clone

    far = np.array([[0.7, 0.2, 0.1], [0.1, 0.7, 0.2], [0.2, 0.1, 0.7]])
    with pytest.raises((NotCovered, InvalidParameter)):
        stronger_clone(0.5, 1000, far)
    general, strong = (
        m.shuffled(people=1000).explain(delta=1e-6) for m in (hush.LocalDP(1.0), hush.KaryResponse(epsilon=1.0))
    )
    assert "stronger clone" not in general
    assert "stronger clone" in strong


def test_iteration_with_a_loss_that_is_not_convex() -> None:
    with pytest.raises(InvalidParameter, match="strong_convexity"):
        hush.ConvexLoss(smoothness=1.0, strong_convexity=-0.1, sensitivity=1.0)
    with pytest.raises(InvalidParameter, match="step_size"):
        loss = hush.ConvexLoss(smoothness=1.0, strong_convexity=0.0, sensitivity=1.0)
        hush.NoisyGradientDescent(loss=loss, records=9, iterations=9, noise=1.0, step_size=2.1, diameter=1.0)


def test_a_weighted_sampler() -> None:
    """Unequal rates are priced at the largest, and must not come from the data, which is said."""
    weighted = Gaussian(1.0).on(hush.UnequalPoisson([0.001, 0.2]))
    assert weighted.epsilon(delta=1e-6) == Gaussian(1.0).on(Poisson(rate=0.2)).epsilon(delta=1e-6)
    assert "weights from the data is not covered" in weighted.explain(delta=1e-6)


def test_a_rate_computed_from_a_private_number() -> None:
    """A size is a promise about the public number of records: another one is refused where the sample is drawn."""
    scheme = WithoutReplacement(size=10, population=1000)
    with pytest.raises(InvalidParameter, match="accounted for"):
        scheme.draw(999, hush.SeededSource(1))
    text = Gaussian(1.0, REPLACE).on(scheme).explain(delta=1e-6)
    assert "the number of records is public" in text
    assert "do not depend on the data" in text
    assert "independently of all else" in Gaussian(1.0).on(Poisson(rate=0.1)).explain(delta=1e-6)
