"""Grids, and noise added on them: exactness, sensitivity after rounding, and the scale that is really used."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import hush
from hush import InvalidParameter, SecureSource, SeededSource, Source
from hush.randomness import integer_noise
from hush.randomness.additive import add_discrete_laplace, add_gaussian, add_laplace, scale_for
from hush.randomness.binary_grid import MOST, BinaryGrid

finite = st.floats(-1e15, 1e15)
powers = st.integers(-60, 60)


@given(st.lists(finite, min_size=1, max_size=8), powers)
def test_quantised_values_are_the_nearest_multiples(values: list[float], power: int) -> None:
    grid = BinaryGrid(power)
    for value, multiple in zip(values, grid.quantise(values).tolist(), strict=True):
        exact = Fraction(value) / grid.step
        assert multiple == max(min(round(exact), MOST), -MOST)  # round of a fraction: ties to even


@given(st.lists(st.integers(-(2**53), 2**53), max_size=8), powers)
def test_multiples_up_to_2_53_come_back(multiples: list[int], power: int) -> None:
    grid = BinaryGrid(power)
    floats = grid.to_float(multiples)
    assert [Fraction(x) for x in floats.tolist()] == [k * grid.step for k in multiples]
    assert grid.quantise(floats).tolist() == multiples


@given(st.lists(st.tuples(finite, finite), min_size=1, max_size=6), powers)
def test_distances_after_rounding_are_at_most_what_is_charged(pairs: list[tuple[float, float]], power: int) -> None:
    grid = BinaryGrid(power)
    one, other = (np.array(side) for side in zip(*pairs, strict=True))
    moved = [abs(a - b) for a, b in zip(grid.quantise(one).tolist(), grid.quantise(other).tolist(), strict=True)]
    exact = [abs(Fraction(a) - Fraction(b)) for a, b in pairs]
    l1 = sum(exact)
    assert sum(moved) <= grid.charged_l1(1.0, len(pairs)) - 1 / grid.step + l1 / grid.step
    # (sum of squares compared without roots: the charge is (root of l2 + root of d)^2 <= 2 (l2 + d), and exactly below)
    square = math.isqrt(math.ceil(sum(x * x for x in exact) / grid.step**2 * 2**100)) + 1
    bound = Fraction(square, 2**50) + grid.charged_l2(1.0, len(pairs)) - 1 / grid.step
    assert sum(k * k for k in moved) <= bound**2


@given(st.integers(1, 10**9))
def test_the_charge_of_l2_is_the_root_rounded_up(coordinates: int) -> None:
    charge = BinaryGrid(0).charged_l2(1.0, coordinates) - 1
    assert charge**2 >= coordinates
    assert float(charge) == pytest.approx(math.sqrt(coordinates), rel=1e-11)


@given(st.floats(1e-6, 1e6), st.floats(1e-6, 1e6), st.integers(1, 10**6))
def test_the_charge_of_a_chosen_grid_is_small(sensitivity: float, multiplier: float, coordinates: int) -> None:
    grid = BinaryGrid.for_scale(sensitivity * multiplier, sensitivity=sensitivity, coordinates=coordinates)
    assert grid.step <= Fraction(sensitivity) * Fraction(multiplier)
    steps = grid.charged_l1(sensitivity, coordinates) * Fraction(multiplier)
    assert integer_noise.SMALLEST <= steps <= integer_noise.LARGEST
    if multiplier * coordinates < 2**27:  # else the limit of 2^48 steps binds, and is charged
        assert float(grid.charged_l1(sensitivity, coordinates) * grid.step) <= sensitivity * (1 + 2.0**-19)


def test_what_is_not_finite_is_handled_the_same_way_always() -> None:
    grid = BinaryGrid(-3)
    assert grid.quantise([math.nan, math.inf, -math.inf, 1e308, -1e308]).tolist() == [0, MOST, -MOST, MOST, -MOST]
    assert float(add_laplace(math.nan, sensitivity=1.0, scale=1.0).values) < 1e3


@pytest.mark.parametrize("power", [-1001, 901, 1.0, True, "1"])
def test_bad_powers(power: object) -> None:
    with pytest.raises(InvalidParameter, match="power"):
        BinaryGrid(power)  # type: ignore[arg-type]


@pytest.mark.parametrize("field", ["scale", "sensitivity", "coordinates", "most"])
@pytest.mark.parametrize("value", [-1.0, math.nan, math.inf, 2.0**1000])
def test_no_grid_for_bad_parameters(field: str, value: float) -> None:
    parameters = {"scale": 1.0, "sensitivity": 1.0, field: value}
    with pytest.raises(InvalidParameter, match=field):
        BinaryGrid.for_scale(**parameters)


@pytest.mark.parametrize("add", ["laplace", "gaussian"])
@pytest.mark.parametrize("sensitivity", [1e-9, 0.3, 1.0, 2000.0])
def test_releases_lie_on_the_grid_and_have_the_declared_noise(add: str, sensitivity: float) -> None:
    size, multiplier = 20_000, 1.7
    values = np.linspace(-5, 5, size) * sensitivity
    if add == "laplace":
        noised = add_laplace(values, sensitivity=sensitivity, scale=multiplier, source=SeededSource(1))
        law = stats.laplace(scale=noised.scale)
    else:
        noised = add_gaussian(values, sensitivity=sensitivity, noise_multiplier=multiplier, source=SeededSource(1))
        law = stats.norm(scale=noised.scale)
    assert not noised.private
    assert all((Fraction(x) / noised.grid.step).denominator == 1 for x in noised.values[:500].tolist())
    assert sensitivity < noised.sensitivity < 1.00001 * sensitivity
    assert Fraction(noised.scale) >= Fraction(multiplier) * Fraction(sensitivity)
    assert noised.scale == pytest.approx(multiplier * noised.sensitivity, rel=1e-12)
    assert stats.kstest(noised.values - values, law.cdf).pvalue > 1e-6


def test_integers_are_not_charged() -> None:
    noised = add_laplace(np.array([3, 4]), sensitivity=2, scale=1.5, source=SeededSource(1))
    assert (noised.sensitivity, noised.scale, noised.grid) == (2.0, 3.0, BinaryGrid(0))
    noised = add_gaussian(
        np.array([3, 4]), sensitivity=2, noise_multiplier=1.5, grid=BinaryGrid(-4), source=SeededSource(1)
    )
    assert (noised.sensitivity, noised.scale) == (2.0, 3.0)
    assert np.all(noised.values * 16 == np.rint(noised.values * 16))


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.uint8, np.uint64, np.float32, np.float64])
def test_every_type_of_number(dtype: type) -> None:
    values = np.array([[1, 2], [3, 4]], dtype=dtype)
    noised = add_laplace(values, sensitivity=1.0, scale=0.01, source=SeededSource(1))
    assert noised.values.shape == (2, 2)
    assert np.abs(noised.values - values).max() < 0.5
    assert add_laplace(dtype(3), sensitivity=1.0, scale=0.01).values.shape == ()


def test_shifted_data_shift_the_release_by_as_much() -> None:
    """Record and replay: neighbouring values under the same bits give releases that differ by the values' distance."""
    one, other = (
        add_laplace([x, 7.0], sensitivity=1.0, scale=2.0, source=SeededSource(8)).values for x in (10.25, 11.25)
    )
    assert (other - one).tolist() == [1.0, 0.0]


def test_sums_beyond_the_range_are_cut_alike() -> None:
    """A noise that was cut at 2^61 gives the same release as one that was not."""
    assert np.abs(add_laplace([1e300, -1e300], sensitivity=1.0, scale=1.0).values).max() <= float(
        MOST * BinaryGrid(-20).step
    )


@given(st.floats(1e-9, 700))
def test_scales_for_an_epsilon_are_on_the_safe_side(epsilon: float) -> None:
    scale = scale_for(epsilon)
    assert Fraction(scale) * Fraction(epsilon) >= 1
    assert Fraction(math.nextafter(scale, 0)) * Fraction(epsilon) < 1


@pytest.mark.parametrize("epsilon", [0, -1.0, math.nan, math.inf, True, "1"])
def test_bad_epsilons(epsilon: object) -> None:
    with pytest.raises(InvalidParameter, match="epsilon"):
        scale_for(epsilon)  # type: ignore[arg-type]


class Never(Source):
    private = True

    def words(self, count: int) -> np.ndarray:
        raise AssertionError("bits were drawn before the parameters were checked")


@pytest.mark.parametrize("bad", [0, -1.0, math.nan, math.inf, True, "1", None])
@pytest.mark.parametrize("field", ["sensitivity", "scale", "noise_multiplier"])
def test_bad_parameters_raise_before_any_draw(field: str, bad: object) -> None:
    add, other = (add_gaussian, "noise_multiplier") if field == "noise_multiplier" else (add_laplace, "scale")
    parameters = {"sensitivity": 1.0, other: 1.0, field: bad}
    with pytest.raises(InvalidParameter, match=field):
        add([1.0], source=Never(), **parameters)  # type: ignore[arg-type]


@pytest.mark.parametrize("values", [["a"], [None], [1j], [True]])
def test_what_is_no_number_is_refused_by_its_type(values: object) -> None:
    with pytest.raises(InvalidParameter, match="dtype"):
        add_laplace(values, sensitivity=1.0, scale=1.0, source=Never())
    with pytest.raises(InvalidParameter, match="dtype"):
        add_discrete_laplace(values, sensitivity=1, scale=1.0, source=Never())


def test_counts_with_discrete_noise_meet_their_epsilon() -> None:
    """Two counts one apart: the ratio of the frequencies of every outcome stays within exp(epsilon)."""
    scale, size = 1.25, 200_000
    one, other = (
        np.bincount(
            np.clip(
                add_discrete_laplace(np.full(size, x), sensitivity=1, scale=scale, source=SeededSource(x)) + 3, 0, 20
            ),
            minlength=21,
        )
        for x in (5, 6)
    )
    epsilon = hush.DiscreteLaplace(scale=scale).epsilon(delta=0).upper
    assert epsilon == pytest.approx(0.8)
    enough = (one > 1000) & (other > 1000)
    slack = 5 * np.sqrt(1 / one[enough] + 1 / other[enough])
    assert np.all(np.abs(np.log(one[enough] / other[enough])) < epsilon + slack)
    with pytest.raises(InvalidParameter, match="sensitivity"):
        add_discrete_laplace([1], sensitivity=0, scale=1.0)
    assert add_discrete_laplace(np.array([2**63 - 1]), sensitivity=1, scale=1.0).tolist()[0] <= MOST
    assert add_discrete_laplace(np.arange(0), sensitivity=1, scale=1.0, source=SecureSource()).tolist() == []
