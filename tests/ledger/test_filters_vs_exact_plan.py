"""How many equal releases each filter admits, against the plan that is fixed in advance; and the price of a training."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import pytest

import hush
from hush.ledger import Budget, Filter, GDPFilter, MixtureFilter, PureFilter, RenyiFilter, ZCDPFilter
from hush.ledger.filters.fixed_order import order_budget
from hush.ledger.filters.gaussian_filter import pure_to_mu
from hush.ledger.filters.mixture_filter import log_worst_delta

TRAINING = hush.Gaussian(1.0).on(hush.Poisson(rate=0.01))
ROWS = {
    "Gaussian 1 on Poisson .01": (TRAINING, 4.0, 1e-5, 4568),
    "Gaussian 10": (hush.Gaussian(10.0), 2.0, 1e-6, 20),
    "Laplace 20": (hush.Laplace(20.0), 1.0, 1e-6, 26),
    "Exponential .1": (hush.Exponential(0.1), 1.0, 1e-6, 22),
}
"""Step, budget, and how many steps of it the exact plan allows."""


def admitted(filter: Filter, step: hush.Mechanism) -> int:
    cost, low, high = filter.cost(step), 0, 1 << 20
    while high - low > 1:
        middle = (low + high) // 2
        fits = filter.admits(tuple(middle * part for part in cost))
        low, high = (middle, high) if fits else (low, middle)
    return low


@pytest.mark.parametrize("row", ROWS)
def test_the_default_admits_four_fifths_of_the_exact_plan(row: str) -> None:
    step, epsilon, delta, exact = ROWS[row]
    assert step.repeat(exact).epsilon(delta=delta).upper <= epsilon < step.repeat(exact + 1).epsilon(delta=delta).upper
    found = admitted(Budget(epsilon=epsilon, delta=delta).filter, step)
    assert 0.8 * exact <= found <= exact


@pytest.mark.parametrize("row", ROWS)
def test_no_filter_admits_more_than_the_plan(row: str) -> None:
    step, epsilon, delta, exact = ROWS[row]
    assert 0 < admitted(MixtureFilter(epsilon, delta), step) <= exact
    assert admitted(within(ZCDPFilter, epsilon, delta), step) <= exact
    for filter, known in (
        (PureFilter(epsilon), row[0] in "LE"),
        (within(GDPFilter, epsilon, delta), "Poisson" not in row),
    ):
        if known:
            assert admitted(filter, step) <= exact
        else:
            with pytest.raises(hush.NotCovered):
                filter.cost(step)


def within(kind: type[Filter], epsilon: float, delta: float) -> Filter:
    """The filter with the largest parameter that promises epsilon at delta."""
    low, high = 1e-4, 1e2
    for _ in range(40):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if kind(middle).promised(delta) <= epsilon else (low, middle)
    return kind(low)


def test_gaussian_noise_under_gdp_is_exact() -> None:
    mu = float(hush.calibrate(hush.GaussianDP, over=(0.01, 10), epsilon=2.0, delta=1e-6, tolerance=1e-9).value)
    assert admitted(GDPFilter(mu), hush.Gaussian(10.0)) == 20


def test_a_training_is_one_entry_at_the_price_of_its_curve() -> None:
    """10,000 steps cost what their exact curve says at the order, and no more than as many steps that are chosen."""
    filter = RenyiFilter(8.0, 1e-5)
    (whole,), (step,) = filter.cost(TRAINING.repeat(10_000)), filter.cost(TRAINING)
    exact = float(TRAINING.repeat(10_000).renyi(orders=[filter.order])[0])
    assert exact <= whole / 2**60 <= exact * (1 + 1e-15)
    assert whole <= 10_000 * step


def test_orders_and_costs_are_those_of_the_budget_alone() -> None:
    """What was spent changes neither the order nor a cost; and each rounds up."""
    filter = Budget(epsilon=1.0, delta=1e-6).filter
    assert filter == RenyiFilter(1.0, 1e-6) == Budget.from_json(Budget(epsilon=1.0, delta=1e-6).to_json()).filter
    assert filter.cost(hush.Gaussian(1e6))[0] >= 1
    assert PureFilter(1.0).cost(hush.PureDP(5e-324)) == (1,)
    assert PureFilter(1.0).cost(hush.PureDP(0.1))[0] >= 0.1 * 2**60


@pytest.mark.parametrize("epsilon", [1e-300, 1e-12, 1e-6, 0.1, 0.999, 1.0, 5.0, 40.0, 700.0])
def test_mu_of_pure_dp_vs_50_digits(epsilon: float) -> None:
    with mpmath.workdps(700 if epsilon < 1e-50 else 340):
        share = mpmath.tanh(mpmath.mpf(epsilon) / 2)
        found = mpmath.mpf(pure_to_mu(epsilon)) / (2 * mpmath.sqrt(2))
        assert share <= mpmath.erf(found)  # the quantile is no smaller
        assert mpmath.erf(found * (1 - mpmath.mpf(10) ** -11)) < share


@pytest.mark.parametrize(
    "filter", [RenyiFilter(1.0, 1e-6), ZCDPFilter(0.1), GDPFilter(1.0), MixtureFilter(1.0, 1e-6)], ids=str
)
def test_what_reveals_anything_costs_something(filter: Filter) -> None:
    for faint in (hush.Gaussian(1e9), hush.PureDP(1e-200), hush.PureDP(5e-324)):
        assert min(filter.cost(faint)) >= 1
    assert set(filter.cost(hush.Gaussian(1.0).repeat(0))) == {0}


@pytest.mark.parametrize(("order", "epsilon", "delta"), [(6.0, 4.0, 1e-5), (1.5, 20.0, 1e-9), (1368.0, 1.0, 1e-300)])
def test_the_budget_of_an_order_vs_50_digits(order: float, epsilon: float, delta: float) -> None:
    with mpmath.workdps(50):
        a = mpmath.mpf(order)
        exact = epsilon + mpmath.log(mpmath.mpf(delta) * a / (1 - 1 / a) ** (a - 1)) / (a - 1)
        found = order_budget(order, epsilon, math.log(delta))
        assert found <= exact
        assert found >= exact - 1e-13 * max(1, abs(exact))
        # at the limit, the worst two-point pair has exactly this delta: sup of (1 - e^(eps - l)) e^(-(a-1)(l - B))
        place = epsilon + mpmath.log(a / (a - 1))
        reached = (1 - mpmath.exp(epsilon - place)) * mpmath.exp(-(a - 1) * (place - exact))
        assert reached == pytest.approx(delta, rel=1e-12)


@pytest.mark.parametrize("spent", [(0.1, 0.2, 0.4), (1.0, 1.5, 3.0), (0.0, 0.0, 0.0), (5.0, 9.0, 30.0)])
def test_the_mixture_vs_a_fine_grid(spent: tuple[float, ...]) -> None:
    orders, weights, epsilon = (2.0, 4.5, 17.0), (0.5, 0.3, 0.2), 1.5
    found = log_worst_delta([(a - 1, math.log(w), s) for a, w, s in zip(orders, weights, spent, strict=True)], epsilon)
    with mpmath.workdps(40):

        def ratio(l: mpmath.mpf) -> mpmath.mpf:
            below = sum(w * mpmath.exp((a - 1) * (l - s)) for a, w, s in zip(orders, weights, spent, strict=True))
            return (1 - mpmath.exp(epsilon - l)) / below

        best = max(ratio(epsilon + mpmath.mpf(k) / 400) for k in range(1, 2400))
        assert best <= mpmath.exp(found) <= best * (1 + 1e-3)


@pytest.mark.parametrize("scale", [3.0, 7.0, 49.0, 0.7, 1.0, 10.0, 0.3])
def test_a_pure_budget_is_never_overdrawn_by_rounding(scale: float) -> None:
    """The largest loss of Laplace noise is one over its scale, of the decimals that were written, rounded up."""
    exact = 1 / Fraction(repr(scale))
    for noise in (hush.Laplace(scale), hush.DiscreteLaplace(scale)):
        promised = noise.epsilon(delta=0.0).upper
        assert 0 <= Fraction(repr(promised)) - exact <= 2 * Fraction(math.ulp(promised))
        below = PureFilter(math.nextafter(promised, 0.0))
        assert not below.admits(below.cost(noise))
        enough = PureFilter(promised)
        assert enough.admits(enough.cost(noise))
