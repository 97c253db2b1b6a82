"""Run the tests that need no torch under every Python from 3.11 up that is found: `make pythons`.

Each version gets an environment of its own, .venv-3.X, with the pinned packages.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
VERSIONS = re.findall(r"Python :: (3\.\d+)", (ROOT / "pyproject.toml").read_text(encoding="utf-8"))
"""Those that the package promises."""
EXTRAS = "app,data,dev,learn,ledger,postgres"
SAY_VERSION = "import sys; print('%d.%d' % sys.version_info[:2])"


def found(version: str) -> Path | None:
    """An interpreter of that version: on the path, or among those of pyenv."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    on_path = shutil.which(f"python{version}")
    candidates = [Path(on_path)] if on_path else []
    for python in [*candidates, *sorted(pyenv.glob(f"versions/{version}.*/bin/python"), reverse=True)]:
        # a shim of pyenv may stand there for a version that is not switched on
        asked = subprocess.run([python, "-c", SAY_VERSION], capture_output=True, text=True)
        if asked.returncode == 0 and asked.stdout.strip() == version:
            return python
    return None


def environment(version: str, python: Path) -> Path:
    """The interpreter of an environment with hush and what its tests need; made anew when the pins are newer."""
    folder = ROOT / f".venv-{version}"
    ready = folder / ".ready"
    sources = [ROOT / "pyproject.toml", ROOT / "constraints.txt"]
    inside = folder / "bin" / "python"
    if not ready.exists() or ready.stat().st_mtime < max(path.stat().st_mtime for path in sources):
        subprocess.run([python, "-m", "venv", "--clear", folder], check=True)
        pip = [inside, "-m", "pip", "--disable-pip-version-check", "--quiet", "install"]
        subprocess.run(
            [*pip, "--constraint", "constraints.txt", "--editable", f".[{EXTRAS}]"],
            check=True,
            cwd=ROOT,
        )
        ready.touch()
    return inside


def main() -> int:
    outcomes = {}
    for version in VERSIONS:
        python = found(version)
        if python is None:
            outcomes[version] = "not found"
            continue
        print(f"Python {version}", flush=True)
        # not as CI: engines that a Python lacks are left out here
        variables = {name: value for name, value in os.environ.items() if name != "CI"} | {"HUSH_SAME_EXAMPLES": "1"}
        command = [environment(version, python), "-m", "pytest", "-q", "-n", "auto", "--dist", "loadgroup"]
        ran = subprocess.run(command, cwd=ROOT, env=variables)
        outcomes[version] = "failed" if ran.returncode else "passed"
    print("; ".join(f"Python {version}: {outcome}" for version, outcome in outcomes.items()))
    return "failed" in outcomes.values()


if __name__ == "__main__":
    sys.exit(main())
