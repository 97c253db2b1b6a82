"""What docs/theory/noise.md says about the three kinds of noise."""

from __future__ import annotations

import math

import pytest

import hush


def test_discrete_laplace_meets_the_continuous_profile_on_its_lattice_and_exceeds_it_between() -> None:
    shift, scale = 4, 5.0
    discrete, continuous = hush.DiscreteLaplace(scale=scale, sensitivity=shift), hush.Laplace(scale=scale / shift)
    for loss in (0, 2):
        epsilon = loss / scale
        truth = 1 - math.exp((epsilon - shift / scale) / 2)
        assert discrete.delta(epsilon=epsilon).upper == pytest.approx(truth, rel=1e-9)
        assert continuous.delta(epsilon=epsilon).upper == pytest.approx(truth, rel=1e-9)
    for loss in (1, 3):
        assert discrete.delta(epsilon=loss / scale).lower > continuous.delta(epsilon=loss / scale).upper


def test_discrete_gaussian_can_exceed_the_continuous_profile_but_not_its_renyi_curve() -> None:
    discrete, continuous = hush.DiscreteGaussian(sigma=1.0), hush.Gaussian(noise_multiplier=1.0)
    excess = [discrete.delta(epsilon=k / 8).lower - continuous.delta(epsilon=k / 8).upper for k in range(1, 17)]
    assert max(excess) > 1e-3
    for order in (2, 5, 20):
        curves = [m.renyi(orders=[order])[0] for m in (discrete, continuous)]
        assert curves[0] <= curves[1] * (1 + 1e-9)
