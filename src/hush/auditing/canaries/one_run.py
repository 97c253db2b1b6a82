"""Audit of a training from one run: many canaries, each put in or left out by a fair coin, and guesses about them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import special

from hush.arrays import Array
from hush.auditing.canaries.chances_of_guesses import Guesses, right_guesses
from hush.auditing.canaries.numbers_of_guesses import JointTests, SeparateTests, planned_tests
from hush.auditing.checked_scores import finite_numbers, zeros_and_ones
from hush.auditing.claims import Claim
from hush.auditing.confidence import confidence_in_range
from hush.auditing.report import AuditReport, NullCheck
from hush.checks import count
from hush.errors import HushError, InvalidParameter
from hush.mechanisms.mechanism import Mechanism
from hush.randomness.draws import coins
from hush.randomness.source import SeededSource, Source, source_or_secure

FEWEST_CANARIES = 20
"""Fewer canaries prove nothing."""
NULL_AUDITS = 40
"""Audits of coins that no training saw, in a null check."""
UNFAIR = 1e-9
"""Numbers of members that fair coins give more seldom than this are refused."""


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
    """A lower bound on the privacy parameter of a training, from one run with canaries.

    A canary is a record that a fair coin of its own put in or left out (not m/2 of m). `scores` has one number for each
    canary, larger where it seems to have been in, and `members` says which were. Or `scores` is a function and
    `members` the number of canaries: fair coins are drawn, `scores(included)` trains and returns one score for each.
    `guesses` fixes in advance how many of the highest scores are called in and of the lowest out; otherwise several
    numbers are tried, and paid for.

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
        tests = SeparateTests({_checked(guesses, len(scored)): 1 - confidence}, len(scored), stated)
    else:
        tests = planned_tests(len(scored), stated, 1 - confidence)
    ranked = falling(scored, inside)
    bound, pair = tests.bound(inside[ranked])
    return AuditReport(
        claim=stated,
        lower_bound=bound,
        confidence=confidence,
        samples=len(scored),
        attacker=f"{pair[0]} highest called in, {pair[1]} lowest out: {right_guesses(inside[ranked], pair)} right",
        method=f"one run, {tests.words}",
        limits=(),
        null=_null_check(len(scored), tests, 1 - confidence),
        curve=_curve(inside[ranked]),
    )


def falling(scores: Array, members: Array) -> Array:
    """Places by falling score; where scores tie, wrong guesses come first, from either end.

    No order that is blind to the labels has fewer right guesses. So the order of a file, which may know the labels,
    does not matter.

    >>> falling(np.array([1.0, 0.0, 1.0]), np.array([True, True, False])).tolist()
    [2, 0, 1]
    """
    return np.lexsort((members, -scores))


def _null_check(canaries: int, tests: SeparateTests | JointTests, error: float) -> NullCheck:
    """The same audit of coins that the training never saw."""
    tossed = coins(SeededSource(1), np.full(NULL_AUDITS * canaries, 0.5)).reshape(NULL_AUDITS, canaries)
    return NullCheck(alarms=sum(map(tests.is_evidence, tossed)), runs=NULL_AUDITS, error=error)


def _trained(fit: Callable[[Array], Any], canaries: Any, source: Source | None) -> tuple[Any, Array]:
    number = count("one_run", FEWEST_CANARIES, canaries=canaries)
    included = coins(source_or_secure(source), np.full(number, 0.5))
    try:
        return fit(included.copy()), included
    except HushError:
        raise
    except Exception as reason:
        raise InvalidParameter("one_run", "a training that runs", fit=type(reason).__name__) from reason


def _check(members: Array) -> None:
    total, inside = len(members), int(np.count_nonzero(members))
    if total < FEWEST_CANARIES:
        raise InvalidParameter("one_run", f"at least {FEWEST_CANARIES} canaries", scores=total)
    unlikely = min(special.bdtr(inside, total, 0.5), special.bdtrc(inside - 1, total, 0.5))
    if unlikely < UNFAIR:
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
