"""What importing hush costs, and which rooms see which: the import linter has the contract, here are its effects."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import hush

ROOT = Path(hush.__file__).parent
ROOMS = ["errors", "randomness", "numerics", "curves", "mechanisms", "questions", "app"]
"""From the bottom up."""

HEAVY = [
    "scipy.optimize",
    "scipy.stats",
    "scipy.integrate",
    "scipy.interpolate",
    "matplotlib",
    "pandas",
    "torch",
    "mpmath",
    "hypothesis",
    "rich",
    "sqlite3",
    "http",
]


def loaded(code: str) -> set[str]:
    """Modules that a fresh interpreter has after the code."""
    shown = subprocess.run(
        [sys.executable, "-c", f"import sys\n{code}\nprint('\\n'.join(sys.modules))"],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": str(ROOT.parent), "PATH": ""},
    )
    return set(shown.stdout.split())


def test_accounting_imports_nothing_heavy() -> None:
    modules = loaded("import hush\nhush.Gaussian(1.0).on(hush.Poisson(rate=0.01)).repeat(1000).epsilon(delta=1e-5)")
    assert "numpy" in modules
    assert not [name for name in HEAVY if name in modules]


def test_import_alone_is_light() -> None:
    """Public names are looked up when the first is used."""
    modules = loaded("import hush")
    assert "scipy" not in modules
    assert "hush.app" not in modules


def imports(path: Path) -> set[str]:
    """The rooms that a module names, at its top or inside functions."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        found |= {name.split(".")[1] for name in names if name.startswith("hush.")}
    return found


@pytest.mark.parametrize("room", ["randomness", "numerics", "curves"])
def test_lower_rooms_never_import_upper_ones(room: str) -> None:
    above = set(ROOMS[ROOMS.index(room) + 1 :])
    for path in sorted((ROOT / room).rglob("*.py")):
        assert not imports(path) & above, path.name


def test_numerics_is_unaware_of_privacy() -> None:
    for path in sorted((ROOT / "numerics").rglob("*.py")):
        assert imports(path) <= {"numerics", "arrays", "errors"}, path.name


def test_only_the_app_prints() -> None:
    for path in sorted(ROOT.rglob("*.py")):
        if path.relative_to(ROOT).parts[0] == "app":
            continue
        calls = (n for n in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(n, ast.Call))
        printed = [n for n in calls if isinstance(n.func, ast.Name) and n.func.id in ("print", "eval", "exec", "input")]
        assert not printed, path.name
