"""The law of a privacy loss as finitely many atoms and analytic pieces, and its exponential tilts.

A piece knows how to turn itself into quadrature nodes whose error is bounded in advance. Everything the
contour engine needs is read off the nodes: moments at complex arguments, spread, total variation.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from hush.arrays import Array
from hush.numerics.laws.envelope import Cells, Envelope
from hush.numerics.laws.normal_mixture import Mixture
from hush.numerics.rounding import UNIT
from hush.numerics.special.turns import turned
from hush.numerics.work import CALL, room, spend

NEGLIGIBLE = 46.0
"""Nodes lighter than e^-46 of the heaviest are dropped, later where more accuracy is asked; it is charged (C6)."""
SPARE = 6.0
"""Dropped nodes are e^-6 below the accuracy that is asked for: there may be hundreds of them."""
FARTHEST = 70.0
"""Depth, in the log-density, to which the support of a tilted density is laid out: far below NEGLIGIBLE."""
SERIES = 0.05
"""Squares of an angle below which sin(x) - x is a series: the difference would cancel."""
FEW_TERMS = 5000
"""Terms of a table that are not worth a second way to sum them."""
POWERS = 18
"""Powers of an angle below 1 that are summed: the rest is below 1/19! = 8e-18 of its square, far less than is charged
for rounding (C7)."""
LARGEST_MOMENT = 600.0
"""Exponents up to which e^x - 1 is summed as such: a sum of thousands is still a float."""
WHOLE = 1e-11
"""Nodes whose masses sum to 1 this nearly hold the whole law: log E e^{cL} may then be summed from e^{cL} - 1 (C10)."""
CELL_ROUNDING = 1e-15
"""Rounding of the weights of all cells: they sum to 1."""


@dataclass(frozen=True, eq=False)
class Nodes:
    """Quadrature nodes of the measure e^{cL} dP: any integral of e^{iyL}, |y| up to a reach, to a relative error."""

    loss: Array
    log_weight: Array
    loss_error: Array
    """Bound on the rounding error of each loss, in units of machine precision."""
    error: float
    weight_error: Array
    """The same of each log-weight, but for that of tilt times loss and for a few units (C8a)."""


class Piece(Protocol):
    """An absolutely continuous part of a law, analytic inside."""

    @property
    def any_order(self) -> bool:
        """Whether its nodes are certified at negative tilts, too."""
        ...

    def nodes(self, tilt: float, reach: float, accuracy: float) -> Nodes: ...

    def cells(self, tilt: float, fineness: int) -> Cells: ...

    def cost(self, tilt: float, reach: float, accuracy: float) -> float:
        """About how many nodes that takes."""
        ...

    def sweep(self, tilts: Array, accuracy: float) -> tuple[Array, Array]: ...

    def without_tail(self, log_mass: float) -> tuple[Piece, float]:
        """The piece without its largest losses, of about that P-mass, and a bound on the mass that was left out."""
        ...

    @property
    def rising(self) -> tuple[Mixture, Mixture] | None:
        """Components of P and Q such that the loss of their normal mixtures rises with x; None for any other piece."""
        ...


def _joined(atoms: Array, pieces: list[Array]) -> Array:
    """What belongs to the atoms, then to the pieces."""
    return pieces[0] if len(pieces) == 1 and not len(atoms) else np.concatenate([atoms, *pieces])


def _largest(log_weight: Array) -> float:
    """The largest; where there is none, the loss is never finite, or nowhere that floats reach."""
    if not len(log_weight):
        raise ZeroDivisionError("a law given that the loss is finite, which it never is")
    return float(log_weight.max())


@dataclass(frozen=True, eq=False)
class Tilted:
    """A law tilted by e^{cL} and normalised, as nodes."""

    loss: Array
    weight: Array
    log_moment: float
    """log E_P e^{cL}."""
    log_moment_error: float
    mean: float
    deviation: float
    error: float
    """Relative error of E_c e^{iyL} from the quadrature, for |y| up to the reach."""
    mean_error: float
    """Rounding error of the mean: a shift of the loss."""
    jitter: float
    """Root mean square of the rounding error of the loss."""
    weight_errors: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Mean of the rounding error of the log-weight times 1, |L - mean| and (L - mean)^2 (C8a)."""

    def departure(self, y: Array) -> Array:
        """E_c[e^{iy(L - mean)}] - 1 on the uniform grid y: two small tables and one matrix product.

        The part linear in y has mean zero and is left out, so that what is summed is of second order:
        e^{i(a+b)} - 1 - i(a+b) = (e^{ia} - 1)(e^{ib} - 1) + (e^{ia} - 1 - ia) + (e^{ib} - 1 - ib).
        Losses that turn by less than one radian are summed by their powers instead, where they are many.
        """
        centred, weight = self.loss - self.mean, self.weight
        step = float(y[1] - y[0]) if len(y) > 1 else 0.0
        inner = max(1, math.isqrt(len(y)))
        outer = -(-len(y) // inner)
        far = float(y[-1])
        slow = np.abs(centred) * far < 1
        if far == 0 or (inner + outer) * np.count_nonzero(slow) < FEW_TERMS:
            slowly: Array | float = 0.0
        else:
            slowly = _by_powers(centred[slow] * far, weight[slow], y / far)
            centred, weight = centred[~slow], weight[~slow]
        room((inner + outer) * len(centred), 4)
        spend(len(y) * len(centred) / 8)
        fine, fine_rest = _turn(np.arange(inner)[:, None] * (step * centred), weight)
        coarse, coarse_rest = _turn((float(y[0]) + inner * step * np.arange(outer))[:, None] * centred, weight)
        total = (coarse * weight) @ fine.T + coarse_rest[:, None] + fine_rest
        return total.ravel()[: len(y)] + slowly

    def departure_error(self, y: Array) -> Array:
        """Bound on the error of departure(y) but for a shift of the loss by mean_error."""
        second = np.minimum(y * y * self.deviation**2, 2 + y * self.deviation)
        plain, first, square = self.weight_errors  # |e^{ia} - 1 - ia| <= min(a^2/2, 2 + |a|)
        weights = np.minimum(y * y * square / 2, 2 * plain + y * first)
        return self.error + 8 * UNIT * second + weights + y * self.jitter * np.minimum(2.0, y * self.deviation)


def _turn(angle: Array, weight: Array) -> tuple[Array, Array]:
    """e^{ia} - 1, and the sum of e^{ia} - 1 - ia with these weights, without cancellation."""
    fall, sine = turned(angle)
    turn: Array = np.empty(angle.shape, dtype=complex)
    turn.real, turn.imag = fall, sine
    square = angle * angle
    lag = square / -72  # sin(a) - a = -a^3/6 (1 - a^2/20 (1 - a^2/42 (1 - a^2/72))), in place
    for divisor in (-42, -20, -6):
        lag += 1
        lag *= square
        lag /= divisor
    lag *= angle
    np.subtract(sine, angle, out=lag, where=square >= SERIES)
    return turn, fall @ weight + 1j * (lag @ weight)


def _by_powers(loss: Array, weight: Array, share: Array) -> Array:
    """The sum of e^{ia} - 1 - ia with these weights, a = share * loss, by the powers of the losses, all below 1."""
    spend(POWERS * (CALL / 10 + 2 * len(loss) + 2 * len(share)))
    total: Array = np.zeros(len(share), dtype=complex)
    moment, turned = weight * loss, 1j * share
    term = turned
    for k in range(2, POWERS + 1):
        moment = moment * loss
        term = term * turned / k
        total += float(moment.sum()) * term
    return total


@dataclass(frozen=True, eq=False)
class Law:
    """The law of a loss under P, given that it is finite: atoms (loss, mass) and pieces, of total mass one."""

    losses: Array
    masses: Array
    pieces: tuple[Piece, ...] = ()
    lattice: float | None = None
    """Where all losses lie on origin + k * lattice, k whole: that step."""
    origin: float = 0.0
    discount: float = 0.0
    """log E_P e^{-L}: above 0 where P has mass at +infinity that was split off."""
    missing: float = 0.0
    """P-mass that was left out: the total is that much below one."""

    @property
    def rising(self) -> tuple[Mixture, Mixture] | None:
        """Components of P and Q, where the law is that of two normal mixtures with a loss that rises with x."""
        return self.pieces[0].rising if len(self.pieces) == 1 and not self.masses.any() else None

    @property
    def any_order(self) -> bool:
        """Whether tilt() is certified at negative orders, too; atoms are."""
        return all(piece.any_order for piece in self.pieces)

    def without_tail(self, log_mass: float) -> Law:
        """This law without the largest losses, of P-mass about e^log_mass: its moments stay small at high orders."""
        parts = [piece.without_tail(log_mass) for piece in self.pieces]
        missing = sum(mass for _, mass in parts)
        return replace(self, pieces=tuple(piece for piece, _ in parts), missing=missing) if missing else self

    def tilt(self, c: float, *, reach: float = 0.0, accuracy: float = 38.0) -> Tilted:
        """Tilt by e^{cL}; good for E_c e^{iyL} with |y| <= reach, to a relative error of about e^-accuracy."""
        room(self.cost(c, reach, accuracy), 20)
        parts = [piece.nodes(c, reach, accuracy) for piece in self.pieces]
        occupied = self.masses > 0
        losses, masses = self.losses[occupied], self.masses[occupied]
        loss = _joined(losses, [p.loss for p in parts])
        log_base = _joined(np.log(masses), [p.log_weight - c * p.loss for p in parts])
        log_weight = log_base + c * loss
        top = _largest(log_weight)
        scaled = np.exp(log_weight - top)
        total = float(scaled.sum())
        weight = scaled / total
        wrong = UNIT * _joined(np.zeros(len(losses)), [p.weight_error for p in parts])
        log_moment, size, blur = top + math.log(total), 2.0 + abs(top), float(weight @ wrong)
        if float((c * loss).max()) < LARGEST_MOMENT:
            base = np.exp(log_base)
            if abs(float(base.sum()) - 1) < WHOLE:
                excess = base * np.expm1(c * loss)
                gain = float(excess.sum())
                if gain > -0.5:
                    log_moment, size = math.log1p(gain), float(np.abs(excess).sum()) / (1 + gain)
                    blur = float(np.abs(excess) @ wrong) / (1 + gain)
        rounding = UNIT * _joined(2 * np.abs(losses), [p.loss_error for p in parts])
        error, start = self.missing, len(losses)
        for p in parts:
            error += 2 * p.error * float(weight[start : start + len(p.loss)].sum())
            start += len(p.loss)
        mean = float(weight @ loss)
        away = np.abs(loss - mean)
        deviation = math.sqrt(float(weight @ away**2))
        weight_errors = float(weight @ wrong), float(weight @ (wrong * away)), float(weight @ (wrong * away**2))
        loss_error = float(weight @ rounding)
        return Tilted(
            loss,
            weight,
            log_moment,
            error + 8 * UNIT * size + abs(c) * loss_error + blur,
            mean,
            deviation,
            error,
            loss_error + 8 * UNIT * deviation + 2 * UNIT * abs(mean) + weight_errors[1],
            math.sqrt(float(weight @ rounding**2)),
            weight_errors,
        )

    def cost(self, c: float, reach: float, accuracy: float) -> float:
        """About how many nodes tilt() takes."""
        return len(self.losses) + sum(piece.cost(c, reach, accuracy) for piece in self.pieces)

    def envelope(self, c: float, fineness: int = 1) -> Envelope:
        """Tilt by e^{cL} in cells, for bounds on |E_c e^{iyL}| over whole ranges of y."""
        parts = [piece.cells(c, fineness) for piece in self.pieces]
        occupied = self.masses > 0
        losses = self.losses[occupied]
        log_weight = np.concatenate([np.log(self.masses[occupied]) + c * losses, *(p.log_weight for p in parts)])
        top = _largest(log_weight)
        weight = np.exp(log_weight - top)
        spend(20 * len(weight))
        total = float(weight.sum())
        weight /= total
        fill = np.zeros(len(losses))
        return Envelope(
            np.concatenate([losses, *(p.loss for p in parts)]),
            weight,
            np.concatenate([fill, *(p.half_width for p in parts)]),
            np.concatenate([fill, *(p.score for p in parts)]),
            np.concatenate([fill, *(p.slack for p in parts)]),
            sum(math.exp(min(p.lost - top, 0.0)) for p in parts) / total + CELL_ROUNDING,
            sum(math.exp(min(p.jumps - top, LARGEST_MOMENT)) / total for p in parts),
        )

    def cumulants(self, tilts: Array, accuracy: float) -> tuple[Array, Array, Array]:
        """log E_P e^{cL}, mean and mean absolute deviation of L tilted by each c: for searches, not for bounds."""
        parts = [piece.sweep(tilts, accuracy) for piece in self.pieces]
        occupied = self.masses > 0
        loss = _joined(self.losses[occupied], [p[0] for p in parts])
        log_base = _joined(np.log(self.masses[occupied]), [p[1] for p in parts])
        _largest(log_base)
        room(len(tilts) * len(loss), 8)
        exponent = log_base + tilts[:, None] * loss
        top = exponent.max(axis=1)
        weight = np.exp(exponent - top[:, None])
        total = weight.sum(axis=1)
        mean = weight @ loss / total
        spread = (weight * np.abs(loss - mean[:, None])).sum(axis=1) / total
        value = top + np.log(total)
        if float(np.max(np.abs(value))) < 0.1:
            value = np.log1p((np.exp(log_base) * np.expm1(np.minimum(tilts[:, None] * loss, 700.0))).sum(axis=1))
        return value, mean, spread
