"""The numbers of the sampling figures, against reference cases, closed forms and each other."""

from __future__ import annotations

import json
import math
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from scipy import optimize, stats

import hush
from hush.curves.renyi.convert import advanced_composition
from hush.documents.sampled_noise import (
    ADVANCED,
    DELTA,
    EXACT,
    FIT,
    LOWER,
    OMEGA,
    PROVEN,
    RATE,
    RENYI,
    TCDP,
    TIGHT,
    UPPER,
    ZCDP,
    overall,
    renyi_curves,
    sampled_advanced,
)
from hush.questions.charts.drawing import Chart

MECHANISMS = {"gaussian sigma=5": hush.Gaussian(5.0), "laplace b=0.5": hush.Laplace(0.5)}
CASES = json.loads((Path(__file__).parent.parent / "truth" / "cases.json").read_text(encoding="utf-8"))
LINES = {"wbk2019_wor_upper": UPPER, "wbk2019_wor_lower": LOWER}
OF_FIGURES = [
    case
    for case in CASES
    if case["kind"] in LINES and case["params"]["mechanism"] in MECHANISMS and case["params"]["gamma"] == "0.001"
]
ORDERS = (1.1, 1.5, 2.0, 2.7, 8.0, 33.3, 99.0, 300.0, 350.0, 400.0, 900.0)
STEPS = (1, 1000, 100_000)


@cache
def curves(name: str) -> Chart:
    return renyi_curves(MECHANISMS[name], ORDERS)


@cache
def composed(mechanism: hush.Mechanism) -> Chart:
    return overall(mechanism, STEPS)


@pytest.mark.parametrize("case", OF_FIGURES, ids=lambda case: case["id"])
def test_bounds_vs_reference(case: dict[str, object]) -> None:
    params = case["params"]
    order = float(params["alpha"])
    line = renyi_curves(MECHANISMS[params["mechanism"]], (order,)).line(LINES[case["kind"]])
    assert line.y[0] == pytest.approx(float(case["value"]), rel=1e-9)


def test_reference_has_cases_of_both_figures() -> None:
    assert {(case["kind"], case["params"]["mechanism"]) for case in OF_FIGURES} == {
        (kind, name) for kind in LINES for name in MECHANISMS
    }


@pytest.mark.parametrize("name", MECHANISMS)
def test_exact_curve_is_between_the_bounds(name: str) -> None:
    """The lower bound is what Poisson sampling reaches at whole orders."""
    chart = curves(name)
    exact = dict(zip(ORDERS, chart.line(EXACT).y, strict=True))
    for line in chart.lines:
        if line.label in (EXACT, LOWER):
            continue
        for order, value in zip(line.x, line.y, strict=True):
            assert value >= exact[order] * (1 - 1e-9), line.label
    for order, value in zip(chart.line(LOWER).x, chart.line(LOWER).y, strict=True):
        if order in exact:
            assert value == pytest.approx(exact[order], rel=1e-8)


@pytest.mark.parametrize("name", MECHANISMS)
def test_what_is_proven_of_the_curve_alone_is_what_poisson_sampling_reaches(name: str) -> None:
    """At whole orders, whichever way a record changes, no constant is left; below the jump, coming costs 0.3 %."""
    chart = curves(name)
    for order, exact, found in zip(ORDERS, chart.line(EXACT).y, chart.line(PROVEN).y, strict=True):
        if order == math.floor(order):
            assert exact * (1 - 1e-9) <= found <= 1.003 * exact


@pytest.mark.parametrize("name", MECHANISMS)
def test_straight_lines_are_above_the_bound_that_they_fit(name: str) -> None:
    chart = curves(name)
    upper = dict(zip(ORDERS, chart.line(UPPER).y, strict=True))
    fit = chart.line(FIT)
    assert max(fit.x) < OMEGA
    assert all(y >= upper[x] * (1 - 1e-9) for x, y in zip(fit.x, fit.y, strict=True))
    assert chart.line(ZCDP).y[-1] / chart.line(ZCDP).x[-1] == pytest.approx(chart.line(ZCDP).y[0] / 1.1, rel=1e-12)


def test_tcdp_theorem_gives_thirteen_times_the_square_of_the_rate() -> None:
    line = curves("gaussian sigma=5").line(TCDP)
    assert line.y[2] == pytest.approx(2 * 13 * RATE**2 / 50, rel=1e-12)
    assert max(line.x) < math.log(1 / RATE) / (4 / 50)


def test_the_gaussian_curve_jumps_where_the_sample_stops_to_help() -> None:
    """Near order 2 sigma^2 log(1/rate) = 345 the last term of the sum takes over."""
    exact = dict(zip(ORDERS, curves("gaussian sigma=5").line(EXACT).y, strict=True))
    assert exact[400.0] > 1e4 * exact[300.0]


def test_one_sampled_laplace_vs_closed_form() -> None:
    """delta'(log(1 + q (e^eps - 1))) = q delta(eps), delta(eps) = 1 - e^{(eps - 1/b)/2}."""
    line = composed(hush.Laplace(0.5)).line(EXACT)
    plain = 2 + 2 * math.log1p(-DELTA / RATE)
    truth = math.log1p(RATE * math.expm1(plain))
    assert line.other[0] <= truth * (1 + 1e-12)
    assert truth <= line.y[0] * (1 + 1e-12)
    assert line.y[0] == pytest.approx(truth, rel=1e-3)


def test_one_sampled_gaussian_vs_closed_form() -> None:
    """The same with Phi(1/(2 sigma) - eps sigma) - e^eps Phi(-1/(2 sigma) - eps sigma)."""
    sigma = 5.0

    def excess(epsilon: float) -> float:
        right = stats.norm.cdf(1 / (2 * sigma) - epsilon * sigma)
        return right - math.exp(epsilon) * stats.norm.cdf(-1 / (2 * sigma) - epsilon * sigma) - DELTA / RATE

    truth = math.log1p(RATE * math.expm1(optimize.brentq(excess, 0.0, 5.0, xtol=1e-13)))
    line = composed(hush.Gaussian(5.0)).line(EXACT)
    assert line.y[0] == pytest.approx(truth, rel=1e-3)


@pytest.mark.parametrize("mechanism", [hush.Gaussian(5.0), hush.Laplace(0.5)], ids=str)
def test_no_theorem_is_below_the_exact_answer(mechanism: hush.Mechanism) -> None:
    chart = composed(mechanism)
    exact = chart.line(EXACT)
    for line in chart.lines:
        assert all(y >= low * (1 - 1e-12) for y, low in zip(line.y, exact.other, strict=True)), line.label
    assert all(a >= b for a, b in zip(chart.line(UPPER).y, chart.line(RENYI).y, strict=True))


@pytest.mark.parametrize("mechanism", [hush.Gaussian(5.0), hush.Laplace(0.5)], ids=str)
def test_improved_is_between_exact_and_general(mechanism: hush.Mechanism) -> None:
    chart = composed(mechanism)
    rows = zip(chart.line(UPPER).y, chart.line(TIGHT).y, chart.line(RENYI).y, strict=True)
    assert all(general >= improved * (1 - 1e-9) and improved >= exact for general, improved, exact in rows)


def test_improved_keeps_the_factor_four_up_to_the_jump() -> None:
    """Ternary divergences are at most four times the binary ones."""
    chart = curves("gaussian sigma=5")
    exact, improved, general = (dict(zip(ORDERS, chart.line(name).y, strict=True)) for name in (EXACT, TIGHT, UPPER))
    for order in (2.0, 8.0, 99.0, 300.0):
        assert improved[order] <= 4.6 * exact[order]
        assert improved[order] <= general[order] * (1 + 1e-9)
    assert general[300.0] > 8 * exact[300.0]


def test_renyi_beats_advanced_composition_by_far_in_the_long_run() -> None:
    chart = composed(hush.Gaussian(5.0))
    assert chart.line(UPPER).y[-1] < 0.3 * chart.line(ADVANCED).y[-1]
    assert chart.line(RENYI).y[-1] < 1.15 * chart.line(EXACT).y[-1]


def test_converted_orders_are_close_enough_for_a_picture() -> None:
    step = hush.Gaussian(5.0).on(hush.Poisson(rate=RATE))
    best = step.repeat(100_000).renyi_curve().epsilon(delta=DELTA)
    assert best * (1 - 1e-9) <= composed(hush.Gaussian(5.0)).line(RENYI).y[-1] <= 1.01 * best


def test_advanced_composition_vs_formula() -> None:
    """Pure steps: one choice of the share is delta for the theorem alone."""
    plain = math.log1p(RATE * math.expm1(0.5))
    formula = advanced_composition(plain, 0.0, 1000, DELTA)[0]
    assert sampled_advanced(hush.Laplace(2.0), 1000) <= formula * (1 + 1e-12)
    assert sampled_advanced(hush.Laplace(2.0), 1000) == pytest.approx(formula, rel=0.01)
    assert np.isfinite(sampled_advanced(hush.Gaussian(0.5), 100_000))
