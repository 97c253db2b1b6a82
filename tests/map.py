"""The map of the source: one line per file, made of the first lines of the docstrings.

`python -m tests.map` prints the block of docs/design.md, ready to paste.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

from tests.source import PROJECT, ROOT, files, tree

TOP = "src/hush/"
PAGE = PROJECT / "docs" / "design.md"
LINE = re.compile(r"^( *)(\S+)(?:\s+(.*))?$")


def first_line(path: Path) -> str:
    """The first line of a module's docstring, without its full stop."""
    return (ast.get_docstring(tree(path)) or "").split("\n")[0].removesuffix(".")


def listed() -> dict[str, str]:
    """What is in the source: folders (with a slash at the end) and files, each with its first line."""
    found = {}
    for path in files():
        name = path.relative_to(ROOT).as_posix()
        place = name.removesuffix("__init__.py") if path.name == "__init__.py" else name
        if place:
            found[place] = first_line(path)
    return found


def printed() -> str:
    """The tree as an indented code block, files before folders."""
    entries = listed()
    rows = [(0, TOP, "")]

    def below(folder: str) -> None:
        here = [e for e in entries if e != folder and e.startswith(folder) and "/" not in e[len(folder) : -1]]
        for entry in sorted(here, key=lambda entry: (entry.endswith("/"), entry)):
            rows.append((entry.removesuffix("/").count("/") + 1, entry[len(folder) :], entries[entry]))
            if entry.endswith("/"):
                below(entry)

    below("")
    width = max(2 * depth + len(name) for depth, name, _ in rows) + 2
    return "\n".join("    " + f"{'  ' * depth + name:{width}}{said}".rstrip() for depth, name, said in rows)


def written(page: str) -> dict[str, str]:
    """The tree that a page shows, in the form of `listed`: parsed from the indented block that starts with src/hush/."""
    lines = page.splitlines()
    starts = [place for place, line in enumerate(lines) if line.strip() == TOP and line.startswith("    ")]
    found: dict[str, str] = {}
    folders: list[tuple[int, str]] = []
    for line in lines[starts[0] + 1 :] if starts else []:
        if not line.startswith("    "):
            break
        match = LINE.match(line)
        if not match:
            continue
        depth, name, said = len(match[1]), match[2], match[3] or ""
        while folders and folders[-1][0] >= depth:
            folders.pop()
        path = (folders[-1][1] if folders else "") + name
        found[path] = said
        if name.endswith("/"):
            folders.append((depth, path))
    return found


if __name__ == "__main__":
    print(printed())
