"""The source of hush as syntax trees, for tests that read it."""

from __future__ import annotations

import ast
import inspect
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import hush

ROOT = Path(hush.__file__).parent
PROJECT = ROOT.parents[1]


@cache
def files() -> tuple[Path, ...]:
    """Every Python file of hush."""
    return tuple(sorted(ROOT.rglob("*.py")))


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def shown(path: Path) -> str:
    """The path from the package's folder."""
    return path.relative_to(ROOT).as_posix()


def dotted(path: Path) -> str:
    """The name under which a file is imported."""
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported(node: ast.AST) -> list[str]:
    """The modules that an import statement names; nothing of other statements."""
    if isinstance(node, ast.ImportFrom) and node.module:
        return [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return [alias.name for alias in node.names] if isinstance(node, ast.Import) else []


def inside(node: ast.AST, within: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], ast.AST]]:
    """Every node below, with the names of the classes and functions around it, outermost first."""
    for child in ast.iter_child_nodes(node):
        yield within, child
        named = isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        yield from inside(child, (*within, child.name) if named else within)


@cache
def settings() -> dict[str, Any]:
    """What pyproject.toml says."""
    return tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))


@cache
def layers() -> tuple[tuple[str, ...], ...]:
    """The layers of the import contract from the top down; each has one room or module, or several side by side."""
    contracts = settings()["tool"]["importlinter"]["contracts"]
    (contract,) = [
        contract for contract in contracts if contract["type"] == "layers" and "hush" in contract["containers"]
    ]
    return tuple(tuple(part.strip() for part in layer.split("|")) for layer in contract["layers"])


def allowed_upwards() -> set[tuple[str, str]]:
    """Imports from a module below to one above that the contract allows."""
    ignored = [line for c in settings()["tool"]["importlinter"]["contracts"] for line in c.get("ignore_imports", [])]
    return {(lower.strip(), upper.strip()) for lower, upper in (line.split("->") for line in ignored)}


def above(room: str) -> set[str]:
    """The rooms that this one must not import: those above it and those beside it."""
    (level,) = [level for level, layer in enumerate(layers()) if room in layer]
    return {other for layer in layers()[: level + 1] for other in layer} - {room}


@cache
def load(*rooms: str) -> list[ModuleType]:
    """All modules of these rooms, so that no class is missed because nobody has asked for it yet."""
    return [import_module(dotted(path)) for path in files() if path.relative_to(ROOT).parts[0] in rooms]


@cache
def concrete(base: type) -> tuple[type, ...]:
    """The classes of hush below this one, of all generations, that can be made; those that others subclass are not."""
    load("curves", "mechanisms")
    found = {base} if not inspect.isabstract(base) and not base.__subclasses__() else set()
    found |= {kind for child in base.__subclasses__() for kind in concrete(child)}
    return tuple(sorted((c for c in found if c.__module__.startswith("hush.")), key=lambda c: c.__name__))
