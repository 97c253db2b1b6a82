"""Every file, module, class and function that a page names is there."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache, reduce
from importlib import import_module
from pathlib import Path

import pytest

from hush.errors import NotInstalled
from tests.docs.pages import ROOT, text_of

PAGES = sorted(
    str(page.relative_to(ROOT))
    for page in (*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "theory").glob("*.md"))
    if page.name != "CHANGELOG.md"  # which names what was, too
)
PLACES = ("", "src/hush", "docs", "docs/theory", "docs/figures", "bench/results")
"""Folders that a path on a page may start from."""

FILE = re.compile(r"(?<![\w/.*-])((?:[\w.-]+/)*[\w-]+\.(?:py|pyi|md|toml|txt|ipynb))\b")
PUBLIC = re.compile(r"(?<![\w/.])hush((?:\.[A-Za-z_]\w*)+)")
SPAN = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
BLOCK = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
NAME = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")

OF_OTHERS = {
    "FunctionTransformer",
    "StandardScaler",
    "check_dtype_object",
    "check_estimators_empty_data_messages",
    "check_supervised_y_no_nan",
    "sample_weight",
}
"""Names of other packages that the pages speak of, and that hush does not use."""


def stale_files(page: str) -> list[str]:
    """Paths that lead nowhere; a name without a folder stands for any file of that name in the source or its tests."""
    return sorted(path for path in set(FILE.findall(text_of(page))) if not _is_there(page, path))


def _is_there(page: str, path: str) -> bool:
    places = [ROOT / place for place in PLACES] + [(ROOT / page).parent]
    return any((place / path).exists() for place in places) or path in {file.name for file in python_files()}


@cache
def python_files() -> tuple[Path, ...]:
    """Of the source, the tests and the examples."""
    folders = [ROOT / name for name in ("src", "tests", "docs")]
    return tuple(path for folder in folders for suffix in ("py", "pyi") for path in folder.rglob(f"*.{suffix}"))


def stale_public_names(page: str) -> list[str]:
    """Names that start with hush. and cannot be reached so."""
    return sorted(name for name in set(PUBLIC.findall(text_of(page))) if not _is_reached(name.lstrip(".")))


def _is_reached(name: str) -> bool:
    """As an attribute of hush, or as a module that must be imported by name, or in one."""
    parts = name.split(".")
    for depth in range(len(parts) + 1):
        try:
            reduce(getattr, parts[depth:], import_module(".".join(["hush", *parts[:depth]])))
        except NotInstalled:
            return True
        except (AttributeError, ModuleNotFoundError):
            continue
        return True
    return False


def stale_names(page: str) -> list[str]:
    """Names in backticks, outside of blocks, that no file of the source has."""
    spans = SPAN.findall(BLOCK.sub("", text_of(page)))
    named = {span for span in spans if NAME.fullmatch(span) and looks_like_code(span) and not FILE.fullmatch(span)}
    return sorted(span for span in named if not _is_named(span.removeprefix("hush.").split(".")))


def looks_like_code(span: str) -> bool:
    """Whether it has an underscore, a dot or a capital inside, as words of a language have not."""
    return bool(re.search(r"_|\.|[a-z][A-Z]", span))


def _is_named(parts: list[str]) -> bool:
    """What belongs to a class is looked for in that class and in those that it is made of."""
    owner = parts[-2] if len(parts) > 1 else ""
    last = members(owner) if owner in classes() else names()
    return set(parts[:-1]) <= names() and parts[-1] in last


@cache
def modules() -> tuple[ast.Module, ...]:
    return tuple(ast.parse(path.read_text(encoding="utf-8")) for path in python_files())


@cache
def names() -> frozenset[str]:
    """Of modules, and of all that is defined or used in them."""
    paths = {part for path in python_files() for part in (path.stem, *path.relative_to(ROOT).parts)}
    return frozenset(OF_OTHERS | paths | {name for module in modules() for name in names_in(module)})


@cache
def classes() -> dict[str, list[ast.ClassDef]]:
    found: dict[str, list[ast.ClassDef]] = {}
    for module in modules():
        for node in ast.walk(module):
            if isinstance(node, ast.ClassDef):
                found.setdefault(node.name, []).append(node)
    return found


def members(name: str) -> set[str]:
    """Names in a class of this name, and in its bases."""
    found: set[str] = set()
    for node in classes().get(name, []):
        found |= set(names_in(node))
        for base in node.bases:
            found |= set().union(*(members(part) for part in names_in(base) if part != name))
    return found


def names_in(tree: ast.AST) -> Iterator[str]:
    """What is defined, imported, read, or taken as an argument."""
    for node in ast.walk(tree):
        for field in ("name", "id", "attr", "arg"):
            value = getattr(node, field, None)
            if isinstance(value, str):
                yield from value.split(".")


@pytest.mark.parametrize("page", PAGES)
def test_files(page: str) -> None:
    assert stale_files(page) == []


@pytest.mark.parametrize("page", PAGES)
def test_public_names(page: str) -> None:
    assert stale_public_names(page) == []


@pytest.mark.parametrize("page", PAGES)
def test_names_in_backticks(page: str) -> None:
    assert stale_names(page) == []


def test_stale_names_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    page = "`curves/nowhere.py`, hush.Gaussian, hush.nothing.at_all, `Pair.swap`, `Pair.no_such_thing`, `NoSuchPair`"
    monkeypatch.setattr(f"{__name__}.text_of", lambda _: page)
    assert stale_files("README.md") == ["curves/nowhere.py"]
    assert stale_public_names("README.md") == [".nothing.at_all"]
    assert stale_names("README.md") == ["NoSuchPair", "Pair.no_such_thing"]
