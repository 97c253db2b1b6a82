"""The exponential mechanism for quantiles: its exact law, its sensitivity, and its handling of hostile data."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import hush
from hush import releases
from hush.numerics.rounding import UNIT
from hush.releases.noise import quantile_selection
from hush.releases.noise.lattice import Lattice
from hush.releases.noise.quantile_selection import draw_quantile
from hush.releases.statistics.order_statistics import order_statistics
from hush.releases.statistics.quantile import change_of_loss

LATTICE = Lattice.within((0, 12), step=1.0)
ADD_REMOVE, REPLACE = hush.Relation.ADD_REMOVE, hush.Relation.REPLACE


def losses(x: np.ndarray, p: float, points: int = 13) -> np.ndarray:
    y = np.arange(points)[:, None]
    below, above = (x < y).sum(axis=1), (x > y).sum(axis=1)
    return np.maximum(0, np.maximum(below - p * len(x), above - (1 - p) * len(x)))


def law(x: np.ndarray, p: float, eta: float, points: int = 13) -> np.ndarray:
    weights = np.exp(-eta * losses(x, p, points))
    return weights / weights.sum()


def window_of(x: np.ndarray) -> quantile_selection.Window:
    ordered = np.sort(x)
    return lambda first, last: ordered[first - 1 : last]


small = st.lists(st.integers(0, 12), min_size=1, max_size=9).map(np.array)
shares = st.sampled_from([0.0, 0.1, 0.25, 0.5, 2 / 3, 0.9, 1.0])


@settings(max_examples=150, deadline=None)
@given(small, shares, st.sampled_from([0.05, 0.5, 3.0, 40.0]), st.integers(0, 2**64 - 1))
def test_cells_vs_every_point(x: np.ndarray, p: float, eta: float, word: int) -> None:
    """Cells list each lattice point once with its loss, and integers and floats choose the same."""
    share, target = Fraction(p), Fraction(p) * len(x)
    rate = Fraction(eta)
    cells = quantile_selection._cells(
        window_of(x), len(x), target, quantile_selection._reach(64, rate, LATTICE), LATTICE
    )
    part = target - math.floor(target)
    expected = losses(x, float(share))
    seen = np.full(13, np.nan)
    for start, points, loss in zip(cells.start, cells.points, cells.losses(part), strict=True):
        assert np.isnan(seen[start : start + points]).all()
        seen[start : start + points] = float(loss)
    listed = ~np.isnan(seen)
    assert seen[listed] == pytest.approx(expected[listed], abs=1e-9)
    assert np.exp(-eta * expected[~listed]).sum() <= 2.0**-60 and (cells.apart is not None or listed.all())
    if not listed.all():
        assert expected[~listed].min() >= float(cells.apart or 0) - 1e-9
    by_floats = quantile_selection._by_floats(cells, part, rate, LATTICE, word)
    by_integers = quantile_selection._by_integers(cells, part, rate, LATTICE, word, 64)
    assert by_floats is None or by_integers is None or by_floats == by_integers


@pytest.mark.parametrize(
    ("x", "p", "eta"),
    [
        ([1, 2, 2, 3, 7, 10, 11], 0.5, 0.7),
        ([4, 4, 4, 4], 0.5, 0.4),
        ([0, 3, 7, 9], 0.1, 1.1),
        ([12], 0.9, 0.3),
        ([], 0.5, 1.0),
    ],
)
def test_draws_vs_law(x: list[int], p: float, eta: float) -> None:
    values, source, size = np.array(x, dtype=np.int64), hush.SeededSource(5), 4000
    arguments = {"size": len(x), "p": Fraction(p), "eta": Fraction(eta), "lattice": LATTICE}
    draws = [draw_quantile(source, window=window_of(values), **arguments) for _ in range(size)]  # type: ignore[arg-type]
    expected = law(values, p, eta) * size
    counts = np.bincount(draws, minlength=13)
    assert stats.chi2.sf(((counts - expected) ** 2 / expected).sum(), 12) > 1e-6


@pytest.mark.parametrize("size", [5, 4096, 4097, 50_000])
def test_sums_by_blocks_vs_exact_sums(size: int) -> None:
    """Within the rounding error that the draw counts."""
    weights = np.random.default_rng(size).exponential(size=size) * 10.0 ** np.random.default_rng(1).uniform(-9, 9, size)
    found = quantile_selection._added_up(weights)
    for place in (0, size // 3, size // 2, size - 1):
        exact = math.fsum(weights[: place + 1])
        error = UNIT * (quantile_selection.BLOCK + size / quantile_selection.BLOCK + 64) * found[-1]
        assert abs(found[place] - exact) <= error / 10


def test_floats_decide_nearly_always() -> None:
    """Long data and a small epsilon: 400,000 cells, of which no more than a few boundaries are ever in doubt."""
    x = np.sort(np.random.default_rng(4).integers(0, 2**40, 200_000))
    lattice, eta, half = Lattice.within((0, 2**40), step=1.0), Fraction(0.0003), Fraction(1, 2)
    cells = quantile_selection._cells(
        window_of(x), len(x), half * len(x), quantile_selection._reach(64, eta, lattice), lattice
    )
    words = np.random.default_rng(5).integers(0, 2**63, 15).tolist()
    assert all(quantile_selection._by_floats(cells, Fraction(0), eta, lattice, 2 * word) is not None for word in words)


@pytest.mark.parametrize("p", [0.0, 0.3, 0.5, 1.0])
def test_more_bits_and_records_keep_what_was_decided(p: float) -> None:
    """A longer look must not move the uniform number to another cell, or the law would be off where floats doubt."""
    rng = np.random.default_rng(3)
    lattice = Lattice.within((0, 200), step=1.0)
    values, target = np.sort(rng.integers(0, 201, 400)), Fraction(p) * 400
    eta, share = Fraction(3), target - math.floor(target)
    near, far = (
        quantile_selection._cells(lambda a, b: values[a - 1 : b], 400, target, reach, lattice) for reach in (30, 80)
    )
    joined = far.after(near)
    assert len(near.start) < len(joined.start) == len(far.start)
    assert joined.losses(share)[: len(near.start)] == near.losses(share)
    assert near.apart is not None
    assert min(joined.losses(share)[len(near.start) :]) >= near.apart
    decided = 0
    for word in map(int, rng.integers(0, 2**64, 200, dtype=np.uint64)):
        first = quantile_selection._by_floats(near, share, eta, lattice, word)
        second = quantile_selection._by_integers(joined, share, eta, lattice, word << 64 | 12345, 128)
        if first is not None:
            decided += 1
            assert second == first
    assert decided > 150


def test_draws_by_integers_alone_vs_law(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where floats never decide, the law is the same."""
    monkeypatch.setattr(quantile_selection, "_by_floats", lambda *_: None)
    x, source, size = np.array([1, 5, 5, 9]), hush.SeededSource(6), 1000
    arguments = {"size": 4, "p": Fraction(1, 2), "eta": Fraction(0.6), "lattice": LATTICE}
    draws = [draw_quantile(source, window=window_of(x), **arguments) for _ in range(size)]  # type: ignore[arg-type]
    expected = law(x, 0.5, 0.6) * size
    assert stats.chi2.sf(((np.bincount(draws, minlength=13) - expected) ** 2 / expected).sum(), 12) > 1e-6


@settings(max_examples=150, deadline=None)
@given(small, st.integers(0, 12), st.floats(0, 1))
def test_change_of_loss_vs_neighbours(x: np.ndarray, new: int, p: float) -> None:
    added, replaced = np.append(x, new), np.append(x[1:], new)
    for other, relation in ((added, ADD_REMOVE), (replaced, REPLACE)):
        change = np.abs(losses(other, p) - losses(x, p)).max()
        assert change <= float(change_of_loss(Fraction(p), relation)) * (1 + 1e-12)


@settings(max_examples=100, deadline=None)
@given(small, st.integers(0, 12), shares, st.floats(0.01, 4), st.sampled_from([ADD_REMOVE, REPLACE]))
def test_range_of_loss_vs_epsilon(x: np.ndarray, new: int, p: float, epsilon: float, relation: hush.Relation) -> None:
    """The privacy loss of the exact laws varies by at most epsilon: what hush.Exponential accounts for."""
    eta = epsilon / (2 * float(change_of_loss(Fraction(p), relation)))
    other = np.append(x if relation is ADD_REMOVE else x[1:], new)
    loss = np.log(law(x, p, eta)) - np.log(law(other, p, eta))
    assert loss.max() - loss.min() <= epsilon * (1 + 1e-9)
    assert np.abs(loss).max() <= epsilon * (1 + 1e-9)


def test_release_vs_claimed_epsilon() -> None:
    """Seeded releases on neighbours: no event is likelier than the claim allows, at confidence 1 - 1e-6."""
    data = np.array([1, 2, 5, 5, 8, 11])
    other = np.append(data, 12)
    query = releases.Quantile(p=0.5, bounds=(0, 12), epsilon=1.0, step=1.0)
    source, size = hush.SeededSource(9), 1000
    counts = [
        np.bincount([int(query.release(d, source=source).value) for _ in range(size)], minlength=13)
        for d in (data, other)
    ]
    for a, b in (counts, counts[::-1]):
        low = stats.beta.ppf(1e-6 / 52, a, size - a + 1)
        high = stats.beta.ppf(1 - 1e-6 / 52, b + 1, size - b)
        assert not np.any(np.nan_to_num(low) > math.e * high)


def test_replayed_on_neighbours_only_the_value_differs() -> None:
    class Recorder(hush.SeededSource):
        taken = 0

        def words(self, count: int) -> np.ndarray:
            self.taken += count
            return super().words(count)

    data = np.random.default_rng(1).lognormal(5, 0.5, 1000)
    outcomes = []
    for values in (data, np.append(data, 1e9), np.append(data, math.nan), np.append(data, -math.inf)):
        source = Recorder(4)
        outcomes.append((releases.median(values, bounds=(0, 2000), epsilon=1.0, source=source), source.taken))
    first, taken = outcomes[0]
    for found, used in outcomes[1:]:
        assert used == taken
        assert (found.mechanism, found.private, found.noise_interval) == (first.mechanism, False, None)
        assert abs(np.searchsorted(np.sort(data), found.value) - 500) < 40


@pytest.mark.parametrize("size", [1, 2, 10, 200_000])
def test_order_statistics_vs_sort(size: int) -> None:
    rng = np.random.default_rng(size)
    for values in (
        rng.normal(size=size),
        rng.integers(0, 3, size),
        np.arange(size)[::-1],
        np.zeros(size),
        np.tile([1.0, 9.0], size),
    ):
        n = len(values)
        for first, last in {(1, 1), (n, n), (1, n), (max(n // 2 - 50, 1), min(n // 2 + 50, n))}:
            assert order_statistics(values, first, last).tolist() == np.sort(values)[first - 1 : last].tolist()


@pytest.mark.parametrize(
    "values",
    [
        [],
        [math.nan],
        [math.nan, math.inf, -math.inf],
        [1e308] * 5,
        [5.0] * 300,
        [1],
        np.array([True, False]),
        np.array([2**63 - 1, -(2**63)], dtype=np.int64),
        np.array([1.0, 2.0], dtype=np.float32),
        np.array([math.nan, 6e4], dtype=np.float16),
        np.tile([True, False, True], 50_000),
        np.tile(np.array([3, 200], dtype=np.uint8), 70_000),
    ],
)
def test_hostile_data_never_raise(values: object) -> None:
    array = np.asarray(values)
    for query in (
        releases.Median(bounds=(0, 10), epsilon=0.5),
        releases.Quantile(p=1.0, bounds=(0, 10), epsilon=0.5, relation=REPLACE),
        releases.SmoothMedian(bounds=(0, 10), noise=releases.SmoothLaplace(epsilon=0.5, delta=1e-6)),
        releases.SmoothQuantile(p=0.0, bounds=(0, 10), noise=releases.SmoothStudent(epsilon=0.5)),
    ):
        assert 0 <= query.release(array, source=hush.SeededSource(1)).value <= 10


def test_tied_values_come_out_where_the_step_is_given() -> None:
    found = [releases.median([5.0] * 60, bounds=(0, 10), epsilon=1.0, step=1.0).value for _ in range(20)]
    assert found == [5.0] * 20


def test_extreme_bounds_and_epsilons() -> None:
    data = np.linspace(0, 1, 5001)
    for bounds in ((1e15, 1e15 + 1), (-1e200, 1e200), (0, 1e-200), (-1, 1 / 3)):
        assert bounds[0] <= releases.median(data, bounds=bounds, epsilon=1.0).value <= bounds[1]
    assert abs(releases.median(data, bounds=(0, 1), epsilon=500.0).value - 0.5) < 1e-3
    assert 0 <= releases.median(data, bounds=(0, 1), epsilon=1e-9).value <= 1


@pytest.mark.parametrize(
    "fault",
    [{"p": -0.1}, {"p": 1.1}, {"p": True}, {"epsilon": 0}, {"epsilon": 501}, {"epsilon": math.nan}, {"bounds": (1, 0)},
     {"bounds": (0, math.inf)}, {"bounds": (-1e300, 1)}, {"step": 0.3}, {"step": 1e9}, {"step": 2.0**-60}, {"relation": "replace"}],
)  # fmt: skip
def test_faults_are_named_before_any_draw(fault: dict[str, object]) -> None:
    field = next(iter(fault))
    with pytest.raises(hush.InvalidParameter, match=field):
        releases.Quantile(**({"p": 0.5, "bounds": (0, 10), "epsilon": 1.0} | fault))  # type: ignore[arg-type]


def test_smooth_noise_is_for_replacement_alone() -> None:
    query = releases.SmoothMedian(bounds=(0, 10), noise=releases.SmoothLaplace(epsilon=2.0, delta=1e-5))
    with pytest.raises(hush.NotCovered):
        query.on(hush.Poisson(rate=0.1))
    sampled = query.on(hush.WithoutReplacement(size=100, population=1000))
    epsilon = math.log1p(0.1 * math.expm1(2.0))
    assert sampled.mechanism.epsilon(delta=1e-6).upper <= epsilon * (1 + 1e-6)
    assert 0 <= sampled.release(np.linspace(0, 10, 1000), source=hush.SeededSource(1)).value <= 10


def test_accuracy_on_ten_million_vs_prototype() -> None:
    """Root mean squared error at epsilon 1 within 5.5e-5, from order statistics of the law itself."""
    quantile = stats.lognorm(0.5, scale=math.exp(5)).ppf
    n = 10_000_000
    ranks = np.arange(n // 2 - 2000, n // 2 + 2001)
    rng, lattice = np.random.default_rng(3), Lattice.within((0, 2000))
    errors, source = [], hush.SeededSource(3)
    for _ in range(60):
        gaps = rng.exponential(size=len(ranks)) / n
        x = quantile(0.5 - 2000 / n + np.cumsum(gaps))
        window = lambda first, last, x=x: lattice.indices(x[first - ranks[0] : last - ranks[0] + 1])  # noqa: E731
        for _ in range(5):
            index = draw_quantile(source, window=window, size=n, p=Fraction(1, 2), eta=Fraction(1), lattice=lattice)
            errors.append(lattice.value(index) - (x[1999] + x[2000]) / 2)
    assert math.sqrt(np.mean(np.square(errors))) < 5.5e-5
