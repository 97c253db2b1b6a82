"""The numbers of the figures, against high-precision cases, closed forms and published statements."""

from __future__ import annotations

import json
import math
from pathlib import Path

import mpmath
import pytest

from hush.documents import figures
from hush.documents.figures import FIGURES

CASES = Path(__file__).parent.parent / "truth" / "cases.json"
RATIOS = [case for case in json.loads(CASES.read_text(encoding="utf-8")) if case["kind"] == "steinke_ratio"]


@pytest.mark.parametrize("case", RATIOS, ids=lambda case: case["id"])
def test_noise_ratio_vs_reference(case: dict[str, object]) -> None:
    params = case["params"]
    c, p = float(params["c"]), float(params["p"])
    assert figures.noise_ratio(p, c * p) == pytest.approx(float(case["value"]), rel=1e-13)
    assert math.log1p(c) / c == pytest.approx(float(case["limit"]), rel=1e-14)


def test_ratio_is_never_below_its_limit_and_falls_to_it() -> None:
    """Steinke's eq. 6."""
    for line in figures.ratio_for_proportional_epsilon().lines:
        c = float(line.label.split(",")[0].removeprefix("c = "))
        limit = math.log1p(c) / c
        assert min(line.y) >= limit
        assert line.y[0] == pytest.approx(limit, rel=1e-3)
        assert line.y[-1] == pytest.approx(1.0, rel=1e-12)


def test_epsilon_of_twice_the_rate_costs_at_most_twice_the_noise() -> None:
    assert min(figures.ratio_for_proportional_epsilon().line("c = 2, limit 0.549").y) >= 0.5


def test_noise_factor_is_the_inverse_limit() -> None:
    line = figures.noise_factor().lines[0]
    assert line.y[0] == 1.0
    for c, factor in list(zip(line.x, line.y, strict=True))[1:]:
        assert factor == pytest.approx(1 / figures.noise_ratio(1e-12, c * 1e-12), rel=1e-9)


@pytest.mark.parametrize("name", ["ratio-against-rate", "ratio-against-epsilon"])
def test_ratios_are_between_the_rate_and_one(name: str) -> None:
    for line in FIGURES[name]().lines:
        assert all(0 < y <= 1 + 1e-12 for y in line.y)


@pytest.mark.parametrize(("mean", "base"), [(0.02, 0.5), (0.3, 0.5), (0.65, 0.5), (1.3, 1.0)])
@pytest.mark.parametrize("order", [2, 3, 5, 7])
def test_poisson_divergence_vs_closed_form(order: int, mean: float, base: float) -> None:
    """Nielsen, Nock 2014: sum over j of (-1)^(k-j) C(k, j) exp(mean^j base^(1-j) - j mean - (1 - j) base)."""
    with mpmath.workdps(60):
        a, b = mpmath.mpf(mean), mpmath.mpf(base)
        terms = [
            (-1) ** (order - j) * mpmath.binomial(order, j) * mpmath.exp(a**j * b ** (1 - j) - j * a - (1 - j) * b)
            for j in range(order + 1)
        ]
        truth = float(mpmath.fsum(terms))
    assert figures.poisson_divergence(order, mean, base) == pytest.approx(truth, rel=1e-10)


def test_odd_divergences_of_smaller_means_are_negative() -> None:
    chart = figures.negative_divergence()
    for k in (3, 5, 7):
        line = chart.line(f"k = {k}")
        assert all((y < 0) == (x < 0.5) for x, y in zip(line.x, line.y, strict=True) if abs(x - 0.5) > 1e-9)


SLOW = {name for name in FIGURES if name.startswith(("overall", "compositions"))}
"""Figures of many steps: they are checked at fewer steps, beside their theorems."""


@pytest.mark.parametrize("name", [name for name in FIGURES if name not in SLOW])
def test_figures_say_what_they_show(name: str) -> None:
    chart = FIGURES[name]()
    assert chart.title
    assert chart.subtitle
    assert chart.rows()
    named = getattr(chart, "lines", None) or chart.ranges
    assert len({one.label for one in named}) == len(named)


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_is_in_the_documentation(name: str) -> None:
    documents = Path(__file__).parent.parent.parent / "docs"
    assert f"figures/{name}.svg" in (documents / "figures.md").read_text(encoding="utf-8")
    assert (documents / "figures" / f"{name}.svg").read_text(encoding="utf-8").startswith("<svg")
