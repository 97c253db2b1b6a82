"""Training data by row number: rows of one shape, whoever hands them out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, TensorDataset, default_collate

from hush.errors import InvalidParameter, NotCovered
from hush.learning.boundary import attempt, quiet
from hush.learning.per_example.batch import joined, picked, size_of, tensors
from hush.learning.torch_private import tree_flatten, tree_leaves, tree_map

VOTERS = 9
"""Rows of a dataset that say by majority what a row is."""
AHEAD = 2
"""Votes that the winner needs more than all others together. Exchanging one row moves the difference by two, so that no
single row turns one winner into another. Where there is no winner, the error says only that rows are of many kinds."""


class RowsByNumber(Protocol):
    """A tuple of columns (inputs, targets, ...), or a list or dataset of rows."""

    def __len__(self) -> int: ...

    def __getitem__(self, place: int, /) -> Any: ...


TrainingData: TypeAlias = RowsByNumber | Dataset[Any]


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """Training data by row number, for a model on some device.

    none: a batch of no rows, which shows the shapes and types of all. A row of another shape or type, or one that
    cannot be read, is left out of its batch: it adds nothing, and nothing tells of it.
    """

    data: Any
    length: int
    none: Any
    device: torch.device

    @classmethod
    def of(cls, given: TrainingData, device: torch.device) -> TrainingRows:
        """What was given, if it is columns of one length or rows of one shape."""
        data = _checked(given)
        if isinstance(data, tuple):
            return cls(data, size_of(data), _moved(picked(data, _nowhere(data)), device), device)
        if len(data) == 0:
            raise InvalidParameter("data", "a Dataset with at least one row, which shows the shapes", rows=0)
        return cls(data, len(data), _shapes_of(data, device), device)

    def __len__(self) -> int:
        return self.length

    def at(self, places: Tensor) -> Any:
        """The rows of a step, on the device of the model."""
        if isinstance(self.data, tuple):
            return _moved(picked(self.data, places.to(tensors(self.data)[0].device)), self.device)
        with quiet():
            read = [attempt(lambda place=place: self._row(place)) for place in places.tolist()]
            return joined([self.none, *(row for row in read if row is not None)])

    def _row(self, place: int) -> Any:
        """A row as a batch of one; raises if it is not what the others are."""
        row = _read(self.data, place, self.device)
        if _kinds(row)[0] != _kinds(self.none)[0]:
            raise TypeError
        return tree_map(_cast, row, self.none)


def _checked(data: Any) -> Any:
    """Columns as a tuple of tensors, or what has rows by number."""
    if isinstance(data, DataLoader):
        raise InvalidParameter(
            "data",
            "the dataset itself, not a DataLoader: the plan draws the batches, so that what is accounted for is "
            "what ran (give loader.dataset)",
            data="DataLoader",
        )
    if isinstance(data, Mapping):
        rule = "a tuple of tensors (inputs, targets, ...), not a mapping of names; only its inputs may be one"
        raise InvalidParameter("data", rule, data=type(data).__name__)
    if type(data) is TensorDataset:
        return data.tensors
    columns = isinstance(data, list) and not any(isinstance(row, tuple | list | Mapping) for row in data)
    if isinstance(data, tuple) or columns:
        if not tensors(data) or not all(isinstance(leaf, Tensor | None | bool) for leaf in tree_leaves(data)):
            rule = "tensors (inputs, targets, ...): torch.from_numpy makes them of arrays"
            raise InvalidParameter("data", rule, data=type(data).__name__)
        if any(leaf.is_nested or leaf.is_meta or leaf.layout != torch.strided for leaf in tensors(data)):
            rule = "dense tensors with values: not sparse, nested or on the device meta"
            raise InvalidParameter("data", rule, data=type(data).__name__)
        return tuple(data)
    if not hasattr(data, "__len__") or not hasattr(data, "__getitem__"):
        rule = "tensors (inputs, targets, ...) or a Dataset with a length"
        raise InvalidParameter("data", rule, data=type(data).__name__)
    return data


def _shapes_of(data: Any, device: torch.device) -> Any:
    """A batch of no rows, as most of the first rows would have it."""
    voters = range(min(len(data), VOTERS))
    with quiet():
        read = [attempt(lambda place=place: _read(data, place, device)) for place in voters]
        carries = any(attempt(lambda place=place: _carries(data, place, device)) for place in voters if place)
    votes = Counter(_kinds(row) for row in read if row is not None)
    kinds, most = votes.most_common(1)[0] if votes else (None, 0)
    if 2 * most - len(read) < min(AHEAD, len(read)):
        rule = "rows data[0], data[1], ... of tensors and numbers, all of one shape and type (longer ones are padded)"
        raise InvalidParameter("data", rule, data=type(data).__name__)
    if carries:
        raise NotCovered("a Dataset whose rows depend on which row was read before: one example is in several")
    return picked(next(row for row in read if row is not None and _kinds(row) == kinds), _nowhere(()))


def _carries(data: Any, place: int, device: torch.device) -> bool:
    """Whether a row is the same when it is read again, but another after another row.

    One that differs each time may be random, such as a picture that is cropped, and is not told from one that carries.
    """
    _, one, again, _, after = (_read(data, at, device) for at in (place, place, place, place - 1, place))
    return _same(one, again) and not _same(one, after)


def _same(one: Any, other: Any) -> bool:
    pairs = zip(tensors(one), tensors(other), strict=True)
    return all(torch.equal(a.nan_to_num(), b.nan_to_num()) for a, b in pairs)


def _read(data: Any, place: int, device: torch.device) -> Any:
    """A row as a tuple of batches of one."""
    batch = default_collate([data[place]])
    batch = tuple(batch) if isinstance(batch, list | tuple) else (batch,)
    if not all(isinstance(leaf, Tensor) for leaf in tree_leaves(batch)) or size_of(batch) != 1:
        raise TypeError
    return _moved(batch, device)


def _kinds(batch: Any) -> tuple[str, tuple[Any, ...]]:
    """How a batch is built, and the shape of a row and the type of each tensor."""
    leaves, spec = tree_flatten(batch)
    return str(spec), tuple((leaf.shape[1:], leaf.dtype, leaf.layout) for leaf in leaves)


def _cast(leaf: Tensor, like: Tensor) -> Tensor:
    """The same numbers in another type, such as whole numbers among floats."""
    if (leaf.shape[1:], leaf.layout) != (like.shape[1:], like.layout) or not torch.can_cast(leaf.dtype, like.dtype):
        raise TypeError
    return leaf.to(like.dtype)


def _moved(batch: Any, device: torch.device) -> Any:
    return tree_map(lambda v: v.detach().to(device) if isinstance(v, Tensor) else v, batch)


def _nowhere(data: Any) -> Tensor:
    return torch.empty(0, dtype=torch.long, device=tensors(data)[0].device if tensors(data) else None)
