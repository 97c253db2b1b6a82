"""The bar of a training run shows the plan's epsilon and the public loss."""

from __future__ import annotations

import io

import pytest
import torch
from rich.console import Console
from torch import nn
from torch.nn import functional as F

import hush
from hush.app import progress
from hush.learning import FastNoise, fit


def test_the_bar_shows_the_plan_and_the_public_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    plan = hush.train_plan(examples=20, batch_size=5, epochs=1, noise_multiplier=2.0, delta=1e-3)
    rows = torch.randn(20, 3), torch.zeros(20, dtype=torch.long)
    screen = io.StringIO()
    with progress.training_bar(plan, Console(file=screen, force_terminal=True, width=150)) as show:
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
    assert f"epsilon {plan.bound.reported(4)} at delta 0.001 (whole plan)" in text
    assert "public loss" in text and "4/4" in text
