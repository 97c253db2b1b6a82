"""A guarantee in plain words."""

from __future__ import annotations

import math

from hush.errors import InvalidParameter, NotCovered
from hush.mechanisms.checks import delta_in_range
from hush.mechanisms.mechanism import Mechanism, require
from hush.numerics.rounding import rounded_up
from hush.questions.explain import assumptions

FALSE_POSITIVES = 0.01


def statement(mechanism: Mechanism, *, delta: float, unit: str = "record") -> str:
    """A paragraph for a report: what is protected, how well, against whom, and what is assumed.

    >>> import hush
    >>> print(statement(hush.Gaussian(2.0), delta=1e-6, unit="patient"))
    What was released: Gaussian noise of multiplier 2. It is differentially private for every single ...
    """
    delta = delta_in_range("statement", delta)
    if not isinstance(unit, str) or not unit.strip():
        raise InvalidParameter("statement", "a unit such as 'record' or 'patient'", unit=unit)
    epsilon = require("statement", mechanism).epsilon(delta=delta).upper
    sentences = [
        f"What was released: {mechanism}.",
        _guarantee(epsilon, delta, unit),
        f"Two datasets are compared if you {mechanism.relation.words.replace('record', unit)}.",
        _meaning(epsilon, delta, unit),
        _attacker(mechanism, unit),
        _assumed(mechanism, unit),
    ]
    return " ".join(sentence for sentence in sentences if sentence)


def _guarantee(epsilon: float, delta: float, unit: str) -> str:
    if epsilon == math.inf:
        return f"It is not differentially private at delta = {delta:g}: no finite epsilon holds there."
    return (
        f"It is differentially private for every single {unit}: "
        f"epsilon = {rounded_up(epsilon, 4)} (rounded up) at delta = {delta:g}."
    )


def _meaning(epsilon: float, delta: float, unit: str) -> str:
    if not epsilon < 500:
        return ""
    factor = rounded_up(math.exp(epsilon), 3)
    rest = f", but for an additional probability of {delta:g}" if delta > 0 else ""
    return f"One {unit} changes the probability of any outcome by a factor of at most {factor}{rest}."


def _attacker(mechanism: Mechanism, unit: str) -> str:
    try:
        missed = mechanism.tradeoff(false_positive_rate=FALSE_POSITIVES).lower
    except NotCovered:
        return ""
    return (
        f"An attacker who knows everything else and wrongly accuses {FALSE_POSITIVES:.0%} of the time "
        f"recognises the {unit} at most {rounded_up(100 * (1 - missed), 3)}% of the time."
    )


def _assumed(mechanism: Mechanism, unit: str) -> str:
    found = [text.replace("record", unit) for text in assumptions(mechanism.derivation())]
    if unit != "record":
        found.append(f"all data of one {unit} is one record of the dataset")
    return f"This assumes: {'; '.join(found)}."
