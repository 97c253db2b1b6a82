"""Neighbouring data, one with a hostile row: errors, warnings and messages are the same, and the row adds nothing."""

from __future__ import annotations

import math
import subprocess
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.data import Dataset

import hush
from hush.learning import Flat, PrivateGradient, SecureNoise, fit
from tests.learning.models import each
from tests.learning.told import told

N = 12
SECRET = 777.25
"""What the hostile row holds, and what code of others says about it."""
PLAN = hush.train_plan(examples=N, batch_size=N, epochs=2, noise_multiplier=1.0, delta=1e-3)
"""Every row is in every batch."""
Examples = list[Any]


def examples() -> Examples:
    inputs = torch.randn(N, 4, generator=torch.Generator().manual_seed(3))
    return [(inputs[k], k % 2) for k in range(N)]


class Odd(BaseException):
    """Not even an Exception."""


class Listed(Dataset):
    """A dataset by a function."""

    def __init__(self, rows: Examples, read: Callable[[Any], Any] = lambda row: row) -> None:
        self.rows, self.read = rows, read

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, place: int) -> Any:
        return self.read(self.rows[place])


def started(model: nn.Module | None) -> nn.Module:
    model = nn.Linear(4, 2) if model is None else model
    for p in model.parameters():
        nn.init.constant_(p, 0.1)
    return model


def weights(data: Any, model: nn.Module | None = None, loss: Any = F.cross_entropy, **options: Any) -> Tensor:
    model = started(model)
    noise, source = SecureNoise(hush.SeededSource(1)), hush.SeededSource(2)
    fit(model, data, PLAN, loss=loss, max_norm=1.0, noise=noise, source=source, **options)
    return torch.cat([p.detach().flatten() for p in model.parameters()])


def by_hand(data: Any, model: nn.Module | None = None, loss: Any = F.cross_entropy, **options: Any) -> Tensor:
    model = started(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    noise = SecureNoise(hush.SeededSource(1))
    gradient = PrivateGradient(model, loss, PLAN, max_norm=1.0, noise=noise, **options)
    for batch in gradient.batches(data, hush.SeededSource(2)):
        gradient(batch)
        optimizer.step()
    return torch.cat([p.detach().flatten() for p in model.parameters()])


def check(
    run: Callable[[Any], Tensor], hostile: Any, without: Any, capsys: pytest.CaptureFixture[str], usual: Any = None
) -> None:
    expected, plain = told(lambda: run(without if usual is None else usual), capsys)
    found, result = told(lambda: run(hostile), capsys)
    assert found == expected == ["", ""]
    assert plain is not None and torch.allclose(result, told(lambda: run(without), capsys)[1], atol=1e-6)


GOOD = torch.zeros(4)
ROWS: dict[str, Callable[[], Any]] = {
    "longer": lambda: (torch.full((5,), SECRET), 1),
    "shorter": lambda: (torch.full((3,), SECRET), 1),
    "another axis": lambda: (torch.full((4, 1), SECRET), 1),
    "no axis": lambda: (torch.tensor(SECRET), 1),
    "none": lambda: None,
    "a word": lambda: "777.25",
    "words": lambda: ("777.25", "777.25"),
    "an object": lambda: (object(), 1),
    "one part": lambda: (torch.full((4,), SECRET),),
    "three parts": lambda: (GOOD, 1, SECRET),
    "a mapping": lambda: {"x": GOOD, "y": SECRET},
    "an array of objects": lambda: (np.array([SECRET, None, "a", {}], dtype=object), 1),
    "complex": lambda: (torch.full((4,), SECRET, dtype=torch.complex64), 1),
    "label of floats": lambda: (GOOD, SECRET),
    "label out of range": lambda: (GOOD, 777),
    "label that is huge": lambda: (GOOD, 2**70),
    "label below zero": lambda: (GOOD, -1),
    "not a number": lambda: (torch.full((4,), math.nan), 1),
    "infinite": lambda: (torch.tensor([0.0, 0.0, -math.inf, 0.0]), 1),
    "huge": lambda: (torch.full((4,), 3e38), 1),
    "huge in double": lambda: (torch.full((4,), 1e300, dtype=torch.float64), 1),
    "sparse": lambda: (torch.full((4,), SECRET).to_sparse(), 1),
    "no data": lambda: (torch.empty(4, device="meta"), 1),
    "nested": lambda: ([[GOOD]], 1),
}


@pytest.mark.parametrize("place", [0, 7, N - 1])
@pytest.mark.parametrize("name", ROWS)
def test_rows_of_a_dataset(name: str, place: int, capsys: pytest.CaptureFixture[str]) -> None:
    rows = examples()
    hostile, without = [*rows[:place], ROWS[name](), *rows[place + 1 :]], [*rows[:place], *rows[place + 1 :]]
    for run in (weights, by_hand) if place == 0 else (weights,):
        check(run, hostile, without, capsys, rows)
    check(weights, Listed(hostile), Listed(without), capsys)


@pytest.mark.parametrize("value", [math.nan, math.inf, 3e38, -3e38])
def test_values_in_tensors(value: float, capsys: pytest.CaptureFixture[str]) -> None:
    inputs, targets = (torch.stack([torch.as_tensor(row[part]) for row in examples()]) for part in (0, 1))
    hostile = inputs.clone()
    hostile[3, 1] = value
    kept = torch.arange(N) != 3
    for run in (weights, by_hand):
        check(run, (hostile, targets), (inputs[kept], targets[kept]), capsys)
    labels = targets.clone()
    labels[3] = 99
    check(weights, (inputs, labels), (inputs[kept], targets[kept]), capsys)


def faulty(kind: Any, value: Tensor) -> None:
    """What code of others does about the row: it raises or warns, and says what it saw."""
    if not bool((value == SECRET).any()):
        return
    if isinstance(kind, type) and issubclass(kind, Warning):
        warnings.warn(f"row {SECRET}", kind, stacklevel=2)
        np.float64(SECRET) / np.float64(0.0)
        raise ValueError(f"row {SECRET}")
    try:
        raise KeyError(SECRET)
    except KeyError as error:
        raise kind(f"row {SECRET}") from error


class Faulty(nn.Module):
    def __init__(self, kind: Any) -> None:
        super().__init__()
        self.kind, self.layer = kind, nn.Linear(4, 2)

    def forward(self, inputs: Tensor) -> Tensor:
        faulty(self.kind, inputs)
        return self.layer(inputs)


KINDS = [ValueError, KeyError, AssertionError, MemoryError, StopIteration, hush.NotCovered, RecursionError, Odd]
KINDS += [torch.OutOfMemoryError, UserWarning, RuntimeWarning, DeprecationWarning]


@pytest.mark.parametrize("kind", KINDS)
def test_code_of_others_that_fails_for_a_row(kind: Any, capsys: pytest.CaptureFixture[str]) -> None:
    rows = examples()
    hostile, without = [*rows[:5], (torch.full((4,), SECRET), 1), *rows[6:]], [*rows[:5], *rows[6:]]

    def refused(row: Any) -> Any:
        faulty(kind, row[0])
        return row

    def loss(output: Tensor, target: Tensor, mark: Tensor) -> Tensor:
        faulty(kind, mark)
        return each(output, target)

    check(lambda data: weights(data, Faulty(kind)), hostile, without, capsys)
    check(lambda data: by_hand(data, Faulty(kind)), hostile, without, capsys)
    check(lambda data: weights(Listed(data, refused)), hostile, without, capsys)
    marked, unmarked = ([(GOOD + k, row[1], row[0]) for k, row in enumerate(part)] for part in (hostile, hostile))
    unmarked = [*unmarked[:5], *unmarked[6:]]
    check(lambda data: weights(data, loss=loss), marked, unmarked, capsys)


class Raising(Flat):
    """A clipping of one's own, which sees norms."""

    def factors(self, squares: Tensor, max_norm: float, share: float = 1.0) -> Tensor:
        if float(squares.max()) > 1e6:
            raise ValueError(f"norm {float(squares.max())}")
        return super().factors(squares, max_norm, share)


def test_a_clipping_that_fails_for_a_row(capsys: pytest.CaptureFixture[str]) -> None:
    rows = examples()
    hostile = [*rows[:5], (torch.full((4,), 1e5), 0), *rows[6:]]
    check(lambda data: weights(data, clipping=Raising()), hostile, [*rows[:5], *rows[6:]], capsys)


class Broken(SecureNoise):
    def finish(self, flat: Tensor, noise_multiplier: float, max_norm: float) -> None:
        raise ValueError(f"sum {flat}")


def test_what_fails_on_the_sum_is_withheld(capsys: pytest.CaptureFixture[str]) -> None:
    model = nn.Linear(4, 2)
    run = lambda: fit(model, examples(), PLAN, loss=F.cross_entropy, max_norm=1.0, noise=Broken())  # noqa: E731
    found, _ = told(run, capsys)
    assert found[0].startswith("NotCovered") and found[1:] == ["", ""]
    assert model.weight.grad is None or not model.weight.grad.any()


def test_a_stop_passes_and_carries_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    rows = examples()
    rows[5] = (torch.full((4,), SECRET), 1)
    found, _ = told(lambda: weights(rows, Faulty(KeyboardInterrupt)), capsys)
    assert found[0].startswith("KeyboardInterrupt") and str(SECRET) not in str(found)


def test_a_batch_from_elsewhere_is_not_shown() -> None:
    gradient = PrivateGradient(nn.Linear(4, 2), F.cross_entropy, PLAN, max_norm=1.0)
    with pytest.raises(hush.InvalidParameter) as raised:
        gradient((torch.full((5, 4), SECRET), torch.ones(5)))  # type: ignore[arg-type]
    assert "777" not in str(raised.value)


def test_the_model_is_checked_before_any_row_is_drawn() -> None:
    class CountedClips(hush.SeededSource):
        drawn = 0

        def words(self, count: int) -> Any:
            CountedClips.drawn += 1
            return super().words(count)

    model = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Linear(4, 2))
    gradient = PrivateGradient(model, F.cross_entropy, PLAN, max_norm=1.0)
    with pytest.raises(hush.NotCovered):
        next(gradient.batches(examples(), CountedClips(1)))
    assert not CountedClips.drawn


RAGGED = [(torch.zeros(2 + k), 0) for k in range(N)]


@pytest.mark.parametrize(
    "data",
    [
        {"x": torch.zeros(N, 4), "y": torch.zeros(N)},
        Listed([None] * N),
        Listed(examples(), lambda row: row[9]),
        RAGGED,
        [(f"name {k}", k) for k in range(N)],
        (torch.zeros(N, 4), torch.zeros(N - 1)),
        {"x": torch.zeros(N, 4)}.items(),
        (torch.zeros(N, 4), [f"name {k}" for k in range(N)]),
        (torch.zeros(N, 4), np.full(N, 1212)),
    ],
    ids=["dict", "nothing", "no such part", "ragged", "words", "lengths", "view", "column of words", "array"],
)
def test_data_that_cannot_be_used_at_all(data: Any) -> None:
    with pytest.raises(hush.InvalidParameter) as raised:
        weights(data)
    assert raised.value.__cause__ is None and raised.value.__context__ is None
    assert not any(word in str(raised.value) for word in ("name 1", str(N), str(N - 1)))


def test_a_mapping_is_told_what_to_do() -> None:
    with pytest.raises(hush.InvalidParameter, match="names that the model's forward takes"):
        weights({"x": torch.zeros(N, 4)})


class Named(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 2)

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x)


def test_inputs_by_name_train_as_others_do() -> None:
    rows = examples()
    plain = weights(rows)
    assert torch.allclose(weights([({"x": x}, y) for x, y in rows], Named()), plain)
    assert torch.allclose(weights([(x.numpy(), np.int64(y)) for x, y in rows]), plain)


def test_whole_numbers_among_floats_are_numbers() -> None:
    rows = [(x, float(k)) for k, (x, _) in enumerate(examples())]
    loss = lambda output, target: (output[:, 0] - target) ** 2  # noqa: E731
    mixed = [(x, int(y)) if k == 4 else (x, y) for k, (x, y) in enumerate(rows)]
    assert torch.allclose(weights(mixed, loss=loss), weights(rows, loss=loss))


@pytest.mark.parametrize("kind", ["other model", "both", "frozen", "nothing"])
def test_an_optimizer_of_another_model_is_refused(kind: str) -> None:
    model, other = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2)), nn.Linear(4, 2)
    model[0].requires_grad_(False)
    given: Any = {
        "other model": lambda: torch.optim.SGD(other.parameters(), lr=0.1),
        "both": lambda: torch.optim.SGD([*model.parameters(), *other.parameters()], lr=0.1),
        "frozen": lambda: torch.optim.SGD(model[0].parameters(), lr=0.1),
        "nothing": lambda: "sgd",
    }[kind]()
    with pytest.raises(hush.InvalidParameter, match="parameters of this model"):
        fit(model, examples(), PLAN, loss=F.cross_entropy, max_norm=1.0, optimizer=given)


def test_an_optimizer_of_some_parameters_is_fine() -> None:
    model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2))
    before = [p.detach().clone() for p in model.parameters()]
    some = torch.optim.SGD(model[1].parameters(), lr=0.1)
    fit(model, examples(), PLAN, loss=F.cross_entropy, max_norm=1.0, optimizer=some)
    changed = [not torch.equal(p, old) for p, old in zip(model.parameters(), before, strict=True)]
    assert changed == [False, False, True, True]
    model[0].requires_grad_(False)
    everything = torch.optim.SGD(model.parameters(), lr=0.1)
    assert fit(model, examples(), PLAN, loss=F.cross_entropy, max_norm=1.0, optimizer=everything).private


WITHOUT_TORCH = """
import sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "torch":
            raise ModuleNotFoundError("No module named 'torch'", name="torch")

sys.meta_path.insert(0, Blocked())
import hush
for name in ("fit", "PrivateGradient", "Flat", "FastNoise", "clipped_gradient"):
    try:
        getattr(hush.learning, name)
    except hush.NotInstalled as error:
        assert str(error) == f"hush.learning.{name} needs the package torch: pip install 'hush-dp[torch]'", error
    else:
        raise AssertionError(name)
try:
    from hush.learning import fit
except hush.NotInstalled:
    pass
try:
    exec("from hush.learning import *")  # asks for every name
except hush.NotInstalled as error:
    assert "torch: pip install 'hush-dp[torch]'" in str(error)
else:
    raise AssertionError("a name that needs torch")
hush.learning.LogisticRegression
"""


def test_without_torch_the_error_says_what_to_install() -> None:
    done = subprocess.run([sys.executable, "-c", WITHOUT_TORCH], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
