"""Why an epsilon is what it is, and how to take it along: derivation, assumptions, statement, Python and command."""

from __future__ import annotations

import shlex
from typing import Any

from hush.app.expression import as_python, parse
from hush.app.service.library import page_about
from hush.app.service.questions.calculator import about
from hush.app.service.questions.curve_pictures import routes
from hush.app.service.questions.question_fields import number, text, text_or
from hush.mechanisms.traits import Step
from hush.questions.explain import assumptions
from hush.questions.statement import statement


def explain(given: dict[str, Any]) -> dict[str, Any]:
    """The derivation with theorems and papers, what it assumes, the statement, and the same as code."""
    said, delta = text(given, "expression"), number(given, "delta")
    mechanism = parse(said)
    step = mechanism.derivation()
    return {
        "answer": about(said, mechanism, mechanism.epsilon(delta=delta)),
        "derivation": _tree(step),
        "assumptions": assumptions(step),
        "statement": statement(mechanism, delta=delta, unit=text_or(given, "unit", "record")),
        "python": python(said, delta),
        "command": f"hush epsilon {shlex.quote(said)} --delta {delta!r}",
    } | routes(mechanism, delta)


def python(said: str, delta: float) -> str:
    """A program that gives the same epsilon.

    >>> print(python("laplace 2", 1e-6))
    import hush
    <BLANKLINE>
    mechanism = hush.Laplace(scale=2.0)
    print(mechanism.epsilon(delta=1e-06).upper)
    <BLANKLINE>
    """
    return f"import hush\n\nmechanism = {as_python(said)}\nprint(mechanism.epsilon(delta={delta!r}).upper)\n"


def _tree(step: Step) -> dict[str, Any]:
    return {
        "what": step.what,
        "theorem": step.theorem,
        "assumes": step.assumes,
        "page": page_about(step.theorem),
        "inner": [_tree(inner) for inner in step.inner],
    }
