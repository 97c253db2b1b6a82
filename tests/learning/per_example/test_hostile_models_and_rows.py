"""Models that mix rows are refused by behaviour; rows that are not finite add nothing; one row moves the sum by one norm."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

import hush
from hush.learning.dpsgd.fit import fit
from hush.learning.per_example.clipped_sum import clipped_gradient
from hush.learning.per_example.clipping import Automatic, Flat, PerLayer
from tests.learning.models import MODELS, ROWS, case, distance, each


class Centred(nn.Module):
    """Batch normalisation by another name."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(5, 3)

    def forward(self, values: Tensor) -> Tensor:
        return self.layer(values - 1e-4 * values.mean(0))


class Attentive(nn.Module):
    """Rows that attend to each other."""

    def __init__(self) -> None:
        super().__init__()
        self.attention, self.last = nn.MultiheadAttention(5, 1), nn.Linear(5, 3)

    def forward(self, values: Tensor) -> Tensor:
        return self.last(self.attention(values, values, values)[0])


class Running(nn.Module):
    """It remembers the mean of what it saw."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(5, 3)
        self.register_buffer("seen", torch.zeros(5))

    def forward(self, values: Tensor) -> Tensor:
        with torch.no_grad():
            self.seen.copy_(0.9 * self.seen + 0.1 * values.mean(0).float())
        return self.layer(values)


REFUSED = {
    "batch norm": lambda: nn.Sequential(nn.Linear(5, 4), nn.BatchNorm1d(4), nn.Linear(4, 3)),
    "batch norm without statistics": lambda: nn.Sequential(
        nn.BatchNorm1d(5, track_running_stats=False), nn.Linear(5, 3)
    ),
    "batch norm over a map": lambda: nn.Sequential(
        nn.Unflatten(1, (5, 1, 1)), nn.Conv2d(5, 2, 3, padding=1), nn.BatchNorm2d(2), nn.Flatten(), nn.Linear(2, 3)
    ),
    "centred": Centred,
    "attention over the batch": Attentive,
    "running mean": Running,
}


@pytest.mark.parametrize("name", REFUSED)
def test_models_that_mix_or_remember_rows_are_refused(name: str) -> None:
    torch.manual_seed(3)
    model = REFUSED[name]()
    before = {key: value.clone() for key, value in model.state_dict().items()}
    with pytest.raises(hush.NotCovered, match="examples of a batch meet|writes what it saw"):
        clipped_gradient(model, each, (torch.randn(ROWS, 5), torch.zeros(ROWS, dtype=torch.long)), 1.0)
    assert all(torch.equal(value, before[key]) for key, value in model.state_dict().items())


def test_batch_norm_with_fixed_statistics_is_fine() -> None:
    model = REFUSED["batch norm"]().eval()
    found = clipped_gradient(model, each, (torch.randn(ROWS, 5), torch.zeros(ROWS, dtype=torch.long)), 1.0)
    assert set(found) == {"0.weight", "0.bias", "1.weight", "1.bias", "2.weight", "2.bias"}


def test_an_embedding_that_rescales_itself_is_refused() -> None:
    model = nn.Sequential(nn.Embedding(11, 4, max_norm=0.1), nn.Flatten(), nn.Linear(24, 3))
    with pytest.raises(hush.NotCovered):
        clipped_gradient(model, each, (torch.randint(0, 11, (ROWS, 6)), torch.zeros(ROWS, dtype=torch.long)), 1.0)


@pytest.mark.parametrize("clipping", [Flat(), PerLayer(), Automatic()], ids=["flat", "per layer", "automatic"])
@pytest.mark.parametrize("name", ["logistic", "perceptron", "convolutions", "transformer", "tied", "reused", "gru"])
def test_rows_that_are_not_finite_add_nothing(name: str, clipping: object) -> None:
    model, (inputs, targets) = case(name, torch.float32)
    if not inputs.is_floating_point():  # words cannot be infinite: the loss of the row is
        weights = torch.ones(ROWS)
        weights[2] = math.nan
        batch = inputs, targets, weights
        loss = lambda output, target, weight: each(output, target) * weight  # noqa: E731
    else:
        batch, loss = (inputs.clone(), targets), each
        for row, value in ((1, math.nan), (2, math.inf), (4, -math.inf)):
            batch[0][row].fill_(value) if row != 2 else batch[0][row].flatten()[:1].fill_(value)
    bad = [2] if len(batch) == 3 else [1, 2, 4]
    good = [row for row in range(ROWS) if row not in bad]
    found = clipped_gradient(model, loss, batch, 0.5, clipping=clipping)  # type: ignore[arg-type]
    rest = clipped_gradient(model, loss, tuple(part[good] for part in batch), 0.5, clipping=clipping)  # type: ignore[arg-type]
    assert all(torch.isfinite(value).all() for value in found.values())
    assert distance(found, rest) < 1e-5


@settings(max_examples=12, deadline=None)
@given(
    name=st.sampled_from(sorted(MODELS)),
    seed=st.integers(0, 1000),
    size=st.floats(-6, 6),
    clipping=st.sampled_from([Flat(), PerLayer(), Automatic()]),
)
def test_a_neighbour_moves_the_sum_by_at_most_the_norm(name: str, seed: int, size: float, clipping: object) -> None:
    """Record and replay: the same batch with and without one row, of any size."""
    model, batch = case(name, torch.float32, seed)
    if batch[0].is_floating_point():
        batch[0][0] *= 10**size
    found = [
        clipped_gradient(model, each, part, 0.7, clipping=clipping)  # type: ignore[arg-type]
        for part in (batch, tuple(values[1:] for values in batch))
    ]
    moved = torch.cat([(found[0][key] - found[1][key]).flatten() for key in found[0]]).norm()
    assert float(moved) <= 0.7 * (1 + 1e-5)


def test_batches_of_one_and_of_none() -> None:
    for name in MODELS:
        model, batch = case(name)
        one = clipped_gradient(model, each, tuple(part[:1] for part in batch), 1e-3)
        assert float(torch.cat([value.flatten() for value in one.values()]).norm()) == pytest.approx(1e-3)
        none = clipped_gradient(model, each, tuple(part[:0] for part in batch), 1.0)
        assert all(not value.any() for value in none.values())


@pytest.mark.parametrize("max_norm", [0.0, -1.0, 1e-30, 1e30, math.nan, math.inf, "1", True])
def test_norms_out_of_range(max_norm: object) -> None:
    model, batch = case("logistic")
    with pytest.raises(hush.InvalidParameter, match="max_norm"):
        clipped_gradient(model, each, batch, max_norm)  # type: ignore[arg-type]


def test_bad_batches_and_models_are_named() -> None:
    model, batch = case("logistic")
    with pytest.raises(hush.InvalidParameter, match="one row per example"):
        clipped_gradient(model, each, (batch[0], batch[1][:3]), 1.0)
    with pytest.raises(hush.InvalidParameter, match=r"torch.nn.Module"):
        clipped_gradient(lambda x: x, each, batch, 1.0)  # type: ignore[arg-type]
    with pytest.raises(hush.InvalidParameter, match="requires_grad"):
        clipped_gradient(model.requires_grad_(False), each, batch, 1.0)
    with pytest.raises(hush.NotCovered, match="float32"):
        clipped_gradient(nn.Linear(5, 3).bfloat16(), each, (batch[0].bfloat16(), batch[1]), 1.0)
    with pytest.raises(hush.NotCovered, match="complex"):
        clipped_gradient(nn.Linear(5, 3, dtype=torch.complex64), each, (batch[0].to(torch.complex64), batch[1]), 1.0)
    with pytest.raises(hush.NotCovered, match="cannot be copied"):
        clipped_gradient(Uncopied(), each, (batch[0][:, :5], batch[1]), 1.0)


class Uncopied(nn.Module):
    """It holds a tensor that is not a leaf, as torch's old weight_norm does."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(5, 3)
        self.made = self.layer.weight * 2

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        return self.layer(inputs)


class Strict(nn.Module):
    """A model that refuses some rows in its own way, with a message about them."""

    def __init__(self, kind: type[Exception]) -> None:
        super().__init__()
        self.layer, self.kind = nn.Linear(5, 3), kind

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        if bool((inputs > 50).any()):
            raise self.kind("a private value")
        return self.layer(inputs)


@pytest.mark.parametrize("kind", [AssertionError, RuntimeError, KeyError, TypeError, ZeroDivisionError, StopIteration])
def test_a_row_that_the_model_refuses_adds_nothing(kind: type[Exception]) -> None:
    model, inputs, targets = Strict(kind), torch.randn(6, 5), torch.tensor([0, 1, 2, 0, 1, 2])
    inputs[3] = 99.0
    kept = [0, 1, 2, 4, 5]
    found = clipped_gradient(model, each, (inputs, targets), 0.1)
    expected = clipped_gradient(model, each, (inputs[kept], targets[kept]), 0.1)
    assert all(torch.allclose(found[name], expected[name]) for name in expected)


class Mixed(nn.Module):
    """A model that lowers the precision inside."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(5, 3)

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return self.layer(inputs)


def test_mixed_precision_is_refused() -> None:
    batch = torch.randn(6, 5), torch.tensor([0, 1, 2, 0, 1, 2])
    with pytest.raises(hush.NotCovered, match="autocast"):
        clipped_gradient(Mixed(), each, batch, 1.0)
    with torch.autocast("cpu", dtype=torch.bfloat16), pytest.raises(hush.NotCovered, match="autocast"):
        clipped_gradient(nn.Linear(5, 3), each, batch, 1.0)


def test_a_gradient_that_was_left_behind_is_not_used() -> None:
    """A frozen parameter keeps what a plain backward pass left in it; the optimizer must not step on that."""
    plan = hush.train_plan(examples=20, batch_size=10, epochs=1, noise_multiplier=1.0, delta=1e-3)
    rows = torch.randn(20, 5), torch.zeros(20, dtype=torch.long)
    model = nn.Sequential(nn.Linear(5, 4), nn.Linear(4, 3))
    each(model(rows[0]), rows[1]).sum().backward()
    model[0].requires_grad_(False)
    before = model[0].weight.clone()
    fit(model, rows, plan, loss=each, max_norm=1.0, optimizer=torch.optim.SGD(model.parameters(), lr=1.0))
    assert torch.equal(model[0].weight, before)
