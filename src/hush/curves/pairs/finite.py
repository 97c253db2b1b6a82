"""Pairs with finitely many values of the loss: discrete noise, randomized response, stated guarantees, tables."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np

from hush.arrays import Array
from hush.curves.interval import Interval
from hush.curves.pairs.pair import Pair
from hush.curves.pairs.share import Share
from hush.curves.renyi.curve import RenyiCurve
from hush.curves.renyi.families import finite
from hush.errors import InvalidParameter
from hush.numerics.engines.loss_source import Tails
from hush.numerics.laws.atoms import joined, lattice_of, law_of_atoms, log_q_masses, merged
from hush.numerics.laws.law import Law
from hush.numerics.rounding import UNIT
from hush.numerics.work import spend

BLUR = 16 * UNIT
"""Relative rounding error of the log of a ratio of masses: a quotient, a logarithm, and what they cancel."""
SHORT, EXCESS = 1e-10, 1e-9
"""How far the masses of a stated pair may be from 1: what rounding makes of them, and a table that was rounded up."""
TOTAL_ROUNDING = 1e-12
"""Totals within this of 1 are exact but for rounding."""
ON_LATTICE = 1e-9
"""Losses within this share of a step of a lattice are on it: they were rounded when they were written."""
LEAST_MASS = 1e-300
"""Stands for no mass at loss 0: a mass must be above 0, and this one changes nothing."""
LONG = 100
"""Tables of more losses are cut to what matters at the delta asked for: a tilt can follow the rest."""
CUT_ROUNDING = 1e-10
"""Relative room for the rounding of a sum of masses: far above the sum of a million roundings."""
MOST_STEPS = 1_000_000
"""Steps of a lattice from the least loss to the largest: losses on a finer one count as off any lattice."""
LARGEST_BLUR = 1e-12
"""Relative rounding error of losses that a supplied pair may state. Products do not add it, so it must stay at the size
of their own rounding."""


@dataclass(frozen=True, eq=False)
class FinitePair(Pair):
    """Finite losses with their P-mass (Q-mass is e^{-loss} of it), P-mass at +infinity and Q-mass at -infinity."""

    losses: Array
    """Increasing."""
    mass: Array
    at_infinity: float = 0.0
    at_minus_infinity: float = 0.0
    lattice: float | None = None
    blur: float = 0.0
    """Relative rounding error of the losses; 0 where they are what was stated."""
    cut: bool = False  # type: ignore[assignment]
    """Whether the mass at infinity stands for the end of a table."""

    @property
    def key(self) -> tuple[object, ...]:
        """What makes two finite pairs equal."""
        masses = self.losses.tobytes(), self.mass.tobytes(), self.at_infinity, self.at_minus_infinity
        return *masses, self.blur, self.cut

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and isinstance(other, FinitePair) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    @classmethod
    def of(cls, p: Sequence[float] | Array, q: Sequence[float] | Array) -> FinitePair:
        """From the probabilities of each outcome under P and under Q.

        >>> pair = FinitePair.of([0.75, 0.25], [0.25, 0.75])
        >>> round(pair.epsilon(math.log(0.5))[1], 12)
        0.0
        """
        p, q = np.asarray(p, dtype=float), np.asarray(q, dtype=float)
        both = (p > 0) & (q > 0)
        return cls.ordered(
            _log_ratio(p[both], q[both]), p[both], float(p[q == 0].sum()), float(q[p == 0].sum()), blur=BLUR
        )

    @classmethod
    def ordered(
        cls, losses: Array, mass: Array, top: float, bottom: float, blur: float = 0.0, cut: bool = False
    ) -> FinitePair:
        """From losses in any order, with P-mass at +infinity and Q-mass at -infinity."""
        order = np.argsort(losses, kind="stable")
        losses, mass = losses[order], mass[order]
        return cls(losses, mass, top, bottom, lattice_of(losses), blur, cut)

    @classmethod
    def from_profile(cls, epsilons: Array, deltas: Array) -> FinitePair:
        """The pair whose profile joins the points (e^epsilon, delta) by lines: an upper bound on any convex one."""
        return cls.ordered(*joined(epsilons, deltas))

    def checked(self) -> FinitePair:
        """Finite losses in order with masses above 0, of total 1 under P and under Q, on the lattice that is named."""
        losses, mass = np.asarray(self.losses, dtype=float), np.asarray(self.mass, dtype=float)
        if losses.shape != mass.shape or losses.ndim != 1 or not np.all(np.isfinite(losses)):
            raise InvalidParameter("A finite pair", "finite losses, each with its mass", losses=losses.shape)
        if not np.all(np.diff(losses) >= 0):
            raise InvalidParameter("A finite pair", "losses in increasing order", losses=len(losses))
        ends = (self.at_infinity, self.at_minus_infinity)
        if not (np.all(mass > 0) and all(end >= 0 for end in ends)):
            raise InvalidParameter("A finite pair", "masses above 0", least=float(min([*mass.tolist(), *ends])))
        with np.errstate(over="ignore"):
            totals = (("P", float(mass.sum()) + ends[0]), ("Q", float(self.q_mass.sum()) + ends[1]))
        for side, total in totals:
            if not -SHORT < total - 1 < EXCESS:
                raise InvalidParameter("A finite pair", f"masses that sum to 1 under {side}", total=total)
        if self.lattice is not None and not _on_lattice(losses, self.lattice):
            rule = f"losses on the lattice that is given, at most {MOST_STEPS} steps apart"
            raise InvalidParameter("A finite pair", rule, lattice=self.lattice)
        if not 0 <= self.blur <= LARGEST_BLUR:
            rule = f"a relative rounding error from 0 to {LARGEST_BLUR:g}"
            raise InvalidParameter("A finite pair", rule, blur=self.blur)
        return self

    @property
    def infinite(self) -> float:
        return self.at_infinity

    @cached_property
    def q_mass(self) -> Array:
        """Q-mass of each finite loss."""
        return np.exp(self._log_q)

    @cached_property
    def _log_q(self) -> Array:
        return log_q_masses(self.losses, self.mass)

    def mix(self, rate: float) -> FinitePair:
        if rate == 1:
            return self
        growth = rate * np.expm1(np.minimum(self.losses, 700.0))
        losses = np.where(
            self.losses > 600,
            np.logaddexp(math.log1p(-rate), math.log(rate) + self.losses) if rate > 0 else 0.0,
            np.log1p(np.minimum(growth, 1e300)),
        )
        mass = rate * self.mass + (1 - rate) * self.q_mass
        if self.at_minus_infinity > 0 and rate < 1:
            losses = np.append(losses, math.log1p(-rate))
            mass = np.append(mass, (1 - rate) * self.at_minus_infinity)
        # relative errors of the losses grow by at most 1 + loss: the mixed one may be like the exponential of it
        blur = BLUR + self.blur * (1 + float(np.abs(self.losses).max(initial=0.0)))
        return self.ordered(losses, mass, rate * self.at_infinity, 0.0, blur, self.cut)

    def shared(self, share: Share) -> FinitePair:
        p, q = self.mass, self.q_mass
        losses, mass = share.losses(self.losses), share.above * p + share.above_rest * q
        top, bottom = 0.0, 0.0
        for p_end, q_end in ((self.at_infinity, 0.0), (0.0, self.at_minus_infinity)):
            above = share.above * p_end + share.above_rest * q_end
            below = share.below * p_end + share.below_rest * q_end
            if above > 0 and below > 0:
                losses, mass = np.append(losses, math.log(above) - math.log(below)), np.append(mass, above)
            elif above > 0:
                top += above
            else:
                bottom += below
        blur = BLUR + self.blur * (1 + float(np.abs(self.losses).max(initial=0.0)))
        return self.ordered(losses, mass, top, bottom, blur, self.cut)

    def mix_both(self, rate: float) -> Pair:
        """The upper half of the mix, its mirror, and what is left at loss 0."""
        mixed = self.mix(rate)
        up = mixed.losses > 0
        losses, mass, mirror = mixed.losses[up], mixed.mass[up], mixed.q_mass[up]
        rest = 1 - mixed.at_infinity - float(mass.sum()) - float(mirror.sum())
        if rate == 1 or rest < 0:  # the two halves do not fit together: not a symmetric pair
            return super().mix_both(rate)
        return FinitePair(
            np.concatenate([-losses[::-1], [0.0], losses]),
            np.concatenate([mirror[::-1], [max(rest, LEAST_MASS)], mass]),
            mixed.at_infinity,
            mixed.at_infinity,
            blur=mixed.blur,
            cut=self.cut,
        )

    def swap(self) -> FinitePair:
        """(Q, P); a mirror image that differs by rounding alone is the pair itself."""
        losses, mass = -self.losses[::-1], self.q_mass[::-1].copy()
        if self._mirrors(losses, mass):
            return self
        top, bottom = self.at_minus_infinity, self.at_infinity
        return FinitePair(losses, mass, top, bottom, self.lattice, self.blur, self.cut)

    def _mirrors(self, losses: Array, mass: Array) -> bool:
        """Whether these losses and masses are its own, but for rounding."""
        near = UNIT * 16 * (1 + float(np.abs(losses).max(initial=0.0)))
        if abs(self.at_infinity - self.at_minus_infinity) > near * self.at_infinity:
            return False
        own, other = merged(self.losses, self.mass), merged(losses, mass)
        return (
            len(own[0]) == len(other[0])
            and np.allclose(own[0], other[0], rtol=near, atol=4 * UNIT)
            and np.allclose(own[1], other[1], rtol=near, atol=0.0)
        )

    def cut_above(self, mass: float) -> FinitePair:
        if len(self.losses) <= LONG:
            return self
        kept = self._kept(mass)
        lost = float(self.mass[kept:].sum()) * (1 + CUT_ROUNDING)
        return replace(self, losses=self.losses[:kept], mass=self.mass[:kept], at_infinity=self.at_infinity + lost)

    def cut_below(self, mass: float) -> FinitePair:
        """The losses that are cut off become the largest that is left; their Q-mass is kept."""
        if len(self.losses) <= LONG:
            return self
        kept = self._kept(mass)
        rest = self.mass[kept:] * np.exp(self.losses[kept - 1] - self.losses[kept:])
        masses = self.mass[:kept].copy()
        masses[-1] += float(rest.sum())
        return replace(self, losses=self.losses[:kept], mass=masses)

    def _kept(self, mass: float) -> int:
        """How many losses have more P-mass than this at and above them; one at the least."""
        beyond = np.cumsum(self.mass[::-1])[::-1]
        return max(int(np.count_nonzero(beyond > mass)), 1)

    @property
    def written_loss(self) -> Fraction | None:
        return None if self.blur or not len(self.losses) else Fraction(repr(float(self.losses[-1])))

    @property
    def written_infinite(self) -> Fraction | None:
        return None if self.blur else Fraction(repr(float(self.at_infinity)))

    def law(self) -> Law:
        return law_of_atoms(self.losses, self.mass, self.q_mass, self.at_infinity, self.lattice)

    def curve(self) -> RenyiCurve:
        if self.at_infinity > 0:
            return RenyiCurve.constant(math.inf)
        totals = float(self.mass.sum()), float(self.q_mass.sum()) + self.at_minus_infinity
        if (
            max(abs(total - 1) for total in totals) > TOTAL_ROUNDING
        ):  # a table that was rounded up: its law says by how much
            return super().curve()
        return finite(self.losses, self._log_q, self.at_minus_infinity, self.blur)

    def log_absolute_chi(self, orders: Array) -> Array:
        if self.at_infinity > 0:
            return np.full(len(orders), math.inf)
        with np.errstate(divide="ignore"):
            size = np.append(np.log(np.abs(np.expm1(self.losses))), 0.0)
            log_q = np.log(np.append(self.q_mass, self.at_minus_infinity))
        orders = np.asarray(orders, dtype=float)[:, None]
        total = np.logaddexp.reduce(log_q + orders * size, axis=1)
        worst = float(np.abs(size[np.isfinite(size)]).max())
        return total + (8 * UNIT + self.blur) * (4 + orders[:, 0] * (1 + worst))

    def log_delta(self, epsilon: float, tolerance: float = 1e-9) -> Interval:  # noqa: ARG002
        spend(6 * len(self.losses))
        ends = []
        for side in (-1, 1):
            gap = self.losses + side * self.blur * np.abs(self.losses) - epsilon
            past = gap > 0
            if not past.any():
                ends.append(math.log(self.at_infinity) if self.at_infinity > 0 else -math.inf)
                continue
            value = self.at_infinity + float((self.mass[past] * -np.expm1(-gap[past])).sum())
            rounding = UNIT * (8 + float((self.mass[past] * (np.abs(self.losses[past]) + abs(epsilon))).sum()) / value)
            ends.append(math.log(value) + side * min(8 * rounding, 1.0))
        high = min(ends[1], 0.0)
        return min(ends[0], high), high

    @property
    def kinks(self) -> Array:
        return np.unique(self.losses)

    @property
    def max_loss(self) -> float:
        if self.at_infinity:
            return math.inf
        return float((self.losses + self.blur * np.abs(self.losses)).max(initial=0.0))

    def tails(self, losses: Array) -> Tails:
        spend(8 * len(losses))
        index = np.searchsorted(self.losses, losses, side="right")
        p_up, q_up, p_down, q_down = (sums[index] for sums in self._sums)
        return p_up, q_up, p_down, q_down

    @cached_property
    def _sums(self) -> Tails:
        """P- and Q-mass past each loss, and up to it."""
        p, q = self.mass, self.q_mass
        return (
            np.append(np.cumsum(p[::-1])[::-1], 0.0) + self.at_infinity,
            np.append(np.cumsum(q[::-1])[::-1], 0.0),
            np.concatenate([[0.0], np.cumsum(p)]),
            np.concatenate([[0.0], np.cumsum(q)]) + self.at_minus_infinity,
        )


def tabulate(pair: Pair) -> FinitePair:
    """A finite pair above any pair: upper bounds on its profile at many epsilons, joined by lines.

    >>> pair = FinitePair.of([0.75, 0.25], [0.25, 0.75])
    >>> bool(tabulate(pair).log_delta(0.5)[1] >= pair.log_delta(0.5)[0])
    True
    """
    return FinitePair.from_profile(*pair.profile_points())


def _log_ratio(p: Array, q: Array) -> Array:
    """log(p/q) of numbers above 0, each within a few roundings of itself, as `BLUR` says.

    Near 1 the difference is exact (Sterbenz). Else the quotient has one rounding; where that is past all floats, or so
    small that it loses digits, the logarithms are far apart, and their difference keeps its own.
    """
    with np.errstate(over="ignore"):
        ratio, quotient = (p - q) / q, p / q
    far = ~((quotient > 1e-300) & (quotient < 1e300))
    logs = np.where(far, np.log(p) - np.log(q), np.log(np.where(far, 1.0, quotient)))
    return np.where(np.abs(ratio) < 0.5, np.log1p(np.clip(ratio, -0.9, 0.9)), logs)


def _on_lattice(losses: Array, lattice: float) -> bool:
    if not 0 < lattice < math.inf or (len(losses) and not (losses[-1] - losses[0]) / lattice <= MOST_STEPS):
        return False
    steps = (losses - losses[:1]) / lattice
    return bool(np.all(np.abs(steps - np.rint(steps)) <= ON_LATTICE))


CERTAIN_LOSS = FinitePair(np.empty(0), np.empty(0), 1.0, 1.0)
"""The pair that hides nothing."""
