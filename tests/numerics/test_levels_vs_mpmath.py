"""Each bound that the levels rest on, against fifty digits: moments, windows, decay off the line, poles."""

from __future__ import annotations

import math
from random import Random

import mpmath as mp
import numpy as np
import pytest

from hush.numerics.engines.levels.edge_moments import EdgeMoments
from hush.numerics.engines.levels.level import Level, RealOrders, level_mass, log_kernel
from hush.numerics.engines.levels.smooth_edges import EdgePair, SmoothEdges
from hush.numerics.laws.normal_mixture import Mixture

mp.mp.dps = 30


def part(kind: str, shift: float, rate: float, times: int = 1000) -> EdgeMoments:
    hits = ((0.0, 1 - rate), (shift, rate))
    mirrored = ((-shift, rate), (0.0, 1 - rate))
    above, below = {
        "remove": (hits, ((0.0, 1.0),)),
        "replace": (hits, mirrored),
        "add": (((0.0, 1.0),), mirrored),
    }[kind]
    return EdgeMoments(SmoothEdges(above, below, times, shift + 6.0, 12.0))


def density(mixture: Mixture, x: mp.mpf) -> mp.mpf:
    """Density over that of N(0, 1); the weight of the place that does not move is what the others leave of 1."""
    others = mp.fsum(w for a, w in mixture if a)
    return mp.fsum((w if a else 1 - others) * mp.exp(mp.mpf(a) * x - mp.mpf(a) ** 2 / 2) for a, w in mixture)


def moment(edges: SmoothEdges, window: EdgePair, s: mp.mpc) -> mp.mpc:
    """The trapezoid rule in fine steps: the integrand is smooth on the scale of an edge, and vanishes at the ends."""
    inner, outer = window
    width, step = mp.mpf(edges.edge_width), mp.mpf(edges.edge_width) / 5
    low, high = mp.mpf(float(edges.x[0]) - 6), mp.mpf(outer + 19 * edges.edge_width)
    total = mp.mpc(0)
    for k in range(int((high - low) / step)):
        x = low + k * step
        weight = mp.ncdf((outer - x) / width) - (mp.ncdf((inner - x) / width) if inner is not None else 0)
        p, q = density(edges.above, x), density(edges.below, x)
        total += weight * mp.npdf(x) * p * mp.exp(s * mp.log(p / q))
    return total * step


CASES = [("remove", 2.0, 1e-4), ("replace", 1.5, 1e-3), ("add", 2.5, 1e-3), ("replace", 3.0, 1e-6)]


@pytest.mark.parametrize(("kind", "shift", "rate"), CASES)
def test_real_moments(kind: str, shift: float, rate: float) -> None:
    moments, random = part(kind, shift, rate), Random(kind)
    for _ in range(3):
        edge = random.uniform(1.0, shift + 3.0)
        window: EdgePair = random.choice([(None, edge), (edge, edge + random.uniform(0.5, 2.0))])
        order = random.choice([random.uniform(0.1, 40.0), random.uniform(-0.9, -0.1), random.uniform(-20.0, -1.1)])
        value, error = moments.log_moment(order, window)
        truth = mp.log(moment(moments.part, window, mp.mpf(order)).real)
        if error < 1e-3:
            assert abs(mp.mpf(value) - truth) <= error + 1e-18


@pytest.mark.parametrize(("kind", "shift", "rate"), CASES)
def test_moments_off_the_line_decay_as_bounded(kind: str, shift: float, rate: float) -> None:
    moments, random = part(kind, shift, rate), Random(kind + "decay")
    for _ in range(2):
        edge = random.uniform(1.0, shift + 1.0)
        window = (edge, edge + 1.0)
        order = random.choice([random.uniform(0.5, 20.0), random.uniform(-0.9, -0.1), random.uniform(-8.0, -1.5)])
        bound = moments.strips.decay(order, moments.strips.cell_bounds(order, window))
        for reach in (0.0, 30.0, 300.0):
            truth = moment(moments.part, window, mp.mpc(order, reach * 1.1))
            assert mp.log(abs(truth) + mp.mpf(10) ** -26) <= bound(reach) + 1e-9


@pytest.mark.parametrize("shift", [10.0, 100.0, 300.0])
def test_masses_of_far_shifts(shift: float) -> None:
    """Edges that are a width apart, where the width is a thousandth of the place: their masses nearly cancel."""
    rate, random = 0.003, Random(shift)
    for _ in range(20):
        edges = SmoothEdges(((0.0, 1 - rate), (shift, rate)), ((0.0, 1.0),), 1, shift + 8.0, 12.0)
        inner = random.uniform(-3.0, 8.0) + random.choice([0.0, shift - 4])
        outer = inner + random.uniform(1.0, 3.0) * edges.edge_width
        found = level_mass([EdgeMoments(edges)], (inner,), (outer,), under_p=True)
        deviation = mp.sqrt(1 + mp.mpf(edges.edge_width) ** 2)
        masses = [
            w * (mp.ncdf((outer - mp.mpf(a)) / deviation) - mp.ncdf((inner - mp.mpf(a)) / deviation))
            for a, w in edges.above
        ]
        assert abs(found.value - mp.fsum(masses)) <= found.error


def test_density_that_rises_at_the_cut() -> None:
    """At an order where the tilted density still rises where an edge falls to 0, its cell is bounded by what is there."""
    edges = SmoothEdges(((0.0, 1 - 0.0079), (0.478, 0.0079)), ((0.0, 1.0),), 1, 9.242, 13.3)
    window, order = (-8.0426, -1.9401), 10_159.8
    cells = EdgeMoments(edges).strips.cell_bounds(order, window)
    x = edges.x
    for k in range(1, len(x)):
        inside = np.linspace(x[k - 1], min(x[k], -1.9401 + 20 * edges.edge_width), 9)
        if x[k - 1] < inside[-1]:
            logs = edges.log_density(inside) + edges.log_window(window, inside) + order * edges.loss(inside)
            assert float(logs.max()) + math.log(edges.step) <= cells[k] + 1e-6


@pytest.mark.parametrize("kind", ["remove", "replace", "add"])
def test_masses(kind: str) -> None:
    moments = part(kind, 2.0, 1e-3, times=7)
    inner, outer = (1.3,), (2.9,)
    for under_p, order in ((True, 0.0), (False, -1.0)):
        below, between = (moment(moments.part, w, mp.mpf(order)).real for w in ((None, 1.3), (1.3, 2.9)))
        found = level_mass([moments], inner, outer, under_p=under_p)
        assert abs(found.value - ((below + between) ** 7 - below**7)) <= found.error
        alone = level_mass([moments], None, inner, under_p=under_p)
        assert abs(alone.value - below**7) <= alone.error


def test_kernel_is_the_largest_value() -> None:
    v = np.linspace(-60, 60, 200_001)
    for c in (0.01, 0.5, 3.0, 80.0, -0.01, -0.5, -0.99, -1.01, -2.0, -50.0):
        if c > 0:
            kernel = np.maximum(1 - np.exp(-v), 0)
        elif c > -1:
            kernel = np.exp(-np.maximum(v, 0.0))
        else:
            kernel = np.maximum(np.exp(np.minimum(-v, 60.0)) - 1, 0)
        with np.errstate(divide="ignore"):
            largest = float((np.log(kernel) - c * v).max())
        found = float(log_kernel(np.array([c]))[0])
        assert largest <= found + 1e-12
        assert found <= largest + 1e-3


def test_no_integral_is_needed_where_chernoff_is_small() -> None:
    """P-mass - e^eps Q-mass far above epsilon, 0 far below it: against the whole law, by a sum over x."""
    moments = part("remove", 2.0, 0.05, times=1)
    level = Level(
        RealOrders([moments], np.concatenate([-1 - np.geomspace(0.05, 60, 40)[::-1], np.geomspace(0.05, 60, 40)])),
        (3.0,),
        (6.0,),
    )
    for epsilon in (0.01, 9.0):
        truth = _hockey_stick(moments.part, (3.0, 6.0), epsilon)
        for strip in (0, 2):
            value, error = level.closed_value(strip, epsilon)
            assert abs(value - truth) <= error + 1e-14


def _hockey_stick(edges: SmoothEdges, window: EdgePair, epsilon: float) -> float:
    step = 2.0**-14
    x = step * np.arange(-12 << 14, 14 << 14)
    weight = np.exp(edges.log_window(window, x) + edges.log_density(x))
    return float((weight * np.maximum(1 - np.exp(epsilon - edges.loss(x)), 0)).sum() * step)


def test_masses_past_the_last_edge() -> None:
    edges = part("remove", 2.0, 1e-3).part
    beyond = mp.fsum(
        w * mp.ncdf((a - edges.last_edge) / mp.sqrt(1 + mp.mpf(edges.edge_width) ** 2)) for a, w in edges.above
    )
    assert math.isclose(
        edges.log_masses((None, edges.last_edge), edges.above).beyond, float(mp.log(beyond)), rel_tol=1e-13
    )
