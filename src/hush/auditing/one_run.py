"""Audit of a training from one run: many canaries, each put in or left out by a fair coin, and guesses about them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from scipy import special

from hush.auditing.claims import Claim
from hush.auditing.guesses import approximate_inverse, gaussian_inverse, is_possible, tail_of_pure
from hush.auditing.intervals import confidence_in_range, finite_numbers, zeros_and_ones
from hush.auditing.report import AuditReport, NullCheck
from hush.errors import HushError, InvalidParameter
from hush.mechanisms.checks import count
from hush.mechanisms.mechanism import Mechanism
from hush.randomness.draws import coins, order
from hush.randomness.source import SeededSource, Source, source_or_secure

Array: TypeAlias = Any
Guesses: TypeAlias = tuple[int, int]
"""How many of the highest scores are called members, and how many of the lowest ones non-members."""

LEAST = 20
"""Fewer canaries prove nothing."""
NULLS = 40
LARGEST = {"epsilon": 64.0, "mu": 32.0}
"""No bound is sought beyond."""
GRID = 33


def one_run(
    scores: Any,
    members: Any,
    *,
    claim: Mechanism | Claim,
    delta: float | None = None,
    guesses: Guesses | None = None,
    confidence: float = 0.95,
    source: Source | None = None,
) -> AuditReport:
    """A lower bound on the privacy parameter from one training run with canaries.

    `scores` has one number for each canary, larger where it seems to have been in, and `members` says which were. Or
    `scores` is a function and `members` the number of canaries: fair coins are drawn, `scores(included)` trains and
    returns one score for each. Each canary must have been put in by a fair coin of its own (not m/2 of m). `guesses`
    fixes in advance how many are guessed; else several numbers are tried, and the confidence is corrected for that.

    >>> import hush, hush.auditing
    >>> noise = hush.auditing.simulated(hush.Gaussian(0.5), source=hush.SeededSource(1))[1]
    >>> fit = lambda included: included + noise(len(included))
    >>> report = hush.auditing.one_run(fit, 1000, claim=hush.GaussianDP(2.0), source=hush.SeededSource(2))
    >>> 1 < report.lower_bound < 2
    True
    """
    stated = Claim.of(claim, delta)
    confidence = confidence_in_range("one_run", confidence)
    if callable(scores):
        scores, members = _trained(scores, members, source)
    scored = finite_numbers("one_run", scores=scores)
    inside = zeros_and_ones("one_run", len(scored), members=members)
    _check(inside)
    if guesses is not None:
        shares = {_checked(guesses, len(scored)): 1.0}
    else:
        shares = numbers_of_guesses(len(scored), expected_guesses(len(scored), stated, 1 - confidence))
    errors = {pair: share * (1 - confidence) for pair, share in shares.items()}
    # where scores tie, their order in the file must not speak: it may know who is a member
    shuffled = order(SeededSource(0), len(scored))
    ranked = shuffled[np.argsort(-scored[shuffled], kind="stable")]
    bound, pair = max(
        (bound_of(right(inside[ranked], pair), pair, len(scored), stated, errors[pair]), pair) for pair in errors
    )
    return AuditReport(
        claim=stated,
        lower_bound=bound,
        confidence=confidence,
        samples=len(scored),
        attacker=f"{pair[0]} highest called in, {pair[1]} lowest out: {right(inside[ranked], pair)} right",
        method=f"one run, {len(errors)} numbers of guesses tried",
        limits=(),
        null=_null_check(len(scored), errors, stated),
        curve=_curve(inside[ranked]),
    )


def numbers_of_guesses(canaries: int, expected: Guesses) -> dict[Guesses, float]:
    """What is tried, and its share of the error: what the claim lets expect, then all canaries, then fewer and fewer.

    >>> numbers_of_guesses(20, (7, 7))
    {(7, 7): 0.6, (10, 10): 0.16, (20, 0): 0.04, (5, 5): 0.16, (10, 0): 0.04}
    """
    sizes = [canaries >> halvings for halvings in range(50) if canaries >> halvings >= 10]
    both, highest = 0.32 / len(sizes), 0.08 / len(sizes)
    shares = {expected: 0.6}
    for size in sizes:
        for pair, share in (((size - size // 2, size // 2), both), ((size, 0), highest)):
            shares[pair] = shares.get(pair, 0.0) + share
    return shares


def expected_guesses(canaries: int, claim: Claim, error: float) -> Guesses:
    """The number of guesses at both ends that would prove most if the claim were just true: no score is looked at.

    Scores are thought of as N(mu, 1) for members and N(0, 1) for others, with the mu of the same advantage.

    >>> import hush
    >>> expected_guesses(1000, Claim.of(hush.GaussianDP(4.0)), 0.05)
    (353, 353)
    """
    mu = claim.value
    if claim.quantity == "epsilon":
        advantage = min(claim.mechanism.advantage().upper, 1 - 1e-9)
        mu = 2 * float(special.ndtri((1 + advantage) / 2))
    best, proven = (canaries - canaries // 2, canaries // 2), -1.0
    cuts = np.linspace(mu - 4, 4 + mu, 2000)
    called = (special.ndtr(mu - cuts) + special.ndtr(-cuts)) / 2
    for step in range(40):
        half = int(canaries / 2 ** (step / 4 + 1))
        if half < 5:
            break
        cut = cuts[np.argmin(np.abs(called - half / canaries))]
        truth = special.ndtr(mu - cut) / (special.ndtr(mu - cut) + special.ndtr(-cut))
        # half a deviation fewer: what chance gives is not to be counted on
        correct = int(2 * half * truth - 0.5 * np.sqrt(2 * half * truth * (1 - truth)))
        reached = bound_of(correct, (half, half), canaries, claim, error)
        if reached > proven:
            best, proven = (half, half), reached
    return best


def right(ranked: Array, guesses: Guesses) -> int:
    """Right guesses, of labels in order of falling scores."""
    first, last = guesses
    return int(np.count_nonzero(ranked[:first]) + np.count_nonzero(~ranked[len(ranked) - last :] if last else []))


def bound_of(correct: int, guesses: Guesses, canaries: int, claim: Claim, error: float) -> float:
    """The least parameter with which so many right guesses have a chance above the error; 0 where any does.

    Found from below on a grid, then on finer ones: a parameter is only rejected if all below it are.
    """
    total = sum(guesses)
    if special.bdtrc(correct - 1, total, 0.5) > error:  # at parameter 0 guesses are coins
        return 0.0
    low, high = 0.0, LARGEST[claim.quantity]
    for _ in range(5):
        grid = np.linspace(low, high, GRID)
        kept = ~_rejected(correct, total, canaries, claim, error, grid)
        first = int(np.argmax(kept)) if kept.any() else GRID - 1
        if first == 0:
            return low
        low, high = float(grid[first - 1]), float(grid[first])
    return low


def _rejected(correct: int, total: int, canaries: int, claim: Claim, error: float, grid: Array) -> Array:
    if claim.quantity == "mu":
        return ~is_possible(correct, total, canaries, error, gaussian_inverse(grid), grid.shape)
    tails = [tail_of_pure(correct, total, canaries, epsilon=float(e), delta=claim.delta) for e in grid]
    # two bounds on one chance: the smaller holds
    other = approximate_inverse(grid, claim.delta)
    return (np.array(tails) <= error) | ~is_possible(correct, total, canaries, error, other, grid.shape)


def _null_check(canaries: int, errors: dict[Guesses, float], claim: Claim) -> NullCheck:
    """The same audit where coins that the training never saw are guessed."""
    tossed = coins(SeededSource(1), np.full(NULLS * canaries, 0.5)).reshape(NULLS, canaries)
    alarms = 0
    for labels in tossed:
        alarms += any(bound_of(right(labels, pair), pair, canaries, claim, error) > 0 for pair, error in errors.items())
    return NullCheck(alarms=alarms, runs=NULLS, error=sum(errors.values()))


def _trained(fit: Callable[[Array], Any], canaries: Any, source: Source | None) -> tuple[Any, Array]:
    number = count("one_run", LEAST, canaries=canaries)
    included = coins(source_or_secure(source), np.full(number, 0.5))
    try:
        return fit(included.copy()), included
    except HushError:
        raise
    except Exception as reason:
        raise InvalidParameter("one_run", "a training that runs", fit=type(reason).__name__) from reason


def _check(members: Array) -> None:
    total, inside = len(members), int(np.count_nonzero(members))
    if total < LEAST:
        raise InvalidParameter("one_run", f"at least {LEAST} canaries", scores=total)
    unlikely = min(special.bdtr(inside, total, 0.5), special.bdtrc(inside - 1, total, 0.5))
    if unlikely < 1e-9:
        rule = "each canary put in by a fair coin of its own"
        raise InvalidParameter("one_run", rule, members=f"{inside} of {total}")


def _checked(guesses: Any, canaries: int) -> Guesses:
    rule = f"two whole numbers whose sum is from 1 to {canaries}: highest called in, lowest called out"
    try:
        first, last = (count("one_run", 0, guesses=number) for number in guesses)
    except (TypeError, ValueError):
        raise InvalidParameter("one_run", rule, guesses=guesses) from None
    if not 1 <= first + last <= canaries:
        raise InvalidParameter("one_run", rule, guesses=guesses)
    return first, last


def _curve(ranked: Array) -> tuple[tuple[float, float], ...]:
    true, false = np.cumsum(ranked), np.cumsum(~ranked)
    places = np.unique(np.linspace(0, len(ranked) - 1, min(101, len(ranked))).astype(int))
    most_true, most_false = max(int(true[-1]), 1), max(int(false[-1]), 1)
    return tuple((float(false[k]) / most_false, float(true[k]) / most_true) for k in places)
