"""State in odd places is seen, undone or refused by name: gradients, attributes of tensors, things made in C."""

from __future__ import annotations

import array
import contextvars
import functools
import io
import itertools
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

import hush
from hush.learning.dpsgd.fit import fit
from tests.learning import own_module

N = 64
PLAN = hush.train_plan(examples=N, batch_size=16, epochs=1, noise_multiplier=1.0, delta=1e-3)
WHOLE = hush.train_plan(examples=N, batch_size=N, epochs=1, noise_multiplier=1.0, delta=1e-3)
VARIABLE: contextvars.ContextVar[float] = contextvars.ContextVar("seen", default=0.0)


def data() -> tuple[Tensor, Tensor]:
    return torch.randn(N, 4, generator=torch.Generator().manual_seed(1)), torch.arange(N) % 2


class Seeing(nn.Module):
    """A linear layer that calls a function on its inputs before."""

    def __init__(self, see: Callable[[Any, Tensor], object], **parts: Any) -> None:
        super().__init__()
        self.layer, self.see = nn.Linear(4, 2), see
        self.register_buffer("buffer", torch.zeros(1))
        self.frozen = nn.Parameter(torch.zeros(1), requires_grad=False)
        for name, part in parts.items():
            setattr(self, name, part)

    def forward(self, inputs: Tensor) -> Tensor:
        self.see(self, inputs.detach())
        return self.layer(inputs)


@functools.lru_cache
def store() -> dict[str, Any]:
    return {}


def in_module(self: Any, x: Tensor) -> None:
    own_module.SEEN.append(float(x.mean()))


def in_imported(self: Any, x: Tensor) -> None:
    import tests.learning.own_module as module

    setattr(module, "LAST" + "", float(x.mean()))


def in_cache(self: Any, x: Tensor) -> None:
    store()["last"] = float(x.mean())


def in_grad(self: Any, x: Tensor) -> None:
    self.frozen.grad = torch.full_like(self.frozen, float(x.sum()))


def added(self: Any, x: Tensor) -> None:
    self.held.t += x.mean()


class Tagged(float):
    """A number that has attributes."""


HIDDEN: dict[str, Callable[[], nn.Module]] = {
    "gradient of a frozen parameter": lambda: Seeing(in_grad),
    "array.array": lambda: Seeing(lambda s, x: s.held.append(float(x.mean())), held=array.array("d")),
    "attribute of a buffer": lambda: Seeing(lambda s, x: setattr(s.buffer, "note", x.mean())),
    "attribute of a parameter": lambda: Seeing(lambda s, x: setattr(s.layer.weight, "note", x.mean())),
    "attribute of a number": lambda: Seeing(lambda s, x: setattr(s.held, "note", x.mean()), held=Tagged(1)),
    "bytes in memory": lambda: Seeing(lambda s, x: s.held.write(x.numpy().tobytes()), held=io.BytesIO()),
    "torch generator": lambda: Seeing(lambda s, x: s.held.manual_seed(len(x)), held=torch.Generator()),
    "numpy generator": lambda: Seeing(lambda s, x: s.held.random(len(x)), held=np.random.default_rng(1)),
    "set of tensors": lambda: Seeing(lambda s, x: s.held.t.add(x.mean()), held=SimpleNamespace(t=set())),
    "replaced in a set": lambda: Seeing(lambda s, x: (s.held.clear(), s.held.add(x.mean())), held={torch.zeros(1)}),
    "count": lambda: Seeing(lambda s, x: [next(s.held) for _ in x], held=itertools.count()),
    "own module": lambda: Seeing(in_module),
    "own module by a name that is made": lambda: Seeing(in_imported),
    "context variable": lambda: Seeing(lambda s, x: VARIABLE.set(float(x.mean()))),
    "cached function": lambda: Seeing(in_cache),
    "method of a list": lambda: Seeing(lambda s, x: s.held(float(x.mean())), held=[].append),
}
HELD: dict[str, Callable[[], nn.Module]] = {
    "namespace": lambda: Seeing(added, held=SimpleNamespace(t=torch.zeros(1))),
    "module in a list": lambda: Seeing(lambda s, x: s.held[0].buffer.add_(x.mean()), held=[Seeing(added)]),
    "hook": lambda: hooked(),
}


def hooked() -> nn.Module:
    model, seen = nn.Sequential(nn.Linear(4, 2)), []
    model[0].register_forward_hook(lambda layer, inputs, output: seen.append(output.detach().mean()))
    return model


def train(model: Any, rows: Any = None, plan: Any = PLAN, **given: Any) -> Any:
    named: dict[str, Any] = {"loss": F.cross_entropy, "max_norm": 1.0, **given}
    return fit(model, rows or data(), plan, **named)


@pytest.mark.parametrize("name", HIDDEN)
def test_state_in_odd_places_is_refused(name: str) -> None:
    with pytest.raises(hush.NotCovered, match="writes what it saw"):
        train(HIDDEN[name]())


@pytest.mark.filterwarnings("ignore:The .grad attribute")  # of the compiler
@pytest.mark.parametrize("name", HELD)
def test_a_compiled_model_is_looked_into(name: str) -> None:
    with pytest.raises(hush.NotCovered, match="writes what it saw"):
        train(torch.compile(HELD[name](), backend="eager"))


@pytest.mark.filterwarnings("ignore:The .grad attribute")  # of the compiler
def test_a_compiled_model_that_keeps_nothing_is_fine() -> None:
    """Also the first one of a process, whose parameters the compiler marks."""
    torch.compiler.reset()
    assert train(torch.compile(nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 2)), backend="eager")).private


def test_the_compilers_mark_hides_no_rows() -> None:
    model = Seeing(lambda s, x: setattr(s.buffer, "_dynamo_static_input_type", f"{float(x.mean())}"))
    with pytest.raises(hush.NotCovered, match="writes what it saw"):
        train(model)


def test_what_cannot_be_looked_into_is_refused_by_name() -> None:
    seen = (row for row in range(3))
    with pytest.raises(hush.NotCovered, match=r"here: model\.see\.seen, of type builtins\.generator\)"):
        train(Seeing(lambda s, x: seen))


def unusual(see: Callable[[Any, Tensor], object]) -> Callable[[Any, Tensor], object]:
    return lambda s, x: see(s, x) if bool((x > 40).any()) else None


def replaced(s: Any, x: Tensor) -> None:
    s.held["deep"][0].append(x.mean())
    s.space.t += x.mean()
    s.space.more = x
    s.frozen.data.add_(x.mean())
    s.layer.weight.data.add_(x.mean())
    s.inner[0].weight.data.fill_(float(x.mean()))
    s.inner[0].extra = x
    s.buffer.note = x
    s.words.append(float(x.mean()))
    s.draws.manual_seed(int(x.sum()))
    own_module.SEEN.append(float(x.mean()))
    in_grad(s, x)


class Remembering(nn.Module):
    """A loss that keeps what it saw of unusual rows."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("worst", torch.zeros(1))
        self.space = SimpleNamespace(seen=[])

    def forward(self, output: Tensor, target: Tensor) -> Tensor:
        losses = F.cross_entropy(output, target, reduction="none")
        if bool((losses > 2000).any()):
            self.worst += losses.detach().max()
            self.space.seen.append(losses.detach())
        return losses


def test_what_unusual_rows_leave_in_odd_places_is_undone() -> None:
    rows = data()
    rows[0][5] = 50.0
    own_module.SEEN.clear()
    model: Any = Seeing(
        unusual(replaced),
        held={"deep": [[1]]},
        space=SimpleNamespace(t=torch.zeros(1)),
        inner=[nn.Linear(2, 2)],
        words=array.array("d"),
        draws=torch.Generator().manual_seed(3),
    )
    model.layer.weight.data.copy_(torch.tensor([[9.0] * 4, [-9.0] * 4]))
    weights, inner = model.layer.weight.detach().clone(), model.inner[0].weight.detach().clone()
    loss: Any = Remembering()
    still = torch.optim.SGD([model.layer.weight, model.frozen], lr=0.0)
    train(model, rows, WHOLE, loss=loss, optimizer=still)
    assert model.held == {"deep": [[1]]} and vars(model.space).keys() == {"t"} and not model.space.t.any()
    assert not model.frozen.any() and model.frozen.grad is None
    assert torch.equal(model.layer.weight, weights) and torch.equal(model.inner[0].weight, inner)
    assert not hasattr(model.inner[0], "extra") and not hasattr(model.buffer, "note")
    assert not model.words and model.draws.initial_seed() == 3 and not own_module.SEEN
    assert not loss.worst.any() and not loss.space.seen


class Listed(torch.utils.data.Dataset):
    """Rows of a list; `carry` adds the row that was read before."""

    def __init__(self, rows: list[Tensor], carry: bool = False) -> None:
        self.rows, self.carry, self.last = rows, carry, torch.zeros(4)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, place: int) -> tuple[Tensor, int]:
        row = self.rows[place]
        if self.carry:
            row, self.last = row + self.last, row
        return row, place % 2


def test_a_dataset_that_carries_rows_is_refused() -> None:
    rows = list(data()[0])
    assert train(nn.Linear(4, 2), Listed(rows)).private
    with pytest.raises(hush.NotCovered, match="read before"):
        train(nn.Linear(4, 2), Listed(rows, carry=True))


def test_one_row_does_not_turn_the_vote_of_the_first_rows() -> None:
    wide, narrow, odd = torch.ones(4), torch.ones(3), torch.ones(2)
    for ninth in (wide, narrow, odd):  # at a tie of the others
        with pytest.raises(hush.InvalidParameter, match="one shape and type"):
            train(nn.Linear(4, 2), Listed([wide] * 4 + [narrow] * 4 + [ninth] + [wide] * 55))
    for ninth in (wide, narrow, odd):
        assert train(nn.Linear(4, 2), Listed([wide] * 7 + [narrow] + [ninth] + [wide] * 55)).private


class Turned(nn.Module):
    """Positions in front."""

    def __init__(self, early: bool) -> None:
        super().__init__()
        self.words, self.last, self.early = nn.Embedding(7, 8), nn.Linear(8, 2), early
        self.mixed = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16), 1, enable_nested_tensor=False)

    def forward(self, words: Tensor) -> Tensor:
        hidden = self.words(words.t()) if self.early else self.words(words).transpose(0, 1)
        return self.last(self.mixed(hidden).mean(0))


@pytest.mark.parametrize("early", [True, False])
def test_an_embedding_with_positions_in_front(early: bool) -> None:
    assert train(Turned(early), (torch.randint(0, 7, (N, 5)), torch.arange(N) % 2)).private


class Drawing(nn.Module):
    """Logits to which torch adds noise."""

    def __init__(self, hard: bool) -> None:
        super().__init__()
        self.layer, self.hard = nn.Linear(4, 2), hard

    def forward(self, inputs: Tensor) -> Tensor:
        return F.gumbel_softmax(self.layer(inputs), hard=self.hard)


@pytest.mark.parametrize(
    "model",
    [
        lambda: nn.Sequential(nn.Linear(4, 3), nn.RReLU(), nn.Linear(3, 2)),
        lambda: Drawing(False),
        lambda: Drawing(True),
    ],
)
def test_layers_of_torch_that_draw_inside(model: Callable[[], nn.Module]) -> None:
    assert train(model()).private


@pytest.mark.filterwarnings("ignore")
def test_scripted_models_are_refused_by_name() -> None:
    for model in (torch.jit.script(nn.Linear(4, 2)), torch.jit.trace(nn.Linear(4, 2), torch.randn(3, 4))):
        with pytest.raises(hush.NotCovered, match="scripted or traced"):
            train(model)


def test_what_cannot_run_is_a_named_error_before_anything_is_drawn() -> None:
    inputs, targets = data()
    model = nn.Linear(4, 2)
    wrong: list[dict[str, Any]] = [
        {"optimizer": torch.optim.LBFGS(model.parameters())},
        {"optimizer": torch.optim.SparseAdam(list(model.parameters()))},
        {"loss": None},
        {"rows": (inputs[:, :3], targets)},
        {"rows": (inputs.long(), targets)},
        {"rows": (inputs, targets.double())},
        {"rows": (inputs.to_sparse(), targets)},
        {"rows": (inputs.to("meta"), targets)},
        {"public": (inputs[:, :3], targets), "on_step": print},
    ]
    for given in wrong:
        with pytest.raises(hush.HushError):
            train(model, **given)


def test_rows_that_meet_at_some_sizes() -> None:
    class Odd(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(4, 2)

        def forward(self, inputs: Tensor) -> Tensor:
            return self.layer(inputs + inputs.mean(0) if len(inputs) % 2 and len(inputs) > 3 else inputs)

    with pytest.raises(hush.NotCovered, match="examples of a batch meet"):
        train(Odd())
