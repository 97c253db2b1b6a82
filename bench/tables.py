"""How results are shown: what was compared, Markdown tables, and the two files of every comparison."""

import json
import platform
from collections.abc import Iterable, Sequence
from importlib import metadata
from pathlib import Path

RESULTS = Path(__file__).parent / "results"


def about(documentation: str | None) -> str:
    """The second paragraph of a script's documentation, in one line."""
    return " ".join((documentation or "").split("\n\n")[1].split())


def versions(packages: Iterable[str]) -> dict[str, str]:
    """Python's and those of the packages; one that is not installed is left out."""
    found = {"Python": platform.python_version()}
    for package in packages:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found


def listed(compared: dict[str, str]) -> str:
    """Names and versions, in one line."""
    return ", ".join(f"{name} {version}" for name, version in compared.items())


def table(head: Sequence[str], body: Iterable[Sequence[object]], words: Sequence[str] = ("note",)) -> list[str]:
    """A Markdown table: the first column and those of words to the left, numbers to the right."""
    sides = ["---" if name in (head[0], *words) else "---:" for name in head]
    return ["| " + " | ".join(map(str, line)) + " |" for line in [head, sides, *body]] + [""]


def seconds(time: object) -> str:
    """CPU seconds with three digits, in milliseconds below one."""
    if not isinstance(time, float):
        return "–"
    return f"{time:.3g} s" if time >= 1 else f"{1000 * time:.3g} ms"


def write(name: str, page: str, numbers: object) -> None:
    """The page and the numbers of one comparison, into results."""
    RESULTS.mkdir(exist_ok=True)
    RESULTS.joinpath(f"{name}.md").write_text(page, encoding="utf-8")
    RESULTS.joinpath(f"{name}.json").write_text(json.dumps(numbers, indent=1) + "\n", encoding="utf-8")
