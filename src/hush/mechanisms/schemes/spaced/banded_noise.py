"""Banded noise: that of a step is correlated with that of the last few, so that much of it cancels in prefix sums."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np

from hush.checks import count, listed, number
from hush.errors import InvalidParameter, NotCovered
from hush.mechanisms.leaves.gaussian import Gaussian
from hush.mechanisms.mechanism import Mechanism
from hush.mechanisms.scheme import Scheme
from hush.numerics.prefix_sums.banded_coefficients import Aim, best_coefficients, prefix_loss
from hush.numerics.prefix_sums.spread_uses import sensitivity_squared
from hush.numerics.rounding import UNIT

MOST_BANDS = 4096
"""Vectors of noise that a training may have to remember."""
RULE = "numbers that fall from c_0 > 0 on and stay >= 0, their squares at most 1 in all"


@dataclass(frozen=True, init=False)
class BandedNoise:
    """Noise y_t = (z_t - c_1 y_{t-1} - ... - c_{b-1} y_{t-b+1}) / c_0 of steps t, the z_t independent and normal.

    It is C^-1 z, C with c_0, ..., c_{b-1} down every column. Columns have norm at most 1, so that the noise multiplier
    is the deviation of z. The coefficients fall: the noise stays bounded, and the worst pattern of uses is known.

    >>> noise = BandedNoise.optimal(steps=2000, bands=8)
    >>> noise.bands, round(noise.rmse(2000), 4), round(BandedNoise([1.0]).rmse(2000), 4)
    (8, 11.58, 31.6307)
    """

    coefficients: tuple[float, ...]

    def __init__(self, coefficients: object) -> None:
        found = tuple(
            number("BandedNoise", RULE, 0.0, 1.0, coefficients=c)
            for c in listed("BandedNoise", RULE, coefficients=coefficients)
        )
        squares = sum((Fraction(repr(c)) ** 2 for c in found), Fraction(0))  # as written: above 1 is less noise
        if (
            not 1 <= len(found) <= MOST_BANDS
            or not found[0] > 0
            or squares > 1
            or any(b > a for a, b in pairwise(found))
        ):
            raise InvalidParameter("BandedNoise", RULE, coefficients=found[:8])
        object.__setattr__(self, "coefficients", found)

    @classmethod
    def optimal(cls, *, steps: int, bands: int, loss: Aim = "mean") -> BandedNoise:
        """The coefficients with the least mean (or max: largest) error of the prefix sums of so many steps.

        >>> [round(c, 4) for c in BandedNoise.optimal(steps=2000, bands=2).coefficients]
        [0.7415, 0.6709]
        """
        who = "BandedNoise.optimal"
        steps, bands = count(who, 1, steps=steps), count(who, 1, bands=bands)
        if bands > min(steps, MOST_BANDS):
            raise InvalidParameter(who, f"at most {min(steps, MOST_BANDS)} bands", bands=bands)
        if loss not in ("mean", "max"):
            raise InvalidParameter(who, "loss='mean' or loss='max'", loss=loss)
        falling = np.minimum.accumulate(np.array(best_coefficients(bands, steps, loss)))
        return cls((falling / np.linalg.norm(falling) * (1 - 8 * UNIT)).tolist())

    @property
    def bands(self) -> int:
        """How many steps share noise."""
        return len(self.coefficients)

    def rmse(self, steps: int, loss: Aim = "mean") -> float:
        """Root of the mean (or largest) variance of the prefix sums of so many steps, per unit of noise multiplier."""
        steps = count("BandedNoise.rmse", 1, steps=steps)
        return math.sqrt(prefix_loss(np.array(self.coefficients), steps, loss))

    def on(self, scheme: Scheme, *, noise_multiplier: float, draws: int = 1) -> Mechanism:
        """What so many draws of the scheme give away with this noise; NotCovered where uses come too close.

        >>> from hush import CyclicPoisson, Poisson
        >>> noise = BandedNoise([0.8, 0.6])
        >>> print(noise.on(CyclicPoisson(rate=0.2, parts=2), noise_multiplier=1.0, draws=2))
        Gaussian noise of multiplier 1 on cyclic Poisson sampling at rate 0.2 in 2 parts, 2 times
        >>> noise.on(Poisson(rate=0.2), noise_multiplier=1.0)
        Traceback (most recent call last):
        hush.errors.NotCovered: noise of 2 bands on Poisson sampling at rate 0.2: ...
        """
        self.require(scheme)
        return Gaussian(noise_multiplier).on(scheme).repeat(draws)

    def require(self, scheme: Scheme) -> None:
        """Refuse a scheme under which the noise of two uses of one record may overlap more than is accounted for."""
        if self.bands > scheme.bands:
            raise NotCovered(
                f"noise of {self.bands} bands on {scheme}: accounted for is noise of up to {scheme.bands}, as a "
                "record may be used again while its noise is still correlated. Covered: hush.CyclicPoisson, "
                "hush.CyclicAllocation and hush.BallsInBins with as many parts as there are bands"
            )

    def sensitivity(self, *, steps: int, separation: int, uses: int) -> float:
        """How far a record moves C X that is used up to `uses` times, at steps `separation` or more apart: rounded up.

        For federated training, where nobody samples in secret: the whole run is Gaussian(noise_multiplier / this).

        >>> BandedNoise.optimal(steps=100, bands=4).sensitivity(steps=100, separation=10, uses=4)
        2.000000...
        """
        who = "BandedNoise.sensitivity"
        steps, separation = count(who, 1, steps=steps), count(who, 1, separation=separation)
        c = np.array(self.coefficients)
        return math.sqrt(sensitivity_squared(c, steps, separation, count(who, 1, uses=uses))) * (1 + 4 * UNIT)

    def apart(self, *, noise_multiplier: float, steps: int, separation: int, uses: int) -> Mechanism:
        """The whole run where each record is used up to `uses` times, `separation` or more steps apart, in the open.

        >>> noise = BandedNoise.optimal(steps=100, bands=4)
        >>> print(noise.apart(noise_multiplier=4.0, steps=100, separation=10, uses=4))
        Gaussian noise of multiplier 2
        """
        moved = self.sensitivity(steps=steps, separation=separation, uses=uses)
        return Gaussian(
            number("BandedNoise.apart", "0.01 <= noise_multiplier <= 1e8", 0.01, 1e8, noise_multiplier=noise_multiplier)
            / moved
        )

    def __str__(self) -> str:
        return f"noise of {self.bands} bands"
