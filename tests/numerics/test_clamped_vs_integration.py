"""Expected clamped errors against integrals of the density, and against the limits that are known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.integrate import quad

from hush.numerics.clamped_error import LAPLACE, NORMAL, STUDENT, NoiseShape

LAWS = [
    (LAPLACE, stats.laplace),
    (NORMAL, stats.norm),
    (STUDENT, lambda centre, scale: stats.t(3, loc=centre, scale=scale / np.sqrt(3))),
]
NAMES = ["laplace", "normal", "student"]


@pytest.mark.parametrize(("shape", "law"), LAWS, ids=NAMES)
@settings(max_examples=25, deadline=None)
@given(centre=st.floats(-0.5, 1.5), truth=st.floats(0.0, 1.0), scale=st.floats(0.01, 20.0))
def test_error_vs_integral(shape: NoiseShape, law: object, centre: float, truth: float, scale: float) -> None:
    noise = law(centre, scale)

    def square(y: float) -> float:
        return (y - truth) ** 2 * noise.pdf(y)

    points = [centre] if 0 < centre < 1 else None
    middle = quad(square, 0.0, 1.0, points=points, limit=200, epsabs=1e-13)[0]
    whole = middle + truth**2 * noise.cdf(0.0) + (1 - truth) ** 2 * noise.sf(1.0)
    assert float(shape.error(centre, truth, 0.0, 1.0, scale)) == pytest.approx(whole, rel=1e-8, abs=1e-11)


@pytest.mark.parametrize(("shape", "law"), LAWS, ids=NAMES)
def test_limits(shape: NoiseShape, law: object) -> None:
    small = float(shape.error(3.0, 3.0, -1e9, 1e9, 1e-9))
    assert small == pytest.approx(1e-18 * shape.variance, rel=1e-4)  # far below the range
    assert float(shape.error(3.0, 3.0, 0.0, 10.0, 1e12)) == pytest.approx((3**2 + 7**2) / 2, rel=1e-9)
    assert shape.variance == pytest.approx(law(0.0, 1.0).var())
    scales = np.geomspace(1e-3, 1e3, 50)
    assert np.all(np.diff(shape.error(0.4, 0.4, 0.0, 1.0, scales)) >= 0)
