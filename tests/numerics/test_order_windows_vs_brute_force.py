"""Windows of order statistics against sorted samples, every pair of ranks, and sums over all cells."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from hush.numerics.order_windows import Windows, uniform_windows
from hush.numerics.quantile_table import QuantileTable


def whole(values: np.ndarray, rank: int, low: float, high: float) -> Windows:
    """All of each sorted row, with the bounds at its ends."""
    padded = np.pad(values, ((0, 0), (1, 1)), constant_values=((0, 0), (low, high)))
    return Windows(padded[:, rank::-1], padded[:, rank:])


def brute_force(values: np.ndarray, rank: int, low: float, high: float, beta: float) -> float:
    padded = np.concatenate([[low], values, [high]])
    pairs = [
        (padded[j] - padded[i]) * np.exp(-beta * (j - i - 1))
        for i in range(rank + 1)
        for j in range(rank, len(padded))
        if j > i
    ]
    return max(pairs)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    size=st.integers(1, 60),
    beta=st.sampled_from([0.01, 0.05, 0.2, 1.0]),
    power=st.floats(0.2, 6.0),
)
def test_smooth_sensitivity_vs_every_pair(seed: int, size: int, beta: float, power: float) -> None:
    random = np.random.default_rng(seed)
    values = np.sort(random.random((4, size)) ** power, axis=1)
    rank = random.integers(1, size + 1)
    found = whole(values, rank, 0.0, 1.0).smooth_sensitivity(beta)
    assert found == pytest.approx([brute_force(row, rank, 0.0, 1.0, beta) for row in values], rel=1e-12)


@pytest.mark.parametrize("beta", [0.002, 0.01])
def test_smooth_sensitivity_of_long_windows_vs_every_pair(beta: float) -> None:
    """Past the ranks that are all looked at, climbing may stop early, by less than 0.1%."""
    random = np.random.default_rng(2)
    values = np.sort(random.lognormal(5.0, 0.5, (6, 701)).clip(0, 2000), axis=1)
    found = whole(values, 351, 0.0, 2000.0).smooth_sensitivity(beta)
    truth = np.array([brute_force(row, 351, 0.0, 2000.0, beta) for row in values])
    assert np.all(found <= truth * (1 + 1e-12))
    assert found == pytest.approx(truth, rel=1e-3)


def test_exponential_moments_vs_draws() -> None:
    random = np.random.default_rng(3)
    values = np.sort(random.random((1, 20)), axis=1)
    first, second = whole(values, 10, 0.0, 1.0).exponential_moments(0.3, 0.0)
    edges = np.concatenate([[0.0], values[0], [1.0]])
    weights = np.diff(edges) * np.exp(-0.3 * np.abs(np.arange(21) - 10))
    cells = random.choice(21, size=400_000, p=weights / weights.sum())
    drawn = edges[cells] + random.random(cells.size) * np.diff(edges)[cells] - values[0, 9]
    assert first[0] == pytest.approx(drawn.mean(), abs=5 * drawn.std() / 600)
    assert second[0] == pytest.approx(np.mean(drawn**2), rel=0.02)


def test_uniform_windows_vs_sorted_samples() -> None:
    """Each rank of the window has its beta law, and so has the distance of two of them."""
    random = np.random.default_rng(4)
    many, size, rank = 4000, 50, 20
    levels = (np.arange(many) + random.random(many)) / many
    down, up = uniform_windows(size, rank, 5, 7, levels, random.random((many, 2)), random.exponential(size=(many, 12)))
    assert down.shape == (many, 6) and up.shape == (many, 8)
    for column, offset in ((down[:, 5], -5), (up[:, 7], 7)):
        law = stats.beta(rank + offset, size + 1 - rank - offset)
        assert stats.kstest(column, law.cdf).pvalue > 1e-3
    assert stats.kstest(up[:, 7] - down[:, 5], stats.beta(12, size + 1 - 12).cdf).pvalue > 1e-3
    assert np.all(np.diff(up, axis=1) > 0) and np.all(np.diff(down, axis=1) < 0)


def test_tables_follow_bends_and_jumps() -> None:
    def quantiles(u: np.ndarray) -> np.ndarray:
        return np.where(u < 1 / 3, u**3, 5 + np.sqrt(u))

    table = QuantileTable.of(quantiles, 0.0, 1.0)
    places = np.concatenate([np.linspace(0, 1, 10_001), 1 / 3 + np.array([-1e-12, 1e-12])])
    assert table.at(places) == pytest.approx(quantiles(places), abs=1e-4)
    mean = 1 / 324 + 10 / 3 + 2 / 3 * (1 - (1 / 3) ** 1.5)
    assert table.moments()[0] == pytest.approx(mean, rel=1e-5)
