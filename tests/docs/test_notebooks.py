"""The notebooks run as they are printed, and show what their text says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import nbformat
import pytest

LEARN = Path(__file__).parents[2] / "docs" / "learn"
NOTEBOOKS = sorted(path.name for path in LEARN.glob("*.ipynb"))
NEED_TORCH = {"4-learning.ipynb"}


def said(cells: list[Any]) -> list[str]:
    """What each cell of code printed; warnings are not part of it."""
    return [
        "".join(out.get("text", "") for out in cell.outputs if out.get("name") != "stderr")
        for cell in cells
        if cell.cell_type == "code"
    ]


def pictures(cells: list[Any]) -> int:
    outputs = [out for cell in cells if cell.cell_type == "code" for out in cell.outputs]
    return sum("image/svg+xml" in out.get("data", {}) for out in outputs)


def ran(name: str) -> tuple[list[Any], list[Any]]:
    """The cells as they are kept in the file, and as they come out when they are run again."""
    if name in NEED_TORCH:
        pytest.importorskip("torch")
    from nbclient import NotebookClient

    notebook = nbformat.read(LEARN / name, as_version=4)
    kept = [nbformat.from_dict(cell) for cell in notebook.cells]
    NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
    return kept, notebook.cells


@pytest.mark.filterwarnings("ignore")  # of the kernel's own process and sockets
@pytest.mark.parametrize("name", [name for name in NOTEBOOKS if name not in NEED_TORCH])
def test_every_cell_runs_and_shows_its_pictures(name: str) -> None:
    kept, now = ran(name)
    assert pictures(now) == pictures(kept) >= 3
    assert [bool(text) for text in said(now)] == [bool(text) for text in said(kept)]


@pytest.mark.filterwarnings("ignore")
def test_learning() -> None:
    """The attack, the accuracies and the three ways to count come out as the text says."""
    _, now = ran("4-learning.ipynb")
    printed = said(now)
    area = re.compile(r"ROC: ([\d.]+)")
    attacked, protected = (float(area.findall(text)[0]) for text in printed if area.search(text))
    assert attacked > 0.62
    assert protected < attacked - 0.05
    curve = [float(line.split()[1]) for line in next(t for t in printed if "mean of" in t).splitlines()[1:]]
    assert curve[0] < curve[2] < curve[-1]
    ways = [float(number) for number in re.findall(r"steps, .*: +epsilon ([\d.]+)", "".join(printed))]
    assert ways == sorted(ways, reverse=True)
    assert any("differentially private for every single person" in text for text in printed)


def test_the_path_has_four_steps() -> None:
    assert [name[0] for name in NOTEBOOKS] == ["1", "2", "3", "4"]
