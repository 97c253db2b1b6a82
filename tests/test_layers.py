"""The rooms and their order: the import contract of pyproject.toml has them, and all maps agree with it."""

from __future__ import annotations

import ast
import re
import subprocess
import sys

import pytest

from tests.map import PAGE, listed, printed, written
from tests.source import PROJECT, ROOT, above, allowed_upwards, dotted, files, imported, layers, shown, tree

ROOMS = [room for layer in layers() for room in layer]
"""From the top down."""
FOLDERS = [room for room in ROOMS if (ROOT / room).is_dir()]

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


def test_every_room_is_in_the_contract() -> None:
    """As many as there are on disk; a module of the package counts as a room of its own."""
    on_disk = {path.parent.name for path in ROOT.glob("*/__init__.py")} | {path.stem for path in ROOT.glob("*.py")}
    assert on_disk - {"__init__", "__main__"} == set(ROOMS)


@pytest.mark.parametrize("room", ROOMS)
def test_no_room_imports_one_above_or_beside_it(room: str) -> None:
    """Imports inside functions count, too."""
    wrong = []
    for path in files():
        if path.relative_to(ROOT).with_suffix("").parts[0] != room:
            continue
        named = {name for node in ast.walk(tree(path)) for name in imported(node) if name.startswith("hush.")}
        upwards = {name for name in named if name.split(".")[1] in above(room)}
        wrong += [
            (shown(path), name)
            for name in upwards
            if not any(_allowed(dotted(path), name, *ok) for ok in allowed_upwards())
        ]
    assert not wrong


def _allowed(module: str, name: str, lower: str, upper: str) -> bool:
    return module == lower and (name == upper or name.startswith(f"{upper}."))


def test_numerics_and_randomness_are_unaware_of_privacy() -> None:
    plain = {"numerics", "randomness", "arrays", "checks", "markup", "door", "errors"}
    for path in files():
        if path.relative_to(ROOT).parts[0] in ("numerics", "randomness"):
            named = [name for node in ast.walk(tree(path)) for name in imported(node) if name.startswith("hush.")]
            assert {name.split(".")[1] for name in named} <= plain, shown(path)


def test_only_the_app_prints() -> None:
    for path in files():
        if path.relative_to(ROOT).parts[0] == "app":
            continue
        calls = (node for node in ast.walk(tree(path)) if isinstance(node, ast.Call))
        printed = [n for n in calls if isinstance(n.func, ast.Name) and n.func.id in ("print", "eval", "exec", "input")]
        assert not printed, shown(path)


# -- maps --------------------------------------------------------------------------------------------------------


def test_contributing_lists_the_rooms_in_the_order_of_the_contract() -> None:
    text = (PROJECT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    (sentence,) = re.findall(r"import downwards only:(.*?)\.\n", text, re.DOTALL)
    assert [name for name in re.findall(r"`([^`]+)`", sentence) if name in ROOMS] == ROOMS


def test_design_shows_every_room() -> None:
    shown = {path.removesuffix("/").removesuffix(".py") for path in written(PAGE.read_text(encoding="utf-8"))}
    assert set(FOLDERS) <= shown


def test_design_has_the_line_of_every_file() -> None:
    """`python -m tests.map` prints the block that makes this true."""
    assert written(PAGE.read_text(encoding="utf-8")) == listed()


def test_the_printed_map_is_read_as_the_source() -> None:
    assert written(f"# A page\n\n{printed()}\n\nMore.") == listed()
    assert len(listed()) > 200


def test_every_module_says_what_it_is() -> None:
    """In one line, which the map shows."""
    assert not [path for path, said in listed().items() if len(said.split()) < 2 or len(said) > 118]
