"""Smooth-sensitivity releases end to end: exact laws of what comes out, on all neighbouring data of a small lattice."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import stats

import hush
from hush import releases
from hush.releases.noise.lattice import Lattice
from hush.releases.statistics.ordered_records import InMemory
from hush.releases.statistics.smooth_quantile import SmoothQuantile, centre_and_smooth

TOP = 5
LATTICE = Lattice.within((0, TOP), step=1.0)
DATA = list(itertools.combinations_with_replacement(range(TOP + 1), 3))


def replaced(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    return len(a) - sum(min(a.count(v), b.count(v)) for v in set(a)) == 1


def law(data: tuple[int, ...], p: float, noise: releases.SmoothNoise) -> np.ndarray:
    """Of the released value: the continuous law, rounded and clamped."""
    centre, smooth = centre_and_smooth(InMemory(np.array(data), LATTICE), p=p, beta=noise.beta, lattice=LATTICE)
    z = (np.arange(TOP) + 0.5 - centre) / (smooth / noise.alpha)
    if isinstance(noise, releases.SmoothStudent):
        below = stats.t.cdf(z * math.sqrt(noise.degrees), noise.degrees)
    else:
        below = stats.laplace.cdf(z)
    return np.diff(below, prepend=0.0, append=1.0)


@pytest.mark.parametrize("p", [0.0, 0.5, 1.0])
@pytest.mark.parametrize(
    "noise",
    [
        releases.SmoothLaplace(epsilon=1.0, delta=1e-2),
        releases.SmoothLaplace(epsilon=20.0, delta=1e-6),
        releases.SmoothLaplace(epsilon=0.5, delta=0.2, beta=0.4),
        releases.SmoothStudent(epsilon=1.0),
        releases.SmoothStudent(epsilon=3.0, degrees=1, beta=1.5),
        releases.SmoothStudent(epsilon=8.0, degrees=5),
    ],
)
def test_neighbours_vs_claim(noise: releases.SmoothNoise, p: float) -> None:
    delta = getattr(noise, "delta", 0.0)
    laws = {data: law(data, p, noise) for data in DATA}
    for a, b in itertools.permutations(DATA, 2):
        if replaced(a, b):
            excess = np.maximum(laws[a] - math.exp(noise.epsilon) * laws[b], 0.0).sum()  # type: ignore[attr-defined]
            assert excess <= delta + 1e-13


@pytest.mark.parametrize(
    "noise", [releases.SmoothLaplace(epsilon=2.0, delta=1e-2), releases.SmoothStudent(epsilon=2.0)]
)
def test_released_values_vs_exact_law(noise: releases.SmoothNoise) -> None:
    query, source, size = SmoothQuantile(p=0.5, bounds=(0, TOP), noise=noise, step=1.0), hush.SeededSource(7), 500
    draws = [int(query.release([1, 2, 4], source=source).value) for _ in range(size)]
    expected = law((1, 2, 4), 0.5, noise) * size
    counts = np.bincount(draws, minlength=TOP + 1)
    assert stats.chi2.sf(((counts - expected) ** 2 / expected).sum(), TOP) > 1e-6


def test_smooth_sensitivity_of_a_window_vs_of_all_data() -> None:
    """Unsorted long data: the few order statistics that are looked at give the sensitivity of all."""
    x = np.random.default_rng(3).lognormal(5, 0.5, 300_000)
    lattice = Lattice.within((0, 2000), fine=36)
    unit = float(lattice.grid.step)
    for p, beta in ((0.5, 0.05), (0.001, 0.3), (0.5, 0.001)):
        centre, smooth = centre_and_smooth(InMemory(x, lattice), p=p, beta=beta, lattice=lattice)
        truth = releases.smooth_sensitivity(x, beta=beta * (1 - 2.0**-10), bounds=(0, 2000), p=p)
        assert smooth * unit == pytest.approx(truth, rel=1e-3)
        assert lattice.value(centre) == pytest.approx(np.sort(x)[round(p * len(x)) - 1], abs=unit)


def test_replayed_on_neighbours_only_the_value_differs() -> None:
    data = np.random.default_rng(1).uniform(0, 10, 500)
    other = np.append(data[1:], math.nan)
    for query in (
        releases.SmoothMedian(bounds=(0, 10), noise=releases.SmoothLaplace(epsilon=1.0, delta=1e-6)),
        releases.Quantiles(ps=(0.2, 0.5, 0.8), bounds=(0, 10), epsilon=1.0, relation=hush.Relation.REPLACE),
        releases.QuantileInterval(p=0.5, bounds=(0, 10), epsilon=1.0, relation=hush.Relation.REPLACE),
        releases.Bounds(epsilon=1.0, relation=hush.Relation.REPLACE),
    ):
        first, second = (query.release(values, source=hush.SeededSource(4)) for values in (data, other))
        assert (first.mechanism, first.private, type(first.value)) == (second.mechanism, False, type(second.value))
        assert np.abs(np.subtract(first.value, second.value)).max() < 2
