"""The documentation that comes with the page: its files by name, and the page on which a theorem is explained."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

HERE = Path(__file__).parents[1] / "page" / "docs"
"""Where a wheel has the pages."""
SOURCE = Path(__file__).parents[4] / "docs"
"""Where a checkout has them."""
CITED = re.compile(
    r"([A-Z][\w’'-]+(?:, [A-Z][\w’'-]+)*(?: et al\.)? (?:19|20)\d\d)"
    r"(, (?:Thm|Prop\.|Lemma|Cor\.|Sec\.|eq\.) [\w.()]*\w)?"
)
"""Authors and year of a paper, and the place in it, as theorems and pages name them."""
OVERVIEW = "theory/README.md"


@cache
def pages() -> dict[str, str]:
    """The text of every page, by its name such as theory/sampling.md."""
    folder = HERE if HERE.is_dir() else SOURCE
    found = sorted(folder.glob("theory/*.md"))
    return {path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8") for path in found}


@cache
def page_about(theorem: str) -> dict[str, str] | None:
    """The page that cites the theorem, and the words to look for there; None where no page names its paper.

    >>> page_about("dominated by N(1/σ, 1) against N(0, 1): Balle, Wang 2018, Thm 8")
    {'page': 'theory/README.md', 'words': 'Balle, Wang 2018, Thm 8'}
    """
    cited = CITED.findall(theorem)
    for words in [paper + place for paper, place in cited if place] + [paper for paper, _ in cited]:
        counts = {name: " ".join(text.split()).count(words) for name, text in pages().items()}
        found = {name: (count, name == OVERVIEW) for name, count in counts.items() if count}
        if found:
            return {"page": max(found, key=lambda name: found[name]), "words": words}
    return None
