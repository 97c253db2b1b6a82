"""Ways to make one training step: plain SGD, hush, Opacus in three modes, vmap(grad)."""

import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

import hush
from hush.learning.dpsgd.gradient_noise import FastNoise, GradientNoise, SecureNoise
from hush.learning.dpsgd.private_gradient import DrawnBatch, PrivateGradient

Step = Callable[[Any], None]
RATE = 0.01
PLAN = hush.train_plan(examples=10**6, batch_size=10**4, epochs=10**4, noise_multiplier=1.0, delta=1e-6)


def _optimizer(model: nn.Module) -> torch.optim.Optimizer:
    return torch.optim.SGD(model.parameters(), lr=RATE)


def plain(model: nn.Module, rows: int) -> Step:
    optimizer = _optimizer(model)

    def step(batch: Any) -> None:
        optimizer.zero_grad()
        F.cross_entropy(model(batch[0]), batch[1]).backward()
        optimizer.step()

    return step


def micro_batched(model: nn.Module, rows: int) -> Step:
    """Plain SGD that adds up the gradients of as many rows at once as hush does."""
    optimizer, chosen = _optimizer(model), {}

    def step(batch: Any) -> None:
        if not chosen:
            chosen["rows"] = hush.learning.per_example.clipped_sum.CheckedModel.of(model, F.cross_entropy, batch).micro(
                rows
            )
        optimizer.zero_grad()
        for start in range(0, len(batch[1]), chosen["rows"]):
            part = [values[start : start + chosen["rows"]] for values in batch]
            (F.cross_entropy(model(part[0]), part[1], reduction="sum") / len(batch[1])).backward()
        optimizer.step()

    return step


def private(noise: GradientNoise) -> Callable[[nn.Module, int], Step]:
    def build(model: nn.Module, rows: int) -> Step:
        gradient = PrivateGradient(model, F.cross_entropy, PLAN, max_norm=1.0, noise=noise)
        optimizer = _optimizer(model)

        def step(batch: Any) -> None:
            gradient._drawn = DrawnBatch(0, batch)  # the same batch for every way: nothing is drawn here
            gradient(gradient._drawn)
            optimizer.step()

        return step

    return build


def opacus(functorch: bool) -> Callable[[nn.Module, int], Step]:
    def build(model: nn.Module, rows: int) -> Step:
        from opacus.grad_sample import GradSampleModule
        from opacus.optimizers import DPOptimizer

        wrapped = GradSampleModule(model, force_functorch=functorch)
        optimizer = DPOptimizer(_optimizer(wrapped), noise_multiplier=1.0, max_grad_norm=1.0, expected_batch_size=rows)

        def step(batch: Any) -> None:
            optimizer.zero_grad()
            F.cross_entropy(wrapped(batch[0]), batch[1]).backward()
            optimizer.step()

        return step

    return build


def opacus_ghost(model: nn.Module, rows: int) -> Step:
    from opacus.grad_sample.grad_sample_module_fast_gradient_clipping import GradSampleModuleFastGradientClipping
    from opacus.optimizers import DPOptimizerFastGradientClipping
    from opacus.utils.fast_gradient_clipping_utils import DPLossFastGradientClipping

    wrapped = GradSampleModuleFastGradientClipping(model, max_grad_norm=1.0, use_ghost_clipping=True)
    optimizer = DPOptimizerFastGradientClipping(
        _optimizer(wrapped), noise_multiplier=1.0, max_grad_norm=1.0, expected_batch_size=rows
    )
    loss = DPLossFastGradientClipping(wrapped, optimizer, nn.CrossEntropyLoss())

    def step(batch: Any) -> None:
        optimizer.zero_grad()
        loss(wrapped(batch[0]), batch[1]).backward()
        optimizer.step()

    return step


def mapped(model: nn.Module, rows: int) -> Step:
    """torch.func: the gradients of all examples, then clip, sum and noise."""
    optimizer = _optimizer(model)
    parameters = {name: p for name, p in model.named_parameters() if p.requires_grad}

    def one(values: dict, inputs: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        return F.cross_entropy(torch.func.functional_call(model, values, inputs[None]), target[None])

    each = torch.func.vmap(torch.func.grad(one), in_dims=(None, 0, 0))

    def step(batch: Any) -> None:
        found = each({name: p.detach() for name, p in parameters.items()}, *batch)
        norms = torch.stack([rows.flatten(1).norm(dim=1) for rows in found.values()]).norm(dim=0)
        factors = (1.0 / norms).clamp(max=1)
        for name, p in parameters.items():
            p.grad = (torch.tensordot(factors, found[name], 1) + torch.randn_like(p)) / len(norms)
        optimizer.step()

    return step


WAYS: dict[str, Callable[[nn.Module, int], Step]] = {
    "plain": plain,
    "hush fast": private(FastNoise()),
    "hush secure": private(SecureNoise()),
    "micro-batched SGD": micro_batched,
    "opacus hooks": opacus(functorch=False),
    "opacus functorch": opacus(functorch=True),
    "opacus ghost": opacus_ghost,
    "vmap(grad)": mapped,
}
MEMORY_WAYS = ("plain", "hush fast", "opacus hooks", "opacus ghost")


def made(name: str, model: nn.Module, batch: Any, warm: Any = None) -> Callable[[], None]:
    """One step on the batch, ready to be timed; first made on a few rows if these are given."""
    warnings.simplefilter("ignore")
    step = WAYS[name](model, len(batch[1]))
    if warm is not None:
        step(warm)
    return lambda: step(batch)
