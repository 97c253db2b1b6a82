"""The four flows of docs/design.md: every function that the page names is visited, in the flow that names it."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from types import FrameType

import numpy as np
import pytest

import hush
from hush.app.main import main
from tests.source import PROJECT, ROOT

STEP = re.compile(r"`([\w/]+\.py)` ((?:`[\w.]+`(?:, )?)+)")
STARTS = {
    "epsilon": "`training.epsilon",
    "median": "`releases.Median",
    "step": "One step of `learning.fit`",
    "audit": "`hush audit scores",
}


def named() -> dict[str, list[tuple[str, str]]]:
    """(file, function) of each flow, as the page has them."""
    page = (PROJECT / "docs" / "design.md").read_text(encoding="utf-8")
    section = page[page.index("## Four flows") :]
    section = section[: section.index("\n## ", 5)]
    places = {name: section.index(f"\n{start}") for name, start in STARTS.items()}
    ends = [*list(places.values())[1:], len(section)]
    return {
        name: [
            (file, function)
            for file, functions in STEP.findall(section[place:end].replace("\n", " "))
            for function in re.findall(r"`([\w.]+)`", functions)
        ]
        for (name, place), end in zip(places.items(), ends, strict=True)
    }


def visited(run: Callable[[], object]) -> set[tuple[str, str]]:
    """(file, function) of all functions of hush that are called."""
    seen: set[tuple[str, str]] = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(str(ROOT)):
            seen.add((Path(code.co_filename).relative_to(ROOT).as_posix(), code.co_qualname))

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(before)
    return seen


def epsilon(_: Path) -> None:
    hush.Gaussian(1.0).on(hush.Poisson(rate=0.01)).repeat(10_000).epsilon(delta=1e-5)


def median(folder: Path) -> None:
    pandas = pytest.importorskip("pandas")
    pandas.DataFrame({"income": np.arange(5000.0)}).to_parquet(folder / "people.parquet")
    query = hush.releases.Median(bounds=(0.0, 2000.0), epsilon=1.0).on(hush.Poisson(rate=0.1))
    query.release(folder / "people.parquet", column="income")


def step(_: Path) -> None:
    import torch

    plan = hush.train_plan(examples=64, batch_size=32, epochs=1, noise_multiplier=1.0, delta=1e-5)
    data = torch.randn(64, 8), torch.zeros(64, dtype=torch.long)
    loss = torch.nn.functional.cross_entropy
    hush.learning.fit(torch.nn.Linear(8, 2), data, plan, loss=loss, max_norm=1.0)


def audit(folder: Path) -> None:
    random = np.random.default_rng(1)
    members = random.integers(0, 2, 500)
    rows = [f"{score},{member}" for score, member in zip(random.normal(size=500) + members, members, strict=True)]
    (folder / "canaries.csv").write_text("\n".join(["score,member", *rows]), encoding="utf-8")
    main(["audit", "scores", str(folder / "canaries.csv"), "--claim", "gdp 1"])


FLOWS = {"epsilon": epsilon, "median": median, "step": step, "audit": audit}


@pytest.mark.parametrize("name", FLOWS)
def test_the_page_names_what_is_visited(name: str, tmp_path: Path) -> None:
    if name == "step" and not find_spec("torch"):
        pytest.skip("needs torch")
    steps = named()[name]
    assert len(steps) >= 6
    found = visited(lambda: FLOWS[name](tmp_path))
    assert [step for step in steps if step not in found] == []
