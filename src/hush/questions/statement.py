"""A guarantee in plain words, or as a methods section says it."""

from __future__ import annotations

import math

from hush import __version__
from hush.checks import delta_in_range
from hush.curves.bound import Bound
from hush.errors import InvalidParameter, NotCovered
from hush.markup import Text
from hush.mechanisms.mechanism import Mechanism, require
from hush.mechanisms.traits import Step
from hush.numerics.decimals import rounded_down, rounded_up
from hush.questions.explain import assumptions

FALSE_POSITIVES = 0.01
STYLES = ("plain", "methods")


def statement(
    mechanism: Mechanism, *, delta: float, unit: str = "record", style: str = "plain", subject: str = ""
) -> Text:
    """A paragraph for a report: what is protected, how well, against whom, and what is assumed.

    With style="methods" it is worded for the methods section of a paper, with citations. `subject` names what was
    released, such as "the mean of column 'income'".

    >>> import hush
    >>> print(statement(hush.Gaussian(2.0), delta=1e-6, unit="patient"))
    What was released: Gaussian noise of multiplier 2. It is differentially private for every single ...
    >>> print(statement(hush.Gaussian(2.0), delta=1e-6, unit="patient", style="methods", subject="the mean age"))
    We released the mean age by this mechanism: Gaussian noise of multiplier 2. The release satisfies ...
    """
    delta = delta_in_range("statement", delta)
    _check_words(unit, style, subject)
    bound = require("statement", mechanism).epsilon(delta=delta)
    sentences = (_plain if style == "plain" else _methods)(mechanism, bound, delta, unit, subject)
    return Text(" ".join(sentence for sentence in sentences if sentence))


def _check_words(unit: object, style: object, subject: object) -> None:
    if not isinstance(unit, str) or not unit.strip():
        raise InvalidParameter("statement", "a unit such as 'record' or 'patient'", unit=unit)
    if style not in STYLES:
        raise InvalidParameter("statement", f"a style: {' or '.join(map(repr, STYLES))}", style=style)
    if not isinstance(subject, str):
        raise InvalidParameter("statement", "a subject in words, such as 'the mean age'", subject=subject)


def _plain(mechanism: Mechanism, bound: Bound, delta: float, unit: str, subject: str) -> list[str]:
    grouped = mechanism.scope.together != frozenset([1])
    return [
        f"What was released: {subject}, by {mechanism}." if subject else f"What was released: {mechanism}.",
        _guarantee(bound, delta, _protected(mechanism, unit)),
        f"Two datasets are compared if you {mechanism.compared.replace('record', unit)}.",
        _meaning(bound.upper, delta, "Such a group" if grouped else f"One {unit}"),
        _attacker(mechanism, "group" if grouped else unit),
        f"This assumes: {_assumed(mechanism, unit)}.",
    ]


def _methods(mechanism: Mechanism, bound: Bound, delta: float, unit: str, subject: str) -> list[str]:
    protected, compared = _protected(mechanism, unit), mechanism.compared.replace("record", unit)
    if bound.upper == math.inf:
        holds = f"The release satisfies differential privacy for no finite ε at δ = {delta:g}."
    else:
        kind, at = ("(ε, δ)", f" and δ = {delta:g}") if delta > 0 else ("ε", "")
        holds = (
            f"The release satisfies {kind}-differential privacy with ε = {rounded_up(bound.upper, 4)}{at} for "
            f"{protected}; neighbouring datasets: {compared}."
        )
    if not bound.wide:
        sure = "exact, rounded up"
    elif bound.lower > 0:
        sure = f"an upper bound; the least ε is at least {rounded_down(bound.lower, 4)}"
    else:
        sure = "an upper bound"
    return [
        f"We released {subject or 'the output'} by this mechanism: {mechanism}.",
        holds,
        f"The value of ε was certified by hush {__version__} ({sure}).",
        f"The guarantee assumes: {_assumed(mechanism, unit)}.",
        f"It rests on: {'; '.join(citations(mechanism.derivation()))}.",
    ]


def citations(step: Step) -> list[str]:
    """The theorems of a derivation with their papers, each once, from the inside out.

    >>> import hush
    >>> citations(hush.Laplace(1.0).repeat(2).derivation())[1]
    'the product of dominating pairs dominates the composition: Zhu, Dong, Wang 2022, Thm 10; ...'
    """
    found = [text for inner in step.inner for text in citations(inner)]
    return list(dict.fromkeys([*found, step.theorem]))


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
    return "; ".join(found)
