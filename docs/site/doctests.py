"""Examples of docstrings as blocks of code: a doctest, with what it prints, is fenced before it is read as text."""

from __future__ import annotations

import re
from typing import Any

from griffe import Extension, Object

EXAMPLE = re.compile(r"(?:^[ \t]*>>> .*\n?(?:^[ \t]*\S.*\n?)*)+", re.MULTILINE)


def fenced(text: str) -> str:
    r"""A docstring whose examples stand in fences.

    >>> fenced("Words.\n\n>>> 1 + 1\n2\n\nMore.")
    'Words.\n\n```pycon\n>>> 1 + 1\n2\n```\n\nMore.'
    """
    return EXAMPLE.sub(lambda found: f"```pycon\n{found[0].rstrip()}\n```\n", text)


class FencedExamples(Extension):
    """For mkdocstrings, which asks it of every object."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)
