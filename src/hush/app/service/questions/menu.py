"""Every question that the page may ask, by name; what goes wrong in one is told in a sentence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hush.app.service.questions import (
    attack_pictures,
    book_view,
    calculator,
    curve_pictures,
    explanation,
    planner,
    score_upload,
)
from hush.errors import HushError

Answerer = Callable[[dict[str, Any]], dict[str, Any]]

MENU: dict[str, Answerer] = {
    "words": calculator.words,
    "epsilon": calculator.epsilon,
    "training": calculator.training,
    "noise": calculator.noise,
    "what_if": calculator.what_if,
    "roc": attack_pictures.roc,
    "posterior": attack_pictures.posterior,
    "schemes": curve_pictures.schemes,
    "renyi": curve_pictures.renyi,
    "plan": planner.plan,
    "plan_training": planner.plan_training,
    "explain": explanation.explain,
}
"""What any tab may ask."""
BOOK: dict[str, Answerer] = {"book": book_view.book, "price": book_view.price, "record": book_view.record}
"""What is asked of the book that the server was started with."""
UPLOADS: dict[str, Answerer] = {"scores": score_upload.scores}
"""What is asked of a file that was dropped onto the page."""
LONGEST = 1000
"""Characters of a message: one may quote an expression, and that may be long."""
ALL = MENU | BOOK | UPLOADS


def answered(name: str, given: dict[str, Any]) -> dict[str, Any]:
    """The answer, or what is wrong with the question.

    >>> answered("epsilon", {"expression": "laplace 2", "delta": 0})["answer"]["upper"]
    0.5
    >>> answered("epsilon", {"expression": "laplace 2", "delta": 7})["error"]["kind"]
    'InvalidParameter'
    """
    try:
        return {"answer": ALL[name](given)}
    except HushError as error:
        return _error(type(error).__name__, str(error))
    except MemoryError:
        raise
    except Exception as error:  # a fault of hush: no other question may suffer from it
        return _error("fault", f"hush failed on this ({type(error).__name__}): please report it.")


def _error(kind: str, message: str) -> dict[str, Any]:
    said = message if len(message) <= LONGEST else f"{message[:LONGEST]} [...]"
    return {"error": {"kind": kind, "message": said}}
