"""What is shipped: the package with its types and its page, and nothing else."""

from __future__ import annotations

import re
import subprocess
import venv
import zipfile
from importlib import import_module
from pathlib import Path

import pytest

import hush
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


# -- installed by a user -------------------------------------------------------------------------------------------

IMPORTED_AS = {
    "adbc-driver-postgresql": "adbc_driver_postgresql",
    "dp-accounting": "dp_accounting",
    "scikit-learn": "sklearn",
    "vl-convert-python": "vl_convert",
}


@pytest.mark.parametrize("extra", ["app", "data", "interop", "learn", "ledger", "postgres", "spark", "torch"])
def test_an_extra_lists_only_what_is_used(extra: str) -> None:
    text = "\n".join(path.read_text(encoding="utf-8") for path in files())
    for requirement in settings()["project"]["optional-dependencies"][extra]:
        name = re.match(r"[\w-]+", requirement)[0]  # type: ignore[index]
        package = IMPORTED_AS.get(name, name)
        assert re.search(rf'(?:import|from) {package}\b|"{package}"|\+{package}\b', text), (extra, name)


def test_the_version_has_one_place() -> None:
    document = settings()
    assert document["project"]["dynamic"] == ["version"] and "version" not in document["project"]
    assert document["tool"]["hatch"]["version"]["path"] == "src/hush/__init__.py"
    written = [path for path in files() if re.search(r"^__version__ =", path.read_text(encoding="utf-8"), re.MULTILINE)]
    assert written == [ROOT / "__init__.py"]


RUNS = {
    ("epsilon", "--noise", "1.1", "--examples", "60000", "--batch-size", "256", "--epochs", "15", "--delta", "1e-5"): (
        0,
        "epsilon = 1.133875",
    ),
    ("--version",): (0, f"hush {hush.__version__}"),
    ("chart", "renyi", "gaussian 1", "--out", "a.svg"): (2, "pip install 'hush-dp[app]'"),
    ("ledger", "create", "a.db", "--dataset", "d", "--epsilon", "1"): (2, "pip install 'hush-dp[ledger]'"),
    ("release", "count", "a.parquet", "--epsilon", "1"): (2, "pip install 'hush-dp[data]'"),
    ("audit", "scores", "scores.csv", "--out", "a.html"): (2, "pip install 'hush-dp[app]'"),
}
"""What a user without extras runs, and what it says: an answer, or the extra that is missing."""


def test_a_wheel_runs_in_a_clean_environment(tmp_path: Path) -> None:
    """An environment of its own with the wheel, and of other packages only those that hush cannot do without."""
    built = pytest.importorskip("hatchling.builders.wheel", reason="hatchling builds the wheel: pip install hatchling")
    (wheel,) = built.WheelBuilder(str(PROJECT)).build(directory=str(tmp_path), versions=["standard"])
    assert Path(wheel).name.startswith("hush_dp-")
    folder = tmp_path / "env"
    venv.create(folder, with_pip=False)
    (site,) = folder.glob("lib/python*/site-packages")
    # what pip would do, without a network: unpack the wheel, and put its two dependencies beside it
    zipfile.ZipFile(wheel).extractall(site)
    for package in ("numpy", "scipy"):
        source = Path(import_module(package).__file__).parent  # type: ignore[arg-type]
        (site / package).symlink_to(source)
        for libraries in source.parent.glob(f"{package}.libs"):
            (site / libraries.name).symlink_to(libraries)
    needed = [line.split(";")[0] for line in metadata(site) if line.startswith("Requires-Dist") and "extra" not in line]
    assert sorted(re.findall(r"Requires-Dist: (\w+)", "\n".join(needed))) == ["numpy", "scipy"]
    (tmp_path / "scores.csv").write_text("score,member\n1,1\n2,1\n0,0\n-1,0\n")
    (tmp_path / "a.parquet").write_bytes(b"PAR1")
    for words, (code, said) in RUNS.items():
        command = [folder / "bin" / "python", "-I", "-m", "hush.app.main", *words]
        ran = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=120)
        assert ran.returncode == code, (words, ran.stderr)
        assert said in ran.stdout + ran.stderr, (words, ran.stdout, ran.stderr)
        assert "Traceback" not in ran.stderr


def metadata(site: Path) -> list[str]:
    (file,) = site.glob("hush_dp-*.dist-info/METADATA")
    return file.read_text(encoding="utf-8").splitlines()
