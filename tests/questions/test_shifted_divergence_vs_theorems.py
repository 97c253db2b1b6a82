"""Shifted divergences as a public question: the lemma, how laws are aligned, and bad input."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import hush
from hush.curves.renyi.shifted import gaussian_noise_cost, gaussian_shifted_divergence, laplace_noise_cost


def random_law(source: np.random.Generator, size: int) -> hush.IntegerLaw:
    weights = source.gamma(0.7, size=size) + 0.02
    return hush.IntegerLaw(weights / weights.sum())


@pytest.mark.parametrize("seed", range(30))
def test_shift_reduction_lemma(seed: int) -> None:
    source = np.random.default_rng(seed)
    size = int(source.integers(2, 8))
    p, q = random_law(source, size), random_law(source, size)
    x = np.arange(-12, 13)
    noise = np.exp(-np.abs(x) / source.uniform(0.5, 4)) if seed % 2 else np.exp(-(x**2) / source.uniform(2, 30))
    weights = hush.IntegerLaw(noise / noise.sum(), first=-12)
    for order, shift, spent in itertools.product((1.2, 2.0, 8.0), (0, 1, 2), (0, 1, 2)):
        found = hush.shift_reduction(p, q, weights, order=order, shift=shift, spent=spent)
        assert found.divergence <= found.bound + 1e-9


@pytest.mark.parametrize("spent", [0.0, 1.0, 3.2, 6.0])
def test_shift_reduction_of_normals(spent: float) -> None:
    """The lemma holds for every split of the distance, and is tight at the best one, 16/25 of it."""
    p, q, noise = hush.NormalLaw(0.0, 3.0), hush.NormalLaw(-5.0, 3.0), hush.NormalLaw(0.5, 4.0)
    found = hush.shift_reduction(p, q, noise, order=4.0, spent=spent)
    assert found.divergence == pytest.approx(2.0, rel=1e-12)  # order 4, distance 5, deviation 5
    assert found.bound >= found.divergence * (1 - 1e-12)
    assert (found.bound <= found.divergence * (1 + 1e-12)) == (spent == 3.2)
    assert found.cost == gaussian_noise_cost(4.0, 4.0, spent)
    assert found.before == gaussian_shifted_divergence(4.0, 5.0, 3.0, spent)


def test_places_on_the_integers_count() -> None:
    law = [0.25, 0.5, 0.25]
    here, moved = hush.IntegerLaw(law), hush.IntegerLaw(law, first=3)
    assert hush.shifted_divergence(here, moved, order=2.0, shift=3) == pytest.approx(0.0, abs=1e-12)
    assert hush.shifted_divergence(here, moved, order=2.0, shift=0) == math.inf
    assert hush.shifted_divergence(moved, moved, order=2.0, shift=0) == pytest.approx(0.0, abs=1e-12)


def test_fine_integers_vs_normals() -> None:
    x = np.arange(-150, 171)
    laws = [np.exp(-((x - mean) ** 2) / 450) for mean in (0, 20)]
    p, q = (hush.IntegerLaw(law / law.sum()) for law in laws)
    smooth = hush.shifted_divergence(hush.NormalLaw(0, 15), hush.NormalLaw(20, 15), order=3.0, shift=7)
    assert hush.shifted_divergence(p, q, order=3.0, shift=7) == pytest.approx(smooth, rel=1e-6)


def test_noise_costs() -> None:
    assert hush.noise_cost(hush.NormalLaw(9.0, 0.7), order=3.0, shift=2.0) == gaussian_noise_cost(3.0, 0.7, 2.0)
    assert hush.noise_cost(hush.LaplaceLaw(0.7), order=3.0, shift=2.0) == laplace_noise_cost(3.0, 0.7, 2.0)
    assert hush.noise_cost(hush.IntegerLaw([0.5, 0.5]), order=3.0, shift=1) == math.inf


LAW, NORMAL = hush.IntegerLaw([0.5, 0.5]), hush.NormalLaw(0.0, 1.0)


@pytest.mark.parametrize("order", [1.0, 0.5, math.inf, math.nan, True, "2"])
@pytest.mark.parametrize("law", [LAW, NORMAL])
def test_bad_orders(order: float, law: hush.IntegerLaw | hush.NormalLaw) -> None:
    with pytest.raises(hush.InvalidParameter, match="order"):
        hush.shifted_divergence(law, law, order=order, shift=1)
    with pytest.raises(hush.InvalidParameter, match="order"):
        hush.noise_cost(law, order=order, shift=1)


@pytest.mark.parametrize("shift", [-1, math.inf, math.nan, "1"])
@pytest.mark.parametrize("law", [LAW, NORMAL])
def test_bad_shifts(shift: float, law: hush.IntegerLaw | hush.NormalLaw) -> None:
    with pytest.raises(hush.InvalidParameter, match="shift"):
        hush.shifted_divergence(law, law, order=2.0, shift=shift)
    with pytest.raises(hush.InvalidParameter, match="spent"):
        hush.shift_reduction(law, law, law, order=2.0, spent=shift)


def test_bad_laws() -> None:
    for masses in ([], [0.5, 0.4], [1.5, -0.5], [math.nan], ["1"], 1.0):
        with pytest.raises(hush.InvalidParameter, match="IntegerLaw"):
            hush.IntegerLaw(masses)  # type: ignore[arg-type]
    with pytest.raises(hush.InvalidParameter, match="first"):
        hush.IntegerLaw([1.0], first=0.5)  # type: ignore[arg-type]
    with pytest.raises(hush.InvalidParameter, match="deviation"):
        hush.NormalLaw(0.0, 0.0)
    with pytest.raises(hush.InvalidParameter, match="mean"):
        hush.NormalLaw(math.inf, 1.0)
    with pytest.raises(hush.InvalidParameter, match="scale"):
        hush.LaplaceLaw(-1.0)
    with pytest.raises(hush.InvalidParameter, match="shift_reduction"):
        hush.shift_reduction(LAW, LAW, 1.0, order=2.0, spent=1)  # type: ignore[arg-type]
    with pytest.raises(hush.InvalidParameter, match="A shift on the integers"):
        hush.noise_cost(LAW, order=2.0, shift=0.5)


@pytest.mark.parametrize(
    ("first", "second"), [(LAW, NORMAL), (NORMAL, LAW), (NORMAL, hush.NormalLaw(0, 2)), (hush.LaplaceLaw(1), NORMAL)]
)
def test_what_has_no_formula_is_not_covered(first: hush.IntegerLaw, second: hush.IntegerLaw) -> None:
    with pytest.raises(hush.NotCovered):
        hush.shifted_divergence(first, second, order=2.0, shift=1)
    with pytest.raises(hush.NotCovered):
        hush.shift_reduction(LAW, LAW, NORMAL, order=2.0, spent=1)
