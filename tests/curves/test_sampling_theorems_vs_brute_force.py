"""Sampling theorems of a curve against mechanisms with a few outcomes, whose samples are computed exactly."""

from __future__ import annotations

import math
from random import Random

import numpy as np
import pytest

from hush.curves.pairs.finite import FinitePair
from hush.curves.renyi import sampling
from hush.curves.renyi.curve import RenyiCurve
from tests.formulas import renyi

ORDERS = [2.0, 3.0, 4.0, 5.0, 8.0, 15.0, 2.5, 6.5]
ROUNDING = 1e-14
"""Of the brute force: a logarithm of 1 plus little."""
RATES = [0.01, 0.1, 0.4, 0.8]


def law(random: Random, size: int) -> np.ndarray:
    weights = np.array([random.random() ** random.choice([1, 3, 8]) + 1e-4 for _ in range(size)])
    return weights / weights.sum()


def worst(laws: list[np.ndarray]) -> RenyiCurve:
    """The curve of a mechanism whose neighbouring outputs are any two of these."""
    pairs = [(p, q) for p in laws for q in laws if p is not q]
    return RenyiCurve.of(lambda order: max(renyi(p, q, order) for p, q in pairs) if order > 1 else 0.0)


def distributions(random: Random, count: int) -> list[np.ndarray]:
    """A few laws, some of them close to one another."""
    base = law(random, random.randint(2, 5))
    near = random.choice([0.02, 0.3, 1.0])
    return [(1 - near) * base + near * law(random, len(base)) for _ in range(count)]


@pytest.mark.parametrize("seed", range(25))
def test_without_replacement(seed: int) -> None:
    """Outputs with the record, with its replacement and without it are mutually neighbouring."""
    with_one, with_other, without = distributions(Random(seed), 3)
    curve = worst([with_one, with_other, without])
    for rate in RATES:
        p, q = rate * with_one + (1 - rate) * without, rate * with_other + (1 - rate) * without
        bound = sampling.without_replacement(curve, rate)
        for order in ORDERS:
            assert renyi(p, q, order) <= bound(order) * (1 + 1e-12) + ROUNDING


@pytest.mark.parametrize("seed", range(25))
def test_poisson(seed: int) -> None:
    absent, present = distributions(Random(seed), 2)
    curve = worst([absent, present])
    for rate in RATES:
        mixed = (1 - rate) * absent + rate * present
        bound = sampling.poisson(curve, rate)
        for order in ORDERS:
            assert renyi(mixed, absent, order) <= bound(order) * (1 + 1e-12) + ROUNDING
            assert renyi(absent, mixed, order) <= bound(order) * (1 + 1e-12) + ROUNDING


@pytest.mark.parametrize("seed", range(25))
def test_poisson_of_mirror_images(seed: int) -> None:
    """Removing attains the bound at whole orders; adding stays below it."""
    (absent,) = distributions(Random(seed), 1)
    present = absent[::-1]
    curve = worst([absent, present]).declaring(mirrored=True)
    for rate in RATES:
        mixed = (1 - rate) * absent + rate * present
        bound = sampling.poisson_mirrored(curve, rate)
        for order in ORDERS:
            # where the law is nearly its own mirror image, the divergence itself is no more than rounding
            if order == math.floor(order) and renyi(mixed, absent, order) > 1e-9:
                truth = min(renyi(mixed, absent, order), curve(order))
                assert truth == pytest.approx(bound(order), rel=1e-5)
            assert renyi(absent, mixed, order) <= bound(order) * (1 + 1e-9) + 1e-13


@pytest.mark.parametrize("seed", range(10))
def test_without_replacement_where_one_pair_is_worst(seed: int) -> None:
    """Mirror images with the third law between them: the pair of the two dominates."""
    random = Random(seed)
    epsilon = random.choice([0.1, 1.0, 2.0])
    high = 1 / (1 + math.exp(-epsilon))
    laws = [np.array([high, 1 - high]), np.array([1 - high, high]), np.array([0.5, 0.5])]
    pair = FinitePair.of(laws[0], laws[1])
    for rate in RATES:
        bound = sampling.without_replacement_pair(pair, rate)
        for one, other, without in ((0, 1, 2), (0, 1, 0), (0, 1, 1)):
            p = rate * laws[one] + (1 - rate) * laws[without]
            q = rate * laws[other] + (1 - rate) * laws[without]
            for order in ORDERS:
                assert renyi(p, q, order) <= bound(order) * (1 + 1e-12) + ROUNDING
