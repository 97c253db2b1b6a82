"""Rare hits beside other releases: levels against each outcome of those taken apart, and against other engines."""

from __future__ import annotations

import math
from random import Random

import numpy as np
import pytest

import hush
from hush.curves.composition.product import Product
from hush.curves.composition.routes import ContourRoute, GridRoute, LevelsRoute
from hush.curves.pairs.finite import FinitePair
from hush.curves.pairs.normal import NormalPair
from hush.curves.pairs.pair import Pair
from hush.curves.pairs.segment import SegmentPair
from hush.numerics.work import attempt, question


def log_uniform(random: Random, low: float, high: float) -> float:
    return math.exp(random.uniform(math.log(low), math.log(high)))


def few(random: Random) -> FinitePair:
    """A pair with two to four losses."""
    p = np.array([random.uniform(0.05, 1.0) for _ in range(random.choice([2, 2, 3, 4]))])
    q = p * np.exp(np.array([random.uniform(-1.0, 1.0) * log_uniform(random, 0.01, 3) for _ in p]))
    return FinitePair.of(p / p.sum(), q / q.sum())


def training(random: Random) -> tuple[NormalPair, int]:
    steps = int(log_uniform(random, 130, 1e5))
    pair = NormalPair.shifted(1 / log_uniform(random, 0.4, 1.5)).mix(log_uniform(random, 1e-3, 3) / steps)
    return random.choice([pair, pair, pair.swap()]), steps


def taken_apart(pair: FinitePair, rare: Pair, epsilon: float) -> tuple[float, float]:
    """delta = sum over the losses l of P(l) delta(epsilon - l), from bounds on each; below 0 by the mirrored pair."""
    law, ends, mirrored = pair.law(), [], rare.swap()
    for loss, mass in zip(law.losses, law.masses, strict=True):
        left = epsilon - float(loss)
        with question():
            low, high = (rare if left >= 0 else mirrored).log_delta(abs(left), 1e-6)
        deltas = (math.exp(end) if left >= 0 else -math.expm1(left) + math.exp(left + end) for end in (low, high))
        ends.append([float(mass) * delta for delta in deltas])
    return sum(low for low, _ in ends), sum(high for _, high in ends)


@pytest.mark.parametrize("seed", range(12))
def test_outcome_by_outcome(seed: int) -> None:
    random = Random(seed)
    pair, (rare, steps) = few(random), training(random)
    both, alone = Product.of([(rare, steps), (pair, 1)]), Product.of([(rare, steps)])
    log_delta = math.log(log_uniform(random, 1e-9, 1e-4))
    with question():
        low, high = both.epsilon(log_delta)
    assert math.exp(log_delta) <= taken_apart(pair, alone, low)[1] * (1 + 1e-12) or low == 0
    assert taken_apart(pair, alone, high)[0] <= math.exp(log_delta) * (1 + 1e-12)


@pytest.mark.parametrize("seed", range(12))
def test_engines_agree(seed: int) -> None:
    assert contradiction(100 + seed) is None


@pytest.mark.slow
def test_engines_agree_on_many_points() -> None:
    assert [found for seed in range(1000, 2000) if (found := contradiction(seed))] == []


def contradiction(seed: int) -> str | None:
    random = Random(seed)
    laplace = SegmentPair.laplace(log_uniform(random, 0.05, 5))
    pair = random.choice([few(random), laplace, laplace.mix(log_uniform(random, 1e-4, 0.5))])
    (rare, steps), times = training(random), random.choice([1, 3, 20])
    laws = (rare.law(), steps), (pair.law(), times)
    log_delta, found = math.log(log_uniform(random, 1e-9, 1e-3)), []
    for engine in (LevelsRoute(laws), ContourRoute(laws), GridRoute(((rare, steps), (pair, times)), laws, (1 << 14,))):
        with question():
            found.append(attempt(lambda e=engine: e.epsilon(log_delta, 1e-6), (0.0, math.inf)))
    if max(low for low, _ in found) <= min(high for _, high in found) * (1 + 1e-12):
        return None
    return f"{laws} at {log_delta}: {found}"


BESIDE = {
    "pure": (hush.PureDP(0.1), 0.56659482),
    "ten pure": (hush.PureDP(0.1).repeat(10), 1.06338624),
    "stated": (hush.ApproxDP(epsilon=0.5, delta=1e-8), 0.97585973),
    "discrete": (hush.DiscreteLaplace(5.0), 0.65368545),
    "Laplace": (hush.Laplace(0.5), 2.44206973),
    "sampled Laplace": (hush.Laplace(0.2).on(hush.Poisson(rate=1e-4)).repeat(1000), None),
}
"""What is released beside a training, and epsilon of both at delta 1e-7."""


@pytest.mark.parametrize("name", BESIDE)
def test_both_ends_are_near(name: str) -> None:
    beside, epsilon = BESIDE[name]
    found = hush.Gaussian(0.6).on(hush.Poisson(rate=1e-4)).repeat(1000).then(beside).epsilon(delta=1e-7)
    assert found.upper - found.lower < 1e-6 * found.upper
    assert epsilon is None or found.upper == pytest.approx(epsilon, rel=1e-6)
