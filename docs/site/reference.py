"""Pages of the reference: every public name, from the lists that the library itself is entered by (`__init__.pyi`)."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

PAGES = {
    "mechanisms": "Mechanisms: what ran",
    "schemes": "Sampling schemes",
    "questions": "Questions and plans",
    "curves": "Answers, relations, pairs and Rényi curves",
    "releases": "Releases: numbers from data",
    "learning": "Learning: models from data",
    "auditing": "Auditing: evidence against a claim",
    "ledger": "Ledger: what was spent",
    "interop": "Interop: bridges to other libraries",
    "randomness": "Randomness",
    "errors": "Errors",
}
DOORS = ("hush", "hush.releases", "hush.learning", "hush.auditing", "hush.ledger", "hush.randomness", "hush.interop")
"""Packages whose names are public."""


def public_names(root: Path) -> dict[str, str]:
    """Each public name, as users write it, with the place where it is defined."""
    found = {}
    for door in DOORS:
        folder = root / "src" / door.replace(".", "/")
        listed = next((path for path in (folder / "__init__.pyi", folder / "__init__.py") if path.exists()), None)
        for name, place in _listed(listed) if listed else ():
            found[f"{door}.{name}"] = place
    return found


def _listed(path: Path) -> Iterator[tuple[str, str]]:
    """Names that a door imports, but for the packages that have a door of their own."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("hush"):
            for alias in node.names:
                name, place = alias.asname or alias.name, f"{node.module}.{alias.name}"
                if not name.startswith("_") and place not in DOORS:
                    yield name, place


def page_of(name: str, place: str) -> str:
    """The page on which a name stands: its package, or its room."""
    door = name.rsplit(".", 1)[0]
    if door != "hush":
        return door.removeprefix("hush.") if door.removeprefix("hush.") in PAGES else "questions"
    if ".schemes." in place or place.endswith("scheme.Scheme"):
        return "schemes"
    room = place.split(".")[1]
    return room if room in PAGES else "questions"


def page(root: Path, which: str, heading: str) -> str:
    """One page: its names in the order of the alphabet."""
    places = public_names(root)
    chosen = sorted((name, place) for name, place in places.items() if page_of(name, place) == which)
    entries = [f"## `{name}`\n\n::: {place}\n    options:\n      show_root_heading: false\n" for name, place in chosen]
    return "\n".join([f"# {heading}\n", *entries])
