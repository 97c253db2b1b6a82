"""Laws on a lattice, asked in the plainest way."""

from __future__ import annotations

import numpy as np

from hush.curves.composition.routes import loss_source
from hush.curves.pairs.pair import Pair
from hush.numerics.engines.loss_lattice import LatticeLaw, discretise, support


def profile(law: LatticeLaw, step: float, epsilon: float) -> float:
    """Its delta at this epsilon."""
    losses = law.first + step * np.arange(len(law.mass))
    past = losses > epsilon
    return law.at_infinity + float((law.mass[past] * -np.expm1(epsilon - losses[past])).sum())


def one_loss(pair: Pair, step: float, log_tail: float) -> tuple[LatticeLaw, LatticeLaw]:
    """One loss of the pair on a lattice, from above and from below, but for tails of so little mass."""
    source = loss_source(pair, 1)
    return discretise(source, step, *support(source, log_tail))
