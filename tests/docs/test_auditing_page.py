"""The page on audits: its blocks run, in order, and its links lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.test_readme import BLOCK

PAGE = Path(__file__).parents[2] / "docs" / "auditing.md"


def test_blocks_run(capsys: pytest.CaptureFixture[str]) -> None:
    namespace: dict[str, object] = {}
    found = BLOCK.findall(PAGE.read_text(encoding="utf-8"))
    assert len(found) == 4
    for block in found:
        exec(compile(block, "auditing.md", "exec"), namespace)
    shown = capsys.readouterr().out
    assert "REFUTED" in shown
    assert "area under ROC" in shown


def test_every_link_leads_somewhere() -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", PAGE.read_text(encoding="utf-8")):
        assert (PAGE.parent / target).exists(), target
