"""Where a profile jumps: at the largest loss, at the mass that is lost for sure, at delta 0 and 1."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from functools import reduce

import mpmath
import numpy as np
import pytest

import hush
from hush import ApproxDP, FromPair, Poisson, PureDP, RandomizedResponse, Relation
from hush.curves.composition.product import Product
from hush.curves.interval import written_up
from hush.curves.pairs.finite import CERTAIN_LOSS, FinitePair
from hush.curves.pairs.pair import Pair
from hush.curves.pairs.public_choice import Blend
from tests.numerics.enumeration import enumerated

REPLACE = Relation.REPLACE


@pytest.mark.parametrize(
    ("mechanism", "delta", "truth"),
    [
        (ApproxDP(1, 0.1).then(ApproxDP(2, 0.2)), 0.28, 3.0),
        (ApproxDP(1, 0.1).repeat(2), 0.19, 2.0),
        (ApproxDP(0.5, 0.01).then(ApproxDP(1, 0.02)), 0.0298, 1.5),
        (ApproxDP(0.1, 0.1).repeat(3), 0.271, 0.3),
    ],
)
def test_delta_is_the_mass_that_is_lost_for_sure(mechanism: hush.Mechanism, delta: float, truth: float) -> None:
    found = mechanism.epsilon(delta=delta)
    assert found.lower == pytest.approx(truth, rel=1e-6)
    assert found.upper == truth
    assert mechanism.epsilon(delta=delta * (1 - 1e-9)).lower == math.inf
    assert mechanism.epsilon(delta=delta * (1 + 1e-9)).upper <= truth


def test_a_lost_mass_that_was_computed_leaves_the_upper_end_open() -> None:
    sampled = ApproxDP(1, 0.1).on(Poisson(rate=0.5)).repeat(2)
    found = sampled.epsilon(delta=1 - 0.95**2)
    above = sampled.epsilon(delta=(1 - 0.95**2) * (1 + 1e-9))
    assert found.upper == math.inf or found.upper == pytest.approx(above.upper, rel=1e-4)
    assert above.lower * (1 - 1e-9) <= found.lower


@pytest.mark.parametrize(
    ("mechanism", "largest"),
    [
        (PureDP(0.1).repeat(20), 2.0),
        (PureDP(0.1).then(PureDP(0.2)), 0.3),
        (PureDP(0.1).group(3), 0.3),
        (PureDP(0.1).under(REPLACE).repeat(15), 3.0),
        (PureDP(0.1).repeat(20_000), 2000.0),
    ],
)
def test_delta_is_zero_at_the_largest_loss(mechanism: hush.Mechanism, largest: float) -> None:
    assert mechanism.delta(epsilon=largest).upper == 0
    assert mechanism.epsilon(delta=0).upper == largest
    assert mechanism.log_delta(epsilon=largest * (1 - 1e-9)).lower > -math.inf


def test_rounding_up_decimals() -> None:
    assert written_up(20 * Fraction("0.1")) == 2
    third = Fraction(1, 3)
    assert written_up(third) >= 1 / 3
    assert Fraction(repr(written_up(third))) >= third


@pytest.mark.parametrize(("choices", "times"), [(2, 500), (5, 500), (2, 3)])
def test_epsilon_near_the_largest_loss(choices: int, times: int) -> None:
    mechanism = RandomizedResponse(epsilon=3, choices=choices, relation=REPLACE).repeat(times)
    found = mechanism.epsilon(delta=1e-50)
    assert found.lower == pytest.approx(3 * times, rel=1e-9)
    assert found.upper <= 3 * times


LOST = {
    "one way": ([0.5, 0.3, 0.2, 0.0], [0.0, 0.3, 0.2, 0.5]),
    "little": ([0.01, 0.5, 0.49], [0.0, 0.45, 0.55]),
    "only Q": ([0.0, 0.5, 0.5], [0.1, 0.4, 0.5]),
    "both ways": ([0.3, 0.7, 0.0], [0.0, 0.6, 0.4]),
}


@pytest.mark.parametrize("name", LOST)
@pytest.mark.parametrize("epsilon", [-30.0, -2.0, -0.4, -0.01, 0.0, 0.3, 2.0])
def test_products_with_infinite_mass_vs_enumeration(name: str, epsilon: float) -> None:
    p, q = (np.array(side) for side in LOST[name])
    pair = Product.of([(FinitePair.of(p, q), 4)])
    truth = enumerated([(p, q)] * 4, epsilon)
    asked = pair.log_delta(epsilon)
    profile = pair.profile()(np.array([epsilon]))
    for low, high in ((math.exp(asked[0]), math.exp(asked[1])), (float(profile[0][0]), float(profile[1][0]))):
        assert low <= truth * (1 + 1e-9) + 1e-300
        assert truth <= high * (1 + 1e-9) + 1e-300
        assert high - low <= 1e-3


def least_misses(p: np.ndarray, q: np.ndarray, times: int, rate: float) -> float:
    """Neyman and Pearson: outcomes in the order of their ratio, the last one by a coin."""
    law = [(math.prod(p[list(o)]), math.prod(q[list(o)])) for o in itertools.product(range(len(p)), repeat=times)]
    hit, left = 0.0, rate
    for a, b in sorted(law, key=lambda pair: -math.inf if pair[1] == 0 else -pair[0] / pair[1]):
        share = 1.0 if b <= left else left / b
        hit, left = hit + share * a, left - share * b
    return 1 - hit


@pytest.mark.parametrize("name", LOST)
@pytest.mark.parametrize("rate", [0.0, 0.05, 0.5, 0.9])
def test_tradeoff_with_infinite_mass_vs_enumeration(name: str, rate: float) -> None:
    p, q = (np.array(side) for side in LOST[name])
    found = FromPair.of(p.tolist(), q.tolist()).repeat(4).tradeoff(false_positive_rate=rate)
    truth = least_misses(p, q, 4, rate)
    assert found.lower <= truth + 1e-9
    assert truth <= found.upper + 1e-9


def test_tradeoff_of_sampled_approximate_guarantees() -> None:
    mechanism = ApproxDP(1, 1e-3).on(Poisson(rate=0.1)).repeat(10)
    for rate in (0.0, 0.01, 0.1, 0.5, 0.99):
        found = mechanism.tradeoff(false_positive_rate=rate)
        assert 0 <= found.lower <= found.upper <= 1 - rate
        assert found.upper - found.lower < 1e-3


def test_two_laws_without_an_outcome_in_common() -> None:
    apart = FromPair.of([0, 1], [1, 0])
    assert Product.of([(CERTAIN_LOSS, 2)]) == CERTAIN_LOSS
    for mechanism in (apart, apart.repeat(2), apart.then(hush.Gaussian(1.0))):
        found = mechanism.delta(epsilon=0)
        assert (found.lower, found.upper) == (1, 1)
        assert mechanism.epsilon(delta=0.5).lower == math.inf
        assert mechanism.epsilon(delta=1).upper == 0
        assert mechanism.tradeoff(false_positive_rate=0.1).upper <= 1e-12


MIRRORED = [
    ([0.6, 0.3, 0.1], [0.1, 0.3, 0.6]),
    ([0.4, 0.3, 0.2, 0.1], [0.1, 0.2, 0.3, 0.4]),
    ([0.2, 0.2, 0.3, 0.3], [0.3, 0.3, 0.2, 0.2]),
    ([0.1, 0.2, 0.2, 0.5, 0.0], [0.0, 0.5, 0.2, 0.2, 0.1]),
]


@pytest.mark.parametrize(("p", "q"), MIRRORED)
def test_a_pair_that_is_its_own_mirror_image(p: list[float], q: list[float]) -> None:
    pair: Pair = FinitePair.of(p, q)
    assert pair.swap() == pair
    one, other = (
        FromPair.of(p, q, relation=relation).repeat(5) for relation in (Relation.ADD_REMOVE, Relation.REPLACE)
    )
    delta = 0.45
    assert other.epsilon(delta=delta).upper == one.epsilon(delta=delta).upper
    assert other.epsilon(delta=delta).lower == one.epsilon(delta=delta).lower
    supplied = FromPair(pair, pair.swap(), REPLACE).repeat(5)
    assert supplied.epsilon(delta=delta) == other.epsilon(delta=delta)


def test_a_pair_that_is_not() -> None:
    pair = FinitePair.of([0.6, 0.3, 0.1], [0.1, 0.3 + 1e-9, 0.6 - 1e-9])
    assert pair.swap() != pair


def test_delta_of_one_says_nothing() -> None:
    assert hush.Gaussian(1.0).epsilon(delta=1).upper == 0
    assert hush.ZCDP(0.1).repeat(3).epsilon(delta=1).upper == 0
    assert hush.from_profile([0, 1], [1, 1e-3]).delta(epsilon=1).upper == pytest.approx(1e-3, rel=1e-12)
    nothing = hush.from_profile([1], [1])
    assert nothing.delta(epsilon=5).lower == nothing.repeat(2).group(2).delta(epsilon=5).upper == 1
    assert nothing.on(Poisson(rate=0.1)).delta(epsilon=5).upper == pytest.approx(0.1)
    for wrong in (1.1, -0.1, math.nan):
        with pytest.raises(hush.InvalidParameter):
            hush.Gaussian(1.0).epsilon(delta=wrong)


def test_calibrating_at_delta_zero() -> None:
    noise = hush.calibrate(lambda scale: hush.Laplace(scale), over=(0.1, 100.0), epsilon=1.0, delta=0)
    assert noise.value == pytest.approx(1.0, rel=1e-6)
    assert noise.bound.upper <= 1
    assert hush.calibrate(PureDP(0.1).repeat, over=(1, 100), epsilon=2.0, delta=0).value == 20
    with pytest.raises(hush.InvalidParameter, match="met somewhere"):
        hush.calibrate(lambda scale: hush.Gaussian(scale), over=(0.1, 100.0), epsilon=1.0, delta=0)


@pytest.mark.parametrize(
    ("p", "q"),
    [
        ([0.32, 0.68], [1.0, 1e-315]),
        ([0.5, 0.5], [1.0, 5e-324]),
        ([1.0, 5e-324], [0.5, 0.5]),
        ([1.0, 1e-323], [1.0, 5e-324]),
        ([1.0, 1e-300], [1.0, 2e-300]),
        ([1.0, 3e-310], [1.0, 1e-310]),
    ],
)
def test_the_least_probabilities_are_taken_as_they_are(p: list[float], q: list[float]) -> None:
    with mpmath.workdps(40):
        losses = [mpmath.log(mpmath.mpf(a)) - mpmath.log(mpmath.mpf(b)) for a, b in zip(p, q, strict=True)]
        largest = max(abs(loss) for loss in losses)
    found = FromPair.of(p, q).epsilon(delta=0)
    assert found.lower * (1 - 1e-13) <= largest <= found.upper
    assert found.upper <= float(largest) * (1 + 1e-13)
    assert FromPair.of(p, q).on(Poisson(rate=0.5)).repeat(2).epsilon(delta=1e-5).upper < math.inf


@pytest.mark.parametrize("times", [1, 2, 7, 20])
@pytest.mark.parametrize("scale", [0.3, 1.3, 1.1054, 3.0, 5.88, 7.1])
def test_the_largest_loss_of_laplace_noise_lies_between_its_ends(scale: float, times: int) -> None:
    found = hush.Laplace(scale=scale).repeat(times).epsilon(delta=0.0)
    largest = times / Fraction(repr(scale))
    assert Fraction(found.lower) <= largest <= Fraction(repr(found.upper))
    assert found.upper - found.lower <= 1e-14 * found.upper


def test_the_largest_loss_of_many_parts_is_rounded_up() -> None:
    scales = [0.1 + 0.37 * k for k in range(30)]
    found = reduce(lambda a, b: a.then(b), [hush.Laplace(scale=scale) for scale in scales]).epsilon(delta=0.0)
    largest = sum(1 / Fraction(repr(scale)) for scale in scales)
    assert Fraction(found.lower) <= largest <= Fraction(found.upper)


def test_an_atom_whose_mass_is_beyond_floats_makes_no_lower_end() -> None:
    """Of weight 0.2 its mass is rounded to 0: it was taken for certain, and the lower end was twice its loss."""
    least = math.ulp(0.0)
    lost = hush.FinitePair.of(np.array([0.6, 0.4, 2 * least]), np.array([0.4, 0.6, least]))
    plain = hush.FinitePair.of(np.array([0.6, 0.4]), np.array([0.4, 0.6]))
    for log_delta in (-3.0, -6.0):
        low, _ = Product.of([(Blend.of([(lost, 0.2)]), 2)]).epsilon(log_delta)
        assert low <= Product.of([(Blend.of([(plain, 0.2)]), 2)]).epsilon(log_delta)[1] * (1 + 1e-6)


def test_stated_points_that_leave_some_mass_to_infinity_have_no_epsilon_at_delta_0() -> None:
    """Their largest finite loss was written, but it is not the largest one."""
    stated = hush.ApproxDP(points=[(0.5, 0.1), (1.0, 0.05)])
    bound = stated.epsilon(delta=0.0)
    assert (bound.lower, bound.upper) == (math.inf, math.inf)
    for mechanism in (stated.repeat(3), stated.then(hush.PureDP(0.5))):
        assert mechanism.epsilon(delta=0.0).upper == math.inf


def ends_around(found: hush.Bound, largest: mpmath.mpf) -> bool:
    return mpmath.mpf(found.lower) <= largest <= mpmath.mpf(found.upper)


@pytest.mark.parametrize("rate", [1e-12, 1e-5, 0.3, 0.9, 0.999999])
@pytest.mark.parametrize("scale", [0.05, 1.0, 1000.0, 10000.0])
@pytest.mark.parametrize("times", [1, 7])
def test_the_largest_loss_of_a_sample_lies_between_its_ends(rate: float, scale: float, times: int) -> None:
    """The upper end was the nearest float, which may lie below; the lower one took the room for rounding for truth."""
    with mpmath.workdps(50):
        q, e = mpmath.mpf(repr(rate)), 1 / mpmath.mpf(repr(scale))
        assert ends_around(
            hush.Laplace(scale).on(Poisson(rate)).repeat(times).epsilon(delta=0),
            times * max(mpmath.log(1 + mpmath.mpf(rate) * mpmath.expm1(e)), -mpmath.log(1 + q * mpmath.expm1(-e))),
        )
        stated = min(1 / scale, 5.0)
        e = mpmath.mpf(stated)
        assert ends_around(
            PureDP(stated).on(Poisson(rate)).repeat(times).epsilon(delta=0),
            times * mpmath.log(1 + mpmath.mpf(rate) * mpmath.expm1(e)),
        )


@pytest.mark.parametrize("chance", [1e-9, 0.1, 0.5, 0.999])
@pytest.mark.parametrize("stated", [1e-9, 1e-5, 0.1, 3.0, 500.0])
def test_a_lower_end_of_a_largest_loss_is_shown_by_delta(chance: float, stated: float) -> None:
    """That of one of two releases was a bound with room for rounding: nearly all of it, where losses are tiny."""
    found = hush.Either(PureDP(stated), PureDP(stated), chance=chance).epsilon(delta=0)
    assert found.lower <= stated <= found.upper
    assert found.lower >= stated * (1 - 2e-3)
