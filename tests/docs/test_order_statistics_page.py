"""The code blocks of the page on order statistics, and of the guide's section, run and hold."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)


def test_page_runs() -> None:
    blocks = BLOCK.findall((DOCS / "theory" / "order-statistics.md").read_text(encoding="utf-8"))
    assert len(blocks) == 5
    exec(compile("\n".join(blocks), "order-statistics.md", "exec"), {})


def test_guide_prints_what_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    section = (DOCS / "guide.md").read_text(encoding="utf-8").split("## Release a median")[1]
    block = BLOCK.findall(section)[0]
    exec(compile("import hush\n" + block, "guide.md", "exec"), {})
    said = [line.removeprefix("# ") for line in block.splitlines() if line.startswith("# ")]
    assert capsys.readouterr().out.splitlines() == said
