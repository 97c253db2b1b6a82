"""The README's Python blocks run, in order, in one namespace, and print what the comments at their end say."""

from __future__ import annotations

import re
from itertools import takewhile
from pathlib import Path

import pytest

README = Path(__file__).parent.parent / "README.md"
BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
NUMBER = re.compile(r"\d+(?:\.\d+)?(?:e[-+]?\d+)?")


def blocks() -> list[str]:
    return BLOCK.findall(README.read_text(encoding="utf-8")) if README.exists() else []


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


@pytest.mark.skipif(not README.exists(), reason="README.md is not written yet")
def test_blocks_print_what_they_say(capsys: pytest.CaptureFixture[str]) -> None:
    namespace: dict[str, object] = {}
    assert blocks(), "a README without an example"
    for number, block in enumerate(blocks(), 1):
        exec(compile(block, f"README.md, python block {number}", "exec"), namespace)
        shown = capsys.readouterr().out.splitlines()
        if shown:
            assert len(shown) == len(promised(block)), (shown, promised(block))
            assert [(a, b) for a, b in zip(shown, promised(block), strict=True) if not same(a, b)] == []
