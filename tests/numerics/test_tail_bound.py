"""The bound on what lies past the last node against the integral itself on a fine grid."""

from __future__ import annotations

import numpy as np
import pytest

from hush.curves.pairs.finite import FinitePair
from hush.curves.pairs.normal import NormalPair
from hush.curves.pairs.segment import SegmentPair
from hush.numerics.engines.decay import tail_bound
from hush.numerics.laws.law import Law

GAUSS = NormalPair.shifted(1.0)

LAWS: dict[str, Law] = {
    "gaussian": GAUSS.law(),
    "gaussian, remove": GAUSS.mix(0.1).law(),
    "gaussian, rare": GAUSS.mix(0.01).law(),
    "gaussian, add": GAUSS.swap().mix(0.1).swap().law(),
    "laplace": SegmentPair.laplace(1.0).law(),
    "laplace, remove": SegmentPair.laplace(1.0).mix(0.2).law(),
    "range": SegmentPair.bounded_range(2.0).law(),
    "table": FinitePair.of([0.5, 0.3, 0.2], [0.15, 0.3, 0.55]).law(),
}


def size(law: Law, c: float, y: np.ndarray) -> np.ndarray:
    """|E_c e^{iyL}| on a uniform grid."""
    return np.abs(1 + law.tilt(c, reach=float(y[-1])).departure(y))


@pytest.mark.parametrize("times", [1, 5, 60])
@pytest.mark.parametrize("c", [0.2, 2.0, 15.0])
@pytest.mark.parametrize("name", LAWS)
def test_tail(name: str, c: float, times: int) -> None:
    law = LAWS[name]
    spread = law.tilt(c).deviation
    for start in (0.5 / spread, 3.0 / spread, 12.0 / spread):
        y = np.linspace(start, start + 60 / spread, 5_001)
        integral = float(np.trapezoid(size(law, c, y) ** times / y**2, y))
        for goal in (1e-3, 1e-9):
            # the trapezoid rule on 5000 points is good to four digits, and what is past its end is left out
            assert tail_bound([(law.envelope(c), times)], start, goal) >= integral * (1 - 1e-4), (start, goal)


@pytest.mark.parametrize("c", [0.2, 2.0])
@pytest.mark.parametrize("name", LAWS)
def test_two_kinds_of_factor(name: str, c: float) -> None:
    laws = [(LAWS[name], 4), (LAWS["gaussian, remove"], 7)]
    start = 1.0
    y = np.linspace(start, 80.0, 5_001)
    product = np.ones(len(y))
    for law, n in laws:
        product *= size(law, c, y) ** n
    integral = float(np.trapezoid(product / y**2, y))
    assert tail_bound([(law.envelope(c), n) for law, n in laws], start, 1e-9) >= integral * (1 - 1e-4)


@pytest.mark.parametrize("name", ["table"])
def test_up_to_a_stop(name: str) -> None:
    """On a lattice the integral ends at half a period, and the kernel is not 1/y^2."""
    law, c, times = LAWS[name], 1.0, 20
    y = np.linspace(0.5, 9.0, 5_001)
    integral = float(np.trapezoid(size(law, c, y) ** times, y))
    assert tail_bound([(law.envelope(c), times)], 0.5, 1e-9, stop=9.0) >= integral * (1 - 1e-4)


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("c", [0.2, 3.0, 30.0])
def test_ceiling_and_decay_are_above_phi(name: str, c: float) -> None:
    law = LAWS[name]
    envelope = law.envelope(c)
    spread = law.tilt(c).deviation
    y = np.linspace(0.3, 30.0, 2001) / spread
    phi = size(law, c, y)
    ceiling = envelope.ceiling(float(y[0]), float(y[-1]), 200)
    for k, bound in enumerate(ceiling):
        assert bound >= phi[10 * k : 10 * k + 11].max() - 1e-9
    later = np.maximum.accumulate(phi[::-1])[::-1]
    assert np.all(envelope.decay(y) >= later - 1e-9)
