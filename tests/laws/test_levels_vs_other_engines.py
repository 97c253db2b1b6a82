"""Contour, grid, levels and direct convolution agree wherever two of them answer."""

from __future__ import annotations

import math
from random import Random

import pytest

from hush.curves.composition.routes import ContourRoute, DirectRoute, GridRoute, LevelsRoute, Route
from hush.curves.pairs.normal import NormalPair
from hush.numerics.work import attempt, question

Problem = tuple[list[tuple[NormalPair, int]], float]


def problem(random: Random) -> Problem:
    """A few parts, each sampled Gaussian noise in one direction or the other, or replaced, or not sampled at all."""

    def log_uniform(low: float, high: float) -> float:
        return math.exp(random.uniform(math.log(low), math.log(high)))

    parts = []
    for _ in range(random.choice([1, 1, 1, 2])):
        shift, rate, times = 1 / log_uniform(0.3, 20), log_uniform(1e-6, 0.5), int(log_uniform(1, 1e5))
        plain = NormalPair.shifted(shift)
        replaced = NormalPair(((0.0, 1 - rate), (shift, rate)), ((-shift, rate), (0.0, 1 - rate)))
        parts.append(
            (random.choice([plain.mix(rate), plain.mix(rate), plain.mix(rate).swap(), replaced, plain]), times)
        )
    return parts, math.log(log_uniform(1e-40, 1e-2))


def engines(parts: list[tuple[NormalPair, int]]) -> list[Route]:
    laws = tuple((pair.law(), n) for pair, n in parts)
    few = sum(n for _, n in parts) <= 128
    pairs = tuple(parts)
    return [
        LevelsRoute(laws),
        ContourRoute(laws),
        GridRoute(pairs, laws, (1 << 12,)),
        *([DirectRoute(pairs)] if few else []),
    ]


def contradiction(seed: int) -> str | None:
    parts, log_delta = problem(Random(seed))
    found: dict[str, tuple[float, float]] = {}
    for engine in engines(parts):
        with question():
            found[type(engine).__name__] = attempt(lambda e=engine: e.epsilon(log_delta, 1e-6), (0.0, math.inf))
    low, high = max(a for a, _ in found.values()), min(b for _, b in found.values())
    if low > high * (1 + 1e-12):
        return f"{parts} at {log_delta}: {found}"
    if 0 < low and high < math.inf:
        epsilon, ends = (low + high) / 2 * 0.98, []
        for engine in engines(parts):
            with question():
                ends.append(attempt(lambda e=engine: e.log_delta(epsilon, 1e-6), (-math.inf, 0.0)))
        if max(a for a, _ in ends) > min(b for _, b in ends) + 1e-12:
            return f"{parts} at epsilon {epsilon}: {ends}"
    return None


@pytest.mark.parametrize("seed", range(14))
def test_engines_agree(seed: int) -> None:
    assert contradiction(seed) is None


@pytest.mark.slow
@pytest.mark.parametrize("block", range(200))
def test_engines_agree_on_many_points(block: int) -> None:
    assert [found for seed in range(1000 + 100 * block, 1100 + 100 * block) if (found := contradiction(seed))] == []
