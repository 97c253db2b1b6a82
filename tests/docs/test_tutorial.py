"""The tutorial runs as it is printed."""

from __future__ import annotations

import re
from pathlib import Path

import nbformat
import pytest

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.filterwarnings("ignore")  # of the kernel's own process and sockets
def test_tutorial() -> None:
    """Every cell runs, and the attack and the accuracies come out as the text says."""
    pytest.importorskip("torch")
    from nbclient import NotebookClient

    notebook = nbformat.read(DOCS / "tutorial.ipynb", as_version=4)
    NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
    said = ["".join(o.get("text", "") for o in cell.outputs) for cell in notebook.cells if cell.cell_type == "code"]
    area = re.compile(r"ROC: ([\d.]+)")
    attacked, protected = (float(area.findall(text)[0]) for text in said if area.search(text))
    assert attacked > 0.62
    assert protected < attacked - 0.05
    curve = [float(line.split()[1]) for line in next(t for t in said if "mean of" in t).splitlines()[1:]]
    assert curve[0] < curve[2] < curve[-1]
    assert any("differentially private for every single person" in text for text in said)
