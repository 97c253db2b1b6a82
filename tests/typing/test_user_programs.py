"""Types hold for users: a right program has no error in pyright's strict mode, a misspelt option is one where it is."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path

import pytest

import hush

for package in ("pyright", "torch", "sklearn"):
    pytest.importorskip(package)

PROGRAMS = Path(__file__).parent / "programs"
NAMES = sorted(path.name for path in PROGRAMS.glob("*.py"))
ROOT = Path(__file__).parents[2]


@cache
def errors() -> dict[str, set[int]]:
    """The lines with errors, by the name of the program."""
    command = [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable, str(PROGRAMS)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    found: dict[str, set[int]] = {name: set() for name in NAMES}
    for said in json.loads(done.stdout)["generalDiagnostics"]:
        found[Path(said["file"]).name].add(said["range"]["start"]["line"] + 1)
    return found


@pytest.mark.parametrize("name", NAMES)
def test_errors_are_where_they_should_be(name: str) -> None:
    lines = (PROGRAMS / name).read_text(encoding="utf-8").splitlines()
    wrong = {place for place, line in enumerate(lines, start=1) if line.endswith("# error")}
    assert bool(wrong) == name.startswith("wrong_")
    assert errors()[name] == wrong


def test_the_package_says_that_it_is_typed() -> None:
    """The wheel takes all of src/hush, with the mark and the stubs in it."""
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["build"]["targets"]
    assert wheel["wheel"]["packages"] == ["src/hush"]
    package = Path(hush.__file__).parent
    assert all((package / name).is_file() for name in ("py.typed", "__init__.pyi", "learning/__init__.pyi"))
