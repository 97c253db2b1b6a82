"""What needs torch, opacus or dp_accounting is left out where that is missing: `make pythons` runs the rest."""

from __future__ import annotations

import os
import re
from importlib.util import find_spec
from pathlib import Path

from hypothesis import settings

IMPORTERS = {
    "torch": r"torch|hush\.learning\.(?:dpsgd|distributed)",
    "opacus": r"opacus|hush\.interop\.opacus_plugin",
    "dp_accounting": r"dp_accounting|hush\.interop\.(?:events_written|dp_accounting_plugin)",
}
"""Packages that may be missing, and what cannot be imported without each."""
MISSING = "|".join(names for package, names in IMPORTERS.items() if find_spec(package) is None)
LEFT_OUT = re.compile(rf"^(?:import|from) (?:{MISSING})\b", re.MULTILINE)

# With one of these set the examples of all laws are the same in every run, so that a change fails for what it changed;
# elsewhere each run tries others.
settings.register_profile("ci", derandomize=True)
if os.environ.get("CI") or os.environ.get("HUSH_SAME_EXAMPLES"):
    settings.load_profile("ci")


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    if not MISSING or collection_path.suffix != ".py":
        return None
    return bool(LEFT_OUT.search(collection_path.read_text(encoding="utf-8"))) or None
