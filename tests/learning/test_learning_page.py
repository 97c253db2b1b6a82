"""The page on training runs as it stands and prints what it says; the bar shows the plan's epsilon."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
import torch
from rich.console import Console
from torch import nn
from torch.nn import functional as F

import hush
from hush.app.progress import bar
from hush.learning import FastNoise, fit
from tests.test_readme import BLOCK, promised, same

PAGE = Path(__file__).parents[2] / "docs" / "learning.md"


def test_blocks_print_what_they_say(capsys: pytest.CaptureFixture[str]) -> None:
    namespace: dict[str, object] = {}
    for number, block in enumerate(BLOCK.findall(PAGE.read_text(encoding="utf-8")), 1):
        exec(compile(block, f"learning.md, python block {number}", "exec"), namespace)
        shown = capsys.readouterr().out.splitlines()
        if shown:
            assert len(shown) == len(promised(block)), (shown, promised(block))
            assert [(a, b) for a, b in zip(shown, promised(block), strict=True) if not same(a, b)] == []


def test_the_bar_shows_the_plan_and_the_public_loss() -> None:
    plan = hush.train_plan(examples=20, batch_size=5, epochs=1, noise_multiplier=2.0, delta=1e-3)
    rows = torch.randn(20, 3), torch.zeros(20, dtype=torch.long)
    screen = io.StringIO()
    with bar(plan, Console(file=screen, force_terminal=True, width=150)) as show:
        fit(
            nn.Linear(3, 2),
            rows,
            plan,
            loss=F.cross_entropy,
            max_norm=1.0,
            noise=FastNoise(),
            public=rows,
            on_step=show,
        )
    text = screen.getvalue()
    assert f"epsilon {plan.epsilon:.4g} at delta 0.001 (whole plan)" in text
    assert "public loss" in text and "4/4" in text
