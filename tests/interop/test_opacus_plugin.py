"""hush as the accountant of a real Opacus training: one line changes, and the number is certified."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import pytest
import torch
from opacus import PrivacyEngine
from opacus.accountants import RDPAccountant, create_accountant

import hush
from hush.interop import OpacusAccountant, register_with_opacus

DELTA = 1e-5


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Opacus and torch warn of themselves: of a generator that is not secure, and of hooks."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def trained(accountant: str, *, epochs: int = 2, noise: float = 1.0) -> PrivacyEngine:
    torch.manual_seed(0)
    model = torch.nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    rows = torch.utils.data.TensorDataset(torch.randn(200, 4), torch.randint(0, 2, (200,)))
    engine = PrivacyEngine(accountant=accountant)
    model, optimizer, loader = engine.make_private(
        module=model,
        optimizer=optimizer,
        data_loader=torch.utils.data.DataLoader(rows, batch_size=20),
        noise_multiplier=noise,
        max_grad_norm=1.0,
    )
    for _ in range(epochs):
        for x, y in loader:
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(x), y).backward()
            optimizer.step()
    return engine


def test_a_training_with_hush_as_its_accountant() -> None:
    register_with_opacus()
    engine = trained("hush")
    exact = hush.Gaussian(1.0).on(hush.Poisson(rate=0.1)).repeat(20).epsilon(delta=DELTA)
    assert engine.get_epsilon(DELTA) == exact.upper
    assert exact.upper < trained("rdp").get_epsilon(DELTA)
    assert len(engine.accountant) == 20


def test_the_noise_for_an_epsilon_is_found_through_opacus() -> None:
    register_with_opacus()
    model = torch.nn.Linear(4, 2)
    rows = torch.utils.data.TensorDataset(torch.randn(200, 4), torch.randint(0, 2, (200,)))
    _, optimizer, _ = PrivacyEngine(accountant="hush").make_private_with_epsilon(
        module=model,
        optimizer=torch.optim.SGD(model.parameters(), lr=0.1),
        data_loader=torch.utils.data.DataLoader(rows, batch_size=20),
        target_epsilon=3.0,
        target_delta=DELTA,
        epochs=2,
        max_grad_norm=1.0,
    )
    run = hush.Gaussian(optimizer.noise_multiplier).on(hush.Poisson(rate=0.1)).repeat(20)
    assert 2.9 < run.epsilon(delta=DELTA).upper <= 3.0


def test_registering_twice_is_no_fault() -> None:
    register_with_opacus()
    register_with_opacus()
    assert isinstance(create_accountant("hush"), OpacusAccountant)


def test_a_state_is_saved_and_restored() -> None:
    accountant, again = OpacusAccountant(), OpacusAccountant()
    for noise in (1.0, 1.0, 2.0):
        accountant.step(noise_multiplier=noise, sample_rate=0.1)
    again.load_state_dict(accountant.state_dict())
    assert again.history == [(1.0, 0.1, 2), (2.0, 0.1, 1)]
    assert again.get_epsilon(DELTA) == accountant.get_epsilon(DELTA)
    with pytest.raises(ValueError):
        RDPAccountant().load_state_dict(accountant.state_dict())


def test_the_history_of_their_accountant_is_read() -> None:
    """Several phases, by Opacus' own Rényi accountant and by ours."""
    theirs = RDPAccountant()
    for noise, steps in ((1.1, 50), (0.9, 30), (1.1, 20)):
        for _ in range(steps):
            theirs.step(noise_multiplier=noise, sample_rate=0.02)
    found = hush.interop.from_opacus(theirs.history)
    assert found == hush.sequence(
        hush.Gaussian(1.1).on(hush.Poisson(rate=0.02)).repeat(70),
        hush.Gaussian(0.9).on(hush.Poisson(rate=0.02)).repeat(30),
    )
    assert found.epsilon(delta=DELTA).upper <= theirs.get_epsilon(DELTA)
