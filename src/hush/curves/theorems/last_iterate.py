"""Last iterates of noisy iterations: one theorem, one function; each gives mu of a Gaussian pair.

All follow from one argument. Run X on one dataset and X' on its neighbour, with maps that shrink distances by a
factor c_t and differ by at most s_t, and Gaussian noise of deviation sigma_t. For any a_t >= 0 such that
z_t = c_t z_{t-1} + s_t - a_t stays >= 0 and ends at 0, the last iterates are no easier to tell apart than two normals
at distance mu, mu^2 = sum (a_t / sigma_t)^2 (Feldman, Mironov, Talwar, Thakurta 2018, Thm 22, for Rényi divergences;
Bok, Su, Altschuler 2024, Sec. 3, for trade-off curves). z may start at the diameter of a set that both runs are in.

`gap` is 1 - c, the contraction with its digits kept; `ratio` is the shift of one step over the noise of one step.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from hush.curves.interval import Interval
from hush.errors import InvalidParameter
from hush.numerics.rounding import UNIT

MU_ROUNDING = 1e-13
"""Relative error of the closed forms: some twenty operations, none of which cancels, and powers c^k down to e^-200."""
SMALLEST_SCALE = 1e-140
"""Steps whose effect has shrunk below this are not told apart: its square is still a float."""


def minorant_blocks(shifts: Sequence[float], variances: Sequence[float]) -> list[tuple[int, int]]:
    """Steps that share a slope of the greatest convex minorant of the cumulated shifts, as (first, one past the last).

    Adjacent blocks are pooled while the earlier one is steeper. Only sums within blocks are compared, so that no digits
    are lost where sizes differ widely.

    >>> minorant_blocks([5, 0, 3], [1, 1, 1])
    [(0, 2), (2, 3)]
    """
    stack: list[tuple[float, float, int]] = []
    for place, (shift, variance) in enumerate(zip(shifts, variances, strict=True)):
        start = place
        while stack and stack[-1][0] * variance >= shift * stack[-1][1]:
            earlier, clock, start = stack.pop()
            shift, variance = shift + earlier, variance + clock
        stack.append((shift, variance, start))
    return list(pairwise([*(start for _, _, start in stack), len(shifts)]))


def contractive_iteration_mu(
    sensitivities: Sequence[float], deviations: Sequence[float], contractions: Sequence[float]
) -> Interval:
    """Least mu for maps with these contractions (0 to 1), differences and deviations; both ends of its rounding.

    Feldman, Mironov, Talwar, Thakurta 2018, Thm 22; Bok, Su, Altschuler 2024, Sec. 3. In units in which later
    contractions are undone, all maps are 1-Lipschitz. It is attained, by linear maps: with b_t = a_t/sigma_t^2, which
    never falls, take x -> (b_{t-1}/b_t) x + s_t against x -> (b_{t-1}/b_t) x.

    >>> contractive_iteration_mu([1, 2], [1, 1], [1, 1])[1] ** 2
    5.00000000000...
    """
    later = np.concatenate([np.cumprod(np.asarray(contractions, dtype=float)[:0:-1])[::-1], [1.0]])
    near = int(np.argmax(later >= SMALLEST_SCALE))
    shifts = later * np.asarray(sensitivities, dtype=float)
    variances = np.square(later[near:] * np.asarray(deviations, dtype=float)[near:])
    carried = math.fsum(shifts[:near])
    kept = shifts[near:].copy()
    kept[0] += carried  # what came before the first step that is told apart is met there
    blocks = minorant_blocks(kept.tolist(), variances.tolist())
    square = math.fsum(math.fsum(kept[i:j]) ** 2 / math.fsum(variances[i:j]) for i, j in blocks)
    slack = MU_ROUNDING + 8 * UNIT * len(kept)
    value = math.sqrt(square)
    return value * (1 - slack), value * (1 + slack)


def descent_gap(step_size: float, smoothness: float, strong_convexity: float) -> float:
    """1 - c of a gradient step, rounded down: c = max(|1 - eta m|, |1 - eta M|).

    Hardt, Recht, Singer 2016, Lemma 3.7: w -> w - eta grad f(w) is c-Lipschitz for m-strongly convex, M-smooth f;
    for convex f (m = 0) it is 1-Lipschitz where eta <= 2/M.

    >>> descent_gap(0.1, 1.0, 0.5)
    0.0499999...
    """
    reach = step_size * smoothness
    if not (0 < reach <= 2 * (1 + 4 * UNIT) and 0 <= strong_convexity <= smoothness):
        raise InvalidParameter(
            "A gradient step", "0 < step_size <= 2/smoothness", step_size=step_size, smoothness=smoothness
        )
    gap = min(step_size * strong_convexity * (1 - 2 * UNIT), 2 - reach - 4 * UNIT)
    return gap if gap > SMALLEST_SCALE else 0.0


def _kept(gap: float, steps: float) -> float:
    """c^steps."""
    return math.exp(steps * math.log1p(-gap)) if gap < 1 else float(steps == 0)


def shrunk(gap: float, steps: float) -> float:
    """1 - c^steps."""
    return -math.expm1(steps * math.log1p(-gap)) if gap < 1 else float(steps > 0)


def full_batch_mu(gap: float, iterations: int, ratio: float) -> float:
    """Noisy descent on all records (Bok, Su, Altschuler 2024, Sec. 4); attained by quadratics where c = 1 - eta m.

    mu = ratio * sqrt((1 - c^t)/(1 + c^t) * (1 + c)/(1 - c)), and ratio * sqrt(t) at c = 1: plain composition.

    >>> full_batch_mu(0.0, 100, 0.1), full_batch_mu(0.5, 100, 0.1)
    (1.0, 0.1732...)
    """
    if gap == 0:
        return ratio * math.sqrt(iterations)
    lost = shrunk(gap, iterations)
    return ratio * math.sqrt(lost / (2 - lost) * (2 - gap) / gap)


def projected_mu(gap: float, iterations: int, ratio: float, diameter: float) -> float:
    """The same, projected on a convex set; `diameter` is over the noise of one step (Bok, Su, Altschuler 2024, Sec. 4).

    min over T' <= t of (c^T' D + ratio (1 - c^T')/(1 - c)) * sqrt((1 - c^2)/(1 - c^{2T'})), or the bound without
    projection. Any T' is valid: both runs are in the set T' steps before the end, wherever they are.

    >>> projected_mu(0.0, 10_000, 0.04, 20.0)
    1.788854...
    """
    plain = full_batch_mu(gap, iterations, ratio)
    if gap == 0:
        best = diameter / ratio
    else:
        rest = 1 - diameter * gap / ratio
        best = math.log(rest) / math.log1p(-gap) if 0 < rest < 1 and gap < 1 else math.inf
    near = math.floor(min(best, iterations))
    tried = {min(max(k, 1), iterations) for k in (near, near + 1)}
    return min(plain, *(restarted_mu(gap, k, ratio, diameter) for k in tried))


def restarted_mu(gap: float, steps: int, ratio: float, diameter: float) -> float:
    """Two runs that are a diameter apart so many steps before the end, and differ by the ratio in each: over its noise.

    >>> restarted_mu(0.0, 4, 0.0, 3.0)
    1.5
    """
    if gap == 0:
        return (diameter + steps * ratio) / math.sqrt(steps)
    lost = shrunk(gap, steps)
    shift = diameter * _kept(gap, steps) + ratio * lost / gap
    return shift * math.sqrt(gap * (2 - gap) / (lost * (2 - lost)))


def cyclic_mu(gap: float, batches: int, epochs: int, ratio: float) -> float:
    """Gradient descent through l fixed batches, E times over, for a record of the last batch: the worst one.

    Bok, Su, Altschuler 2024, Sec. 4: ratio * sqrt(1 + c^{2l-2} (1 - c^2)/(1 - c^l)^2 * (1 - x)/(1 + x)) with
    x = c^{l(E-1)}; at c = 1 ratio * sqrt(1 + (E-1)/l). One batch is full-batch descent.

    >>> cyclic_mu(0.02, 10, 50, 0.2)
    0.270003996...
    """
    if batches == 1:
        return full_batch_mu(gap, epochs, ratio)
    if gap == 0:
        return ratio * math.sqrt(1 + (epochs - 1) / batches)
    between, all_but_one = shrunk(gap, batches), shrunk(gap, batches * (epochs - 1))
    early = _kept(gap, 2 * batches - 2) * gap * (2 - gap) / between**2 * all_but_one / (2 - all_but_one)
    return ratio * math.sqrt(1 + early)


def cyclic_projected_mu(batches: int, epochs: int, ratio: float, diameter: float) -> float:
    """Cyclic batches, projected on a convex set; `diameter` is over the noise of one step. For any c <= 1.

    From the argument on top, restarted right after the record's batch, e + 1 epochs before the end: the diameter and e
    differences are spread over (e+1) l - 1 steps, and the last difference meets the last noise, or is spread too.

    >>> cyclic_projected_mu(10, 10_000, 0.1, 5.0)
    0.4543135...
    """
    if batches == 1:
        return projected_mu(0.0, epochs, ratio, diameter)
    target = batches * (diameter / ratio - 1) + 1
    near = math.floor(min(max((target + 1) / batches - 1, 0), epochs - 1))
    spread = ratio * (batches - 1) <= diameter * batches  # else the even spread would run ahead of what has to be met
    tried = {min(k, epochs - 1) for k in (near, near + 1)} if spread else set()
    found = [ratio * math.sqrt(1 + (epochs - 1) / batches)]
    for earlier in {0, *tried}:
        steps = (earlier + 1) * batches - 1
        shift = diameter + earlier * ratio
        if shift > ratio * steps:
            found.append((shift + ratio) / math.sqrt(steps + 1))
        else:
            found.append(math.sqrt(ratio**2 + shift**2 / steps))
    return min(found)


def linear_descent_mu(gap: float, batches: int, epochs: int, ratio: float) -> float:
    """What cyclic descent on quadratics of one curvature reveals: a lower bound for every class that has them.

    Each map is x -> r x + shift, r = 1 - gap, so the last iterate is normal: mu is exact. The record is in the last
    batch. (At r = -1 differences cancel: 0 is returned, which is below the truth.)

    >>> linear_descent_mu(0.5, 1, 100, 0.1)
    0.1732...
    """
    steps, squares = batches * epochs, gap * (2 - gap)
    if gap == 0 or gap >= 2:
        return ratio * math.sqrt(epochs / batches) if gap == 0 else 0.0
    lost, between = (shrunk(gap, k) if gap <= 1 else 1 - (1 - gap) ** k for k in (steps, batches))
    return ratio * lost / between * math.sqrt(squares / shrunk(squares, steps))


def one_pass_mu(gap: float, later: int, ratio: float) -> float:
    """One pass, one record per step: the record that `later` steps follow (Feldman et al. 2018, Thm 23).

    mu = ratio * c^k / sqrt(1 + c^2 + ... + c^{2k}); at c = 1 ratio/sqrt(k + 1), that is 2 alpha L^2/(sigma^2 (n+1-t)).

    >>> one_pass_mu(0.0, 99, 0.5)
    0.05
    """
    if gap == 0:
        return ratio / math.sqrt(later + 1)
    return ratio * _kept(gap, later) * math.sqrt(gap * (2 - gap) / shrunk(gap, 2 * (later + 1)))
