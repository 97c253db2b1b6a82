"""Private names of torch stand in one module, and where they are missing the gradients are the same."""

from __future__ import annotations

import importlib
import re
import sys
from collections import OrderedDict, namedtuple
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from torch.utils import _pytree

import hush
from hush.learning import clipped_gradient, nested, torch_private
from tests.learning.models import MODELS, case, clipped_alone, distance, each

SOURCE = Path(hush.__file__).parent
PRIVATE = re.compile(r"\btorch(\.\w+)*\._|from torch[\w.]* import (\w+, )*_")


def test_no_other_module_names_what_is_private_in_torch() -> None:
    naming = [path.name for path in SOURCE.rglob("*.py") if PRIVATE.search(path.read_text(encoding="utf-8"))]
    assert naming == ["torch_private.py"]


@pytest.fixture
def public_names_only(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as patch:
        patch.delattr(torch.autograd.graph, "_engine_run_backward")
        patch.delattr(torch.utils, "_pytree")
        patch.setitem(sys.modules, "torch.utils._pytree", None)
        importlib.reload(torch_private)
    monkeypatch.setattr(torch_private, "_writes", None)  # attributes of torch's tensors cannot be deleted
    monkeypatch.setattr(torch_private, "_base", None)
    yield
    importlib.reload(torch_private)


@pytest.mark.usefixtures("public_names_only")
@pytest.mark.parametrize("name", MODELS)
def test_public_names_vs_plain_gradients(name: str) -> None:
    model, batch = case(name)
    assert distance(clipped_gradient(model, each, batch, max_norm=0.1), clipped_alone(model, batch, 0.1)) < 1e-12


@pytest.mark.parametrize("counted", [True, False])
def test_a_tensor_that_is_overwritten_has_another_version(counted: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not counted:
        monkeypatch.setattr(torch_private, "_writes", None)
    values = torch.tensor([1.0, torch.nan, torch.inf])
    before = torch_private.version_of(values)
    assert torch_private.is_version(values, before)
    values[1] = 0.0
    assert not torch_private.is_version(values, before)


@pytest.mark.parametrize("known", [True, False])
def test_the_gradient_of_an_output_arrives_though_it_is_overwritten(
    known: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not known:
        monkeypatch.setattr(torch_private, "_base", None)
    weight = torch.randn(3, 4, requires_grad=True)
    for made in (weight * 2, (weight * 2).view(4, 3), (weight * 2)[1:]):
        output, edge = torch_private.edge_of(made)
        losses = output.mul_(5).sum().reshape(1)
        (found,) = torch_private.gradients_at([edge], losses, torch.ones(1))
        assert found is not None and torch.equal(found, torch.full(found.shape, 5.0))


Pair = namedtuple("Pair", "left right")
TREES = [
    3,
    None,
    (),
    {},
    [1, (2, {"x": 3}), []],
    Pair(1, [2, 3]),
    OrderedDict(b=1, a=(2,)),
    {"b": 1, "a": [2, Pair(3, 4)]},
]


@pytest.mark.parametrize("tree", TREES, ids=str)
def test_nested_containers_vs_torch(tree: object) -> None:
    leaves, nesting = nested.tree_flatten(tree)
    assert leaves == nested.tree_leaves(tree) == _pytree.tree_leaves(tree)
    assert nested.tree_unflatten(leaves, nesting) == tree
    assert nested.tree_map(str, tree) == _pytree.tree_map(str, tree)
