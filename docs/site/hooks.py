"""Hooks of mkdocs: the front page is README, the reference follows the public names, the menu follows the files."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

sys.path.insert(0, str(Path(__file__).parent))  # mkdocs loads this file by its path, and not as a part of a package

from formulas import is_formula, mathml
from inline import inline
from reference import PAGES as REFERENCE
from reference import page as reference_page

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
COPIED = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md")
"""Pages that lie beside the folder of the pages, and under which name the site has them."""
INDENTED = re.compile(r"(?:^    .*\n)+", re.MULTILINE)
PAGE_LINK = re.compile(r'href="((?!\w+:)[^"#]*)\.(?:md|ipynb)(?=["#])')
LINK = re.compile(r"(!?\[[^\]]*\]\()([^)\s:]+)(\))")

SECTIONS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("Learn", ("learn/*.ipynb",)),
    ("By role", ("roles/*.md", "statistics-office.md", "databases.md")),
    (
        "Guides",
        ("first-hour.md", "overview.md", "guide.md", "releases.md", "*learning*.md", "*training*.md", "*.md"),
    ),
    ("Theory", ("theory/README.md", "theory/*.md")),
    ("Figures", ("figures.md", "figures/*.md")),
    ("Reference", ("reference/*.md",)),
    ("Project", ("documents.md", "design.md", "contributing.md", "changelog.md", "security.md")),
)
"""The menu: sections, and the files of each by pattern. A file stands in the first section that names it exactly."""
NAMED = {pattern for _, patterns in SECTIONS for pattern in patterns if "*" not in pattern}


def on_files(files: Files, config: Any) -> Files:
    """Pages that are made from what lies elsewhere."""
    for name in COPIED:
        path = "index.md" if name == "README.md" else name.lower()
        text = (ROOT / name).read_text(encoding="utf-8")
        files.append(File.generated(config, path, content=LINK.sub(_from_root, text)))
    for name, heading in REFERENCE.items():
        files.append(File.generated(config, f"reference/{name}.md", content=reference_page(ROOT, name, heading)))
    config["nav"] = list(menu(sorted(file.src_uri for file in files.documentation_pages())))
    return files


def menu(pages: list[str]) -> Iterator[dict[str, Any]]:
    """The menu over all pages: each stands once."""
    yield {"Home": "index.md"}
    left = [page for page in pages if page != "index.md"]
    for title, patterns in SECTIONS:
        chosen: list[str] = []
        for pattern in patterns:
            fitting = [page for page in left if Path(page).match(pattern) and page.count("/") == pattern.count("/")]
            chosen += [page for page in fitting if page not in chosen and (page == pattern or page not in NAMED)]
        left = [page for page in left if page not in chosen]
        if chosen:
            yield {title: chosen}


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Formulas are set; what links to a file that is not a page is its name."""
    if page.file.src_uri.startswith("theory/"):
        markdown = inline(INDENTED.sub(_set, markdown))
    if page.file.src_uri in ("index.md", *(name.lower() for name in COPIED)) or page.file.src_uri.endswith(".ipynb"):
        return markdown
    return LINK.sub(lambda found: _to_source(found, DOCS / page.file.src_uri), markdown)


def on_page_content(html: str, page: Any, **_: Any) -> str:
    """Links of a notebook to pages: they are set by another reader, which leaves them as they are written."""
    return PAGE_LINK.sub(r'href="\1.html', html) if page.file.src_uri.endswith(".ipynb") else html


def _set(block: re.Match[str]) -> str:
    """A block of formulas, line by line; any other block as it is."""
    lines = block[0].rstrip("\n").split("\n")
    if not all(is_formula(line) for line in lines):
        return block[0]
    return "\n".join(f'<div class="formula">{mathml(line)}</div>' for line in lines) + "\n"


def _from_root(found: re.Match[str]) -> str:
    """A link of a page that lies in the project's folder."""
    path, _, anchor = found[2].partition("#")
    if not path:
        return found[0]
    suffix = f"#{anchor}" if anchor else ""
    if path in COPIED:
        return f"{found[1]}{path.lower()}{suffix}{found[3]}"
    if path.startswith("docs/"):
        return f"{found[1]}{path.removeprefix('docs/')}{suffix}{found[3]}"
    return _named(found)


def _to_source(found: re.Match[str], page: Path) -> str:
    path, _, anchor = found[2].partition("#")
    target = (page.parent / path).resolve()
    if not path or not target.exists() or (target.is_relative_to(DOCS) and target.suffix in (".md", ".svg", ".ipynb")):
        return found[0]
    if target.parent == ROOT and target.name in COPIED:
        up = "../" * (len(page.relative_to(DOCS).parts) - 1)
        name = "index.md" if target.name == "README.md" else target.name.lower()
        return f"{found[1]}{up}{name}{f'#{anchor}' if anchor else ''}{found[3]}"
    return _named(found)


def _named(found: re.Match[str]) -> str:
    """What stands between the brackets of a link."""
    return found[1].removeprefix("!")[1:-2]
