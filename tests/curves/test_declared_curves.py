"""What a user's Rényi function says is checked; nothing that is not a number becomes a bound."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

import hush
from hush.curves.interval import Interval, agreed_epsilon, agreed_log_delta, known
from hush.curves.pairs.finite import FinitePair
from hush.errors import Contradiction, InvalidParameter
from hush.mechanisms.leaves.posterior import exponential_family

DELTA = 1e-5


def plain_laplace(order: float) -> float:
    """Mironov 2017, Prop. 6, as it is written: 0/0 at order 1, inf/inf at infinity, overflow from order 711 on."""
    high = order / (2 * order - 1) * math.exp(order - 1)
    return math.log(high + (order - 1) / (2 * order - 1) * math.exp(-order)) / (order - 1)


def numpy_laplace(order: float) -> float:
    high = order / (2 * order - 1) * np.exp(order - 1)
    return float(np.log(high + (order - 1) / (2 * order - 1) * np.exp(-order)) / np.float64(order - 1))


@pytest.mark.parametrize("function", [plain_laplace, numpy_laplace])
def test_a_formula_without_a_value_at_the_limits(function: Callable[[float], float]) -> None:
    stated = hush.RenyiDP(function=function)
    true = (10 * hush.Laplace(1.0).renyi_curve()).epsilon(delta=DELTA)
    assert stated.repeat(10).epsilon(delta=DELTA).upper == pytest.approx(true, rel=1e-9)
    assert stated.renyi(orders=[1.0, 2.0, math.inf])[:2] == pytest.approx(
        hush.Laplace(1.0).renyi(orders=[1.0, 2.0]), rel=1e-5
    )
    assert stated.renyi(orders=[math.inf])[0] == math.inf
    assert stated.then(hush.Laplace(1.0)).epsilon(delta=DELTA).upper > stated.epsilon(delta=DELTA).upper > 0.9
    sampled = stated.on(hush.Poisson(rate=0.5))
    assert sampled.epsilon(delta=DELTA).upper > hush.Laplace(1.0).on(hush.Poisson(rate=0.5)).epsilon(delta=DELTA).lower
    assert "epsilon = 9.991" in stated.repeat(10).statement(delta=DELTA)
    assert "epsilon <= 9.99019" in stated.repeat(10).explain(delta=DELTA)
    found = hush.calibrate(stated.repeat, over=(1, 100), epsilon=9.0, delta=DELTA).value
    assert (
        found
        == hush.calibrate(
            hush.RenyiDP(function=hush.Laplace(1.0).renyi_curve()).repeat, over=(1, 100), epsilon=9.0, delta=DELTA
        ).value
    )


WRONG: dict[str, Callable[[float], object]] = {
    "negative": lambda a: -5,
    "negative at some orders": lambda a: a - 3,
    "falling": lambda a: 1 / a,
    "falling in the end": lambda a: min(a, 40 - a / 1e5),
    "no number at a finite order": lambda a: math.nan if 1.5 < a < 1000 else a,
    "a text": lambda a: "3",
    "a truth value": lambda a: a > 2,
    "complex": lambda a: complex(a, 1),
    "nothing": lambda a: None,
    "an array": lambda a: np.array([a, a]),
    "division by zero": lambda a: a / (a - a),
    "a key that is missing": lambda a: {2.0: 1.0}[a],
    "minus infinity": lambda a: -math.inf,
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_no_curve_is_refused(name: str) -> None:
    wrong: Callable[[float], float] = WRONG[name]  # type: ignore[assignment]
    for mechanism in (
        hush.RenyiDP(function=wrong),
        hush.RenyiDP(function=wrong).repeat(10),
        hush.RenyiDP(function=wrong).then(hush.Gaussian(1.0)),
    ):
        with pytest.raises(InvalidParameter, match="A Rényi function needs"):
            mechanism.epsilon(delta=DELTA)
        with pytest.raises(InvalidParameter):
            mechanism.log_delta(epsilon=1.0)
        with pytest.raises(InvalidParameter):
            mechanism.statement(delta=DELTA)
        assert "Answer: none. A Rényi function needs" in mechanism.explain(delta=DELTA)
    with pytest.raises(InvalidParameter):
        hush.RenyiDP(function=wrong).on(hush.Poisson(rate=0.1)).renyi(orders=np.linspace(1.5, 60, 99))
    with pytest.raises(InvalidParameter):
        hush.calibrate(hush.RenyiDP(function=wrong).repeat, over=(1, 100), epsilon=1.0, delta=DELTA)
    with pytest.raises(InvalidParameter):
        hush.RenyiCurve.of(wrong).optimal_epsilon(delta=DELTA)


def test_functions_of_many_orders_are_checked_too() -> None:
    with pytest.raises(InvalidParameter, match="do not fall"):
        hush.RenyiCurve(lambda orders: 1 / orders).epsilon(delta=DELTA)
    with pytest.raises(InvalidParameter):
        hush.RenyiCurve(lambda orders: orders * math.nan)(2.0)
    with pytest.raises(InvalidParameter):
        hush.RenyiCurve(lambda orders: orders[:1])([2.0, 3.0])
    for wrong in (-1.0, math.nan):
        with pytest.raises(InvalidParameter):
            hush.RenyiCurve.linear(wrong)
        with pytest.raises(InvalidParameter):
            hush.RenyiCurve.constant(wrong)
    assert hush.RenyiCurve.linear(0.0)(math.inf) == 0


def test_falling_across_calls() -> None:
    curve = hush.RenyiCurve.of(lambda a: 2.0 if a < 10 else 1.0)
    assert curve(2.0) == 2
    with pytest.raises(InvalidParameter, match="do not fall"):
        curve(20.0)
    mechanism = hush.RenyiDP(function=lambda a: 2.0 if a < 10 else 1.0)
    assert mechanism.renyi(orders=[20.0])[0] == 1
    with pytest.raises(InvalidParameter, match="do not fall"):
        mechanism.renyi(orders=[2.0])


def test_overflow_is_no_bound() -> None:
    found = hush.RenyiDP(function=lambda a: math.exp(a) / 1e3)
    assert found.renyi(orders=[2.0, 1e4]).tolist() == [math.exp(2) / 1e3, math.inf]
    assert 0 < found.epsilon(delta=DELTA).upper < 3
    assert hush.RenyiDP(function=lambda a: 10**400).epsilon(delta=DELTA).upper == math.inf


def test_infinity_says_nothing_about_other_orders() -> None:
    known_from_two_on = hush.RenyiDP(function=lambda a: a if a >= 2 else math.inf)
    assert known_from_two_on.epsilon(delta=DELTA).upper < hush.ZCDP(1.0).epsilon(delta=DELTA).upper * (1 + 1e-9)


def test_rounding_near_order_one_is_no_fault() -> None:
    curve = hush.RenyiCurve.of(plain_laplace)
    curve(1 + np.geomspace(1e-10, 1e3, 400))
    tiny = hush.RenyiCurve.of(lambda a: math.log(math.exp((a - 1) * 1e-14 * a)) / (a - 1) - 1e-16)
    assert tiny.epsilon(delta=DELTA) == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda eta: -(eta[:, 0] ** 2),
        lambda eta: math.log(-1),
        lambda eta: eta,
        lambda eta: np.full(len(eta), math.nan),
    ],
)
def test_no_log_partition(wrong: Callable[[np.ndarray], np.ndarray]) -> None:
    with pytest.raises(InvalidParameter, match="log-partition"):
        exponential_family(wrong, neighbouring=[((1.0,), (0.0,))]).epsilon(delta=DELTA)


class NoNumbers(FinitePair):
    """A user's pair that knows no numbers."""

    def log_delta(self, epsilon: float, tolerance: float = 1e-9) -> Interval:
        return math.nan, math.nan

    def epsilon(self, log_delta: float, tolerance: float = 1e-9, floor: float = 0.0) -> Interval:
        return 0.0, math.nan

    def swap(self) -> NoNumbers:
        return self


def test_a_pair_that_is_no_number() -> None:
    likely = math.e / (1 + math.e)
    pair = NoNumbers(np.array([-1.0, 1.0]), np.array([1 - likely, likely]))
    broken = hush.FromPair(pair, pair)
    plain = FinitePair(pair.losses, pair.mass)
    assert pair != plain  # or what is kept of the plain one would answer for it
    hush.FromPair(plain, plain).tradeoff(false_positive_rate=0.1)
    for ask in (
        lambda m: m.epsilon(delta=DELTA),
        lambda m: m.log_delta(epsilon=1.0),
        lambda m: m.delta(epsilon=1.0),
        lambda m: m.tradeoff(false_positive_rate=0.1),
        lambda m: m.advantage(),
    ):
        for mechanism in (broken, broken.beside(hush.Gaussian(3.0)), hush.PureDP(3.0).beside(broken)):
            with pytest.raises(Contradiction):
                ask(mechanism)


@pytest.mark.parametrize("ends", [(math.nan, 1.0), (0.0, math.nan), (math.nan, math.nan), (2.0, 1.0), (0.0, -math.inf)])
def test_a_bound_is_two_numbers_in_order(ends: tuple[float, float]) -> None:
    with pytest.raises(Contradiction):
        hush.Bound(*ends)
    with pytest.raises(Contradiction):
        agreed_epsilon(*ends)
    if any(map(math.isnan, ends)):
        with pytest.raises(Contradiction):
            known(ends)
    with pytest.raises(Contradiction):
        agreed_log_delta(*ends)


@pytest.mark.parametrize("bend", [1.1, 1.5, 1.9, 2.5, 4.0, 50.0])
def test_a_function_that_falls_near_order_1_is_found_out(bend: float) -> None:
    """The bound at infinity alone would be the answer here."""
    with pytest.raises(InvalidParameter, match="do not fall"):
        hush.RenyiDP(function=lambda order: 10.0 if order < bend else 0.1).delta(epsilon=1.0)
