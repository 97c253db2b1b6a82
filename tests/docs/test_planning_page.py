"""The page on plans: its blocks run and print what they say; every picture of the experiment is there and shown."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hush.questions.figures_accuracy import Accuracy
from tests.test_readme import BLOCK, promised, same

DOCS = Path(__file__).parents[2] / "docs"
PAGE = DOCS / "theory" / "planning.md"


def test_blocks_print_what_they_say(capsys: pytest.CaptureFixture[str]) -> None:
    namespace: dict[str, object] = {}
    for block in BLOCK.findall(PAGE.read_text(encoding="utf-8")):
        exec(compile(block, "planning.md", "exec"), namespace)
        shown = capsys.readouterr().out.splitlines()
        assert len(shown) == len(promised(block)), (shown, promised(block))
        assert [(a, b) for a, b in zip(shown, promised(block), strict=True) if not same(a, b)] == []


def test_every_picture_of_the_experiment_is_shown() -> None:
    shown = re.findall(r"\((figures/accuracy-[^)]*)\)", (DOCS / "figures.md").read_text(encoding="utf-8"))
    assert sorted(shown) == sorted(f"figures/{name}.svg" for name in Accuracy().charts())
    assert all((DOCS / name).exists() for name in shown)
