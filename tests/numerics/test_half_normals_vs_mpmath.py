"""Halves of a mixed normal loss against mpmath: moments within the claimed error, cells that hold the mass."""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import pytest

from hush.numerics.laws.half_normals import HalfNormals
from hush.numerics.rounding import UNIT

DIGITS = 18

PIECES = [
    HalfNormals(distance, rate, upper)
    for distance, rate in ((1.0, 0.01), (0.05, 0.5), (4.0, 1e-4))
    for upper in (True, False)
]


def moment(piece: HalfNormals, s: mp.mpc) -> mp.mpc:
    """Integral over u > 0 of the density times e^{sL}, straight from the definition."""
    d, q = mp.mpf(piece.distance), mp.mpf(piece.rate)

    def term(u: mp.mpf) -> mp.mpc:
        mixed = mp.log(1 - q + q * mp.exp(d * u))
        x = u + d / 2
        power = 1 + s if piece.upper else -s
        return mp.exp(-x * x / 2 + power * mixed) / mp.sqrt(2 * mp.pi)

    top = float(max(1 + s.real, 1)) * piece.distance + 12
    panels = math.ceil(top / 3 * (1 + abs(float(s.imag)) * piece.distance / 8))
    return mp.quad(term, mp.linspace(0, top, panels + 1), maxdegree=6)


@pytest.mark.parametrize(("tilt", "reach"), [(0.5, 10.0), (6.0, 3.0), (-0.5, 0.0)])
@pytest.mark.parametrize("piece", PIECES, ids=str)
def test_nodes(piece: HalfNormals, tilt: float, reach: float) -> None:
    with mp.workdps(DIGITS):
        truths = {y: moment(piece, mp.mpc(tilt, y)) for y in {0.0, reach}}
    for accuracy in (10.0, 30.0):
        nodes = piece.nodes(tilt, reach, accuracy)
        top = float(nodes.log_weight.max())
        for y, truth in truths.items():
            total = complex((np.exp(nodes.log_weight - top) * np.exp(1j * y * nodes.loss)).sum())
            error = float(abs(mp.mpc(total) * mp.exp(top) - truth) / truths[0.0].real)
            size = float((np.abs(nodes.log_weight) + (abs(tilt) + y) * nodes.loss_error).max())
            assert error <= nodes.error + UNIT * (size + 50), (y, accuracy)


@pytest.mark.parametrize("tilt", [0.0, 3.0])
@pytest.mark.parametrize("piece", PIECES, ids=str)
def test_cells_hold_the_mass(piece: HalfNormals, tilt: float) -> None:
    cells = piece.cells(tilt, 1)
    total = float(np.exp(cells.log_weight).sum())
    with mp.workdps(DIGITS):
        truth = float(moment(piece, mp.mpc(tilt)).real)
    slack = float(np.exp(cells.log_weight) @ cells.slack) / total
    assert total == pytest.approx(truth, rel=slack + 1e-8)


@pytest.mark.parametrize("piece", PIECES, ids=str)
def test_sweeps_serve_a_search(piece: HalfNormals) -> None:
    tilts = np.array([0.1, 2.0, 10.0])
    loss, log_weight = piece.sweep(tilts, 8.0)
    for tilt in tilts:
        nodes = piece.nodes(float(tilt), 0.0, 20.0)
        top = float(nodes.log_weight.max())
        truth = math.log(float(np.exp(nodes.log_weight - top).sum())) + top
        swept = log_weight + tilt * loss
        peak = float(swept.max())
        assert math.log(float(np.exp(swept - peak).sum())) + peak == pytest.approx(truth, abs=0.3)
