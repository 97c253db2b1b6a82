"""A contour that leaves out losses of negligible mass against the whole law and against the grid."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import integrate, stats

from hush import Gaussian, Poisson
from hush.curves.composition.product import Product
from hush.curves.composition.routes import FULL, ContourRoute, GridRoute
from hush.numerics.engines.contour import log_delta_bounds
from hush.numerics.laws.normals import Normals


@pytest.mark.parametrize("tilt", [0.5, 3.0, 20.0])
@pytest.mark.parametrize("log_mass", [-20.0, -45.0])
def test_moments_of_what_is_left(tilt: float, log_mass: float) -> None:
    """E[e^{cL}; x <= end] by adaptive quadrature, within the error that the nodes state."""
    whole = Normals(((0.0, 0.99), (1.25, 0.01)), ((0.0, 1.0),))
    piece, missing = whole.without_tail(log_mass)
    assert stats.norm.sf(piece.end) * 0.99 + stats.norm.sf(piece.end - 1.25) * 0.01 <= missing <= math.exp(log_mass)
    nodes = piece.nodes(tilt, 0.0, 38.0)

    def density(x: float) -> float:
        mixture = 0.99 + 0.01 * math.exp(1.25 * x - 1.25**2 / 2)
        return math.exp(-0.5 * x * x) / math.sqrt(2 * math.pi) * mixture ** (1 + tilt)

    cuts = np.linspace(-12, piece.end, 60)
    truth = sum(integrate.quad(density, a, b, epsabs=0, epsrel=1e-12)[0] for a, b in itertools.pairwise(cuts))
    assert float(np.exp(nodes.log_weight).sum()) == pytest.approx(truth, rel=2 * nodes.error + 1e-11)


@pytest.mark.parametrize(("noise", "rate", "times", "delta"), [(1.0, 0.01, 1000, 1e-8), (2.0, 0.001, 10**5, 1e-10)])
def test_same_answer(noise: float, rate: float, times: int, delta: float) -> None:
    product = Gaussian(noise).on(Poisson(rate=rate)).repeat(times).pairs()["remove"]
    assert isinstance(product, Product)
    contour = ContourRoute(product.laws)
    cut = ContourRoute(contour._without_tails(math.log(delta) - 16))
    assert any(law.missing > 0 for law, _ in cut.laws)
    whole, part = (route.epsilon(math.log(delta), 1e-6) for route in (contour, cut))
    assert part[0] <= whole[1]
    assert whole[0] <= part[1]


@pytest.mark.parametrize(("epsilon", "log_mass"), [(8.0, -5.0), (8.0, -25.0), (300.0, -10.0), (300.0, -1000.0)])
def test_what_is_left_out_is_added(epsilon: float, log_mass: float) -> None:
    """However much it is: more than delta, more than all floats above the scale of the line, or next to nothing."""
    product = Gaussian(1.0).on(Poisson(rate=0.01)).repeat(1000).pairs()["remove"]
    step = Gaussian(1.0).on(Poisson(rate=0.01)).pairs()["remove"]
    assert isinstance(product, Product)
    cut = ContourRoute(product.laws)._without_tails(log_mass)
    low, high = log_delta_bounds(cut, epsilon, 1e-6)
    least, most = step.log_delta(epsilon)[0], ContourRoute(product.laws).log_delta(epsilon, 1e-6)[1]
    assert max(least, math.log(sum(n * law.missing for law, n in cut))) <= high
    assert low <= most


def test_many_rare_losses_vs_grid() -> None:
    """Moments of all useful orders are ruled by events far rarer than delta; the grid agrees with what is left."""
    product = Gaussian(4.0).on(Poisson(rate=1e-4)).repeat(10**6).pairs()["remove"]
    assert isinstance(product, Product)
    log_delta = math.log(1e-30)
    low, high = ContourRoute(product.laws).epsilon(log_delta, 1e-6)
    assert high - low < 1e-5 * high
    grid = GridRoute(product.parts, product.laws, FULL).epsilon(log_delta, 1e-6)
    assert grid[0] <= high
    assert low <= grid[1]
