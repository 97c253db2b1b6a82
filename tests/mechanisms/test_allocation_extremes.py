"""Allocation where its transform has no digits: simple bounds, ordered, without a warning, and below no sampling."""

from __future__ import annotations

import math

import pytest

from hush import Allocation, Gaussian


@pytest.mark.parametrize("epochs", [1, 3])
@pytest.mark.parametrize(
    ("noise", "steps"), [(1e-6, 10**9), (0.01, 10**9), (0.2, 100), (50, 4), (60, 10), (1e9, 10**9)]
)
def test_bounds_are_ordered(noise: float, steps: int, epochs: int) -> None:
    bound = Gaussian(noise).on(Allocation(steps=steps)).repeat(epochs).epsilon(delta=1e-5)
    assert 0 <= bound.lower <= bound.upper
    assert math.isfinite(bound.upper)
    assert bound.upper <= Gaussian(noise).repeat(epochs).epsilon(delta=1e-5).upper * (1 + 1e-6)
