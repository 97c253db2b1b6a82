"""What a rank says of its training, for the others to compare: texts by name, of which only names are shown."""

from __future__ import annotations

import json
from importlib.metadata import version
from typing import Any

from torch import Tensor, nn

import hush
from hush.learning.torch_private import tree_leaves
from hush.questions.planning.training.train_plan import TrainPlan


def facts_of(model: nn.Module, loss: object, plan: TrainPlan, none: Any, *, secret: tuple[bool, ...]) -> dict[str, str]:
    """Versions, plan, model, loss, the shapes of rows (none: a batch of no rows), and which sources are secret."""
    return {
        "version of hush": hush.__version__,
        "version of torch": version("torch"),
        "plan": plan.to_json(),
        "model": described(model),
        "loss": getattr(loss, "__qualname__", type(loss).__qualname__),
        "shapes of rows": shapes(none),
        "secrecy of coins": str(secret),
    }


def described(model: nn.Module) -> str:
    """Names, shapes and types of all parameters and buffers, which of them are trained, and the mode of each module."""
    own = [(name, list(p.shape), str(p.dtype), p.requires_grad) for name, p in model.named_parameters()]
    buffers = [(name, list(b.shape), str(b.dtype)) for name, b in model.named_buffers()]
    return json.dumps([own, buffers, [(type(module).__qualname__, module.training) for module in model.modules()]])


def shapes(batch: Any) -> str:
    """The shape of a row and the type of each tensor."""
    leaves = [leaf for leaf in tree_leaves(batch) if isinstance(leaf, Tensor)]
    return json.dumps([(list(leaf.shape[1:]), str(leaf.dtype)) for leaf in leaves])
