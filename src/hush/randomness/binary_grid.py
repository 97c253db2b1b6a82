"""Numbers as whole multiples of a power of two, so that sums are exact and noise is added in integers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from hush.arrays import Array
from hush.errors import InvalidParameter

FINE = 20
"""Steps of the grid are at most 2^-20 of what they are charged to, so that the charge is below a millionth."""
COARSE = 48
"""The scale of the noise is at most 2^48 steps: below 2^50, which the samplers of integer noise cover."""
MOST = 1 << 60
"""Multiples are cut here, so that adding noise cannot overflow; cutting never increases a distance."""


@dataclass(frozen=True)
class BinaryGrid:
    """The whole multiples of 2^power: the numbers that may come out.

    >>> BinaryGrid(-2).quantise([0.3, 0.375, -1.0]).tolist()
    [1, 2, -4]
    >>> BinaryGrid(-2).to_float([1, 2, -4]).tolist()
    [0.25, 0.5, -1.0]
    """

    power: int

    def __post_init__(self) -> None:
        if isinstance(self.power, bool) or not isinstance(self.power, int) or not -1000 <= self.power <= 900:
            raise InvalidParameter("BinaryGrid", "a whole number -1000 <= power <= 900", power=self.power)

    @classmethod
    def for_scale(cls, scale: float, *, sensitivity: float, coordinates: float = 1, most: float = 0.0) -> BinaryGrid:
        """Fine against the noise, and against what the rounding of so many coordinates adds to the sensitivity.

        `coordinates` is their number for L1, its root for L2. Values up to `most` stay below 2^52 steps, where floats
        are exact; for that the grid may become coarser, and its charge larger.

        >>> BinaryGrid.for_scale(3.0, sensitivity=1.0)
        BinaryGrid(power=-20)
        >>> BinaryGrid.for_scale(3.0, sensitivity=1.0, most=1e15)
        BinaryGrid(power=-2)
        """
        for name, value in (("scale", scale), ("sensitivity", sensitivity)):
            if not 2.0**-900 <= value <= 2.0**900:
                raise InvalidParameter("BinaryGrid.for_scale", f"2^-900 <= {name} <= 2^900", **{name: value})
        if not 1 <= coordinates <= 2**60:
            raise InvalidParameter("BinaryGrid.for_scale", "1 <= coordinates <= 2^60", coordinates=coordinates)
        if not 0 <= most <= 2.0**900:
            raise InvalidParameter("BinaryGrid.for_scale", "0 <= most <= 2^900", most=most)
        fine = math.frexp(min(scale, sensitivity / coordinates))[1] - 1 - FINE
        coarse = math.frexp(most)[1] - 52 if most else fine
        return cls(max(fine, coarse, math.frexp(scale)[1] - COARSE))

    @property
    def step(self) -> Fraction:
        """The distance of two neighbours."""
        return Fraction(2) ** self.power

    def quantise(self, values: Any) -> Array:
        """The nearest multiples, ties to the even one, cut at 2^60; what is not a number counts as 0.

        >>> BinaryGrid(0).quantise([0.5, 1.5, float("nan"), float("inf")]).tolist() == [0, 2, 0, 2**60]
        True
        """
        scaled = np.array(values, dtype=float)
        with np.errstate(over="ignore", under="ignore"):
            scaled *= 2.0**-self.power
        np.copyto(scaled, 0.0, where=np.isnan(scaled))
        np.clip(np.rint(scaled, out=scaled), -MOST, MOST, out=scaled)
        return scaled.astype(np.int64)

    def to_float(self, multiples: Any) -> Array:
        """The multiples as floats: exact up to 2^53 steps, and on the grid beyond."""
        return np.asarray(multiples, dtype=np.int64).astype(float) * 2.0**self.power

    def charged_l1(self, sensitivity: float, coordinates: int) -> Fraction:
        """The L1 sensitivity after rounding, in steps: each coordinate of both datasets moves by half a step.

        >>> BinaryGrid(-2).charged_l1(1.0, 3)
        Fraction(7, 1)
        """
        return Fraction(sensitivity) / self.step + coordinates

    def charged_l2(self, sensitivity: float, coordinates: int) -> Fraction:
        """The L2 sensitivity after rounding, in steps, the root of the number of coordinates rounded up.

        >>> float(BinaryGrid(-2).charged_l2(1.0, 4))
        6.0000000...
        """
        root = math.isqrt(coordinates << 80)
        return Fraction(sensitivity) / self.step + Fraction(root + (root * root < coordinates << 80), 1 << 40)
