"""Is the gradient of each example its own? Found by behaviour, on random data, before any private row is used."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from hush.errors import HushError, InvalidParameter, NotCovered
from hush.learning.model_state.memory import Memory, difference, memory
from hush.learning.per_example.batch import AveragedViews, Draw, Loss, random_like, row_losses, rows, unreduced
from hush.learning.per_example.layers.layer_gradients import LayerGradient
from hush.learning.per_example.layers.recurrent import unrolled
from hush.learning.per_example.units import Axes, Keys, Unit, grouped, hosts_of, joint, trainable, units_of
from hush.learning.per_example.watch import Pass
from hush.learning.torch_private import is_version, tree_leaves, version_of

ROWS = 3
"""Examples that are compared with rows alone."""
CLOSE = 1e-7
"""Share of a gradient that two ways to it may differ by: far above rounding in double precision, which is some thousand
times 1e-16, and far below CHARGED_ROUNDING."""

DROPOUTS = (nn.Dropout, nn.Dropout1d, nn.Dropout2d, nn.Dropout3d, nn.AlphaDropout, nn.FeatureAlphaDropout)

Shapes = list[tuple[tuple[Any, ...], tuple[Any, ...]]]


class Still(TorchFunctionMode):
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
        if name == "gumbel_softmax":
            return _soft(args[0], **named)
        if name == "rrelu":
            named["training"] = False
        if name == "scaled_dot_product_attention":
            named["dropout_p"] = 0.0
        return func(*args, **named)


def _soft(logits: Tensor, tau: float = 1, hard: bool = False, dim: int = -1, **_: Any) -> Tensor:
    """gumbel_softmax with one constant for all draws, which cancels."""
    soft = (logits / tau).softmax(dim)
    if not hard:
        return soft
    place = soft.argmax(dim, keepdim=True)
    return torch.zeros_like(soft).scatter_(dim, place, 1.0) - soft.detach() + soft


def stilled(loss: Loss) -> Loss:
    """The loss without random views of the rows."""
    return loss.still() if isinstance(loss, AveragedViews) else loss


def still_copy(model: nn.Module) -> nn.Module:
    """A copy in which layers that have a probability of dropout have none."""
    try:
        model = copy.deepcopy(model)
    except (RuntimeError, TypeError) as error:  # the old weight_norm, a lock
        raise NotCovered(f"a model that cannot be copied, and so not be checked beforehand: {error}") from error
    for module in model.modules():
        if isinstance(module, DROPOUTS):
            module.p = 0.0
        elif isinstance(module, nn.RNNBase | nn.MultiheadAttention):
            module.dropout = 0.0
    return model


class Probe:
    """A copy of the model (in double precision where it can be) and random rows, to learn how it behaves."""

    def __init__(self, model: nn.Module, loss: Loss, batch: Any, kind: torch.dtype, draw: Draw, moved: float) -> None:
        self.whole_loss, self.kind, self.draw = unreduced(loss), kind, draw
        self.loss = stilled(self.whole_loss)
        self.fresh = still_copy(model).to(kind)
        self.generator = torch.Generator().manual_seed(20220601)
        with torch.no_grad():  # layers that begin at zero would hide what lies before them
            for p in [p for p in self.fresh.parameters() if moved and p.is_floating_point()]:
                p += moved * torch.randn(p.shape, generator=self.generator, dtype=kind).to(p.device)
        self.model = copy.deepcopy(self.fresh)  # the other one stays as if it had seen nothing
        self.device = next(self.model.parameters()).device
        self.batch = random_like(batch, ROWS + 2, self.generator, kind, draw)
        self.close = CLOSE if kind == torch.float64 else 2e-3

    def losses(self, start: int, stop: int) -> Tensor:
        with self.settled():
            return row_losses(self.model, self.loss, rows(self.batch, start, stop), stop - start)

    @contextmanager
    def settled(self) -> Iterator[None]:
        """Random numbers are as they were afterwards, and parameters as they must be."""
        before = [version_of(p) for p in self.model.parameters()]
        with torch.random.fork_rng(devices=[]), Still():
            yield
        after = list(self.model.parameters())
        if len(after) != len(before) or not all(map(is_version, after, before)):
            raise keeps("its parameters")

    def same(self, one: Tensor, other: Tensor) -> bool:
        """Whether losses are the same, measured against the largest of them."""
        size = max(float(one.abs().max()), float(other.abs().max()), 1e-12) if one.numel() else 0.0
        return bool(((one - other).abs() <= self.close * size).all())

    def check_rows_are_apart(self) -> None:
        """The loss of an example is the same alone and among others, and a pass writes nothing that data decides."""
        self._check_memory()
        with torch.no_grad():
            among = self.losses(0, ROWS)
            if not self.same(among, self.losses(0, ROWS)):
                raise NotCovered("a model with randomness other than dropout: it cannot be checked row by row")
            try:
                alone = torch.cat([self.losses(row, row + 1) for row in range(ROWS)])
            except (ValueError, RuntimeError) as error:
                raise mixes() from error
            if not self.same(among, alone):
                raise mixes()

    def _check_memory(self) -> None:
        """Nothing of the rows stays in the model or the loss: neither what they hold, nor how many there were.

        Two fresh models see other rows, and one of them sees more: all must hold the same then. So a table that is
        made at first use passes, a count of passes does not: a batch is taken in as many as its secret size asks for.
        """
        if not all(isinstance(value, Tensor) for value in self.fresh.state_dict().values()):
            raise NotCovered("a model whose state is not all tensors (get_extra_state): it cannot be checked")
        one, other = copy.deepcopy(self.fresh), self.fresh
        before = memory(model=dict(one.named_parameters(remove_duplicate=False)))
        first = self._memory_after(one, 0, 2)
        place = difference(before, memory(model=dict(one.named_parameters(remove_duplicate=False))))
        for model, start, stop in ((other, 2, 4), (one, 2, 4), (one, 0, 3)):
            place = place or difference(first, self._memory_after(model, start, stop))
        if place is not None:
            raise keeps(place)
        del self.fresh

    def _memory_after(self, model: nn.Module, start: int, stop: int) -> Memory:
        """What is there after a pass, also on the way back, where hooks may write."""
        with torch.random.fork_rng(devices=[]), Still(), torch.enable_grad():
            losses = row_losses(model, self.whole_loss, rows(self.batch, start, stop), stop - start)
            with suppress(RuntimeError):  # a state that grew into the graph, which the memory then shows
                torch.autograd.grad(losses.sum(), list(trainable(model).values()), allow_unused=True)
        return memory(model=model, loss=self.whole_loss)

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
            def hook(_: nn.Module, arguments: Any, named: Any, output: Any) -> None:
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

    def watched(self, run: Pass, batch: Any, count: int) -> tuple[list[tuple[Keys, LayerGradient]], Tensor]:
        """The gradients of a batch by the watched pass, and its losses."""
        with run:
            run.begin(count)
            with self.settled():
                losses = row_losses(self.model, self.loss, batch, count)
            return joint(run.parts(losses), grouped(run.units)), losses


def mixes() -> NotCovered:
    """The error for a model in which examples meet."""
    return NotCovered(
        "a model in which the examples of a batch meet (such as batch normalisation in training): one example then "
        "changes the gradients of others, and clipping bounds nothing. Nearest: GroupNorm or LayerNorm"
    )


def keeps(place: str) -> NotCovered:
    """The error for a model that remembers."""
    return NotCovered(
        f"a model that writes what it saw, or how much, into its buffers, parameters or attributes (here: {place}), "
        "such as running statistics, a count of rows or of passes, the max_norm of an embedding: that would be "
        "released without noise"
    )


def _shape_list(values: Any) -> tuple[Any, ...]:
    return tuple(tuple(leaf.shape) if isinstance(leaf, Tensor) else None for leaf in tree_leaves(values))


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
    if any(isinstance(module, torch.jit.ScriptModule) for module in model.modules()):
        raise NotCovered("a scripted or traced model: what it keeps cannot be looked into. Give the module itself")
    fault: Exception | None = None
    for kind, draw, moved in TRIES:
        probe = Probe(model, loss, batch, kind, draw, moved)
        try:
            with torch.no_grad():
                losses = probe.losses(0, ROWS + 2)
        except HushError:
            raise
        except Exception as error:  # of the model's or the loss's own, on random rows: it tells of none
            fault = error
            continue
        if torch.isfinite(losses).all():
            return probe
    if fault is not None:
        reason = f"{type(fault).__name__}: {str(fault).splitlines()[0] if str(fault) else ''}"
        rule = "rows that model and loss take, of these shapes and types (random ones were tried)"
        raise InvalidParameter("data", rule, reason=reason) from fault
    raise NotCovered("a model whose loss is not finite on random numbers: whether rows are apart cannot be seen")


TRIES: tuple[tuple[torch.dtype, Draw, float], ...] = tuple(
    (kind, draw, moved)
    for kind in (torch.float64, torch.float32)
    for moved in (0.05, 0.0)
    for draw in (torch.randn, torch.rand)
)
"""Normal numbers, or for logarithms those between 0 and 1; single precision where a constant has it.

Parameters are moved a little, as training will do, or not where that is not allowed.
"""
