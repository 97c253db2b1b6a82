"""The first hour of people who come from Opacus or dp_accounting: one line changes."""

from __future__ import annotations

import inspect
import warnings

import dp_accounting
import torch
from opacus import PrivacyEngine

import hush
from hush.interop import DpEventAccountant, register_with_opacus


def my_opacus_run(model: torch.nn.Module, loader: torch.utils.data.DataLoader) -> float:
    register_with_opacus()
    engine = PrivacyEngine(accountant="hush")  # the line that changes
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    options = {"noise_multiplier": 1.1, "max_grad_norm": 1.0}
    model, optimizer, loader = engine.make_private(module=model, optimizer=optimizer, data_loader=loader, **options)
    for x, y in loader:
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()
    return engine.get_epsilon(delta=1e-5)


def my_events() -> float:
    step = dp_accounting.PoissonSampledDpEvent(256 / 60_000, dp_accounting.GaussianDpEvent(1.1))
    run = dp_accounting.SelfComposedDpEvent(step, 3516)
    return DpEventAccountant().compose(run).get_epsilon(1e-5)  # instead of RdpAccountant()


def test_opacus_with_a_certified_accountant() -> None:
    rows = torch.utils.data.TensorDataset(torch.randn(100, 3), torch.randn(100, 1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Opacus and torch warn of themselves
        found = my_opacus_run(torch.nn.Linear(3, 1), torch.utils.data.DataLoader(rows, batch_size=10))
    assert found == hush.Gaussian(1.1).on(hush.Poisson(rate=0.1)).repeat(10).epsilon(delta=1e-5).upper


def test_dp_accounting_with_a_certified_accountant() -> None:
    plan = hush.train_plan(examples=60_000, batch_size=256, epochs=15, noise_multiplier=1.1, delta=1e-5)
    assert my_events() == plan.epsilon


def test_both_take_few_lines() -> None:
    for task in (my_opacus_run, my_events):
        assert len(inspect.getsource(task).splitlines()) - 1 <= 10
