"""Streamed noise: its covariance, the exactness of its whole numbers, what it forgets, and that nothing of it leaves."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors import safe_open
from torch import nn

import hush
from hush import NotCovered, SeededSource, learning
from hush.learning.dpsgd.gradient_noise import FastNoise, GradientNoise, SecureNoise
from hush.learning.dpsgd.streamed_noise import SHARP, FastStream, SecureStream, noise_of

NOISE = hush.BandedNoise.optimal(steps=12, bands=4)
STEPS = 8


def inverse(coefficients: np.ndarray) -> np.ndarray:
    """C^-1."""
    return np.linalg.inv(sum(np.eye(STEPS, k=-lag) * c for lag, c in enumerate(coefficients)))


def drawn(stream: GradientNoise, size: int) -> np.ndarray:
    rows = []
    for _ in range(STEPS):
        flat = torch.zeros(size, dtype=torch.float64)
        stream.begin(flat, 2.0, 0.5)
        stream.finish(flat, 2.0, 0.5)
        rows.append(flat.numpy().copy())
    return np.array(rows)


@pytest.mark.parametrize("kind", [SecureStream, FastStream])
def test_covariance(kind: type) -> None:
    """A hundred thousand draws: every entry of C^-1 C^-T within six of its errors."""
    torch.manual_seed(1)
    stream = kind(NOISE, SeededSource(1)) if kind is SecureStream else kind(NOISE)
    size = 100_000
    rows = drawn(stream, size)
    root = inverse(np.array(NOISE.coefficients))
    truth = root @ root.T
    errors = np.sqrt((np.outer(np.diag(truth), np.diag(truth)) + truth**2) / size)
    assert np.all(np.abs(rows @ rows.T / size - truth) < 6 * errors + 1e-3 * np.abs(truth))


def test_what_is_released_is_a_function_of_a_gaussian_mechanism() -> None:
    """X + y from u = C X + z and what was released before, in whole numbers: the proof, carried out."""
    k = np.array([int(c * 2**SHARP) for c in NOISE.coefficients])
    random = np.random.default_rng(2)
    sums, fresh = random.integers(-(10**6), 10**6, (STEPS, 50)), random.integers(-(10**12), 10**12, (STEPS, 50))
    past_y: list[np.ndarray] = []
    past_released: list[np.ndarray] = []
    for t in range(STEPS):
        left = fresh[t] - sum((k[lag] * past_y[-lag] for lag in range(1, min(t, 3) + 1)), np.zeros(50, dtype=int))
        y = (2 * left + k[0]) // (2 * k[0])
        u = sum(k[lag] * sums[t - lag] for lag in range(min(t, 3) + 1)) + fresh[t]
        seen = u - sum((k[lag] * past_released[-lag] for lag in range(1, min(t, 3) + 1)), np.zeros(50, dtype=int))
        assert np.array_equal(sums[t] + y, (2 * seen + k[0]) // (2 * k[0]))
        past_y.append(y)
        past_released.append(sums[t] + y)
    assert (k.astype(object) ** 2).sum() <= 4**SHARP  # columns of norm at most 1


def test_it_forgets_when_told_to() -> None:
    """After that the noise is as at the beginning: variance of the first step, and no covariance with what was before."""
    stream = SecureStream(NOISE, SeededSource(3))
    before = drawn(stream, 40_000)
    stream.start_over()
    flat = torch.zeros(40_000, dtype=torch.float64)
    stream.finish(flat, 2.0, 0.5)
    assert flat.numpy().var() == pytest.approx(1 / NOISE.coefficients[0] ** 2, rel=0.05)
    assert abs(np.corrcoef(flat.numpy(), before[-1])[0, 1]) < 0.03


def test_its_memory_does_not_leave() -> None:
    stream = SecureStream(NOISE)
    drawn(stream, 10)
    assert "array" not in repr(stream)
    for leave in (pickle.dumps, copy.deepcopy):
        with pytest.raises(NotCovered, match="memory"):
            leave(stream)


def test_noise_of_ones_own_is_not_correlated_by_guess() -> None:
    assert isinstance(noise_of(None, None), SecureNoise)
    assert isinstance(noise_of(NOISE, None), SecureStream)
    assert not noise_of(NOISE, FastNoise()).private

    class Other(GradientNoise):
        private = False

        def begin(self, flat: torch.Tensor, noise_multiplier: float, max_norm: float) -> None: ...

        def finish(self, flat: torch.Tensor, noise_multiplier: float, max_norm: float) -> None: ...

    with pytest.raises(NotCovered, match="own"):
        noise_of(NOISE, Other())


PLAN = hush.train_plan(
    examples=60, batch_size=10, epochs=2, epsilon=8.0, delta=1e-3, noise=hush.BandedNoise.optimal(steps=12, bands=3)
)
DATA = torch.randn(60, 3, generator=torch.Generator().manual_seed(0)), torch.zeros(60, dtype=torch.long)


def test_fit_checkpoints_and_goes_on(tmp_path: Path) -> None:
    """A checkpoint has the model and the plan, and no vector of noise; whoever goes on from it begins with fresh noise."""
    path = tmp_path / "run.safetensors"
    model = nn.Linear(3, 2)
    shared = {"loss": nn.functional.cross_entropy, "max_norm": 1.0}
    sgd = torch.optim.SGD(model.parameters(), lr=0.1)
    saved: list[bytes] = []
    whole = learning.fit(
        model,
        DATA,
        PLAN,
        optimizer=sgd,
        save_to=path,
        save_every=6,
        on_step=lambda _: saved.append(path.read_bytes() if path.exists() else b""),
        **shared,
    )
    assert whole.private and whole.steps == 12
    middle = tmp_path / "middle.safetensors"
    middle.write_bytes(saved[6])
    with safe_open(middle, framework="pt") as file:
        assert sorted(file.keys()) == ["model.bias", "model.weight"]
    again = nn.Linear(3, 2)
    optimizer = torch.optim.SGD(again.parameters(), lr=0.1)
    assert learning.fit(again, DATA, PLAN, optimizer=optimizer, resume_from=middle, **shared).steps == 12
    with pytest.raises(hush.InvalidParameter, match="multiple of 3"):
        learning.fit(model, DATA, PLAN, save_to=path, save_every=4, **shared)


def test_a_step_that_is_left_out_cuts_the_correlation() -> None:
    """Else the uses of a record would come closer together than the plan has it."""
    gradient = learning.PrivateGradient(nn.Linear(3, 2), nn.functional.cross_entropy, PLAN, max_norm=1.0)
    stream = gradient.noise
    assert isinstance(stream, SecureStream)
    kept = []
    for place, batch in enumerate(gradient.batches(DATA)):
        kept.append(stream.remembered)
        if place != 4:
            gradient(batch)
    assert kept == [0, 1, 2, 2, 2, 0, 1, 2, 2, 2, 2, 2]
    assert stream.remembered == 0
