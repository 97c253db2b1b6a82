"""Expected squared error of a noisy number that is clamped to a range.

With a = t - truth and T(z) the probability that the noise exceeds z, integration by parts gives

    E (clamp(t + Z) - truth)^2 = (clamp(t) - truth)^2 + I1(high - t) + I1(t - low) + 2a (I0(high - t) - I0(t - low)),

with I0(w) the integral of T and I1(w) that of 2z T(z) from 0 to w. I0 is continued as an even function and I1 as an odd
one, which makes the same line true where t itself lies outside. Nothing large is subtracted while t is inside, so that
errors far below the range keep their digits.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from scipy.special import ndtr

from hush.arrays import Array

SMALL = 1e-3
"""Below this the closed forms cancel, and a few terms of the series are exact to 1e-12."""


class NoiseShape(ABC):
    """A symmetric law of noise, by the two integrals of its tail at scale 1."""

    variance: float
    """At scale 1."""

    @abstractmethod
    def tail(self, room: Array) -> tuple[Array, Array]:
        """The integrals of T(z) and of 2z T(z) from 0 to room >= 0."""

    def error(
        self, centre: Array | float, truth: Array | float, low: float, high: float, scale: Array | float
    ) -> Array:
        """Expected squared distance from the truth of the clamped noisy centre; arrays are broadcast.

        >>> round(float(LAPLACE.error(0.0, 0.0, -1e9, 1e9, 3.0)), 9)
        18.0
        >>> float(LAPLACE.error(0.0, 0.0, -1.0, 1.0, 1e9))
        0.99999999...
        """
        start = np.clip(centre, low, high) - truth
        above, below = (np.subtract(high, centre), np.subtract(centre, low))
        even_above, odd_above = self._continued(above, scale)
        even_below, odd_below = self._continued(below, scale)
        shift = np.subtract(centre, truth)
        return start**2 + odd_above + odd_below + 2 * shift * (even_above - even_below)

    def _continued(self, room: Array, scale: Array | float) -> tuple[Array, Array]:
        even, odd = self.tail(np.abs(room) / scale)
        return scale * even, np.sign(room) * np.square(scale) * odd


class LaplaceShape(NoiseShape):
    """Density e^{-|z|} / 2."""

    variance = 2.0

    def tail(self, room: Array) -> tuple[Array, Array]:
        series = room**2 * (1 / 2 - room * (1 / 3 - room / 8))
        odd = np.where(room < SMALL, series, -np.expm1(-room) - room * np.exp(-room))
        return -0.5 * np.expm1(-room), odd


class NormalShape(NoiseShape):
    """The standard normal law."""

    variance = 1.0

    def tail(self, room: Array) -> tuple[Array, Array]:
        w, peak = np.minimum(room, 40.0), 1 / np.sqrt(2 * np.pi)  # past 40 the tail is 0
        beyond, density = ndtr(-w), peak * np.exp(-0.5 * np.square(w))
        even = np.where(w < SMALL, w / 2 - peak * w**2 * (1 / 2 - w**2 / 24), w * beyond + peak - density)
        series = w**2 * (1 / 2 - peak * w * (2 / 3 - w**2 / 15))
        return even, np.where(w < SMALL, series, np.square(w) * beyond + 0.5 - beyond - w * density)


class StudentShape(NoiseShape):
    """Density (2/pi) (1 + z^2)^-2: Student's law of three degrees, narrower by a root of three."""

    variance = 1.0

    def tail(self, room: Array) -> tuple[Array, Array]:
        w = np.minimum(room, 1e5)  # past it both integrals have reached their ends, to 1e-5 of them
        beyond = (np.arctan2(1.0, w) - w / (1 + w**2)) / np.pi
        even = w * beyond + w**2 / (1 + w**2) / np.pi
        return even, w**2 * beyond + (np.arctan(w) - w / (1 + w**2)) / np.pi


LAPLACE, NORMAL, STUDENT = LaplaceShape(), NormalShape(), StudentShape()
