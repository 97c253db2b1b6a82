"""The Python blocks of every page run, in order and in one namespace, and print what the comments at their end say."""

from __future__ import annotations

import pytest

from tests.docs.pages import ROOT, blocks, check_links, check_prints, run

SILENT = {"docs/auditing.md": "REFUTED", "docs/linear-models.md": "patient"}
"""Pages that do not say what their blocks print, with a word of it."""
PAGES = sorted(str(page.relative_to(ROOT)) for page in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md")))
NEED_TORCH = {"docs/learning.md", "docs/training-at-scale.md"}
ELSEWHERE = {"docs/first-hour.md"}
"""Pages whose blocks run in a test of their own: tests/first_hour."""
SHOWING = [page for page in PAGES if page not in SILENT and page not in ELSEWHERE and blocks(page)]


@pytest.mark.parametrize("page", SHOWING)
def test_blocks_print_what_they_say(page: str, capsys: pytest.CaptureFixture[str]) -> None:
    if page in NEED_TORCH:
        pytest.importorskip("torch")
    check_prints(page, capsys)


@pytest.mark.parametrize("page", SILENT)
def test_blocks_run(page: str, capsys: pytest.CaptureFixture[str]) -> None:
    run(page)
    assert SILENT[page] in capsys.readouterr().out


@pytest.mark.parametrize("page", PAGES)
def test_every_link_leads_somewhere(page: str) -> None:
    check_links(page)


def test_pages_with_examples_are_found() -> None:
    assert {"README.md", "docs/guide.md", "docs/releases.md", "docs/theory/planning.md"} < set(SHOWING)
