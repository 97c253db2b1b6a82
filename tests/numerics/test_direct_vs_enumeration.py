"""Direct convolution against every outcome of a few tables: with a ceiling and without it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hush import Gaussian, Poisson
from hush.curves.composition.product import Product
from hush.curves.composition.routes import DirectRoute, loss_source
from hush.curves.pairs.finite import FinitePair
from hush.curves.pairs.normal import NormalPair
from hush.numerics.engines.direct import direct_bracket
from tests.numerics.enumeration import enumerated

weights = st.lists(st.floats(1e-9, 1.0), min_size=4, max_size=4)


@settings(max_examples=30)
@given(above=weights, below=weights, times=st.integers(1, 4), epsilon=st.floats(0.0, 3.0))
def test_tables(above: list[float], below: list[float], times: int, epsilon: float) -> None:
    p, q = np.array(above) / sum(above), np.array(below) / sum(below)
    truth = enumerated([(p, q)] * times, epsilon)
    source = loss_source(FinitePair.of(p, q), times)
    for ceiling in (math.inf, epsilon, epsilon + 0.1):
        low, high = direct_bracket([source], 400, -690.0, ceiling).log_delta(epsilon)
        assert math.exp(low) <= truth * (1 + 1e-9) + 1e-15, ceiling
        assert math.exp(high) >= truth * (1 - 1e-9) - 1e-15, ceiling


@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize("rate", [1e-3, 0.2])
def test_rare_large_losses(times: int, rate: float) -> None:
    """One or two sampled Gaussians against quadrature over the first and the exact profile of the second."""
    pair = NormalPair.shifted(2.0).mix(rate)
    x = np.linspace(-12, 16, 20_001)
    weight = (x[1] - x[0]) / math.sqrt(2 * math.pi)
    below = np.exp(-0.5 * x * x) * weight
    loss = np.log1p(rate * np.expm1(2 * x - 2))
    for epsilon in (1e-4, 0.01, 1.0):
        truth = math.exp(pair.log_delta(epsilon)[0])
        if times == 2:
            inner = np.array([math.exp(pair.log_delta(epsilon - one)[1]) for one in loss[::4]])
            truth = float(np.sum((below * np.exp(loss))[::4] * inner) * 4)
        low, high = direct_bracket([loss_source(pair, times)], 3000, -690.0, epsilon).log_delta(epsilon)
        assert math.exp(low) * (1 - 3e-5) <= truth <= math.exp(high) * (1 + 3e-5)  # the quadrature has a kink
        assert high - low < 1e-3


def test_the_routes_overlap_where_all_answer() -> None:
    product = Gaussian(2.0).on(Poisson(rate=0.3)).repeat(8).pairs()["remove"]
    assert isinstance(product, Product)
    log_delta = math.log(1e-6)
    low, high = DirectRoute(product.parts).epsilon(log_delta, 1e-6)
    exact = product.epsilon(log_delta, 1e-8)
    assert low <= exact[1]
    assert exact[0] <= high
    assert high - low < 1e-3 * high
