"""A guarantee in plain words."""

from __future__ import annotations

import math

from hush.checks import delta_in_range
from hush.curves.bound import Bound
from hush.errors import InvalidParameter, NotCovered
from hush.mechanisms.mechanism import Mechanism, require
from hush.numerics.decimals import rounded_down, rounded_up
from hush.questions.explain import assumptions

FALSE_POSITIVES = 0.01


def statement(mechanism: Mechanism, *, delta: float, unit: str = "record") -> str:
    """A paragraph for a report: what is protected, how well, against whom, and what is assumed.

    >>> import hush
    >>> print(statement(hush.Gaussian(2.0), delta=1e-6, unit="patient"))
    What was released: Gaussian noise of multiplier 2. It is differentially private for every single ...
    """
    delta = delta_in_range("statement", delta)
    _check_unit(unit)
    bound = require("statement", mechanism).epsilon(delta=delta)
    grouped = mechanism.scope.together != frozenset([1])
    sentences = [
        f"What was released: {mechanism}.",
        _guarantee(bound, delta, _protected(mechanism, unit)),
        f"Two datasets are compared if you {mechanism.compared.replace('record', unit)}.",
        _meaning(bound.upper, delta, "Such a group" if grouped else f"One {unit}"),
        _attacker(mechanism, "group" if grouped else unit),
        _assumed(mechanism, unit),
    ]
    return " ".join(sentence for sentence in sentences if sentence)


def _check_unit(unit: object) -> None:
    if not isinstance(unit, str) or not unit.strip():
        raise InvalidParameter("statement", "a unit such as 'record' or 'patient'", unit=unit)


def _protected(mechanism: Mechanism, unit: str) -> str:
    sizes = sorted(mechanism.scope.together)
    if sizes == [1]:
        return f"every single {unit}"
    if len(sizes) == 1:
        return f"every group of up to {sizes[0]} {unit}s"
    return f"every group of {unit}s that counts {' or '.join(map(str, sizes))} of them at most, as each release says"


def _guarantee(bound: Bound, delta: float, protected: str) -> str:
    if bound.upper == math.inf:
        return f"It is not differentially private at delta = {delta:g}: no finite epsilon holds there."
    upper, beside = rounded_up(bound.upper, 4), ""
    if bound.wide:
        lower = rounded_down(bound.lower, 4)
        beside = f"; the least that holds is between {lower} and that" if bound.lower > 0 else "; an upper bound only"
    return f"It is differentially private for {protected}: epsilon = {upper} (rounded up{beside}) at delta = {delta:g}."


def _meaning(epsilon: float, delta: float, who: str) -> str:
    if not epsilon < 500:
        return ""
    factor = rounded_up(math.exp(epsilon), 3)
    rest = f", but for an additional probability of {delta:g}" if delta > 0 else ""
    return f"{who} changes the probability of any outcome by a factor of at most {factor}{rest}."


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
