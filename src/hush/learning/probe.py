"""Is the gradient of each example its own? Found by behaviour, on random data, before any private row is used."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from torch.utils import _pytree as pytree

from hush.errors import InvalidParameter, NotCovered
from hush.learning.batch import Draw, Loss, random_like, row_losses, rows, unreduced
from hush.learning.parts import Part
from hush.learning.recurrent import unrolled
from hush.learning.units import Axes, Pass, Unit, hosts_of, trainable, units_of

ROWS = 3
"""Examples that are compared."""

Shapes = list[tuple[tuple[Any, ...], tuple[Any, ...]]]


class _Still(TorchFunctionMode):
    """Dropout passes everything, and other random draws are a constant: so that two passes can be compared."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        named = dict(kwargs or {})
        name = getattr(func, "__name__", "")
        if "dropout" in name and args and isinstance(args[0], Tensor):
            return args[0]
        if name in ("rand_like", "randn_like", "bernoulli") and args:
            return torch.full_like(args[0], 0.5)
        if name in ("normal_", "uniform_", "bernoulli_", "exponential_"):
            return args[0].fill_(0.5)
        if name in ("rand", "randn"):
            return func(*args, **named).fill_(0.5)
        if name == "scaled_dot_product_attention":
            named["dropout_p"] = 0.0
        return func(*args, **named)


def _still(model: nn.Module) -> nn.Module:
    """A copy in which layers that have a probability of dropout have none."""
    try:
        model = copy.deepcopy(model)
    except (RuntimeError, TypeError) as error:  # the old weight_norm, a lock
        raise NotCovered(f"a model that cannot be copied, and so not be checked beforehand: {error}") from error
    for module in model.modules():
        if isinstance(module, nn.modules.dropout._DropoutNd):
            module.p = 0.0
        elif isinstance(module, nn.RNNBase | nn.MultiheadAttention):
            module.dropout = 0.0
    return model


class Probe:
    """A copy of the model (in double precision where it can be) and random rows, to learn how it behaves."""

    def __init__(self, model: nn.Module, loss: Loss, batch: Any, kind: torch.dtype, draw: Draw, moved: float) -> None:
        self.loss, self.kind = unreduced(loss), kind
        self.model = _still(model).to(kind)
        self.generator = torch.Generator().manual_seed(20220601)
        with torch.no_grad():  # layers that begin at zero would hide what lies before them
            for p in [p for p in self.model.parameters() if moved and p.is_floating_point()]:
                p += moved * torch.randn(p.shape, generator=self.generator, dtype=kind).to(p.device)
        self.batch = random_like(batch, ROWS + 2, self.generator, kind, draw)
        self.close = 1e-7 if kind == torch.float64 else 2e-3

    def losses(self, start: int, stop: int) -> Tensor:
        with self._settled():
            return row_losses(self.model, self.loss, rows(self.batch, start, stop), stop - start)

    @contextmanager
    def _settled(self) -> Iterator[None]:
        """Random numbers and the state of the model are as they were afterwards."""
        state = [(buffer, buffer.clone()) for buffer in self.model.buffers()]
        versions = [p._version for p in self.model.parameters()]
        with torch.random.fork_rng(devices=[]), _Still():
            yield
        for buffer, value in state:
            buffer.data.copy_(value)
        if versions != [p._version for p in self.model.parameters()]:
            raise self._writes()

    def same(self, one: Tensor, other: Tensor) -> bool:
        size = max(float(one.abs().max()), float(other.abs().max()), 1e-12) if one.numel() else 0.0
        return bool(((one - other).abs() <= self.close * size).all())

    def check_rows_are_apart(self) -> None:
        """The loss of an example is the same alone and among others, and a pass writes nothing that data decides."""
        with torch.no_grad():
            self._check_state()
            among = self.losses(0, ROWS)
            if not self.same(among, self.losses(0, ROWS)):
                raise NotCovered("a model with randomness other than dropout: it cannot be checked row by row")
            try:
                alone = torch.cat([self.losses(row, row + 1) for row in range(ROWS)])
            except (ValueError, RuntimeError) as error:
                raise self._mixes() from error
            if not self.same(among, alone):
                raise self._mixes()

    @staticmethod
    def _mixes() -> NotCovered:
        return NotCovered(
            "a model in which the examples of a batch meet (such as batch normalisation in training): one example then "
            "changes the gradients of others, and clipping bounds nothing. Nearest: GroupNorm or LayerNorm"
        )

    def _check_state(self) -> None:
        """A pass leaves parameters alone, and in buffers nothing that depends on the data: both are released."""
        if not all(isinstance(value, Tensor) for value in self.model.state_dict().values()):
            raise NotCovered("a model whose state is not all tensors (get_extra_state): it cannot be checked")
        ends = []
        parameters = {name for name, _ in self.model.named_parameters(remove_duplicate=False)}
        for start, stop in ((0, 2), (2, 4)):
            before = {name: value.clone() for name, value in self.model.state_dict().items()}
            with torch.random.fork_rng(devices=[]), _Still():
                row_losses(self.model, self.loss, rows(self.batch, start, stop), stop - start)
            ends.append({name: value.clone() for name, value in self.model.state_dict().items()})
            self.model.load_state_dict(before)
            ends += [{**ends[-1], **{name: before[name] for name in parameters}}]
        if not all(torch.equal(end[name], ends[0][name]) for end in ends for name in end):
            raise self._writes()

    @staticmethod
    def _writes() -> NotCovered:
        return NotCovered(
            "a model that writes what it saw into its buffers or parameters (running statistics, max_norm of an "
            "embedding): they would be released without noise"
        )

    def axes(self, units: list[Unit]) -> dict[int, list[Axes]]:
        """Where the batch lies in each call: the axis whose length follows the number of rows."""
        two, three = self._shapes(units, 2), self._shapes(units, 3)
        found: dict[int, list[Axes]] = {}
        for unit in units:
            first, second = two[id(unit)], three[id(unit)]
            if len(first) != len(second):
                raise NotCovered("a model that uses its layers differently from batch to batch")
            found[id(unit)] = [_axes(a, b) for a, b in zip(first, second, strict=True)]
        return found

    def _shapes(self, units: list[Unit], count: int) -> dict[int, Shapes]:
        seen: dict[int, Shapes] = {id(unit): [] for unit in units}

        def hook_of(key: int) -> Any:
            def hook(module: nn.Module, arguments: Any, named: Any, output: Any) -> None:
                seen[key].append((_shape_list((arguments, named)), _shape_list(output)))

            return hook

        handles = [u.module.register_forward_hook(hook_of(id(u)), with_kwargs=True) for u in units]
        try:
            with torch.no_grad(), unrolled(hosts_of(units)):
                self.losses(0, count)
        finally:
            for handle in handles:
                handle.remove()
        return seen

    def rows_alone(self) -> list[dict[str, Tensor]]:
        """Gradients of single examples, each in a batch of its own, by plain differentiation: the oracle."""
        found = []
        for row in range(ROWS):
            parameters = trainable(self.model)
            with torch.enable_grad():
                loss = self.losses(row, row + 1).sum()
            gradients = torch.autograd.grad(loss, list(parameters.values()), allow_unused=True)
            found.append(
                {
                    name: torch.zeros_like(p) if gradient is None else gradient.to_dense()
                    for (name, p), gradient in zip(parameters.items(), gradients, strict=True)
                }
            )
        return found

    def watched(self, units: list[Unit], axes: dict[int, list[Axes]], loops: frozenset[int]) -> dict[int, Part]:
        """The parts of the first rows by the watched pass."""
        with Pass(units, axes, loops) as run:
            run.begin(ROWS)
            with self._settled():
                losses = row_losses(self.model, self.loss, rows(self.batch, 0, ROWS), ROWS)
            return run.parts(losses)


def _shape_list(values: Any) -> tuple[Any, ...]:
    return tuple(tuple(leaf.shape) if isinstance(leaf, Tensor) else None for leaf in pytree.tree_leaves(values))


def _axes(two: tuple[Any, Any], three: tuple[Any, Any]) -> Axes:
    results, shape = _axis_list(two[1], three[1]), next(iter(two[1]), None) or ()
    first = results[0] if results else None
    fold = 1 if first is None else shape[first] // 2
    return Axes(_axis_list(two[0], three[0]), results, fold, lone=first is None and shape[:1] == (1,))


def _axis_list(two: tuple[Any, ...], three: tuple[Any, ...]) -> tuple[int | None, ...]:
    if len(two) != len(three):
        raise NotCovered("a model that uses its layers differently from batch to batch")
    return tuple(_axis(a, b) for a, b in zip(two, three, strict=True))


def _axis(two: Any, three: Any) -> int | None:
    """The one axis that grows from 2k to 3k."""
    if two is None or two == three:
        return None
    grown = [axis for axis, (a, b) in enumerate(zip(two, three, strict=True)) if a != b]
    if len(grown) != 1 or 3 * two[grown[0]] != 2 * three[grown[0]]:
        raise NotCovered("a layer that sees the batch in more than one axis")
    return grown[0]


def probe_of(model: nn.Module, loss: Loss, batch: Any) -> Probe:
    """In double precision, so that what rounding does and what mixing does are far apart; else as the model is."""
    kinds = {p.dtype for p in model.parameters() if p.is_floating_point()}
    if not units_of(model):
        raise InvalidParameter("model", "at least one parameter with requires_grad", trainable=0)
    if any(p.is_complex() for p in model.parameters()):
        raise NotCovered("complex parameters: keep real and imaginary parts as parameters of their own")
    if not kinds <= {torch.float32, torch.float64}:
        raise NotCovered("parameters of less than 32 bits: norms are not reliable. Keep the parameters in float32")
    fault: Exception | None = None
    for kind, draw, moved in TRIES:
        probe = Probe(model, loss, batch, kind, draw, moved)
        try:
            with torch.no_grad():
                losses = probe.losses(0, ROWS + 2)
        except (RuntimeError, TypeError) as error:
            fault = error
            continue
        if torch.isfinite(losses).all():
            _check_types(model, unreduced(loss), probe.batch, batch)
            return probe
    if fault is not None:
        raise fault
    raise NotCovered("a model whose loss is not finite on random numbers: whether rows are apart cannot be seen")


def _check_types(model: nn.Module, loss: Loss, drawn: Any, batch: Any) -> None:
    """The model as it is takes rows of the batch's own types: if not, no row would ever add anything."""
    typed = pytree.tree_map(lambda v, like: v.to(like.dtype) if isinstance(v, Tensor) else v, drawn, batch)
    try:
        with torch.random.fork_rng(devices=[]), torch.no_grad():
            row_losses(_still(model), loss, rows(typed, 0, ROWS), ROWS)
    except (RuntimeError, TypeError, ValueError) as error:
        raise InvalidParameter("data", "tensors of the types that the model takes", reason=str(error)) from error


TRIES: tuple[tuple[torch.dtype, Draw, float], ...] = tuple(
    (kind, draw, moved)
    for kind in (torch.float64, torch.float32)
    for moved in (0.05, 0.0)
    for draw in (torch.randn, torch.rand)
)
"""Normal numbers, or for logarithms those between 0 and 1; single precision where a constant has it.

Parameters are moved a little, as training will do, or not where that is not allowed.
"""
