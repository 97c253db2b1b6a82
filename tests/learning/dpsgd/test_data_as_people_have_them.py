"""Mappings, rows that are dicts, collate functions, workers and loaders train as plain tensors do, and tell nothing."""

from __future__ import annotations

import os
from collections import UserDict
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.data import BatchSampler, DataLoader, Dataset, SequentialSampler, WeightedRandomSampler

import hush
from hush.learning import PadTo, PrivateGradient, SecureNoise, fit
from tests.learning.told import told

N = 12
SECRET = 777.25
PLAN = hush.train_plan(examples=N, batch_size=N, epochs=2, noise_multiplier=1.0, delta=1e-3)
"""Every row is in every batch."""


class Words(nn.Module):
    """Ragged words to classes: inputs by name, one of which may be missing."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.last = nn.Embedding(9, 4, padding_idx=0), nn.Linear(4, 2)

    def forward(self, input_ids: Tensor, attention_mask: Tensor | None = None, labels: Tensor | None = None) -> Tensor:
        assert labels is None
        hidden = self.words(input_ids)
        if attention_mask is not None:
            hidden = hidden * attention_mask.unsqueeze(-1)
        return self.last(hidden.mean(1))


def by_row(output: Tensor, row: dict[str, Tensor]) -> Tensor:
    return F.cross_entropy(output, row["labels"], reduction="none")


def columns() -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(1)
    ids = torch.randint(1, 9, (N, 5), generator=generator)
    mask = torch.ones(N, 5, dtype=torch.long)
    for row in range(N):
        mask[row, 2 + row % 4 :] = 0
    return {"input_ids": ids * mask, "attention_mask": mask, "labels": torch.arange(N) % 2}


def ragged() -> list[dict[str, Any]]:
    """The same rows without their padding."""
    found = []
    for ids, mask, label in zip(*columns().values(), strict=True):
        length = int(mask.sum())
        found.append({"input_ids": ids[:length].tolist(), "attention_mask": [1] * length, "labels": int(label)})
    return found


class Listed(Dataset):
    """Rows; those that are None raise, and say what they are."""

    def __init__(self, rows: list[Any], error: Any = ValueError) -> None:
        self.rows, self.error = rows, error

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, place: int) -> Any:
        if self.rows[place] is None:
            raise self.error(f"row {SECRET}")
        return self.rows[place]


def weights(data: Any, loss: Any = by_row, **options: Any) -> Tensor:
    torch.manual_seed(3)
    model = Words()
    noise, source = SecureNoise(hush.SeededSource(1)), hush.SeededSource(2)
    fit(model, data, PLAN, loss=loss, max_norm=1.0, noise=noise, source=source, **options)
    return torch.cat([p.detach().flatten() for p in model.parameters()])


def rows_of(data: dict[str, Tensor]) -> list[dict[str, Tensor]]:
    return [{name: value[row] for name, value in data.items()} for row in range(N)]


def test_all_forms_train_alike() -> None:
    data = columns()
    inputs = {name: value for name, value in data.items() if name != "labels"}
    expected = weights((inputs, data["labels"]), F.cross_entropy)
    assert torch.allclose(weights(data), expected)
    assert torch.allclose(weights(UserDict(data)), expected)
    assert torch.allclose(weights(rows_of(data)), expected)
    assert torch.allclose(weights(Listed(rows_of(data))), expected)
    assert torch.allclose(weights(ragged(), collate_fn=PadTo(5)), expected)
    assert torch.allclose(weights(DataLoader(Listed(ragged()), batch_size=3, collate_fn=PadTo(5))), expected)
    assert torch.allclose(weights({**data, "mark": torch.zeros(N, 3)}), expected)
    absent = {"input_ids": data["input_ids"], "attention_mask": None, "labels": data["labels"]}
    assert torch.allclose(weights(absent), weights({k: v for k, v in absent.items() if v is not None}))


def test_your_own_loop_takes_them_too() -> None:
    torch.manual_seed(3)
    model = Words()
    gradient = PrivateGradient(model, by_row, PLAN, max_norm=1.0, noise=SecureNoise(hush.SeededSource(1)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for batch in gradient.batches(ragged(), hush.SeededSource(2), collate_fn=PadTo(5)):
        gradient(batch)
        optimizer.step()
    assert torch.allclose(torch.cat([p.detach().flatten() for p in model.parameters()]), weights(columns()))


@pytest.mark.parametrize("error", [ValueError, KeyError, AssertionError, SystemError])
def test_a_row_that_cannot_be_read_is_not_told(error: Any, capsys: pytest.CaptureFixture[str]) -> None:
    rows = ragged()
    usual, hostile = [*rows[:5], *rows[6:]], Listed([*rows[:5], None, *rows[6:]], error)
    found, result = told(lambda: weights(hostile, collate_fn=PadTo(5)), capsys)
    assert found == ["", ""] and torch.allclose(result, weights(usual, collate_fn=PadTo(5)), atol=1e-6)


def refusing(rows: list[Any]) -> Any:
    if len(rows) != 1:
        raise AssertionError("rows meet")
    if rows[0]["labels"] == 5:
        raise RuntimeError(f"row {SECRET}")
    return PadTo(5)(rows)


def test_a_collate_function_sees_one_row_and_its_errors_stay(capsys: pytest.CaptureFixture[str]) -> None:
    rows = ragged()
    hostile = [*rows[:5], {**rows[5], "labels": 5}, *rows[6:]]
    found, result = told(lambda: weights(hostile, collate_fn=refusing), capsys)
    assert found == ["", ""]
    assert torch.allclose(result, weights([*rows[:5], *rows[6:]], collate_fn=PadTo(5)), atol=1e-6)


def test_workers_read_the_same_rows(capsys: pytest.CaptureFixture[str]) -> None:
    rows: list[Any] = ragged()
    hostile = Listed([*rows[:5], None, {**rows[6], "input_ids": [[1]]}, *rows[7:]])
    alone = weights(hostile, collate_fn=PadTo(5))
    found, result = told(lambda: weights(hostile, collate_fn=PadTo(5), workers=1), capsys)
    assert found == ["", ""] and torch.equal(result, alone)


class Dying(Listed):
    def __getitem__(self, place: int) -> Any:
        if place == 11:
            os._exit(1)
        return super().__getitem__(place)


def test_a_worker_that_dies_ends_the_run_and_says_no_more(capsys: pytest.CaptureFixture[str]) -> None:
    found, _ = told(lambda: weights(Dying(ragged()), collate_fn=PadTo(5), workers=1), capsys)
    assert found[0].startswith("NotCovered") and "withheld" in found[0] and "11" not in "".join(found)


@pytest.mark.parametrize("name", ["RandomSampler", "WeightedRandomSampler", "Pairs"])
def test_a_sampler_of_its_own_is_refused_by_name(name: str) -> None:
    class Pairs(BatchSampler):
        pass

    data = Listed(rows_of(columns()))
    loader = {
        "RandomSampler": lambda: DataLoader(data, shuffle=True),
        "WeightedRandomSampler": lambda: DataLoader(data, sampler=WeightedRandomSampler([1.0] * N, N)),
        "Pairs": lambda: DataLoader(data, batch_sampler=Pairs(SequentialSampler(data), 2, False)),
    }[name]()
    with pytest.raises(hush.InvalidParameter, match=f"the plan draws.*{name}"):
        weights(loader)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"data": ragged()}, "PadTo"),
        ({"data": columns(), "collate_fn": PadTo(5)}, "only with a Dataset"),
        ({"data": columns(), "workers": 1}, "only with a Dataset"),
        ({"data": rows_of(columns()), "workers": -1}, "workers"),
        ({"data": {"other": torch.zeros(N, 3)}}, "forward takes"),
        ({"data": {**columns(), "labels": torch.zeros(N - 1)}}, "one length"),
        ({"data": columns(), "loss": F.cross_entropy}, "model and loss take"),
    ],
)
def test_bad_data_is_named_before_anything_is_drawn(options: dict[str, Any], match: str) -> None:
    with pytest.raises(hush.InvalidParameter, match=match):
        weights(**options)


def test_padding_is_to_a_public_length() -> None:
    rows = [(torch.arange(7), 1)], [(torch.arange(2), 0)]
    long, short = (PadTo(4, {0: 9})(row) for row in rows)
    assert long[0].tolist() == [[0, 1, 2, 3]] and short[0].tolist() == [[0, 1, 9, 9]]
    with pytest.raises(hush.InvalidParameter, match="length"):
        PadTo(0)
