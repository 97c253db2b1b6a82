"""The four flows of docs/design.md: every function that the page names is visited, in the flow that names it.

The page also says how many functions are visited. They are counted at the second run, when what is kept for later is
there; lambdas and comprehensions do not count.
"""

from __future__ import annotations

import re
import sys
from importlib.util import find_spec
from itertools import count
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


def counted() -> dict[str, int]:
    """How many functions each flow visits, as the page has it."""
    page = (PROJECT / "docs" / "design.md").read_text(encoding="utf-8")
    section = page[page.index("## Four flows") :]
    numbers = {name: re.search(r"\((\d+)\):", section[section.index(f"\n{start}") :]) for name, start in STARTS.items()}
    return {name: int(number[1]) for name, number in numbers.items() if number}


class Visited:
    """(file, function) of all functions of hush that are called while it is open."""

    def __init__(self) -> None:
        self.seen: set[tuple[str, str]] = set()

    def __enter__(self) -> set[tuple[str, str]]:
        self.before = sys.getprofile()
        sys.setprofile(self.note)
        return self.seen

    def __exit__(self, *_: object) -> None:
        sys.setprofile(self.before)

    def note(self, frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(str(ROOT)):
            self.seen.add((Path(code.co_filename).relative_to(ROOT).as_posix(), code.co_qualname))


def epsilon(_: Path) -> None:
    hush.Gaussian(1.0).on(hush.Poisson(rate=0.01)).repeat(10_000).epsilon(delta=1e-5)


def median(folder: Path) -> None:
    pandas = pytest.importorskip("pandas")
    pandas.DataFrame({"income": np.arange(5000.0)}).to_parquet(folder / "people.parquet")
    query = hush.releases.Median(bounds=(0.0, 2000.0), epsilon=1.0).on(hush.Poisson(rate=0.1))
    query.release(folder / "people.parquet", column="income")


def step(_: Path, watch: Visited | None = None) -> None:
    """A training of four steps, of which the third is watched."""
    import torch

    plan = hush.train_plan(examples=64, batch_size=32, epochs=2, noise_multiplier=1.0, delta=1e-5)
    data = torch.randn(64, 8), torch.zeros(64, dtype=torch.long)
    model, loss, steps = torch.nn.Linear(8, 2), torch.nn.functional.cross_entropy, count(1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def after_step(*_: object) -> None:
        done = next(steps)
        if watch is not None and done == 2:
            watch.__enter__()
        if watch is not None and done == 3:
            watch.__exit__()

    optimizer.register_step_post_hook(after_step)
    hush.learning.fit(model, data, plan, loss=loss, max_norm=1.0, optimizer=optimizer)


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
    with Visited() as found:
        FLOWS[name](tmp_path)
    assert [step for step in steps if step not in found] == []


@pytest.mark.parametrize("name", FLOWS)
def test_the_page_counts_what_is_visited(name: str, tmp_path: Path) -> None:
    if name == "step":
        pytest.importorskip("torch")
        watch = Visited()
        step(tmp_path, watch)
    else:
        FLOWS[name](tmp_path)
        with (watch := Visited()):
            FLOWS[name](tmp_path)
    functions = [function for _, function in watch.seen if not function.endswith(">")]
    assert abs(len(functions) - counted()[name]) <= 2  # what is drawn may take a rare turn
