"""Composition theorems side by side, against their formulas and against each other."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from scipy import optimize, special

import hush
from hush.questions.compositions import METHODS, WHY, _points, compositions

DELTA = 1e-6


def kairouz_oh_viswanath(epsilon: float, times: int, delta: float) -> float:
    """Thm 3.3 with steps of pure epsilon, by its sum over the number of unlucky answers."""

    def excess(total: float) -> float:
        terms = []
        for l in range(times + 1):
            up, down = (times - l) * epsilon, total + l * epsilon
            if up > down:
                log_chance = special.gammaln(times + 1) - special.gammaln(l + 1) - special.gammaln(times - l + 1)
                scale = log_chance - times * math.log1p(math.exp(epsilon))
                terms.append(math.exp(scale + up) - math.exp(scale + down))
        return math.fsum(terms) - delta

    return optimize.brentq(excess, 0.0, times * epsilon, xtol=1e-12)


@pytest.mark.parametrize(("epsilon", "times"), [(0.1, 10), (0.1, 100), (1.0, 20)])
def test_homogeneous_vs_kairouz_oh_viswanath(epsilon: float, times: int) -> None:
    found = compositions(hush.PureDP(epsilon), times=[times], delta=DELTA)
    truth = kairouz_oh_viswanath(epsilon, times, DELTA)
    assert found.upper("optimal homogeneous", times) == pytest.approx(truth, rel=2e-4)
    assert found.upper("optimal homogeneous", times) >= truth * (1 - 1e-9)
    assert found.upper("exact", times) == pytest.approx(truth, rel=2e-6)


def test_basic_and_advanced_vs_formulas() -> None:
    found = compositions(hush.PureDP(0.05), times=[400], delta=DELTA)
    assert found.upper("basic", 400) == pytest.approx(20.0, rel=1e-6)
    formula = 0.05 * math.sqrt(2 * 400 * math.log(1 / DELTA)) + 400 * 0.05 * math.expm1(0.05)
    assert found.upper("advanced", 400) <= formula * (1 + 1e-12)
    assert found.upper("advanced", 400) == pytest.approx(formula, rel=1e-3)


def test_zcdp_of_gaussian_noise_is_its_renyi_curve() -> None:
    """A Gaussian is nothing but a line, so both routes agree."""
    found = compositions(hush.Gaussian(2.0), times=[1, 50], delta=DELTA)
    for k in (1, 50):
        assert found.upper("zCDP", k) == pytest.approx(found.upper("Rényi", k), rel=1e-6)


def test_tcdp_lies_between_zcdp_and_the_curve() -> None:
    """A line below some order only: never worse than one for all orders, never better than the curve itself."""
    for step in (hush.Gaussian(2.0).on(hush.Poisson(rate=0.01)), hush.Gaussian(20.0).then(hush.Laplace(10.0))):
        found = compositions(step, times=[1, 100], delta=DELTA)
        for k in (1, 100):
            assert found.upper("Rényi", k) * (1 - 1e-9) <= found.upper("tCDP", k) <= found.upper("zCDP", k) * (1 + 1e-9)
    assert found.upper("tCDP", 100) < found.upper("zCDP", 100)
    # where no line is above the whole curve, one may be above its beginning
    own = compositions(hush.RenyiDP(function=lambda order: 0.001 * order**1.5), times=[100], delta=DELTA)
    assert "zCDP" not in own.methods and own.upper("tCDP", 100) < 1.01 * own.upper("Rényi", 100)


def test_zcdp_is_not_amplified_by_sampling() -> None:
    step = hush.Gaussian(1.0)
    sampled = compositions(step.on(hush.Poisson(rate=0.01)), times=[100], delta=DELTA)
    plain = compositions(step, times=[100], delta=DELTA)
    assert sampled.upper("zCDP", 100) == pytest.approx(plain.upper("zCDP", 100), rel=1e-3)
    assert sampled.upper("Rényi", 100) < 0.1 * plain.upper("Rényi", 100)


@pytest.mark.parametrize(
    "mechanism",
    [
        hush.Laplace(10.0),
        hush.Gaussian(1.0).on(hush.Poisson(rate=0.01)),
        hush.RandomizedResponse(epsilon=0.3, relation=hush.Relation.REPLACE),
        hush.Laplace(10.0).then(hush.Gaussian(5.0)),
    ],
    ids=str,
)
def test_no_theorem_is_below_the_exact_answer(mechanism: hush.Mechanism) -> None:
    found = compositions(mechanism, times=[30], delta=DELTA)
    for k in found.times:
        exact = next(row for row in found.rows if (row.method, row.times) == ("exact", k))
        assert exact.lower <= exact.upper
        for method in found.methods:
            assert found.upper(method, k) >= exact.lower * (1 - 1e-12), method


def test_knowing_each_kind_beats_the_worst_of_all() -> None:
    mixed = hush.Laplace(10.0).then(hush.Laplace(40.0).repeat(5))
    found = compositions(mixed, times=[20], delta=DELTA)
    assert found.upper("optimal heterogeneous", 20) < 0.7 * found.upper("optimal homogeneous", 20)
    assert found.upper("exact", 20) <= found.upper("optimal heterogeneous", 20)


def test_what_has_no_pair_has_no_exact_row() -> None:
    found = compositions(hush.ZCDP(0.01), times=[1, 10], delta=DELTA)
    assert "exact" not in found.methods
    assert "zCDP" in found.methods


def test_table_and_chart_show_the_same() -> None:
    found = compositions(hush.Laplace(10.0), times=[10, 1, 10], delta=DELTA)
    head, *body = found.table()
    assert head == ["times", *found.methods]
    assert [row[0] for row in body] == ["1", "10"]
    chart = found.chart()
    assert sorted(line.label for line in chart.lines) == sorted(found.methods)
    for method in found.methods:
        assert chart.line(method).y == tuple(found.upper(method, k) for k in found.times)
    assert "scale 10" in chart.subtitle
    assert str(found).splitlines()[1].split()[-1] == "exact"


def test_every_method_is_explained() -> None:
    assert set(METHODS) == set(WHY)


@pytest.mark.parametrize(
    "bad", [{"times": [0], "delta": 1e-6}, {"times": [1], "delta": 0.0}, {"times": [1.5], "delta": 1e-6}]
)
def test_bad_values_are_named(bad: dict[str, object]) -> None:
    with pytest.raises(hush.InvalidParameter):
        compositions(hush.Laplace(1.0), **bad)  # type: ignore[arg-type]


def test_a_method_that_does_not_apply_to_some_counts_is_a_dash() -> None:
    found = compositions(hush.ZCDP(1e308), times=[1, 1000], delta=1e-5)
    assert str(found).splitlines()[-1].split()[4] == "-"
    with pytest.raises(hush.InvalidParameter, match="a method that applies"):
        found.upper("zCDP", 1000)


@pytest.mark.parametrize("units", [1, 2, 3, 7])
@pytest.mark.parametrize("times", [1, 2, 3])
def test_the_least_deltas_are_never_exceeded(units: int, times: int) -> None:
    """The steps' deltas and the rest that the theorem keeps, added up exactly."""
    delta = units * math.ulp(0.0)
    points = _points([(hush.Laplace(10.0), times)], delta)
    assert sum(n * Fraction(each) for _, each, n in points) <= Fraction(delta)
    found = compositions(hush.Laplace(10.0), times=[times], delta=delta)
    truth = times / 10
    assert all(row.upper >= truth * (1 - 1e-12) for row in found.rows)


def test_counts_must_be_a_list() -> None:
    with pytest.raises(hush.InvalidParameter, match="a list of counts"):
        compositions(hush.Laplace(10.0), times=5, delta=1e-5)  # type: ignore[arg-type]
