"""bfloat16 forth and back: one row's share stays within the norm and its charge, and moves no bit of the others'."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

import hush
from hush.errors import NotCovered
from hush.learning import PrivateGradient, clipped_gradient, fit
from hush.learning.per_example import low_precision
from hush.learning.per_example.clipped_sum import CheckedModel
from hush.learning.per_example.clipping import CHARGED_ROUNDING, Flat
from hush.learning.per_example.watch import Pass
from tests.learning.models import distance

MAX_NORM, ROWS = 1.0, 11
SINGLE = 2.0**-20
"""Of what single precision may round a sum of some rows by."""
BF16 = torch.bfloat16


class Sequences(nn.Module):
    """Positions that may cancel: two linear layers, a norm, and a mean over positions."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.norm, self.last = nn.Linear(8, 16), nn.LayerNorm(16), nn.Linear(16, 3)

    def forward(self, values: Tensor) -> Tensor:
        return self.last(torch.tanh(self.norm(self.first(values)))).mean(1)


def pictures() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1), nn.ReLU(), nn.Conv2d(4, 4, 3, groups=2), nn.Flatten(), nn.Linear(96, 3)
    )


MODELS = {"sequences": (Sequences, (6, 8)), "pictures": (pictures, (1, 8, 6))}
"""Rows are called by their last axes."""


def hostile(name: str, shape: tuple[int, ...]) -> Tensor:
    torch.manual_seed(8)
    row = torch.randn(1, *shape)
    half = shape[0] // 2 or 1
    if name == "cancelling":
        row[:, half:] = -row[:, : shape[0] - half] * (1 + 1e-3)
    return {
        "cancelling": lambda: row,
        "huge": lambda: row * 1e15,
        "overflowing": lambda: row * 3e38,
        "subnormal": lambda: row * 1e-40,
        "tiny": lambda: row * 1e-20,
        "mixed": lambda: row * torch.logspace(-30, 15, shape[-1]),
        "not a number": lambda: torch.full_like(row, float("nan")),
        "constant": lambda: torch.full_like(row, 257.0),  # it takes nine bits
    }[name]()


HOSTILE = ("cancelling", "huge", "overflowing", "subnormal", "tiny", "mixed", "not a number", "constant")


def sums(checked: CheckedModel, batch: tuple[Tensor, Tensor]) -> Tensor:
    flat, named = checked.room()
    checked.add_clipped(named, batch, MAX_NORM, Flat())
    return flat.double()


@pytest.mark.parametrize("scale", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("model", MODELS)
def test_one_rows_share_is_within_what_is_charged(model: str, scale: float) -> None:
    torch.manual_seed(4)
    build, shape = MODELS[model]
    made = build()
    with torch.no_grad():
        made[-1].weight.mul_(scale) if isinstance(made, nn.Sequential) else made.last.weight.mul_(scale)
    others = torch.randn(ROWS, *shape), torch.randint(0, 3, (ROWS,))
    checked = CheckedModel.of(made, F.cross_entropy, others, expected=4, autocast=BF16)
    assert checked.fixed == 4 and not checked.slow
    without = sums(checked, others)
    for name in HOSTILE:
        for place in (0, 5, ROWS):
            inputs, label = hostile(name, shape), torch.tensor([1])
            batch = tuple(
                torch.cat([part[:place], new, part[place:]]) for part, new in zip(others, (inputs, label), strict=True)
            )
            moved = float((sums(checked, batch) - without).norm())
            assert moved <= MAX_NORM * (1 + CHARGED_ROUNDING) + ROWS * SINGLE, (name, place)


@pytest.mark.parametrize("model", MODELS)
def test_rows_have_the_same_bits_whatever_stands_beside_them(model: str) -> None:
    torch.manual_seed(5)
    build, shape = MODELS[model]
    inputs, targets = torch.randn(6, *shape), torch.randint(0, 3, (6,))
    checked = CheckedModel.of(build(), F.cross_entropy, (inputs, targets), expected=4, autocast=BF16)
    alone = sums(checked, (inputs[2:3], targets[2:3]))
    with checked.restored, checked.run:
        for batch in (
            (inputs[:4], targets[:4]),
            (inputs[2:5], targets[2:5]),
            (inputs[[5, 1, 0, 2]], targets[[5, 1, 0, 2]]),
        ):
            place = next(k for k, row in enumerate(batch[0]) if torch.equal(row, inputs[2]))
            count = len(batch[1])
            parts, factors = checked._weighed(*checked._gradients(batch, count), count, MAX_NORM, Flat(), 1.0)
            _, named = checked.room()
            views = {id(p): named[name] for name, p in checked.parameters.items()}
            chosen = torch.zeros_like(factors)
            chosen[place] = factors[place]
            for keys, part in parts:
                part.add(chosen, {name: views[key] for name, key in keys.items()})
            found = torch.cat([part.flatten() for part in named.values()]).double()
            assert float((found - alone).norm()) <= SINGLE * float(alone.norm())


def test_the_gradient_is_near_that_of_single_precision() -> None:
    torch.manual_seed(6)
    model, batch = Sequences(), (torch.randn(20, 6, 8), torch.randint(0, 3, (20,)))
    found = []
    for kind in (None, BF16):
        checked = CheckedModel.of(model, F.cross_entropy, batch, autocast=kind)
        _, named = checked.room()
        checked.add_clipped(named, batch, MAX_NORM, Flat())
        found.append(named)
        assert all(part.dtype == torch.float32 for part in named.values())
    assert 1e-6 < distance(found[1], found[0]) < 0.05


def test_rows_that_round_otherwise_in_company_run_alone() -> None:
    def uneven(output: Tensor, target: Tensor) -> Tensor:
        places = torch.arange(len(output), dtype=torch.float32).unsqueeze(1)
        rounded = output + (places * 2.0**-3 * output.detach()).to(output.dtype) * (output.dtype == BF16)
        return F.cross_entropy(rounded, target, reduction="none")

    torch.manual_seed(6)
    model, batch = Sequences(), (torch.randn(20, 6, 8), torch.randint(0, 3, (20,)))
    checked = CheckedModel.of(model, uneven, batch, expected=4, autocast=BF16)
    assert checked.fixed == 1 and checked.slow
    plan = hush.train_plan(examples=20, batch_size=4, epochs=1, noise_multiplier=1.0, delta=1e-3)
    with pytest.warns(UserWarning, match="row by row"):
        next(PrivateGradient(model, uneven, plan, max_norm=1.0, autocast=BF16).batches(batch))


def test_training_in_bfloat16_and_what_is_refused() -> None:
    torch.manual_seed(7)
    model, batch = Sequences(), (torch.randn(20, 6, 8), torch.randint(0, 3, (20,)))
    plan = hush.train_plan(examples=20, batch_size=4, epochs=1, noise_multiplier=1.0, delta=1e-3)
    trained = fit(model, batch, plan, loss=F.cross_entropy, max_norm=1.0, autocast=BF16)
    assert trained.steps == plan.steps and all(p.dtype == torch.float32 for p in model.parameters())
    for wrong in (torch.float16, "bf16"):
        with pytest.raises(hush.InvalidParameter, match="bfloat16"):
            fit(model, batch, plan, loss=F.cross_entropy, max_norm=1.0, autocast=wrong)  # type: ignore[arg-type]
    with torch.autocast("cpu", BF16), pytest.raises(hush.NotCovered, match="autocast=torch.bfloat16"):
        fit(model, batch, plan, loss=F.cross_entropy, max_norm=1.0)
    assert low_precision.checked_precision(None) is None


def test_products_that_the_process_rounds_are_not_rounded_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """TF32 or bfloat16 in place of float32, as torch offers for all products: how a row rounds would depend on others."""
    chosen: list[str] = []
    begin = Pass.begin

    def telling(run: Pass, count: int) -> None:
        chosen.append(torch.get_float32_matmul_precision())
        begin(run, count)

    monkeypatch.setattr(Pass, "begin", telling)
    before = torch.get_float32_matmul_precision()
    try:
        torch.set_float32_matmul_precision("medium")
        clipped_gradient(nn.Linear(4, 2), lambda o, y: o[:, 0] * y, (torch.randn(3, 4), torch.rand(3)), max_norm=1.0)
        assert (chosen[-1], torch.get_float32_matmul_precision()) == ("highest", "medium")
    finally:
        torch.set_float32_matmul_precision(before)


@pytest.mark.parametrize("part", ["conv", "rnn"])
def test_a_precision_that_cannot_be_undone_is_refused(part: str) -> None:
    """torch keeps it outside of Python, where no attribute can be taken back: it is set again."""
    chooser = getattr(torch.backends.mkldnn, part)
    before = chooser.fp32_precision
    chooser.fp32_precision = "bf16"
    try:
        with pytest.raises(NotCovered, match="set_float32_matmul_precision"):
            CheckedModel.of(nn.Linear(2, 1), lambda o, y: o[:, 0] * y, (torch.randn(3, 2), torch.rand(3)))
    finally:
        chooser.fp32_precision = before
