"""The errors that docs/theory/errors-in-the-documents.md lists: what was printed fails, what is right holds."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import hush
from hush.curves.renyi.pearson_vajda import chi
from hush.curves.renyi.sampling import poisson_mirrored

PAGE = Path(__file__).parent.parent / "docs" / "theory" / "errors-in-the-documents.md"


def test_every_error_on_the_page_has_its_test() -> None:
    for name in [
        name for name in globals() if name.startswith("test_the_") or "amplification" in name or "odd" in name
    ]:
        assert name in PAGE.read_text(encoding="utf-8")


def test_the_printed_gaussian_noise_is_too_small() -> None:
    """sigma = sqrt(2 log(1/delta))/epsilon: enough at epsilon 1 and 7, not at 9."""
    delta = 1e-5

    def reached(epsilon: float) -> float:
        return hush.Gaussian(math.sqrt(2 * math.log(1 / delta)) / epsilon).delta(epsilon=epsilon).lower

    assert reached(1.0) < delta
    assert reached(7.0) < delta
    assert reached(9.0) > delta
    assert hush.Gaussian(math.sqrt(2 * math.log(1.25 / delta)) / 0.9).delta(epsilon=0.9).upper < delta


def test_the_sensitivity_is_squared() -> None:
    """Noise of deviation 1 on a sum that moves by 3 is a multiplier of 1/3."""
    order, sensitivity = 4.0, 3.0
    curve = hush.Gaussian(1.0 / sensitivity).renyi_curve()
    assert curve(order) == pytest.approx(order * sensitivity**2 / 2)
    assert curve(order) > order * sensitivity / 2


def test_the_curve_is_taken_at_the_order_itself() -> None:
    """With eps(a - 1) the conversion promises less than the exact epsilon; with eps(a) it does not."""
    mechanism, log_delta = hush.Gaussian(0.1), math.log(1e-5)
    curve = mechanism.renyi_curve()
    orders = 1 + np.geomspace(1e-3, 1e3, 20_000)
    exact = mechanism.epsilon(delta=1e-5).lower
    slope = curve(2.0) / 2
    printed = float((slope * (orders - 1) - log_delta / (orders - 1)).min())
    right = float((curve(orders) - log_delta / (orders - 1)).min())
    assert printed < 0.6 * exact
    assert right >= exact


def test_the_first_measure_is_shifted() -> None:
    """Moving N(m, 1) by z towards N(0, 1) leaves a (m - z)^2/2, and nothing when z reaches m.

    Minimising over laws near mu is what can bring the first measure onto the second; as printed, the ball is around mu
    while the law that varies is another one, so the radius constrains nothing.
    """

    def shifted(mean: float, z: float, order: float) -> float:
        moves = np.linspace(-z, z, 2001)
        return float((order * (mean + moves) ** 2 / 2).min())

    assert shifted(3.0, 1.0, 2.0) == pytest.approx(hush.Gaussian(1 / 2.0).renyi(orders=[2.0])[0])
    assert shifted(3.0, 3.0, 2.0) == 0.0
    assert shifted(3.0, 0.0, 2.0) == pytest.approx(hush.Gaussian(1 / 3.0).renyi(orders=[2.0])[0])


def test_amplification_depends_on_the_relation() -> None:
    """The same sampled noise reveals more when a record is replaced than when one is added or removed."""
    sampled = hush.Gaussian(1.0).on(hush.Poisson(rate=0.1))
    replaced = sampled.under(hush.Relation.REPLACE)
    assert replaced.epsilon(delta=1e-5).lower > 1.05 * sampled.epsilon(delta=1e-5).upper
    with pytest.raises(hush.NotCovered, match="replace one record says nothing about adding"):
        hush.Laplace(1.0, hush.Relation.REPLACE).on(hush.Poisson(rate=0.1)).under(hush.Relation.ADD_REMOVE)


def test_odd_divergences_need_not_be_positive() -> None:
    counts = np.arange(40)
    assert chi(stats.poisson.pmf(counts, 0.05), stats.poisson.pmf(counts, 0.1), 3) < 0
    draw = hush.exponential_family(lambda eta: np.exp(eta[:, 0]), neighbouring=[((math.log(0.05),), (math.log(0.1),))])
    with pytest.raises(hush.NotCovered, match="odd"):
        poisson_mirrored(draw.renyi_curve(), 0.1)
