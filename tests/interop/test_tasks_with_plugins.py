"""The first hour of people who come from Opacus or dp_accounting: the blocks of the page run, with one line changed."""

from __future__ import annotations

import warnings

import pytest
import torch
from opacus import PrivacyEngine

import hush
from tests.docs.pages import check_other_block

PAGE = "docs/first-hour.md"


def train(model: torch.nn.Module, optimizer: torch.optim.Optimizer, loader: torch.utils.data.DataLoader) -> None:
    """One epoch."""
    for x, y in loader:
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()


def test_opacus_with_a_certified_accountant(capsys: pytest.CaptureFixture[str]) -> None:
    rows = torch.utils.data.TensorDataset(torch.randn(100, 3), torch.randn(100, 1))
    model = torch.nn.Linear(3, 1)
    given = {
        "PrivacyEngine": PrivacyEngine,
        "train": train,
        "model": model,
        "optimizer": torch.optim.SGD(model.parameters(), lr=0.1),
        "loader": torch.utils.data.DataLoader(rows, batch_size=10),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Opacus and torch warn of themselves
        check_other_block(PAGE, "PrivacyEngine", capsys, **given)


def test_dp_accounting_with_a_certified_accountant(capsys: pytest.CaptureFixture[str]) -> None:
    check_other_block(PAGE, "DpEventAccountant", capsys)
    plan = hush.train_plan(examples=60_000, batch_size=256, epochs=15, noise_multiplier=1.1, delta=1e-5)
    assert f"{plan.epsilon:.4f}" == "1.1339"
