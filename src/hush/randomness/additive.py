"""Noise added to numbers: one place where values become integers, get exact noise, and become floats again.

The noise is continuous Laplace or Gaussian noise rounded to the grid that the values lie on. Rounding the sum of a
multiple and continuous noise is the same, and rounding is post-processing: whatever holds for the continuous mechanism
at the charged sensitivity holds for what is released, in any number of coordinates, on samples and in compositions.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from hush.arrays import Array
from hush.errors import InvalidParameter
from hush.randomness import integer_noise
from hush.randomness.binary_grid import MOST, BinaryGrid
from hush.randomness.source import Source, source_or_secure


@dataclass(frozen=True, eq=False)
class NoisyValues:
    """Values with noise, each a multiple of the grid's step, and what the noise was."""

    values: Array
    grid: BinaryGrid
    scale: float
    """Scale (Laplace) or deviation (Gaussian) that was used, in units of the values."""
    sensitivity: float
    """The sensitivity that was charged, rounding included, in units of the values."""
    private: bool
    """False if the source can be replayed."""


def add_laplace(
    values: Any,
    *,
    sensitivity: float,
    scale: float,
    source: Source | None = None,
    grid: BinaryGrid | None = None,
    most: float = 0.0,
) -> NoisyValues:
    """Laplace noise of `scale` times the L1 sensitivity: what `hush.Laplace(scale)` accounts for, exactly.

    `values` are floats or integers. Floats are rounded to a grid; that may move two datasets apart by one step per
    coordinate, which is charged: it enlarges the noise. Integers count steps of the given grid (unit steps if none is
    given) and are not charged.

    >>> from hush.randomness.source import SeededSource
    >>> noised = add_laplace([10.0, 20.0], sensitivity=1.0, scale=2.0, source=SeededSource(1))
    >>> noised.scale
    2.00000...
    """
    return _add("add_laplace", integer_noise.rounded_laplace, values, sensitivity, scale, source, grid, most)


def add_gaussian(
    values: Any,
    *,
    sensitivity: float,
    noise_multiplier: float,
    source: Source | None = None,
    grid: BinaryGrid | None = None,
    most: float = 0.0,
) -> NoisyValues:
    """Gaussian noise of this multiple of the L2 sensitivity: what `hush.Gaussian(noise_multiplier)` accounts for.

    Floats and integers as in `add_laplace`; floats are charged one step times the root of the number of coordinates.

    >>> from hush.randomness.source import SeededSource
    >>> add_gaussian([10, 20], sensitivity=1.0, noise_multiplier=2.0, source=SeededSource(1)).scale
    2.0
    """
    return _add(
        "add_gaussian", integer_noise.rounded_gaussian, values, sensitivity, noise_multiplier, source, grid, most
    )


def add_discrete_laplace(integers: Any, *, sensitivity: int, scale: float, source: Source | None = None) -> Array:
    """Integers plus discrete Laplace noise: what `hush.DiscreteLaplace(scale, sensitivity)` accounts for, for each one.

    Here `scale` is in units of the integers. Pure: sensitivity/scale is the epsilon, with L1 sensitivity for many.

    >>> from hush.randomness.source import SeededSource
    >>> add_discrete_laplace([10, 20], sensitivity=1, scale=0.01, source=SeededSource(1)).tolist()
    [10, 20]
    """
    source = source_or_secure(source)
    multiples = _multiples("add_discrete_laplace", integers)
    if isinstance(sensitivity, bool) or not isinstance(sensitivity, int | np.integer) or sensitivity < 1:
        raise InvalidParameter("add_discrete_laplace", "a whole number sensitivity >= 1", sensitivity=sensitivity)
    return _sum(multiples, integer_noise.discrete_laplace(source, scale, multiples.size))


def scale_for(epsilon: float) -> float:
    """The least float scale, in units of the sensitivity, whose Laplace noise is epsilon-private in exact arithmetic.

    >>> scale_for(0.3)
    3.33333...
    """
    epsilon = integer_noise.in_range("scale_for", "1e-300 <= epsilon <= 1e300", 1e-300, 1e300, epsilon=epsilon)
    return _at_least(1 / Fraction(epsilon))


def _add(
    who: str,
    draw: Callable[[Source, float, int], Array],
    values: Any,
    sensitivity: float,
    multiplier: float,
    source: Source | None,
    grid: BinaryGrid | None,
    most: float,
) -> NoisyValues:
    laplace = draw is integer_noise.rounded_laplace
    sensitivity = _size(who, sensitivity=sensitivity)
    multiplier = _size(who, **{"scale" if laplace else "noise_multiplier": multiplier})
    source = source_or_secure(source)
    values = np.asarray(values)
    if values.dtype.kind == "f":
        spread = values.size if laplace else math.sqrt(values.size)
        grid = grid or BinaryGrid.for_scale(
            sensitivity * multiplier, sensitivity=sensitivity, coordinates=max(spread, 1), most=most
        )
        charge = grid.charged_l1 if laplace else grid.charged_l2
        multiples, steps = grid.quantise(values), charge(sensitivity, values.size)
    else:
        grid = grid or BinaryGrid(0)
        multiples, steps = _multiples(who, values), Fraction(sensitivity) / grid.step
    scale = _at_least(steps * Fraction(multiplier))
    total = _sum(multiples, draw(source, scale, multiples.size))
    unit = float(grid.step)
    return NoisyValues(grid.to_float(total), grid, scale * unit, float(steps) * unit, source.private)


def _size(who: str, **field: Any) -> float:
    name = next(iter(field))
    return integer_noise.in_range(who, f"2^-400 <= {name} <= 2^400", 2.0**-400, 2.0**400, **field)


def _multiples(who: str, values: Any) -> Array:
    values = np.asarray(values)
    if values.dtype.kind not in "iu":
        raise InvalidParameter(who, "integers or floats", dtype=str(values.dtype))
    if values.dtype.kind == "u":
        return np.minimum(values.astype(np.uint64), MOST).astype(np.int64)
    return np.clip(values.astype(np.int64), -MOST, MOST)


def _sum(multiples: Array, draws: Array) -> Array:
    """The sum, cut at 2^60. As no multiple is larger, a noise cut at 2^61 gives the same as one that is not cut."""
    return np.clip(multiples + draws.reshape(multiples.shape), -MOST, MOST)


def _at_least(value: Fraction) -> float:
    """The least float that is not below the value."""
    nearest = float(value)
    return nearest if Fraction(nearest) >= value else math.nextafter(nearest, math.inf)
