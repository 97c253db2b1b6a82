"""The two engines, each on its own, on the same product of pairs: their certified intervals overlap."""

from __future__ import annotations

import math

from hypothesis import assume, given

import hush
from hush.curves.composition.product import Product
from hush.curves.composition.routes import QUICK, ContourRoute, GridRoute, RenyiRoute
from hush.curves.interval import Interval
from hush.curves.pairs.pair import Pair
from hush.mechanisms.neighbours import ADDED, REMOVED
from tests.laws.comparison import overlap
from tests.strategies import DELTAS, EPSILONS, LAWS, plain


def products(mechanism: hush.Mechanism) -> list[Product]:
    """The composition in each direction, as the engines get it: something must be random."""
    found = []
    for neighbours in (REMOVED, ADDED):
        pair: Pair = mechanism.evidence(neighbours).pair
        product = pair if isinstance(pair, Product) else Product(((pair, 1),))
        assume(product.parts and product.analytic)
        assume(any(law.pieces or len(set(law.losses.tolist())) > 1 for law, _ in product.laws))
        found.append(product)
    return found


def certified(*intervals: Interval) -> bool:
    return all(low <= high and not math.isnan(high) for low, high in intervals)


@LAWS
@given(plain(2), EPSILONS)
def test_log_delta(mechanism: hush.Mechanism, epsilon: float) -> None:
    for product in products(mechanism):
        if epsilon >= product.largest_loss:
            continue
        contour = ContourRoute(product.laws).log_delta(epsilon, 1e-6)
        grid = GridRoute(product.parts, product.laws, QUICK).log_delta(epsilon, 1e-6)
        assert certified(contour, grid)
        assert overlap(contour, grid, 1e-9), (contour, grid)
        # Markov's inequality is above both
        assert RenyiRoute(product.laws).log_delta(epsilon, 1e-6)[1] >= max(contour[0], grid[0]) - 1e-9


@LAWS
@given(plain(2), DELTAS)
def test_epsilon(mechanism: hush.Mechanism, delta: float) -> None:
    for product in products(mechanism):
        contour = ContourRoute(product.laws).epsilon(math.log(delta), 1e-6)
        grid = GridRoute(product.parts, product.laws, QUICK).epsilon(math.log(delta), 1e-6)
        assert certified(contour, grid)
        assert overlap(contour, grid, 1e-9), (contour, grid)
        assert RenyiRoute(product.laws).epsilon(math.log(delta), 1e-6)[1] >= max(contour[0], grid[0]) * (1 - 1e-9)
