"""What is shipped: the package with its types and its page, and nothing else."""

from __future__ import annotations

import subprocess
import zipfile
from pathlib import Path

import pytest

from tests.source import PROJECT, ROOT, files, settings

STUBS = ("hush", "hush/interop", "hush/learning", "hush/ledger", "hush/randomness")
TYPES = {"hush/py.typed", *(f"{package}/__init__.pyi" for package in STUBS)}
"""What type checkers read."""


def page() -> list[Path]:
    """The files of the page."""
    return [path for path in (ROOT / "app" / "page").rglob("*") if path.is_file()]


def theory() -> set[str]:
    """What the page links to."""
    return {f"hush/app/page/docs/theory/{path.name}" for path in (PROJECT / "docs" / "theory").iterdir()}


def test_the_types_are_there_and_no_setting_leaves_them_out() -> None:
    wheel = settings()["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert wheel == {"packages": ["src/hush"], "force-include": {"docs/theory": "hush/app/page/docs/theory"}}
    assert TYPES <= {f"hush/{path.relative_to(ROOT).as_posix()}" for path in ROOT.rglob("*") if path.is_file()}
    assert "Typing :: Typed" in settings()["project"]["classifiers"]


def test_no_file_of_the_package_is_ignored() -> None:
    """What git ignores, the wheel leaves out."""
    if not (PROJECT / ".git").exists():
        pytest.skip("not a checkout of git")
    paths = [*(str(path) for path in (*files(), *page())), *(str(ROOT.parent / name) for name in TYPES)]
    asked = subprocess.run(["git", "check-ignore", *paths], cwd=PROJECT, capture_output=True, text=True)
    assert asked.stdout == ""


def test_the_wheel_holds_them(tmp_path: Path) -> None:
    built = pytest.importorskip("hatchling.builders.wheel", reason="hatchling builds the wheel: pip install hatchling")
    (wheel,) = built.WheelBuilder(str(PROJECT)).build(directory=str(tmp_path), versions=["standard"])
    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert TYPES <= names
    assert names - TYPES == {f"hush/{path.relative_to(ROOT).as_posix()}" for path in (*files(), *page())} | theory()
