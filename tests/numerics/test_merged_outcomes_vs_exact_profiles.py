"""Outcomes merged onto a lattice, from below: never above the profile, and near it where rounding down is not."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hush.curves.composition.routes import loss_source
from hush.curves.pairs.finite import FinitePair
from hush.curves.pairs.normal import NormalPair
from hush.curves.pairs.pair import Pair
from hush.curves.pairs.segment import SegmentPair
from hush.numerics.engines.direct import direct_bracket
from hush.numerics.engines.grid import SMALLEST, bracket, compose
from hush.numerics.engines.loss_lattice import LatticeLaw, discretise, support
from hush.numerics.engines.loss_source import merged
from tests.numerics.lattice import one_loss, profile

RARE: dict[str, Pair] = {
    "gaussian, rare": NormalPair.shifted(2.0).mix(1e-3),
    "gaussian, rare, added": NormalPair.shifted(2.0).swap().mix(1e-3).swap(),
    "laplace, rare": SegmentPair.laplace(6.0).mix(5e-3),
    "laplace, rare, added": SegmentPair.laplace(6.0).swap().mix(5e-3).swap(),
    "laplace, half": SegmentPair.laplace(1.0).mix(0.37),
}


@pytest.mark.parametrize("step", [0.11, 0.013, 0.0007])
@pytest.mark.parametrize("name", RARE)
def test_one_loss_is_below(name: str, step: float) -> None:
    pair = RARE[name]
    _, lower = one_loss(pair, step, -60.0)
    for epsilon in np.linspace(-0.2, 5.0, 40).tolist():
        assert profile(lower, step, epsilon) <= math.exp(pair.log_delta(epsilon, 1e-12)[1]) + 1e-14


@pytest.mark.parametrize("name", RARE)
def test_masses_are_kept(name: str) -> None:
    """The continuous part beside the atoms, and the atoms, have what the source has, but for rounding down."""
    source = loss_source(RARE[name], 1)
    found = merged(source, 0.013, 0.0)
    ends = np.array([-50.0, 50.0])
    before, after = (float(s.continuous(ends)[0][0] + s.masses.sum()) for s in (source, found))
    assert after == pytest.approx(before, abs=1e-3)
    assert after <= before * (1 + 1e-12)


@pytest.mark.parametrize("engine", ["grid", "direct"])
def test_many_rare_hits_vs_the_finest_lattice(engine: str) -> None:
    """Forty steps that hardly ever hit: lattices agree, and both ends are near each other."""
    source = loss_source(RARE["laplace, rare"], 40)
    made = {
        "grid": lambda size: bracket([source], size, 3.0, -40.0),
        "direct": lambda size: direct_bracket([source], size, -60.0, 6.0),
    }[engine]
    coarse, fine = made(1 << 10), made(1 << 13)
    for epsilon in (0.5, 2.0, 4.0):
        (low, high), (near, above) = coarse.log_delta(epsilon), fine.log_delta(epsilon)
        assert low <= above
        assert near <= high
        assert above - near < 0.05


@pytest.mark.parametrize("seed", range(5))
def test_tables_of_many_atoms_vs_their_own_profile(seed: int) -> None:
    """Light atoms are contracted like a density: composed once the result is below the table itself."""
    random = np.random.default_rng(seed)
    p = random.dirichlet(np.full(400, 0.3)) + 1e-9
    q = p * np.exp(-random.normal(0.0, 0.5, 400))
    pair = FinitePair.of(p / p.sum(), q / q.sum())
    source = loss_source(pair, 1)
    for step in (0.05, 0.004):
        upper, lower = discretise(source, step, *support(source, -40.0))
        for epsilon in np.linspace(-1.0, 1.5, 26).tolist():
            low, high = (math.exp(end) for end in pair.log_delta(epsilon))
            assert profile(lower, step, epsilon) <= high + 1e-13
            assert profile(upper, step, epsilon) >= low - 1e-13


def test_nothing_below_the_least_float_is_claimed() -> None:
    """Places without mass have none below: a lattice law claims no delta where the sum cannot be."""
    law = LatticeLaw(0.0, np.array([1.0, 0.0, 0.0]), 0.0)
    below, above = (compose([(law, 1)], 1.0, 300.0, 4, least) for least in (0.0, SMALLEST))
    assert below.log_delta(1.5, -1) == -math.inf
    assert above.log_delta(1.5, 1) > -math.inf
