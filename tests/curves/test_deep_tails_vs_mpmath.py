"""Two unlike releases at deltas near the smallest floats, against 40-digit arithmetic."""

from __future__ import annotations

import mpmath
import pytest

import hush


def log_delta_of_both(sigma: float, pure: float, epsilon: float) -> float:
    """log delta of Gaussian noise and a pure epsilon's randomized response: a mean of two shifted Gaussian profiles."""
    with mpmath.workdps(40):
        shift, share = 1 / mpmath.mpf(sigma), 1 / (1 + mpmath.exp(-mpmath.mpf(pure)))

        def gaussian(e: mpmath.mpf) -> mpmath.mpf:
            return mpmath.ncdf(shift / 2 - e / shift) - mpmath.exp(e) * mpmath.ncdf(-shift / 2 - e / shift)

        found = share * gaussian(mpmath.mpf(epsilon) - pure) + (1 - share) * gaussian(mpmath.mpf(epsilon) + pure)
        return float(mpmath.log(found))


@pytest.mark.parametrize("epsilon", [0.5, 0.75, 0.9, 0.9969])
@pytest.mark.parametrize("pure", [0.001, 0.02])
def test_gaussian_then_pure(pure: float, epsilon: float) -> None:
    found = hush.Gaussian(37.0).then(hush.PureDP(pure)).log_delta(epsilon=epsilon)
    assert found.lower <= log_delta_of_both(37.0, pure, epsilon) <= found.upper
