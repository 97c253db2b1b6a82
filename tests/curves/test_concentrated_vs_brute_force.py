"""tCDP's sampling theorem against the generic one, its conditions, and zCDP, which gets none."""

from __future__ import annotations

import math
from random import Random

import numpy as np
import pytest

import hush
from hush.curves.pairs.normal import NormalPair
from hush.curves.renyi.concentrated import tcdp_sample
from hush.curves.renyi.sampling import poisson, without_replacement_pair
from tests.formulas import renyi


@pytest.mark.parametrize("rho", [1e-6, 1e-4, 0.003, 0.02, 0.1])
@pytest.mark.parametrize("rate", [1e-12, 1e-4, 0.01, 0.1])
def test_gaussian_noise_obeys_it(rho: float, rate: float) -> None:
    """Upper bounds for the worst pair, at all orders below the new omega that are summed, stay below the new line."""
    sampled_rho, sampled_omega = tcdp_sample(rho, -math.log(rate) / (2 * rho), rate)
    orders = np.unique(np.floor(np.geomspace(2, min(sampled_omega, 300.0), 12)))
    orders = orders[orders < sampled_omega]
    upper = without_replacement_pair(NormalPair.shifted(math.sqrt(2 * rho)), rate)(orders)
    assert np.all(upper <= sampled_rho * orders)


@pytest.mark.parametrize("seed", range(15))
def test_mechanisms_with_a_few_outcomes_obey_it(seed: int) -> None:
    """Outputs with a record, with its replacement and without it: rho from their divergences, then the exact sample."""
    random = Random(seed)
    size, near = random.randint(2, 4), random.choice([0.02, 0.1, 0.2])
    weights = np.array([[1 + near * random.uniform(-1, 1) for _ in range(size)] for _ in range(3)])
    with_one, with_other, without = weights / weights.sum(axis=1, keepdims=True)
    pairs = [(p, q) for p in (with_one, with_other, without) for q in (with_one, with_other, without) if p is not q]
    orders = 1 + np.geomspace(1e-3, 1e5, 200)
    rho = max(renyi(p, q, a) / a for p, q in pairs for a in orders.tolist()) * 1.05
    for rate in (1e-3, 0.03, 0.1):
        sampled_rho, sampled_omega = tcdp_sample(rho, math.inf, rate)
        p, q = rate * with_one + (1 - rate) * without, rate * with_other + (1 - rate) * without
        for order in np.geomspace(1.01, sampled_omega, 30).tolist():
            assert renyi(p, q, order) <= sampled_rho * order + 1e-13


def test_conditions_are_enforced() -> None:
    for bad in ((0.2, 100.0, 0.01), (0.0, 100.0, 0.01), (0.05, 100.0, 0.2), (0.05, 100.0, 0.0)):
        with pytest.raises(hush.InvalidParameter):
            tcdp_sample(*bad)
    with pytest.raises(hush.NotCovered, match="omega"):
        tcdp_sample(0.05, 20.0, 1e-3)
    for rho in np.geomspace(1e-9, 0.1, 50).tolist():
        assert max(3 * rho * (2 + math.log2(1 / rho)), 2 * rho * (3 + 2 * math.log2(1 / rho))) < math.log(10)


def test_zcdp_gets_none_though_its_curve_does() -> None:
    curve = hush.Gaussian(2.0).renyi_curve()
    sampled = poisson(curve, 0.01)
    assert sampled(2.0) < 1e-3 * curve(2.0)
    assert sampled.to_zcdp() == curve.to_zcdp()
    # and no smaller slope would do: the sampled Gaussian's exact divergence approaches the line
    exact = hush.Gaussian(2.0).on(hush.Poisson(rate=0.01)).renyi(orders=[1e4])[0]
    assert exact / 1e4 > 0.99 * curve.to_zcdp()
