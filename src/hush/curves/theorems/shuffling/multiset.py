"""Profiles of shuffled reports: n independent trials of a few kinds, each with its weight under P and under Q.

A pair (P, Q) of multisets has this form when dP/dB = (1/n) sum of u(kind) and dQ/dB = (1/n) sum of v(kind), where B
draws n kinds independently. Then delta(eps) = (1/n) E(sum of u - e^eps v)_+. Clones, blankets and the attained
examples are all of this form (docs/theory/shuffling.md has the proofs).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from hush.arrays import Array
from hush.curves.interval import Interval
from hush.curves.pairs.pair import Pair
from hush.errors import InvalidParameter, NotCovered
from hush.numerics.rounding import UNIT
from hush.numerics.special.largest_coefficient import log_largest
from hush.numerics.special.positive_part import log_positive_part
from hush.numerics.special.trials import Trials
from hush.numerics.work import spend


class Profile(Protocol):
    """An upper or lower bound on delta at every epsilon >= 0."""

    def log_delta(self, epsilon: float, tolerance: float) -> Interval: ...


@dataclass(frozen=True)
class TrialKind:
    """A kind of trial."""

    chance: float
    """Under B."""
    weight: float
    """v, what it adds to dQ/dB, n times (see above)."""
    loss: float
    """log(u/v), where u is the same for P."""


@dataclass(frozen=True)
class Multiset:
    """n independent trials of these kinds; kinds that are not named have no weight under P or Q."""

    people: int
    kinds: tuple[TrialKind, ...]

    def __post_init__(self) -> None:
        for sign in (0, 1):
            total = math.fsum(k.chance * k.weight * math.exp(sign * k.loss) for k in self.kinds)
            if not abs(total - 1) < 1e-9:  # a check of the formulas: rounding leaves some 1e-15
                raise InvalidParameter("Multiset", "weights with mean 1 under P and under Q", mean=total)

    def log_delta(self, epsilon: float, tolerance: float = 1e-10) -> Interval:
        """Bounds on log delta, epsilon >= 0: (1/n) E(sum of v (e^loss - e^eps))_+."""
        growth = math.exp(epsilon)
        values = tuple(k.weight * growth * math.expm1(k.loss - epsilon) for k in self.kinds)
        trials = Trials(self.people, tuple(k.chance for k in self.kinds), values)
        low, high = log_positive_part(trials, tolerance)
        return low - math.log(self.people) - 4 * UNIT, min(high - math.log(self.people) + 4 * UNIT, 0.0)


def two_sided(epsilon0: float, people: int, chance: float, *others: TrialKind) -> Multiset:
    """Two kinds of this chance, one e^eps0 times likelier under P and one under Q, beside kinds of loss 0."""
    rest = math.fsum(kind.chance * kind.weight for kind in others)
    weight = (1 - rest) / (chance * (1 + math.exp(epsilon0)))
    kinds = (TrialKind(chance, weight, epsilon0), TrialKind(chance, weight * math.exp(epsilon0), -epsilon0), *others)
    return Multiset(people, tuple(kind for kind in kinds if kind.chance > 0))


def clone(epsilon0: float, people: int) -> Multiset:
    """Any eps0-LDP randomizer: Feldman, McMillan, Talwar 2021, Thm 3.2 (general clones).

    R(x0) = p Q0 + (1-p) Q1 and R(x1) = (1-p) Q0 + p Q1 with p = e^eps0/(e^eps0 + 1), and R(x) >= e^-eps0 (Q0 + Q1)/2.

    >>> math.exp(clone(0.5, 100).log_delta(0.2)[1])
    1.353015...e-05
    """
    return two_sided(epsilon0, people, math.exp(-epsilon0) / 2)


def stronger_clone(epsilon0: float, people: int, table: Array) -> Multiset:
    """Feldman, McMillan, Talwar 2023, Thm 3.1 with its erratum: only where (e^eps0+1) R(x) >= R(x0) + R(x1).

    The table of probabilities (a row for each input, a column for each output) is checked, so that it cannot be had
    for an arbitrary randomizer. A table may leave out inputs and outputs that are alike to those that it has.

    >>> stronger_clone(1.0, 100, np.array([[0.5, 0.5, 0.0], [0.5, 0.0, 0.5], [0.0, 0.5, 0.5]]))
    Traceback (most recent call last):
    hush.errors.NotCovered: the stronger clone needs ...
    """
    if not covers_sums(epsilon0, table):
        raise NotCovered(
            "the stronger clone needs (e^eps0 + 1) R(x)(y) >= R(x0)(y) + R(x1)(y) for all inputs and outputs "
            "(erratum of Feldman, McMillan, Talwar 2023); the general clone holds for every randomizer"
        )
    return two_sided(epsilon0, people, 1 / (math.exp(epsilon0) + 1))


def covers_sums(epsilon0: float, table: Array) -> bool:
    """Whether (e^eps0 + 1) R(x)(y) >= R(x0)(y) + R(x1)(y) for all x, x0 != x1 and y of the table."""
    table = np.asarray(table, dtype=float)
    if len(table) < 2:
        return False
    largest = np.sort(table, axis=0)
    # 1e-12: a table of floats in which equality holds, as for randomized response, must pass
    return bool(np.all((math.exp(epsilon0) + 1) * largest[0] >= (largest[-1] + largest[-2]) * (1 - 1e-12)))


def blanket_of_response(epsilon0: float, choices: int, people: int) -> Multiset:
    """k-ary randomized response: the privacy blanket, Balle, Bell, Gascón, Nissim 2019, Lemma 5.3, exactly.

    A report is a uniform choice with probability g = k/(e^eps0 + k - 1). The reports of others that are no such
    choice are given away. Of those that are, the two answers in question matter. With two choices this is the
    stronger clone.
    """
    chance = 1 / (math.exp(epsilon0) + choices - 1)
    return two_sided(epsilon0, people, chance, TrialKind((choices - 2) * chance, 1.0, 0.0))


def blanket_of_unary(epsilon0: float, choices: int, keep: float, flip: float, people: int) -> Multiset:
    """Unary encoding (a 1 stays with probability keep, a 0 turns with probability flip): its blanket, exactly.

    The least probability of a vector over all inputs is that of an input at which it has a 0, or of any input where
    it has none. Under the blanket the two bits in question are (1,0), (0,1), (1,1) or (0,0); only the first two tell.
    """
    ratio = (1 - keep) / (1 - flip)
    both = ratio * (flip**2 - flip**choices)
    one = (1 - keep) * flip
    mass = ratio * (1 - flip**choices) + keep * flip ** (choices - 1)
    rest = mass - 2 * one - both
    return two_sided(
        epsilon0, people, one, TrialKind(both, math.exp(epsilon0), 0.0), TrialKind(max(rest, 0.0), 1.0, 0.0)
    )


def blanket_of_mass(epsilon0: float, mass: float, people: int) -> Multiset:
    """Any eps0-LDP randomizer whose blanket has exactly this mass: the worst case of Lemma 5.3 of Balle et al. 2019.

    R(x)/blanket and R(x')/blanket lie in [mass, mass e^eps0] with mean 1. E(sum of r - e^eps r')_+ is convex in
    each and submodular in both, so it is largest at the corners, and with the two as opposed as their means allow.
    """
    growth = math.exp(epsilon0)
    if not 1 / growth <= mass <= 1:
        raise InvalidParameter("blanket_of_mass", "e^-epsilon0 <= mass <= 1", mass=mass)
    high = (1 / mass - 1) / (growth - 1)  # chance that r is at its upper end
    if high <= 0.5:
        return two_sided(epsilon0, people, mass * high, TrialKind(mass * (1 - 2 * high), 1.0, 0.0))
    return two_sided(epsilon0, people, mass * (1 - high), TrialKind(mass * (2 * high - 1), growth, 0.0))


# -- what is attained --------------------------------------------------------------------------------------------


def others_elsewhere(epsilon0: float, chance: float, people: int, scale: float = 1.0) -> Multiset:
    """Everyone else holds a third value and reports each of two tell-tale answers with this chance.

    The record's own answer is scale e^eps0 times as likely as theirs, the opposite one scale times. All other answers
    are merged, which can only lose. Attained by k-ary randomized response (scale 1) and unary encoding.
    """
    rest = 1 - 2 * chance
    told = scale * chance * (1 + math.exp(epsilon0))
    kinds = (
        TrialKind(chance, scale, epsilon0),
        TrialKind(chance, scale * math.exp(epsilon0), -epsilon0),
        TrialKind(rest, (1 - told) / rest, 0.0),
    )
    return Multiset(people, kinds)


def others_agree(epsilon0: float, own: float, opposite: float, people: int) -> Multiset:
    """Everyone else holds the value of P's record: its own answer has chance `own`, the other's `opposite`."""
    kinds = [
        TrialKind(own, math.exp(-epsilon0), epsilon0),
        TrialKind(opposite, math.exp(epsilon0), -epsilon0),
        TrialKind(max(1 - own - opposite, 0.0), 1.0, 0.0),
    ]
    # a kind of less chance is rounding of 1 - own - opposite: at the largest epsilon, 30, real ones have some e^-31
    return Multiset(people, tuple(kind for kind in kinds if kind.chance > 1e-15))


def one_bit(people: int, among_others: float, with_record: float) -> Multiset:
    """Everyone else and Q's record send a 1 with the chance `among_others`, P's record with `with_record`."""
    up, down = with_record / among_others, (1 - with_record) / (1 - among_others)
    kinds = (TrialKind(among_others, 1.0, math.log(up)), TrialKind(1 - among_others, 1.0, math.log(down)))
    return Multiset(people, kinds)


@dataclass(frozen=True)
class BinaryResponses:
    """Binary randomized response, exactly: the worst over how many of the others hold either value.

    With k ones among n people the number of ones reported has the law nu_k. Neighbours are nu_k and nu_{k+1}; all k are
    tried. That everyone else holds the value of P's record (k = 0) is often, but not always, the worst.
    """

    epsilon0: float
    people: int

    MOST = 400
    """People up to which all cases are tried."""

    def log_delta(self, epsilon: float, tolerance: float = 1e-10) -> Interval:  # noqa: ARG002
        laws = binary_laws(self.epsilon0, self.people)
        return self.worst(laws[:-1], laws[1:], epsilon)

    def worst(self, p: Array, q: Array, epsilon: float) -> Interval:
        """Bounds on the largest hockey stick of the rows: probabilities are sums of positive products."""
        if epsilon >= self.epsilon0:
            return -math.inf, -math.inf
        spend(6 * p.size)
        gap = p - math.exp(epsilon) * q
        share = 8 * UNIT * (self.people + 8)
        low = float((np.maximum(gap - share * p, 0.0)).sum(axis=1).max())
        high = float((np.maximum(gap + share * p, 0.0)).sum(axis=1).max())
        # what underflowed is below 1e-315 in all, which 1e-290 stands for
        return math.log(low) if low > 0 else -math.inf, min(math.log(max(high, 1e-290)), 0.0)


@dataclass(frozen=True)
class ManyBinaryResponses:
    """Binary randomized response of many people: an upper bound over all data of the others at once.

    Counts of ones are bounded together with all real values between whole ones, so it is above the worst case by a
    share of some 1/(n p q), which is what a better alignment of thresholds with whole numbers could give.
    """

    epsilon0: float
    people: int

    MOST = 10**10
    """People up to which it is asked."""

    def log_delta(self, epsilon: float, tolerance: float = 1e-10) -> Interval:
        if epsilon >= self.epsilon0:
            return -math.inf, -math.inf
        low = 1 / (math.exp(self.epsilon0) + 1)
        return -math.inf, log_largest(low, self.people - 1, math.exp(epsilon), max(5 * tolerance, 1e-7))


_LAWS: dict[tuple[float, int], Array] = {}


def binary_laws(epsilon0: float, people: int) -> Array:
    """nu_k for k = 0 .. people, a row each."""
    if (epsilon0, people) not in _LAWS:
        low = 1 / (math.exp(epsilon0) + 1)
        high = 1 / (1 + math.exp(-epsilon0))
        powers = [np.ones(1)]
        for _ in range(people):
            powers.append(np.convolve(powers[-1], [high, low]))
        # the other value's powers are the same, reversed
        _LAWS.clear()
        _LAWS[epsilon0, people] = np.array(
            [np.convolve(powers[people - ones], powers[ones][::-1]) for ones in range(people + 1)]
        )
    return _LAWS[epsilon0, people]


@dataclass(frozen=True)
class Plain:
    """No amplification: what one report reveals."""

    pair: Pair

    def log_delta(self, epsilon: float, tolerance: float = 1e-10) -> Interval:
        return self.pair.log_delta(epsilon, tolerance)
