"""Audit of a training from one run: many canaries, each put in or left out by a fair coin, and guesses about them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import special

from hush.arrays import Array
from hush.auditing.canaries.chances_of_guesses import Guesses, right
from hush.auditing.canaries.numbers_of_guesses import Shares, Together, chosen
from hush.auditing.claims import Claim
from hush.auditing.confidence import confidence_in_range, finite_numbers, zeros_and_ones
from hush.auditing.report import AuditReport, NullCheck
from hush.checks import count
from hush.errors import HushError, InvalidParameter
from hush.mechanisms.mechanism import Mechanism
from hush.randomness.draws import coins
from hush.randomness.source import SeededSource, Source, source_or_secure

LEAST = 20
"""Fewer canaries prove nothing."""
NULLS = 40


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
    fixes in advance how many are guessed; else several numbers are tried, and paid for.

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
        tests = Shares({_checked(guesses, len(scored)): 1 - confidence}, len(scored), stated)
    else:
        tests = chosen(len(scored), stated, 1 - confidence)
    ranked = falling(scored, inside)
    bound, pair = tests.bound(inside[ranked])
    return AuditReport(
        claim=stated,
        lower_bound=bound,
        confidence=confidence,
        samples=len(scored),
        attacker=f"{pair[0]} highest called in, {pair[1]} lowest out: {right(inside[ranked], pair)} right",
        method=f"one run, {tests.words}",
        limits=(),
        null=_null_check(len(scored), tests, 1 - confidence),
        curve=_curve(inside[ranked]),
    )


def falling(scores: Array, members: Array) -> Array:
    """Places by falling score; where scores tie, wrong guesses come first, from either end.

    No order that is blind to the labels has fewer right ones, so the order of a file, which may know them, has no say.

    >>> falling(np.array([1.0, 0.0, 1.0]), np.array([True, True, False])).tolist()
    [2, 0, 1]
    """
    return np.lexsort((members, -scores))


def _null_check(canaries: int, tests: Shares | Together, error: float) -> NullCheck:
    """The same audit where coins that the training never saw are guessed."""
    tossed = coins(SeededSource(1), np.full(NULLS * canaries, 0.5)).reshape(NULLS, canaries)
    return NullCheck(alarms=sum(map(tests.is_evidence, tossed)), runs=NULLS, error=error)


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
