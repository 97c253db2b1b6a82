"""One sample of several releases: tables from both sides against all outcomes, and against the profile itself."""

from __future__ import annotations

import math
from functools import reduce

import numpy as np
import pytest

import hush
from hush.curves.composition.product import Product
from hush.curves.pairs.finite import FinitePair
from hush.curves.pairs.pair import Pair
from hush.mechanisms.neighbours import ADDED, REMOVED

RATES = (0.01, 0.1, 0.5)
WHOLES = {
    "gaussian, laplace": hush.Gaussian(1.0).then(hush.Laplace(1.0)),
    "three of laplace": hush.Laplace(2.0).repeat(3),
    "sampled gaussians": hush.Gaussian(2.0).on(hush.Poisson(rate=0.3)).repeat(8),
    "approximate, laplace": hush.ApproxDP(0.5, 1e-4).then(hush.Laplace(1.5)),
    "choices, gaussian": hush.Exponential(0.5).repeat(3).then(hush.Gaussian(1.5)),
}


def outer(arrays: list[np.ndarray]) -> np.ndarray:
    return reduce(lambda a, b: np.multiply.outer(a, b).ravel(), arrays)


def sampled(pair: Pair, rate: float, remove: bool) -> Pair:
    return pair.mix(rate) if remove else pair.swap().mix(rate).swap()


@pytest.mark.parametrize("seed", range(6))
def test_random_finite_releases_vs_all_outcomes(seed: int) -> None:
    random = np.random.default_rng(seed)
    sizes = random.integers(2, 5, size=random.integers(2, 4))
    laws = [(random.dirichlet(np.ones(m)), random.dirichlet(np.ones(m))) for m in sizes]
    p, q = outer([p for p, _ in laws]), outer([q for _, q in laws])
    whole = Product.of([(FinitePair.of(p, q), 1) for p, q in laws])
    rate, times = float(random.choice(RATES)), int(random.integers(1, 4))
    for remove in (True, False):
        above, below = (rate * p + (1 - rate) * q, q) if remove else (p, rate * q + (1 - rate) * p)
        above, below = outer([above] * times), outer([below] * times)
        found = Product.of([(sampled(whole, rate, remove), times)])
        for epsilon in (-0.3, 0.1):
            truth = float(np.maximum(above - math.exp(epsilon) * below, 0.0).sum())
            low, high = (math.exp(end) for end in found.log_delta(epsilon))
            assert low <= truth * (1 + 1e-12) + 1e-15
            assert high >= truth * (1 - 1e-12) - 1e-15
            assert high - low <= 2e-3 * truth + 1e-6


@pytest.mark.parametrize("rate", [0.01, 0.5])
@pytest.mark.parametrize("name", WHOLES)
def test_tables_enclose_the_profile(name: str, rate: float) -> None:
    """Of one sample, in both directions, also for negative epsilons."""
    for neighbours, remove in ((REMOVED, True), (ADDED, False)):
        whole = WHOLES[name].evidence(neighbours).pair
        pair = sampled(whole, rate, remove)
        below, above = pair.enclosure()
        for epsilon in (-0.4, 0.02, 0.6):
            low, high = pair.log_delta(epsilon, 1e-6)
            assert below.log_delta(epsilon)[0] <= high + 1e-11
            assert above.log_delta(epsilon)[1] >= low - 1e-11
            if "choices" not in name and math.exp(low) > 1e-6:
                assert above.log_delta(epsilon)[1] - below.log_delta(epsilon)[0] < 1e-3


@pytest.mark.parametrize("name", ["gaussian, laplace", "three of laplace", "sampled gaussians"])
@pytest.mark.parametrize(("rate", "times"), [(0.1, 10), (0.01, 40)])
def test_composed_samples_are_narrow(name: str, rate: float, times: int) -> None:
    found = WHOLES[name].on(hush.Poisson(rate=rate)).repeat(times).epsilon(delta=1e-5)
    assert found.upper - found.lower <= 1e-3 * found.upper


def test_the_sample_of_one_release_vs_the_contour() -> None:
    """A table of one release, which has a law of its own to compare with."""
    base = Product(((hush.Laplace(1.0).evidence(REMOVED).pair, 1),))
    tabled = Product(((base.mix(0.2), 6),))
    exact = hush.Laplace(1.0).on(hush.Poisson(rate=0.2)).repeat(6).evidence(REMOVED).pair
    low, high = tabled.epsilon(math.log(1e-5))
    truth = exact.epsilon(math.log(1e-5), 1e-9)
    assert low <= truth[1]
    assert high >= truth[0]
    assert high - low < 1e-4 * high


def test_nested_samples() -> None:
    inner = hush.Gaussian(1.0).on(hush.Poisson(rate=0.3)).repeat(3)
    found = inner.on(hush.Poisson(rate=0.5)).repeat(2).epsilon(delta=1e-5)
    assert 0 < found.upper - found.lower <= 1e-4 * found.upper
    assert inner.epsilon(delta=1e-5).lower * 0.5 < found.upper <= inner.repeat(2).epsilon(delta=1e-5).upper
