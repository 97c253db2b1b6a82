"""Random expressions, in every word that there is: Python and the command that are copied give the same again."""

from __future__ import annotations

import json
import random
import re
import shlex
from typing import get_args

import pytest

import hush
from hush.app.expression import LISTS, NUMBERS, Form, as_python, atoms, parse, pipes
from hush.app.main import main
from hush.app.service.questions.explanation import python
from hush.errors import HushError, NotCovered
from hush.mechanisms.description import Parameter

EXPRESSIONS, ASKED = 200, 25
"""Of each seed; and those of them whose epsilon is asked in three ways."""


def value(draw: random.Random, parameter: Parameter) -> str:
    kind = parameter.present
    if kind in LISTS:
        return " ".join(number(draw, whole=int in get_args(kind)) for _ in range(LISTS[kind] * draw.randint(1, 2)))
    return number(draw, whole=kind is int)


def number(draw: random.Random, *, whole: bool) -> str:
    return draw.choice(("1", "2", "3", "10", "20") if whole else ("0.1", ".5", "1", "1e-2", "3.5", "1/3", "0.25", "5"))


def said(draw: random.Random, form: Form) -> str:
    """The word with what must follow it, and some of what may."""
    found = [form.word]
    for parameter in form.parameters:
        kind = parameter.present
        if parameter.required and (kind in NUMBERS or kind in LISTS):
            found.append(value(draw, parameter))
        elif parameter.required or draw.random() < 0.1:
            options = form.usage.split(f"{parameter.name}=")[-1].split("]")[0].split(" ")[0].split("/")
            given = value(draw, parameter) if kind in NUMBERS else draw.choice(options)
            found.append(f"{parameter.name}={given}")
    return " ".join(found)


def own(forms: list[Form]) -> list[Form]:
    """Those of hush: other tests define words too."""
    return [form for form in forms if all(hasattr(hush, name) for name in re.findall(r"hush\.(\w+)", form.code))]


def expressions(seed: int) -> list[str]:
    """Those of many random texts that are expressions."""
    draw, beginnings, others, found = random.Random(seed), own(atoms()), own(pipes()), []
    while len(found) < EXPRESSIONS:
        releases = [
            " | ".join([said(draw, draw.choice(beginnings)), *(said(draw, draw.choice(others)) for _ in range(parts))])
            for parts in draw.choices((0, 1, 2, 3), k=draw.choice((1, 1, 2)))
        ]
        text = draw.choice(("; ", " then ")).join(releases)
        try:
            parse(text)
        except HushError:
            continue
        found.append(text)
    return found


def test_the_python_of_any_expression_is_the_same_mechanism() -> None:
    texts = [text for seed in range(3) for text in expressions(seed)]
    for text in texts:
        assert eval(as_python(text), {"hush": hush}) == parse(text), text
    tried = {part.split()[0] for text in texts for part in text.replace(" then ", ";").replace("|", ";").split(";")}
    assert tried == {form.word for form in (*own(atoms()), *own(pipes()))}


def printed(code: str, capsys: pytest.CaptureFixture[str]) -> object:
    """What the program prints; the name of the error where no theorem covers it."""
    try:
        exec(code, {})
    except NotCovered:
        return "NotCovered"
    return float(capsys.readouterr().out)


def test_exports_give_the_same_epsilon(capsys: pytest.CaptureFixture[str]) -> None:
    texts = [text for text in expressions(4) if text.count("|") < 2 and "shuffled" not in text][:ASKED]
    for text in texts:
        by_python = printed(python(text, 1e-3), capsys)
        code = main([*shlex.split(f"epsilon {shlex.quote(text)} --delta {1e-3!r}"), "--json"])
        told = capsys.readouterr()
        by_command = json.loads(told.err)["kind"] if code else float(json.loads(told.out)["upper"])
        assert by_python == by_command, text
