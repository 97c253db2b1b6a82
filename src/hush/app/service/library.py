"""The documentation that comes with the page: its files by name, and the page on which a theorem is explained."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

HERE = Path(__file__).parents[1] / "page" / "docs"
"""Where a wheel has the pages."""
SOURCE = Path(__file__).parents[4] / "docs"
"""Where a checkout has them."""
PAPER = re.compile(r"[A-Z][\w’'-]+(?:, [A-Z][\w’'-]+)*(?: et al\.)? (?:19|20)\d\d")
"""Authors and year, as theorems and pages name a paper."""


@cache
def pages() -> dict[str, str]:
    """The text of every page, by its name such as theory/sampling.md."""
    folder = HERE if HERE.is_dir() else SOURCE
    return {path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8") for path in folder.rglob("*.md")}


@cache
def page_about(theorem: str) -> str | None:
    """The page that says most about the papers of a theorem; None where no page names one of them.

    >>> page_about("Poisson sampling: Zhu, Dong, Wang 2022, Prop. 30")
    'theory/sampling.md'
    """
    papers = PAPER.findall(theorem)
    theory = {name: text for name, text in pages().items() if name.startswith("theory/") and "README" not in name}
    said = {name: sum(text.count(paper) for paper in papers) for name, text in theory.items()}
    best = max(said, key=lambda name: said[name], default=None)
    return best if best is not None and said[best] else None
