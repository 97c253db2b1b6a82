"""What needs torch is left out where torch is not installed: `make pythons` runs the rest."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path

HAS_TORCH = find_spec("torch") is not None
TORCH = re.compile(r"^(?:import|from) (?:torch|hush\.learning\.dpsgd)\b", re.MULTILINE)
"""Files that import torch, or the training that does."""


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    if HAS_TORCH or collection_path.suffix != ".py":
        return None
    return bool(TORCH.search(collection_path.read_text(encoding="utf-8"))) or None
