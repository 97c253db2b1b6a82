"""Every kind of layer with a rule, in many shapes: clipped sums equal those of rows alone, and a rule is used."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.nn.utils.parametrizations import orthogonal, weight_norm

from hush.learning import torch_private
from hush.learning.per_example.clipped_sum import CheckedModel
from hush.learning.per_example.clipping import CHARGED_ROUNDING, Flat
from hush.learning.per_example.layers.convolutions import _gram_of_patches, convolution
from hush.learning.per_example.layers.layer_gradients import Scratch
from hush.learning.per_example.layers.rules import embedding_bag
from tests.learning.models import Wired, distance, gradients_alone

COUNT = 16
"""Rows of the largest batch, which is a micro-batch."""
Make = Callable[[], nn.Module]


def squares(output: Tensor, target: Tensor) -> Tensor:
    """A loss for outputs of any shape."""
    return (output.flatten(1).sin() * (1 + target).unsqueeze(1)).sum(1)


def twice(layer: nn.Module) -> nn.Module:
    return Wired(lambda self, x: self.layer(x, x.flip(1)), layer=layer)


def first(layer: nn.Module) -> nn.Module:
    return Wired(lambda self, x: self.layer(x)[0], layer=layer)


def attention(**options: bool) -> nn.Module:
    layer = nn.MultiheadAttention(8, 2, batch_first=True, **options)
    return Wired(lambda self, x: self.layer(x, x, x)[0], layer=layer)


class Scaled(nn.Module):
    """An RMS norm as people write it: a scale of 1 + w, computed on the way."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(width) / 5)

    def forward(self, values: Tensor) -> Tensor:
        return values * torch.rsqrt(values.square().mean(-1, keepdim=True) + 1e-6) * (1 + self.weight)


class Shifted(Scaled):
    """The same with a shift, and a frozen temperature."""

    def __init__(self, width: int) -> None:
        super().__init__(width)
        self.shift = nn.Parameter(torch.randn(width))
        self.heat = nn.Parameter(torch.full((1,), 2.0), requires_grad=False)

    def forward(self, values: Tensor) -> Tensor:
        return (super().forward(values) + self.shift) * self.heat


def bag(mode: str, **options: int) -> Make:
    return lambda: nn.EmbeddingBag(11, 4, mode=mode, **options)  # type: ignore[arg-type]


class Offsets(nn.Module):
    """A bag of lines in a row, with the place where each bag begins."""

    def __init__(self, mode: str) -> None:
        super().__init__()
        self.bag = nn.EmbeddingBag(11, 4, mode=mode, padding_idx=3)

    def forward(self, tokens: Tensor) -> Tensor:
        rows, length = tokens.shape
        return self.bag(tokens.flatten(), torch.arange(0, rows * length, length))


def tokens(*shape: int) -> Callable[[], Tensor]:
    return lambda: torch.randint(0, 11, (COUNT, *shape))


def reals(*shape: int) -> Callable[[], Tensor]:
    return lambda: torch.randn(COUNT, *shape)


LAYERS: dict[str, tuple[Make, Callable[[], Tensor]]] = {
    "linear": (lambda: nn.Linear(5, 3), reals(5)),
    "linear without bias": (lambda: nn.Linear(5, 3, bias=False), reals(5)),
    "linear on sequences": (lambda: nn.Linear(5, 3), reals(4, 5)),
    "linear on pictures": (lambda: nn.Linear(5, 3), reals(4, 2, 5)),
    "bilinear": (lambda: twice(nn.Bilinear(4, 4, 3)), reals(4)),
    "bilinear on sequences": (lambda: twice(nn.Bilinear(4, 4, 3, bias=False)), reals(5, 4)),
    **{
        f"conv{axes}d, {words}": (
            lambda axes=axes, options=options: getattr(nn, f"Conv{axes}d")(4, 6, 3, **options),
            reals(4, *(9, 8, 7)[:axes]),
        )
        for axes in (1, 2, 3)
        for words, options in {
            "plain": {},
            "stride": {"stride": 2, "padding": 1},
            "same": {"padding": "same", "dilation": 2},
            "valid without bias": {"padding": "valid", "bias": False},
            "groups": {"groups": 2, "stride": 3},
            "groups and dilation": {"groups": 2, "padding": 2, "dilation": 2, "stride": 2},
        }.items()
    },
    "depthwise": (lambda: nn.Conv2d(4, 4, 3, padding=1, groups=4), reals(4, 6, 6)),
    "depthwise, two each": (lambda: nn.Conv2d(4, 8, (3, 2), groups=4, stride=(2, 1)), reals(4, 6, 6)),
    "transposed 1d": (lambda: nn.ConvTranspose1d(4, 6, 3, stride=2), reals(4, 5)),
    "transposed 2d": (lambda: nn.ConvTranspose2d(4, 6, 3, stride=2, padding=1, output_padding=1), reals(4, 5, 4)),
    "transposed, groups": (lambda: nn.ConvTranspose2d(4, 6, 3, groups=2, dilation=2), reals(4, 5, 4)),
    "transposed 3d": (lambda: nn.ConvTranspose3d(2, 2, 2, bias=False), reals(2, 3, 3, 3)),
    "embedding": (lambda: nn.Embedding(11, 4, padding_idx=3), tokens(6)),
    "bag of sums": (bag("sum"), tokens(6)),
    "bag of means": (bag("mean", padding_idx=2), tokens(6)),
    "bag with offsets": (lambda: Offsets("sum"), tokens(6)),
    "bag of means with offsets": (lambda: Offsets("mean"), tokens(6)),
    "convolution that is measured": (lambda: nn.Conv2d(24, 32, 3, padding=1), reals(24, 4, 5)),
    "convolution that is measured, even": (lambda: nn.Conv2d(24, 32, (4, 3), padding="same"), reals(24, 4, 5)),
    "convolution that is measured, 1d": (lambda: nn.Conv1d(24, 32, 4, stride=2, dilation=2), reals(24, 40)),
    "convolution that is made": (lambda: nn.Conv2d(16, 8, 3, padding=1), reals(16, 12, 11)),
    "convolution that is made, even and strided": (
        lambda: nn.Conv2d(17, 9, (4, 3), stride=(2, 1), padding=(1, 2), dilation=(1, 2), bias=False),
        reals(17, 14, 12),
    ),
    "convolution that is made, 1d": (lambda: nn.Conv1d(16, 5, 4, padding="same"), reals(16, 60)),
    "convolution that is made row by row": (lambda: nn.Conv2d(3, 24, 7, stride=2, padding=3), reals(3, 48, 40)),
    "convolution of a small picture": (lambda: nn.Conv2d(16, 24, 3, padding=1), reals(16, 2, 2)),
    "convolution of a small picture, strided": (
        lambda: nn.Conv2d(16, 24, (5, 3), stride=2, padding=(2, 3), dilation=(1, 2)),
        reals(16, 3, 2),
    ),
    "convolution of one pixel": (lambda: nn.Conv2d(16, 24, 3, padding=1, bias=False), reals(16, 1, 1)),
    "weight norm of a kernel that is made": (lambda: weight_norm(nn.Conv2d(16, 8, 3, padding=1)), reals(16, 12, 11)),
    "weight norm of a small picture": (lambda: weight_norm(nn.Conv2d(16, 24, 3, padding=1)), reals(16, 2, 2)),
    "convolution with few places": (lambda: nn.Conv2d(8, 12, 3, stride=2), reals(8, 6, 7)),
    "weight norm of a kernel that is measured": (
        lambda: weight_norm(nn.Conv2d(24, 32, 3, padding=1)),
        reals(24, 4, 5),
    ),
    "weight norm of a kernel with few places": (lambda: weight_norm(nn.Conv2d(8, 12, 3, stride=2)), reals(8, 6, 7)),
    "layer norm": (lambda: nn.LayerNorm(5), reals(4, 5)),
    "layer norm of two axes": (lambda: nn.LayerNorm((4, 5)), reals(4, 5)),
    "group norm": (lambda: nn.GroupNorm(2, 4), reals(4, 5)),
    "rms norm": (lambda: nn.RMSNorm(5), reals(4, 5)),
    "rms norm of one's own": (lambda: Scaled(5), reals(4, 5)),
    "scale and shift of one's own": (lambda: Shifted(5), reals(4, 5)),
    "instance norm": (lambda: nn.InstanceNorm2d(4, affine=True), reals(4, 4, 4)),
    "prelu": (lambda: nn.PReLU(), reals(4, 4)),
    "prelu by channel": (lambda: nn.PReLU(4), reals(4, 4)),
    "lstm": (lambda: first(nn.LSTM(4, 3, num_layers=2, bidirectional=True, batch_first=True)), reals(5, 4)),
    "gru": (lambda: first(nn.GRU(4, 3, batch_first=True, bias=False)), reals(5, 4)),
    "rnn": (lambda: first(nn.RNN(4, 3, batch_first=True, nonlinearity="relu")), reals(5, 4)),
    "weight norm": (lambda: weight_norm(nn.Linear(5, 3)), reals(5)),
    "weight norm on sequences": (lambda: weight_norm(nn.Linear(5, 3, bias=False)), reals(2, 5)),
    "weight norm, gradients made": (lambda: weight_norm(nn.Linear(2, 3)), reals(30, 2)),
    "weight norm of kernels": (lambda: weight_norm(nn.Conv2d(3, 4, 3, padding=1)), reals(3, 5, 5)),
    "weight norm of grouped kernels": (lambda: weight_norm(nn.Conv1d(4, 4, 3, groups=2)), reals(4, 6)),
    "weight norm of columns": (lambda: weight_norm(nn.Linear(5, 3), dim=1), reals(5)),
    "orthogonal": (lambda: orthogonal(nn.Linear(4, 3)), reals(4)),
}
WITHOUT_RULE: dict[str, tuple[Make, Callable[[], Tensor]]] = {
    "bag of maxima": (bag("max"), tokens(6)),
    "attention": (lambda: attention(), reals(5, 8)),
    "attention with biases": (lambda: attention(add_bias_kv=True, add_zero_attn=True), reals(5, 8)),
    "circular": (lambda: nn.Conv1d(4, 6, 3, padding=1, padding_mode="circular"), reals(4, 9)),
}


def clipped(rows: list[dict[str, Tensor]], max_norm: float) -> dict[str, Tensor]:
    total = {name: torch.zeros_like(value) for name, value in rows[0].items()}
    for row in rows:
        norm = float(torch.cat([value.flatten() for value in row.values()]).norm())
        for name, value in row.items():
            total[name] += value * min(1.0, max_norm / norm)
    return total


@pytest.mark.parametrize("kind", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", [*LAYERS, *WITHOUT_RULE])
def test_sums_are_those_of_rows_alone(name: str, kind: torch.dtype) -> None:
    torch.manual_seed(4)
    make, draw = (LAYERS | WITHOUT_RULE)[name]
    model, inputs = make().to(kind), draw()
    batch = inputs.to(kind) if inputs.is_floating_point() else inputs, torch.rand(COUNT, dtype=kind)
    checked = CheckedModel.of(model, squares, batch)
    assert name in WITHOUT_RULE or not checked.way.without_rule, checked.way.explain()
    assert not checked.slow
    alone = gradients_alone(model, batch, squares)
    for count in (1, 2, 7, COUNT):
        _, found = checked.room()
        checked.add_clipped(found, tuple(part[:count] for part in batch), 2.0, Flat())
        assert distance(found, clipped(alone[:count], 2.0)) < (1e-5 if kind == torch.float32 else 1e-10)


@pytest.mark.parametrize("bad", [torch.nan, torch.inf, 1e30])
@pytest.mark.parametrize(("channels", "size"), [(16, 12), (17, 12), (3, 48)])
def test_a_row_that_is_not_finite_touches_no_other_of_its_convolution(channels: int, size: int, bad: float) -> None:
    torch.manual_seed(6)
    layer, inputs = nn.Conv2d(channels, 24, 7, padding=3), torch.randn(7, channels, size, size)
    left = torch.randn(7, 24, size, size)
    before = convolution(layer, inputs, left, ("weight",), Scratch()).rows()["weight"]
    inputs[3], left[3] = bad, bad
    after = convolution(layer, inputs, left, ("weight",), Scratch()).rows()["weight"]
    others = [0, 1, 2, 4, 5, 6]
    assert torch.equal(before[others], after[others])


@pytest.mark.parametrize(("size", "stride", "padding"), [(5, 1, 1), (6, 2, 2), (7, 1, 0)])
def test_gram_matrices_of_patches_are_sums_of_those_of_pixels(size: int, stride: int, padding: int) -> None:
    torch.manual_seed(7)
    layer = nn.Conv2d(4, 5, (3, 2), stride=stride, padding=padding, dilation=(1, 2)).double()
    inputs = torch.randn(3, 4, size, size + 1).double()
    patches = nn.functional.unfold(inputs, (3, 2), (1, 2), padding, stride)
    found = _gram_of_patches(layer, inputs, layer(inputs).shape[2:])
    assert torch.allclose(found, patches.mT @ patches, rtol=0, atol=1e-12)


@pytest.mark.parametrize("told", [True, False])
def test_room_is_used_again_only_where_nobody_has_it(told: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever keeps a gradient, or a view, an array or a detached name of it, keeps its numbers."""
    if not told:
        monkeypatch.setattr(torch_private, "_uses", None)
    model = nn.Linear(3, 2)
    checked = CheckedModel.of(model, squares, (torch.randn(4, 3), torch.rand(4)))
    flat, named = checked.room()
    place = flat.data_ptr()
    named["weight"].fill_(7.0)
    del flat, named
    flat, named = checked.room()
    assert not told or flat.data_ptr() == place
    assert not flat.any()
    del flat, named
    keepers: list[Callable[[Tensor], object]] = [
        lambda kept: kept,
        lambda kept: kept[1:],
        lambda kept: kept.detach(),
        lambda kept: kept.numpy(),
        lambda kept: kept.untyped_storage(),
        lambda kept: setattr(model.weight, "grad", kept),
    ]
    for keep in keepers:
        flat, named = checked.room()
        place, kept = flat.data_ptr(), keep(named["weight"])
        del flat, named
        assert checked.room()[0].data_ptr() != place, kept
        del kept
        model.zero_grad()


def test_room_that_another_process_may_read_is_not_used_again() -> None:
    checked = CheckedModel.of(nn.Linear(3, 2), squares, (torch.randn(4, 3), torch.rand(4)))
    flat, named = checked.room()
    named["weight"].share_memory_()  # as a queue between processes does
    place = flat.data_ptr()
    del flat, named
    assert checked.room()[0].data_ptr() != place


@pytest.mark.parametrize("mode", ["sum", "mean"])
def test_bags_of_different_lengths(mode: str) -> None:
    """Also empty ones, and lines that a bag reads twice: the gradient of each bag is that of its own loss."""
    layer = nn.EmbeddingBag(11, 4, mode=mode, padding_idx=3).double()
    lines, offsets = torch.tensor([3, 1, 1, 7, 10, 0, 3]), torch.tensor([0, 4, 4, 6])
    output = layer(lines, offsets)
    left = torch.randn_like(output)
    found = embedding_bag(layer, (lines, offsets), left)
    rows = found.rows()["weight"]
    for bag in range(4):
        (alone,) = torch.autograd.grad((output[bag] * left[bag]).sum(), layer.weight, retain_graph=True)
        assert torch.allclose(rows[bag], alone, rtol=0, atol=1e-12)
    assert torch.allclose(found.squares(), rows.square().sum((1, 2)), rtol=1e-9, atol=1e-12)


def test_a_wrong_guess_is_seen() -> None:
    """A scale that is squared is not affine: the layer is run with copies of its parameters instead."""

    class Squared(Scaled):
        def forward(self, values: Tensor) -> Tensor:
            return values * self.weight**2

    torch.manual_seed(1)
    model, batch = Squared(5).double(), (torch.randn(7, 5).double(), torch.rand(7).double())
    checked = CheckedModel.of(model, squares, batch)
    assert checked.way.without_rule == ("Squared",)
    assert checked.way.refused[0][1].startswith(("norms", "gradients"))
    _, found = checked.room()
    checked.add_clipped(found, batch, 0.5, Flat())
    assert distance(found, clipped(gradients_alone(model, batch, squares), 0.5)) < 1e-10


def test_a_gradient_that_is_zero_in_theory_slows_nothing() -> None:
    """The bias of attention's keys: what is there is rounding, and two roundings are not alike."""

    class Keys(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.key, self.query, self.value = (nn.Linear(8, 8) for _ in range(3))

        def forward(self, values: Tensor) -> Tensor:
            weights = (self.query(values) @ self.key(values).mT).softmax(-1)
            return (weights @ self.value(values)).mean(1)

    torch.manual_seed(2)
    model, batch = Keys(), (torch.randn(7, 5, 8), torch.rand(7))
    row = gradients_alone(model, batch, squares)[0]
    assert float(row["key.bias"].norm()) < 1e-5 * float(row["key.weight"].norm())
    checked = CheckedModel.of(model, squares, batch)
    assert checked.way.refused == () and checked.way.without_rule == ()


def shares(model: nn.Module, batch: tuple[Tensor, Tensor]) -> list[float]:
    """Norms of what each row adds."""
    checked = CheckedModel.of(model, squares, batch)
    assert not checked.way.without_rule
    norms = []
    for row in range(len(batch[0])):
        _, found = checked.room()
        checked.add_clipped(found, tuple(part[row : row + 1] for part in batch), 1.0, Flat())
        norms.append(float(torch.cat([value.flatten().double() for value in found.values()]).norm()))
    return norms


@pytest.mark.parametrize("size", [1.0, 1e3, 1e-3])
def test_rows_along_a_normed_direction_stay_within_the_norm(size: float) -> None:
    """Their gradient of the direction cancels, and the length is not trained."""
    torch.manual_seed(3)
    model = weight_norm(nn.Linear(50, 3, bias=False))
    lines = model.parametrizations.weight.original1.detach()
    with torch.no_grad():
        lines[1:] = lines[0] * torch.tensor([[2.0], [3.0]])
        model.parametrizations.weight.original0.mul_(1e4)
    inputs = torch.cat([size * lines[:1] * k for k in (1, 3, 1e3)] + [torch.randn(2, 50)])
    inputs[3] = inputs[0] + 1e-5 * torch.randn(50)
    for norm in shares(model, (inputs, torch.rand(5))):
        assert norm <= 1 + CHARGED_ROUNDING


class TiedWords(nn.Module):
    """A table that is read, and is the matrix of the last layer."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.last = nn.Embedding(40, 16), nn.Linear(16, 40, bias=False)
        self.last.weight = self.words.weight

    def forward(self, tokens: Tensor) -> Tensor:
        return self.last(torch.tanh(self.words(tokens)))


@pytest.mark.parametrize("kind", [torch.float32, torch.float64])
def test_a_tied_table_needs_no_table_per_row(kind: torch.dtype) -> None:
    torch.manual_seed(5)
    model, batch = TiedWords().to(kind), (torch.randint(0, 40, (7, 3)), torch.rand(7).to(kind))
    checked = CheckedModel.of(model, squares, batch)
    checked.run.begin(7)
    with checked.run:
        checked.run.begin(7)
        parts, _ = checked._gradients(batch, 7)
    assert [type(part).__name__ for _, part in parts] == ["TiedTable"]
    assert all(held.numel() < 7 * 40 * 16 for held in parts[0][1].held())
    alone = gradients_alone(model, batch, squares)
    norms = torch.stack([row["words.weight"].norm() for row in alone])
    assert torch.allclose(parts[0][1].squares().sqrt(), norms, rtol=1e-5 if kind == torch.float32 else 1e-10)
    rows = parts[0][1].rows()["weight"]
    assert torch.allclose(rows, torch.stack([row["words.weight"] for row in alone]), atol=1e-4)
