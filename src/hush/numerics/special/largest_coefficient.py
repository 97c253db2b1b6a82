"""The largest coefficient of a family of polynomials, certified: all counts of two kinds of coins at once.

With chances q < p = 1 - q let N_k count the heads of m - k coins of chance q and k of chance p. Wanted is
    sup over k and j of  (p - tq) P(N_k <= j) - (tp - q) P(N_k <= j - 1),
the largest coefficient of phi(z) A(z)^{m-k} B(z)^k with A = p + qz, B = q + pz and
phi = ((p - tq) - (tp - q) z)/(1 - z). A discrete Fourier transform on |z| = e^{-s} gives it as a sum of exponentials
in k and u = j - (p-q) k, which makes sense for real k and u. That function is bounded by branch and bound over
mean - x <= u <= mean + 2: below, Bernstein's inequality; above, the coefficients fall with j, because N_k is
log-concave with its mode within 1 of its mean (Darroch 1964).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from hush.arrays import Array
from hush.numerics.rounding import UNIT
from hush.numerics.special.logarithms import log1p
from hush.numerics.work import room

MOST_BOXES = 6000
"""Boxes at which the search stops, with the largest bound of those that are left: it is valid at any time."""
MOST_ROUNDS = 60
"""Rounds of halving after which it stops too."""
FARTHEST = 20.0
"""Deviations below the mean up to which the saddle may lie: past it the terms of the transform need too many digits."""
DEPTH, DEPTH_GROWTH = 45.0, 1.2
"""Terms of the transform below e^-deep of the largest are left out and charged, deep = 45 + 1.2 far^2. What is charged
grows by e^{s(u - start)} over the search, which is at most e^{far^2}: the 1.2 outweighs that."""
AHEAD = 20.0
"""The period is so long that coefficients one period ahead count with e^-deep-20; they are charged."""
SHARP = 1.9
"""Terms must have died out at the angle acos(1 - 1.9), near pi: past it they would grow again towards z = -r."""
MOST_TERMS, LAST_ANGLE = 6000, 3.0
"""Terms of the transform, and the largest angle of one, at the most."""
FARTHER = 10.0
"""Deviations beyond the saddle that the search covers; below, Bernstein's inequality is charged."""
ORDERS = np.geomspace(1e-3, 30, 60)
"""Deeper tilts, in units of one over the deviation, at which Chernoff bounds what lies behind: each is valid."""
BOXES = (32, 64)
"""Boxes in k and in u at first."""
SUM_ROUNDING = 1e-12
"""Relative error of a sum of thousands of terms, and room for the final logarithms."""
EXPONENT_ROUNDING = 64 * UNIT
"""Error of an exponent per coin and unit of |log z|: products and sums of a few numbers of that size."""
MOST_EXPONENT = 600.0
"""Past it e^x counts as infinite: such a box has no bound, and is cut in two."""


def log_largest(low: float, coins: int, level: float, tolerance: float) -> float:
    """An upper bound on log of the supremum, for chances low and 1 - low and t = level >= 1; 0 where none is found."""
    sums = _Sums.of(low, coins, level)
    if sums is None:
        return 0.0
    found = math.log(sums.supremum(tolerance)) + sums.log_scale
    x = sums.below
    rest = np.logaddexp(sums.ahead, -x * x / (2 * (sums.spread**2 + x / 3)))
    return min(float(np.logaddexp(found, rest)) + SUM_ROUNDING, 0.0)


def _behind(q: float, coins: int, s: float, points: int) -> float:
    """What the transform adds from coefficients `points`, `2 points`, ... before: Chernoff at a deeper tilt s + d.

    P(N_k <= i) r^{i-j} is at most e^{(m-k) da + k db + d i} in units of the scale, i <= mean + 2 - points. The exponent
    is linear in k, so its ends are tried.
    """
    p = 1 - q
    best = 0.0
    for d in ORDERS / math.sqrt(coins * p * q):
        da = math.log1p(q * math.expm1(-s - d)) - math.log1p(q * math.expm1(-s))
        db = math.log1p(p * math.expm1(-s - d)) - math.log1p(p * math.expm1(-s))
        ends = (coins * (da + d * q) + d * (2 - points), coins * (db + d * p) + d * (2 - points))
        best = min(best, max(ends) + 16 * UNIT * coins * d)
    return 2 * math.exp(best)


@dataclass(frozen=True, eq=False)
class _Sums:
    """Real part of sum c_l exp(k g_l - (u - start) w_l), times e^log_scale, but for an error."""

    coins: int
    weights: Array
    skew: Array
    """g = log(B/A) - (p-q) w."""
    places: Array
    """w = log z."""
    mean: float
    spread: float
    start: float
    below: float
    """How far below the mean the search goes."""
    log_scale: float
    slack: float
    """What the transform leaves out, in units of the scale, at u = start; it grows as e^{s(u - start)}."""
    ahead: float
    """log of what the transform adds from coefficients far ahead: at most t e^{-s points}, summed."""

    @classmethod
    def of(cls, q: float, coins: int, t: float) -> _Sums | None:
        p = 1 - q
        top, bottom = p - t * q, t * p - q
        if top <= 0:
            return None
        spread = math.sqrt(coins * p * q)
        s = max(math.log(bottom / top), 1 / spread)
        far = s * spread
        if far > FARTHEST:
            return None
        deep = DEPTH + DEPTH_GROWTH * far * far
        points = 2 * math.ceil((deep + AHEAD) / s / 2)
        sharp = coins * p * q * math.exp(-s)
        if sharp < deep / SHARP:
            return None
        last = math.acos(1 - deep / sharp)
        angle = 2 * math.pi / points * np.arange(int(last * points / (2 * math.pi)) + 2)
        if len(angle) > MOST_TERMS or angle[-1] > LAST_ANGLE:
            return None
        w = -s + 1j * angle
        z_less_one: Array = np.expm1(w)
        log_a, log_b = log1p(q * z_less_one), log1p(p * z_less_one)
        start = coins * q - spread * far  # near where the tilted counts lie
        exponent = coins * (log_a - q * w) + (coins * q - start) * w
        phi = (top - bottom * np.exp(w)) / -z_less_one
        scale = float(exponent[0].real)
        weights = phi * np.exp(exponent - scale) * np.where(angle == 0, 1.0, 2.0) / points
        size = (top + bottom) * (1 + 1 / s)  # |phi| on the circle is at most twice that
        behind = _behind(q, coins, s, points)
        return cls(
            coins, weights, log_b - log_a - (p - q) * w, w, coins * q, spread, start,
            below=spread * (far + FARTHER) * (1 + far / spread), log_scale=scale,
            slack=2 * size * math.exp(-deep) + behind, ahead=math.log(4 * t) - deep - AHEAD,
        )  # fmt: skip

    def supremum(self, tolerance: float) -> float:
        """The largest bound over all boxes that may hold the supremum."""
        low, high = self.mean - self.below, self.mean + 2
        k_half, u_half = self.coins / (2 * BOXES[0]), (high - low) / (2 * BOXES[1])
        ks, us = np.meshgrid(k_half * (2 * np.arange(BOXES[0]) + 1), low + u_half * (2 * np.arange(BOXES[1]) + 1))
        boxes = _Boxes(ks.ravel(), us.ravel(), np.full(ks.size, k_half), np.full(ks.size, u_half))
        best, largest = 0.0, math.inf
        for _ in range(MOST_ROUNDS):
            value, bound, along_k = self.bound(boxes)
            best = max(best, float(value.max()))
            keep = bound > best
            largest = float(bound[keep].max(initial=best))
            if largest <= best * (1 + tolerance) or keep.sum() > MOST_BOXES:
                break
            boxes = boxes.split(keep, along_k)
        return largest

    def bound(self, boxes: _Boxes) -> tuple[Array, Array, Array]:
        """Values at the centres, bounds on the boxes by Taylor's theorem, and which way to cut them."""
        k, u, hk, hu = boxes.k, boxes.u, boxes.k_half, boxes.u_half
        room(len(k) * len(self.weights), 10)
        terms = self.weights * np.exp(k[:, None] * self.skew - (u[:, None] - self.start) * self.places)
        value, size = np.real(terms).sum(axis=1), np.abs(terms)
        by_k, by_u = np.abs(np.real(terms @ self.skew)), np.abs(np.real(terms @ self.places))
        pull_k, pull_u = np.abs(self.skew), np.abs(self.places)
        s = -float(self.places[0].real)
        lean = _exp(hk * float(np.abs(np.real(self.skew)).max()) + hu * s)
        bend = 0.5 * lean * (size * (hk[:, None] * pull_k + hu[:, None] * pull_u) ** 2).sum(axis=1)
        rounding = SUM_ROUNDING + EXPONENT_ROUNDING * self.coins * float(pull_u.max())
        growth = _exp(s * (u + hu - self.start) + k * max(float(self.skew[0].real), 0.0))
        error = size.sum(axis=1) * lean * rounding + self.slack * growth * lean
        along_k = by_k * hk + hk**2 * (size @ pull_k**2) > by_u * hu + hu**2 * (size @ pull_u**2)
        return value, value + by_k * hk + by_u * hu + bend + error, along_k


def _exp(exponent: Array) -> Array:
    """e^x, and infinity where it might be no float."""
    return np.where(exponent < MOST_EXPONENT, np.exp(np.minimum(exponent, MOST_EXPONENT)), math.inf)


@dataclass(frozen=True, eq=False)
class _Boxes:
    """Boxes in (k, u): centres and half-widths."""

    k: Array
    u: Array
    k_half: Array
    u_half: Array

    def split(self, keep: Array, along_k: Array) -> _Boxes:
        """The boxes that are kept, each cut in two."""
        k, u, cut = self.k[keep], self.u[keep], along_k[keep]
        k_half = np.where(cut, self.k_half[keep] / 2, self.k_half[keep])
        u_half = np.where(cut, self.u_half[keep], self.u_half[keep] / 2)
        dk, du = np.where(cut, k_half, 0.0), np.where(cut, 0.0, u_half)
        return _Boxes(
            np.concatenate([k - dk, k + dk]),
            np.concatenate([u - du, u + du]),
            np.tile(k_half, 2),
            np.tile(u_half, 2),
        )
