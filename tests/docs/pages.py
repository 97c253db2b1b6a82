"""Running the Python blocks of a page, and what they promise to print."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import takewhile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
OTHER = re.compile(r"^```py\n(.*?)^```", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\((?!https?:)([^)#\s]+)\)")
NUMBER = re.compile(r"\d+(?:\.\d+)?(?:e[-+]?\d+)?")


def text_of(page: str) -> str:
    """A page by its path from the project's folder."""
    return (ROOT / page).read_text(encoding="utf-8")


def blocks(page: str) -> list[str]:
    return BLOCK.findall(text_of(page))


def promised(block: str) -> list[str]:
    """The comment lines that end a block."""
    last = list(takewhile(lambda line: line.startswith("# "), reversed(block.splitlines())))
    return [line.removeprefix("# ") for line in reversed(last)]


def same(shown: str, expected: str) -> bool:
    """Equal but for the last digits of numbers, which may differ between machines."""
    if NUMBER.sub("0", shown) != NUMBER.sub("0", expected):
        return False
    pairs = zip(NUMBER.findall(shown), NUMBER.findall(expected), strict=True)
    return all(float(a) == pytest.approx(float(b), rel=1e-3) for a, b in pairs)


def run(page: str, after: Callable[[str], None] = lambda block: None) -> None:
    """All blocks of a page, in order and in one namespace; `after` is called with each."""
    namespace: dict[str, object] = {}
    for number, block in enumerate(blocks(page), 1):
        exec(compile(block, f"{page}, python block {number}", "exec"), namespace)
        after(block)


def check_prints(page: str, capsys: pytest.CaptureFixture[str]) -> None:
    """All blocks of a page run, and print the comments at their end."""

    def compare(block: str) -> None:
        shown = capsys.readouterr().out.splitlines()
        assert len(shown) == len(promised(block)), (shown, promised(block))
        assert [(a, b) for a, b in zip(shown, promised(block), strict=True) if not same(a, b)] == []

    run(page, compare)


def check_other_block(page: str, word: str, capsys: pytest.CaptureFixture[str], **given: object) -> None:
    """The block that needs a server (it begins with ```py) and has this word: it runs with what is given."""
    (block,) = [block for block in OTHER.findall(text_of(page)) if word in block]
    exec(compile(block, f"{page}, {word}", "exec"), dict(given))
    assert [same(a, b) for a, b in zip(capsys.readouterr().out.splitlines(), promised(block), strict=True)] == [True]


def check_links(page: str) -> None:
    """Every link of a page to a file leads to one."""
    for target in LINK.findall(text_of(page)):
        assert ((ROOT / page).parent / target).exists(), target
