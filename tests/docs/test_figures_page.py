"""Every picture of the experiment is there and shown."""

from __future__ import annotations

import re
from pathlib import Path

from hush.documents.accuracy_figures import Accuracy

DOCS = Path(__file__).parents[2] / "docs"


def test_every_picture_of_the_experiment_is_shown() -> None:
    shown = re.findall(r"\((figures/accuracy-[^)]*)\)", (DOCS / "figures.md").read_text(encoding="utf-8"))
    assert sorted(shown) == sorted(f"figures/{name}.svg" for name in Accuracy().charts())
    assert all((DOCS / name).exists() for name in shown)
