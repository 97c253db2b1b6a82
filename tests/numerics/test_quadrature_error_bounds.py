"""Quadrature nodes against mpmath: moments at complex arguments are within the error that the nodes claim."""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import pytest

from hush.curves.pairs.normal import NormalPair
from hush.numerics.laws.exponentials import Exponentials
from hush.numerics.laws.law import Law, Nodes
from hush.numerics.laws.normals import Normals
from hush.numerics.rounding import UNIT
from tests.numerics.precise import DIGITS, normal_moment, segment_moment

NORMALS = {
    "plain": Normals(((1.0, 1.0),), ((0.0, 1.0),)),
    "remove": Normals(((0.0, 0.9), (1.0, 0.1)), ((0.0, 1.0),)),
    "remove, little noise": Normals(((0.0, 0.999), (3.0, 0.001)), ((0.0, 1.0),)),
    "add": Normals(((0.0, 1.0),), ((0.0, 0.9), (1.0, 0.1))),
    "add, little noise": Normals(((0.0, 1.0),), ((0.0, 0.99), (3.0, 0.01))),
    "replace": Normals(((0.0, 0.7), (0.5, 0.3)), ((-0.5, 0.3), (0.0, 0.7))),
    "group": Normals(((0.0, 0.5), (0.5, 0.3), (1.0, 0.2)), ((0.0, 1.0),)),
}

SEGMENTS = {
    "laplace": Exponentials(2.0, math.log(0.25) - 1.0, 1.0, 0.0),
    "laplace, remove": Exponentials(3.0, math.log(0.25) - 1.5, 0.05, 0.0),
    "laplace, add": Exponentials(0.5, math.log(0.25) - 0.25, 0.0, 0.3),
    "range": Exponentials(1.0, math.log(0.5) - 0.5 - math.log(-math.expm1(-1.0)), 1.0, 0.0),
}


def rounding(nodes: Nodes, tilt: float, y: float) -> float:
    """What float64 may add: each loss is known to loss_error units, and each log-weight to its own size."""
    return UNIT * ((abs(tilt) + y) * float(nodes.loss_error.max()) + float(np.abs(nodes.log_weight).max()) + 50)


def measured(nodes: Nodes, tilt: float, y: float, truth: mp.mpc, centre: mp.mpf) -> tuple[float, float]:
    """|sum of the nodes - truth| relative to the moment at the tilt, and what is claimed."""
    top = float(nodes.log_weight.max())
    total = complex((np.exp(nodes.log_weight - top) * np.exp(1j * y * nodes.loss)).sum())
    value = mp.mpc(total) * mp.exp(top)
    return float(abs(value - truth) / centre), nodes.error + rounding(nodes, tilt, y)


@pytest.mark.parametrize("accuracy", [6.0, 14.0, 30.0])
@pytest.mark.parametrize("tilt", [0.3, 4.0, 25.0])
@pytest.mark.parametrize("name", NORMALS)
def test_normals(name: str, tilt: float, accuracy: float) -> None:
    piece, reach = NORMALS[name], 12.0
    nodes = piece.nodes(tilt, reach, accuracy)
    with mp.workdps(DIGITS):
        centre = normal_moment(piece.above, piece.below, mp.mpc(tilt), reach=45 if tilt < 20 else 120)
        for y in (0.0, 0.4 * reach, reach):
            truth = normal_moment(piece.above, piece.below, mp.mpc(tilt, y), reach=45 if tilt < 20 else 120)
            error, claimed = measured(nodes, tilt, y, truth, centre.real)
            assert error <= claimed, y


@pytest.mark.parametrize("accuracy", [6.0, 30.0])
@pytest.mark.parametrize(
    ("tilt", "reach"), [(0.3, 5.0), (4.0, 40.0), (15.0, 10.0), (-0.4, 5.0), (-1.2, 40.0), (-15.0, 10.0)]
)
@pytest.mark.parametrize("name", SEGMENTS)
def test_exponentials(name: str, tilt: float, reach: float, accuracy: float) -> None:
    piece = SEGMENTS[name]
    nodes = piece.nodes(tilt, reach, accuracy)
    known = (piece.bound, piece.log_height, piece.above, piece.below)
    with mp.workdps(DIGITS):
        centre = segment_moment(*known, mp.mpc(tilt))
        for y in (0.0, 0.5 * reach, reach):
            error, claimed = measured(nodes, tilt, y, segment_moment(*known, mp.mpc(tilt, y)), centre.real)
            assert error <= claimed, y


@pytest.mark.parametrize("tilt", [1e-4, 0.5, 10.0])
@pytest.mark.parametrize("name", NORMALS)
def test_log_moment_of_a_tilt(name: str, tilt: float) -> None:
    piece = NORMALS[name]
    law = Law(np.empty(0), np.empty(0), (piece,))
    tilted = law.tilt(tilt)
    with mp.workdps(DIGITS):
        truth = float(mp.log(normal_moment(piece.above, piece.below, mp.mpc(tilt), reach=60).real))
    assert abs(tilted.log_moment - truth) <= tilted.log_moment_error + UNIT * abs(truth)
    assert tilted.log_moment_error <= 1e-11 * max(1.0, truth)


@pytest.mark.parametrize("tilt", [1e-20, 1e-12, 1e-6, 1.0])
@pytest.mark.parametrize("shift", [1e2, 1e3, 1e5, 1e6, 1000000.0000359837])
def test_log_moment_far_out(shift: float, tilt: float) -> None:
    """-x^2/2 and log A are near 10^12 and cancel: what is left of their digits is charged."""
    tilted = NormalPair.shifted(shift).law().tilt(tilt)
    truth = float(mp.mpf(tilt) * (1 + mp.mpf(tilt)) * mp.mpf(shift) ** 2 / 2)
    assert abs(tilted.log_moment - truth) <= tilted.log_moment_error + UNIT * abs(truth)
    assert tilted.log_moment_error < 1e-2


@pytest.mark.parametrize("rate", [1e-6, 1e-3])
@pytest.mark.parametrize("tilt", [0.01, 3.0, 255.0])
@pytest.mark.parametrize("direction", ["remove", "add"])
def test_log_moment_near_one(rate: float, tilt: float, direction: str) -> None:
    """A rare record moves the moment by q^2: the digits of what is small must survive, or be disowned."""
    shift = 0.25
    pair = NormalPair.shifted(shift)
    pair = pair.mix(rate) if direction == "remove" else pair.swap().mix(rate).swap()
    tilted = pair.law().tilt(tilt)
    with mp.workdps(DIGITS):
        mixed, base = ((0.0, 1 - mp.mpf(rate)), (shift, mp.mpf(rate))), ((0.0, mp.mpf(1)),)
        sides = (mixed, base) if direction == "remove" else (base, mixed)
        truth = float(mp.log(normal_moment(*sides, mp.mpc(tilt), reach=80).real))
    assert abs(tilted.log_moment - truth) <= tilted.log_moment_error
