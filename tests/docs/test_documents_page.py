"""The page on the five documents: whatever answers a section is there."""

from __future__ import annotations

import re

from tests.docs.pages import ROOT, text_of

ROW = re.compile(r"^\| (?!section|---)(.+?) \| (.+) \| (.+?) \| `(.+?)` \|$", re.MULTILINE)
DOCUMENTS = ("Slides", "Talk", "Note", "Post", "Tutorial")


def test_every_document_has_its_sections() -> None:
    parts = text_of("docs/documents.md").split("\n## ")[1:6]
    assert tuple(part.split(":")[0] for part in parts) == DOCUMENTS
    for part in parts:
        assert len(ROW.findall(part)) == part.count("\n| ") - 1 >= 5


def test_every_section_has_a_name_a_picture_and_a_test() -> None:
    """Names that start with hush. and links are checked with those of all pages."""
    rows = ROW.findall(text_of("docs/documents.md"))
    assert all("`hush." in answer and "](" in see for _, answer, see, _ in rows)
    assert [test for *_, test in rows if not (ROOT / test).exists()] == []
