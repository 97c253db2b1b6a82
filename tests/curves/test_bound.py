"""What a bound says to people."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import hush
from hush import Bound


def test_what_to_report() -> None:
    mechanism = hush.Gaussian(1.0).on(hush.Poisson(rate=0.1)).repeat(10)
    found = mechanism.epsilon(delta=1e-5)
    assert (found.epsilon, found.delta) == (found.upper, 1e-5)
    assert replace(found, lower=0.0, upper=9.0).epsilon == 9.0
    found = mechanism.delta(epsilon=1.0)
    assert (found.epsilon, found.delta) == (1.0, found.upper)
    found = mechanism.log_delta(epsilon=1.0)
    assert found.epsilon == 1.0
    assert found.delta == pytest.approx(math.exp(found.upper))
    found = hush.Gaussian(1.0).log_delta(epsilon=100.0)
    assert found.delta == math.ulp(0.0) > 0
    assert (mechanism.advantage().epsilon, mechanism.tradeoff(false_positive_rate=0.1).delta) == (None, None)


@pytest.mark.parametrize(
    ("lower", "upper", "shown"),
    [
        (13345.37, 13349.9, "13345.3 to 13349.9"),
        (13345.37, 13345.39, "13345.3"),
        (123456.0, 123457.0, "123456 to 123457"),
        (0.99999, 1.00001, "0.99999 to 1.00001"),
        (5.9912, 20.5623, "5.99 to 20.6"),
        (0.00012345, 0.00012346, "0.0001234"),
        (0.0, 2.0, "<= 2"),
        (-12.345, -12.344, "-12.34"),
        (-12.345, -11.0, "-12.4 to -11"),
        (3.0, math.inf, "3 to inf"),
    ],
)
def test_digits(lower: float, upper: float, shown: str) -> None:
    assert Bound(lower, upper).digits == shown


def test_digits_never_leave_the_interval() -> None:
    random = np.random.default_rng(1)
    for _ in range(3000):
        lower = float(10 ** random.uniform(-8, 18))
        bound = Bound(lower, lower * (1 + float(10 ** random.uniform(-15, 0.5))))
        parts = [float(part) for part in bound.digits.split(" to ")]
        if len(parts) == 2:
            assert parts[0] <= bound.lower <= bound.upper <= parts[1]
        elif bound.lower < bound.upper:  # digits that go on: the ends begin with them
            shown = bound.digits
            unit = 10.0 ** -len(shown.partition(".")[2])
            assert parts[0] <= bound.lower * (1 + 1e-15)
            assert bound.upper <= (parts[0] + unit) * (1 + 1e-15)


def test_wide_bounds_are_reported_as_intervals() -> None:
    assert Bound(5.9912, 20.5623).reported(4) == "= 20.57 (certified: 5.991 to 20.57)"
    assert Bound(0.0, 20.5623).reported(4) == "<= 20.57 (an upper bound only)"
    assert Bound(20.5622, 20.5623).reported(4) == "= 20.57"


# -- as a number ---------------------------------------------------------------------------------------------------


def test_a_bound_is_its_safe_end_as_a_number() -> None:
    """The upper end of what an attacker gains, the lower end of an error that an attacker makes."""
    assert float(Bound(1.0, 2.0)) == float(Bound(1.0, 2.0, "delta")) == float(Bound(1.0, 2.0, "advantage")) == 2.0
    assert float(Bound(0.1, 0.2, "false negative rate")) == float(Bound(0.1, 0.2, "Bayes risk")) == 0.1
    assert float(Bound(0.1, 0.2, "true positive rate")) == 0.2
    missed = hush.Gaussian(1.0).tradeoff(false_positive_rate=0.05)
    assert float(missed) == missed.lower
    assert float(hush.Gaussian(1.0).roc().at(0.05)) <= missed.upper
    assert np.asarray([Bound(1.0, 2.0)], dtype=float).tolist() == [2.0]


@pytest.mark.parametrize("quantity", ["epsilon", "false negative rate"])
def test_comparisons_are_true_only_where_they_are_certain(quantity: str) -> None:
    bound = Bound(2.0, 3.0, quantity)
    assert bound < 3.5 and bound <= 3.0 and bound > 1.5 and bound >= 2.0
    for doubtful in (2.0, 2.5, 3.0):
        assert not bound < doubtful and not bound > doubtful
    assert not bound <= 2.9 and not bound >= 2.1
    assert not (bound < math.nan or bound > math.nan or bound <= math.nan or bound >= math.nan)
    # the number may stand on either side, and be numpy's
    assert 3.5 > bound and not 3.0 > bound and np.float64(3.5) > bound and not np.float64(2.5) < bound
    assert bound < Bound(3.5, 4.0, quantity) and not bound < Bound(2.5, 4.0, quantity)
    assert bound <= Bound(3.0, 4.0, quantity) and Bound(3.5, 4.0, quantity) > bound


def test_different_quantities_have_no_order() -> None:
    with pytest.raises(hush.InvalidParameter, match="one quantity"):
        _ = Bound(1.0, 2.0, "epsilon") < Bound(1.0, 2.0, "delta")
    with pytest.raises(TypeError):
        _ = Bound(1.0, 2.0) < "3"
    assert Bound(1.0, 2.0) != 2.0


SPECS = (".0f", ".2f", ".7f", ".3g", ".1g", ".4e", "g", "f", "e", ".1%", ".17g", ".3", "+.2f", "012.4f", ">20.3g")


@pytest.mark.parametrize("spec", SPECS)
def test_formats_are_rounded_to_the_safe_side(spec: str) -> None:
    random = np.random.default_rng(2)
    for _ in range(300):
        value = float(10 ** random.uniform(-9, 6))
        scale = 100.0 if spec.endswith("%") else 1.0
        above = float(format(Bound(value / 2, value), spec).rstrip("%")) / scale
        below = float(format(Bound(value, value * 2, "false negative rate"), spec).rstrip("%")) / scale
        nearest = float(format(value, spec).rstrip("%")) / scale
        assert below <= value * (1 + 1e-15) and above >= value * (1 - 1e-15), (value, below, above)
        assert below <= nearest <= above


def test_formats_that_have_no_digits() -> None:
    bound = Bound(1.0, 2.0)
    assert f"{bound}" == str(bound) == repr(bound)
    assert f"{Bound(0.0, math.inf):.2f}" == "inf"
    assert f"{Bound(0.0, 0.0):.2f}" == "0.00"
    assert f"{Bound(0.0, 0.0004):.2f}" == "0.01"
    assert f"{Bound(0.0004, 0.1, 'false negative rate'):.2f}" == "0.00"
    assert f"{Bound(-12.345, -12.344, 'log delta'):.2f}" == "-12.34"
    with pytest.raises(ValueError):
        f"{bound:q}"


def test_what_a_notebook_shows_is_safe_html() -> None:
    assert "<td>4.377179</td>" in hush.Gaussian(1.0).epsilon(delta=1e-5)._repr_html_()
    assert "<td>0.7405" not in Bound(0.74049, 0.74051, "false negative rate")._repr_html_()
    said = hush.Laplace(1.0).statement(delta=0, unit="<b>")
    assert "<b>" in said and "<b>" not in said._repr_html_()
    explained = hush.Laplace(1.0).explain(delta=0)
    assert repr(explained) == explained and explained._repr_html_().startswith("<pre>")
