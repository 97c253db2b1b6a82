"""The page on linear models and the tutorial run as they are printed."""

from __future__ import annotations

import re
from pathlib import Path

import nbformat
import pytest

DOCS = Path(__file__).parents[2] / "docs"
BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)


def test_page_on_linear_models(capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, object] = {}
    for block in BLOCK.findall((DOCS / "convex-models.md").read_text(encoding="utf-8")):
        exec(compile(block, "convex-models.md", "exec"), names)
    assert "patient" in capsys.readouterr().out


@pytest.mark.filterwarnings("ignore")  # of the kernel's own process and sockets
def test_tutorial() -> None:
    """Every cell runs, and the attack and the accuracies come out as the text says."""
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
