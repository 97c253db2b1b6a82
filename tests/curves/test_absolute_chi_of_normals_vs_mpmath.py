"""|chi|^j of two normals at even orders, against the alternating sum in many digits: also where losses overflow."""

from __future__ import annotations

import mpmath
import pytest

from hush.curves.renyi.pearson_vajda import log_absolute_normal


@pytest.mark.parametrize("distance", [0.01, 0.2, 2.0, 10.0])
@pytest.mark.parametrize("order", [2, 8, 40, 400])
def test_even_orders(distance: float, order: int) -> None:
    with mpmath.workdps(1200):
        square = mpmath.mpf(distance) ** 2
        terms = ((-1) ** j * mpmath.binomial(order, j) * mpmath.exp(square * j * (j - 1) / 2) for j in range(order + 1))
        truth = mpmath.log(mpmath.fsum(terms))
        excess = float(log_absolute_normal(distance, order) - truth)
    assert 0 <= excess <= 1e-9 * max(1.0, abs(float(truth)))
