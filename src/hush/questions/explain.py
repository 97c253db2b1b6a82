"""Why a number is what it is: theorems, papers, assumptions, and what every route says."""

from __future__ import annotations

import math
from collections.abc import Iterator

from hush.checks import delta_in_range
from hush.errors import HushError
from hush.markup import Text
from hush.mechanisms.mechanism import Mechanism, require
from hush.mechanisms.traits import Step
from hush.numerics.decimals import rounded_down, rounded_up
from hush.questions.routes_compared import compare, why
from hush.questions.text_table import aligned


def explain(mechanism: Mechanism, *, delta: float) -> Text:
    """The derivation as a tree, then the relation, the assumptions, every route's epsilon, and the answer.

    >>> import hush
    >>> print(explain(hush.Gaussian(1.0).repeat(4), delta=1e-5))
    Derivation
      repeated 4 times
      |  by: the product of dominating pairs dominates the composition: Zhu, Dong, Wang 2022, Thm 10; ...
      `- Gaussian noise of multiplier 1
            by: dominated by N(1/σ, 1) against N(0, 1): Balle, Wang 2018, Thm 8; ...
    <BLANKLINE>
    Relation: add or remove one record
    ...
    Answer: epsilon <= 9.9972... at delta 1e-05 (certified: 9.9972... to 9.9972...)
    """
    delta = delta_in_range("explain", delta)
    step = require("explain", mechanism).derivation()
    rows = compare(mechanism, math.log(delta) if delta > 0 else -math.inf)
    lines = [
        "Derivation",
        *(f"  {line}" for line in _tree(step)),
        "",
        f"Relation: {mechanism.compared}",
        "",
        "Assumptions",
        *(f"  - {assumption}" for assumption in assumptions(step)),
        "",
        f"Epsilon at delta {delta:g}, by route",
        *(f"  {line}" for line in aligned([(row.direction, row.route, row.answer) for row in rows], left=3)),
        "",
        "Why they differ",
        *(f"  {route}: {why(route)}" for route in dict.fromkeys(row.route for row in rows)),
        "",
        f"Answer: {_answer(mechanism, delta)}",
    ]
    return Text("\n".join(lines))


def assumptions(step: Step) -> list[str]:
    """What the steps of a derivation assume, each once, from the inside out.

    >>> import hush
    >>> assumptions(hush.Laplace(1.0).derivation())
    ['L1 sensitivity 1 when you add or remove one record']
    """
    found = [text for inner in step.inner for text in assumptions(inner)]
    return list(dict.fromkeys([*found, *([step.assumes] if step.assumes else [])]))


def _tree(step: Step) -> Iterator[str]:
    yield step.what
    yield f"{'|  ' if step.inner else '   '}by: {step.theorem}"
    for place, inner in enumerate(step.inner, start=1):
        last = place == len(step.inner)
        for number, line in enumerate(_tree(inner)):
            lead = ("`- " if last else "|- ") if number == 0 else ("   " if last else "|  ")
            yield lead + line


def _answer(mechanism: Mechanism, delta: float) -> str:
    try:
        found = mechanism.epsilon(delta=delta)
    except HushError as reason:
        return f"none. {reason}"
    if found.upper == math.inf:
        return f"no finite epsilon at delta {delta:g}"
    upper = rounded_up(found.upper, 9)
    if found.lower == 0 < found.upper:
        return f"epsilon <= {upper} at delta {delta:g} (an upper bound only)"
    return f"epsilon <= {upper} at delta {delta:g} (certified: {rounded_down(found.lower, 9)} to {upper})"
