"""Runs of a mechanism on two neighbouring datasets, for audits: the record that matters most, all others silent."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from hush.arrays import Array
from hush.mechanisms.mechanism import Mechanism, require
from hush.randomness.source import Source, source_or_secure

Drawing: TypeAlias = Callable[[int], Array]
"""Draws the outputs of so many runs."""


def simulated(mechanism: Mechanism, *, source: Source | None = None) -> tuple[Drawing, Drawing]:
    """Two functions that draw outputs: with the record, and without it (or with the one that replaces it).

    >>> import hush
    >>> present, absent = simulated(hush.Laplace(1.0), source=hush.SeededSource(1))
    >>> round(float(np.median(present(10_000)) - np.median(absent(10_000))), 1)
    1.0
    """
    require("simulated", mechanism)
    bits = source_or_secure(source)

    def drawing(contribution: float) -> Drawing:
        return lambda runs: mechanism.simulate(np.full(runs, contribution), bits)

    return drawing(1.0), drawing(mechanism.other_contribution)
