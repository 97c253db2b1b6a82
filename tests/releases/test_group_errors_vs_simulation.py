"""Expected errors and intervals of grouped queries against simulated releases; splits against each other."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import hush
from hush import releases
from hush.releases import AtMost, GroupBy, Rows, Stats, Users

SIZE, RUNS = 400, 300
RANDOM = np.random.default_rng(7)
DATA = {
    "g": np.repeat(np.array(["a", "b"], dtype=object), SIZE),
    "x": RANDOM.uniform(0, 10, 2 * SIZE),
    "who": np.arange(2 * SIZE) // 2,
}
KEYS = {"g": ("a", "b")}
EVERY = {
    "n": Rows(),
    "x": Stats("x", bounds=(0, 10), sum=True, mean=True, variance=True, median=True, histogram=(0, 5, 10), step=0.0625),
}
TRUTH = {
    "n": [SIZE, SIZE],
    "x_sum": [DATA["x"][DATA["g"] == g].sum() for g in "ab"],
    "x_mean": [DATA["x"][DATA["g"] == g].mean() for g in "ab"],
    "x_variance": [DATA["x"][DATA["g"] == g].var() for g in "ab"],
    "x_median": [np.median(DATA["x"][DATA["g"] == g]) for g in "ab"],
    "x_0_to_5": [(DATA["x"][DATA["g"] == g] < 5).sum() for g in "ab"],
    "x_5_to_10": [(DATA["x"][DATA["g"] == g] >= 5).sum() for g in "ab"],
    "u": [SIZE // 2, SIZE // 2],
}
QUERIES: dict[str, Any] = {
    "laplace": GroupBy(keys=KEYS, ask=EVERY, epsilon=4.0),
    "gaussian": GroupBy(keys=KEYS, ask=EVERY, epsilon=4.0, delta=1e-6, noise="gaussian"),
    "users": GroupBy(
        keys=KEYS, ask=EVERY | {"u": Users()}, epsilon=6.0, unit="who", contributions=AtMost(1, 2), split="error"
    ),
    "sampled": GroupBy(keys=KEYS, ask=EVERY, epsilon=4.0).on(hush.Poisson(rate=0.5)),
    "sampled users": GroupBy(
        keys=KEYS, ask={"u": Users(), "n": Rows()}, epsilon=4.0, unit="who", contributions=AtMost(1, 2)
    ).on(hush.Poisson(rate=0.5)),
}


@pytest.mark.parametrize("name", QUERIES)
def test_errors_and_intervals(name: str) -> None:
    """Errors are about what is expected: noise that is known within a few percent, the rest no more than stated."""
    query, source = QUERIES[name], hush.SeededSource(11)
    expected = query.expected_error(SIZE)
    found: dict[str, list[Any]] = {title: [] for title in expected}
    missed, cells = 0, 0
    for _ in range(RUNS):
        table = query.release(DATA, source=source, confidence=0.9).value
        for title, values in found.items():
            column = table.column(title)
            values.append(np.array(column.values) - TRUTH[title])
            if column.low is not None:
                inside = [
                    low <= truth <= high for low, truth, high in zip(column.low, TRUTH[title], column.high, strict=True)
                ]
                missed, cells = missed + inside.count(False), cells + len(inside)
    for title, errors in found.items():
        rms = math.sqrt(np.mean(np.square(errors)))
        gap = 1.3 if title == "x_median" else 1.2  # data are sparser in places than the law that is expected of them
        assert rms <= gap * expected[title], (title, rms, expected[title])
        if title in ("n", "u") and "sampled" not in name:
            assert rms >= 0.85 * expected[title]
    assert missed / cells <= 0.1 + 3 * math.sqrt(0.09 / cells)


def test_all_intervals_hold_together() -> None:
    query, source = GroupBy(keys=KEYS, ask=EVERY, epsilon=4.0), hush.SeededSource(5)
    missed = 0
    for _ in range(RUNS):
        table = query.release(DATA, source=source, confidence=0.9, together=True).value
        missed += any(
            not low <= truth <= high
            for c in table.columns
            if c.low is not None
            for low, truth, high in zip(c.low, TRUTH[c.name], c.high, strict=True)
        )
    assert missed / RUNS <= 0.1 + 3 * math.sqrt(0.09 / RUNS)


def test_the_budget_is_met_and_no_more() -> None:
    query = GroupBy(
        keys=KEYS, ask={"n": Rows(), "x": Stats("x", bounds=(0, 2000), mean=True, median=True)}, epsilon=1.0
    )
    assert 1 - 1e-6 < query.mechanism.epsilon(delta=0).upper <= 1
    for noise in ("laplace", "gaussian"):
        tight = GroupBy(
            keys=KEYS, ask={"n": Rows(), "m": Stats("x", bounds=(0, 1), sum=True)}, epsilon=1.0, delta=1e-6, noise=noise
        )
        assert 1 - 2e-3 < tight.mechanism.epsilon(delta=1e-6).upper <= 1


@pytest.mark.parametrize(("statistics", "less"), [(3, 1.70), (10, 3.09), (30, 5.35)])
def test_noise_against_an_epsilon_for_each(statistics: int, less: float) -> None:
    """Published: how much less Gaussian noise exact composition needs than epsilon/m and delta/m for each."""
    ask = {f"n{k}": Rows() for k in range(statistics)}
    query = GroupBy(keys={}, ask=ask, epsilon=1.0, delta=1e-6, noise="gaussian")
    each = hush.calibrate(hush.Gaussian, over=(0.1, 1e4), epsilon=1 / statistics, delta=1e-6 / statistics).value
    assert each * query.plan.levels[0].value == pytest.approx(less, abs=0.01)


def test_laplace_or_gaussian_by_expected_error() -> None:
    for statistics, gaussian in ((3, False), (10, True)):
        ask = {f"n{k}": Rows() for k in range(statistics)}
        query = GroupBy(keys={}, ask=ask, epsilon=1.0, delta=1e-6)
        assert query.plan.levels[0].gaussian is gaussian


def test_the_best_split_has_the_least_error() -> None:
    ask = {"n": Rows(), "x": Stats("x", bounds=(0, 100), sum=True)}
    for noise in ("laplace", "gaussian"):
        errors = {}
        for split in ("equal", "error"):
            query = GroupBy(keys=KEYS, ask=ask, epsilon=1.0, delta=1e-6, split=split, weights={"n": 5.0}, noise=noise)
            found = query.expected_error(1e9)
            errors[split] = 5 * found["n"] ** 2 + found["x_sum"] ** 2
        assert errors["error"] < errors["equal"]


def test_half_a_chance_of_being_shown() -> None:
    """Published: users that a group needs for an even chance, epsilon 1, delta 1e-6."""
    for groups, noise, users in ((1, "laplace", 15), (1, "gaussian", 21), (20, "gaussian", 102)):
        query = GroupBy(
            keys=releases.Unknown("g"),
            ask={"u": Users()},
            epsilon=1.0,
            delta=1e-6,
            noise=noise,
            unit="who",
            contributions=AtMost(groups, 1),
        )
        assert query.plan.threshold == pytest.approx(users, rel=0.06)


@pytest.mark.parametrize("confidence", [0.5, 0.95])
def test_ranks_of_quantiles_vs_what_is_said(confidence: float) -> None:
    """How many records lie between a released quantile and the true one, against the public bound of the statement."""
    query = GroupBy(keys=KEYS, ask={"x": Stats("x", bounds=(0, 10), quantiles=[0.2], step=0.0625)}, epsilon=1.0)
    most = query.parts[0].ranks_off(query.plan.levels[0], query.planning.charged, confidence)
    assert most is not None
    lattice = [np.rint(DATA["x"][DATA["g"] == g] / 0.0625) * 0.0625 for g in "ab"]
    off = []
    for seed in range(100):
        found = query.release(DATA, source=hush.SeededSource(seed), confidence=confidence)
        for value, mine in zip(found.value.column("x_p20").values, lattice, strict=True):
            below, above = (mine < value).sum(), (mine > value).sum()
            off.append(max(0.0, below - 0.2 * SIZE, above - 0.8 * SIZE))
    assert np.mean(np.array(off) <= most) >= confidence
    assert max(off) > most / 10  # the bound is of the right size
    assert f"at most {math.ceil(most)} of the records" in found.statement()
