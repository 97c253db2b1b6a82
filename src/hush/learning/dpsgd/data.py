"""Training data by row number: rows of one shape, whoever hands them out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, Protocol, TypeAlias

import torch
from torch import Tensor
from torch.utils.data import (
    BatchSampler,
    DataLoader,
    Dataset,
    SequentialSampler,
    TensorDataset,
    default_collate,
    default_convert,
)

from hush.checks import count
from hush.errors import InvalidParameter, NotCovered
from hush.learning.boundary import WITHHELD, attempt, quiet
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


TrainingData: TypeAlias = RowsByNumber | Dataset[Any] | Mapping[str, Any] | DataLoader[Any]
Collate: TypeAlias = Callable[[list[Any]], Any]
"""From a list of rows to a batch. It is called with one row at a time: no row decides how another one is padded."""


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """Training data by row number, for a model on some device.

    none: a batch of no rows, which shows the shapes and types of all. A row of another shape or type, or one that
    cannot be read, is left out of its batch: it adds nothing, and nothing tells of it. workers: processes that read.
    """

    data: Any
    length: int
    none: Any
    device: torch.device
    collate: Collate = default_collate
    workers: int = 0

    @classmethod
    def of(
        cls, given: TrainingData, device: torch.device, collate_fn: Collate | None = None, workers: int = 0
    ) -> TrainingRows:
        """What was given, if it is columns of one length or rows of one shape."""
        if isinstance(given, DataLoader):
            given, collate_fn, workers = _of_loader(given, collate_fn, workers)
        workers = count("data", 0, workers=workers)
        data = _checked(given)
        if isinstance(data, tuple | dict):
            if collate_fn is not None or workers:
                rule = "collate_fn and workers only with a Dataset or a list of rows: columns of tensors are there"
                raise InvalidParameter("data", rule, data=type(given).__name__)
            return cls(data, size_of(data), _moved(picked(data, _nowhere(data)), device), device)
        if len(data) == 0:
            raise InvalidParameter("data", "a Dataset with at least one row, which shows the shapes", rows=0)
        collate = default_collate if collate_fn is None else collate_fn
        return cls(data, len(data), _shapes_of(data, device, collate), device, collate, workers)

    def __len__(self) -> int:
        return self.length

    def at(self, places: Tensor) -> Any:
        """The rows of a step, on the device of the model."""
        if isinstance(self.data, tuple | dict):
            return _moved(picked(self.data, places.to(tensors(self.data)[0].device)), self.device)
        with quiet():
            read = [attempt(lambda place=place: self._row(place)) for place in places.tolist()]
            return joined([self.none, *(row for row in read if row is not None)])

    def each(self, drawn: Iterable[Any]) -> Iterator[Any]:
        """The rows of each step, read by worker processes where there are some, which are a few steps ahead."""
        if self.workers:
            return self._read_ahead(drawn)
        return (self.at(torch.as_tensor(places)) for places in drawn)

    def _read_ahead(self, drawn: Iterable[Any]) -> Iterator[Any]:
        """A worker leaves out what it cannot read, as is done here; one that dies ends the run, and says no more."""
        cpu = torch.device("cpu")
        here = replace(self, none=_moved(self.none, cpu), device=cpu, workers=0)
        numbers = (torch.as_tensor(places).tolist() for places in drawn)
        with quiet():
            loader = DataLoader(
                ReadBatches(here), batch_sampler=numbers, num_workers=self.workers, collate_fn=_as_it_is
            )  # type: ignore[arg-type]
            batches = iter(loader)
        while True:
            with quiet():
                found = attempt(lambda: list(islice(batches, 1)))
            if found is None:
                raise NotCovered(WITHHELD)
            if not found:
                return
            yield _moved(found[0], self.device)

    def _row(self, place: int) -> Any:
        """A row as a batch of one; raises if it is not what the others are."""
        row = _read(self.data, place, self.device, self.collate)
        if _kinds(row)[0] != _kinds(self.none)[0]:
            raise TypeError
        return tree_map(_cast, row, self.none)


@dataclass(frozen=True, eq=False)
class ReadBatches(Dataset[Any]):
    """Whole batches by the numbers of their rows, as worker processes read them."""

    rows: TrainingRows

    def __getitems__(self, places: list[int]) -> Any:
        return self.rows.at(torch.as_tensor(places, dtype=torch.long))


def _as_it_is(batch: Any) -> Any:
    return batch


@dataclass(frozen=True)
class PadTo:
    """A collate function for rows of different lengths: tensors of one axis get a PUBLIC length, filled up or cut.

    The length must not depend on the rows. values: what each entry of a row is filled with, by its name or number; 0 if
    none is given. Entries that are not of one axis stay as they are.

    >>> PadTo(4, {"labels": -100})([{"input_ids": [7, 8], "labels": [1, 2], "age": 30}])
    {'input_ids': tensor([[7, 8, 0, 0]]), 'labels': tensor([[   1,    2, -100, -100]]), 'age': tensor([30])}
    """

    length: int
    values: Mapping[Any, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "length", count("PadTo", 1, length=self.length))

    def __call__(self, rows: list[Any]) -> Any:
        padded = [self._padded(row) for row in rows]
        return default_collate(padded)

    def _padded(self, row: Any) -> Any:
        if isinstance(row, Mapping):
            return {name: self._entry(name, value) for name, value in row.items()}
        return tuple(self._entry(place, value) for place, value in enumerate(row))

    def _entry(self, name: Any, value: Any) -> Any:
        found = torch.as_tensor(value)
        if found.dim() != 1:
            return found
        full = found.new_full((self.length,), self.values.get(name, 0))
        full[: len(found)] = found[: self.length]
        return full


def _of_loader(loader: DataLoader[Any], collate_fn: Collate | None, workers: int) -> tuple[Any, Collate | None, int]:
    """The dataset of a loader that draws nothing of its own, and how it reads."""
    by_order = type(loader.sampler) is SequentialSampler
    if not by_order or type(loader.batch_sampler) not in (BatchSampler, type(None)):
        own = type(loader.batch_sampler if by_order else loader.sampler).__name__
        raise InvalidParameter(
            "data",
            "a DataLoader without a sampler of its own (shuffle=False), or loader.dataset: the plan draws the batches, "
            "so that what is accounted for is what ran",
            sampler=own,
        )
    given = collate_fn if loader.collate_fn in (default_collate, default_convert) else loader.collate_fn
    return loader.dataset, given, workers or loader.num_workers


def _checked(data: Any) -> Any:
    """Columns as a tuple or a mapping of tensors, or what has rows by number."""
    if type(data) is TensorDataset:
        return data.tensors
    columns = isinstance(data, list) and not any(isinstance(row, tuple | list | Mapping) for row in data)
    if isinstance(data, tuple | Mapping) or columns:
        data = dict(data) if isinstance(data, Mapping) else tuple(data)
        if not tensors(data) or not all(isinstance(leaf, Tensor | None | bool) for leaf in tree_leaves(data)):
            rule = "tensors (inputs, targets, ...): torch.from_numpy makes them of arrays"
            raise InvalidParameter("data", rule, data=type(data).__name__)
        if any(leaf.is_nested or leaf.is_meta or leaf.layout != torch.strided for leaf in tensors(data)):
            rule = "dense tensors with values: not sparse, nested or on the device meta"
            raise InvalidParameter("data", rule, data=type(data).__name__)
        return data
    if not hasattr(data, "__len__") or not hasattr(data, "__getitem__"):
        rule = "tensors (inputs, targets, ...) or a Dataset with a length"
        raise InvalidParameter("data", rule, data=type(data).__name__)
    return data


def _shapes_of(data: Any, device: torch.device, collate: Collate) -> Any:
    """A batch of no rows, as most of the first rows would have it."""
    voters = range(min(len(data), VOTERS))
    with quiet():
        read = [attempt(lambda place=place: _read(data, place, device, collate)) for place in voters]
        carries = any(attempt(lambda place=place: _carries(data, place, device, collate)) for place in voters if place)
    votes = Counter(_kinds(row) for row in read if row is not None)
    kinds, most = votes.most_common(1)[0] if votes else (None, 0)
    if 2 * most - len(read) < min(AHEAD, len(read)):
        rule = "rows data[0], data[1], ... of tensors and numbers, all of one shape and type (collate_fn=PadTo(length))"
        raise InvalidParameter("data", rule, data=type(data).__name__)
    if carries:
        raise NotCovered("a Dataset whose rows depend on which row was read before: one example is in several")
    return picked(next(row for row in read if row is not None and _kinds(row) == kinds), _nowhere(()))


def _carries(data: Any, place: int, device: torch.device, collate: Collate) -> bool:
    """Whether a row is the same when it is read again, but another after another row.

    One that differs each time may be random, such as a picture that is cropped, and is not told from one that carries.
    """
    _, one, again, _, after = (_read(data, at, device, collate) for at in (place, place, place, place - 1, place))
    return _same(one, again) and not _same(one, after)


def _same(one: Any, other: Any) -> bool:
    pairs = zip(tensors(one), tensors(other), strict=True)
    return all(torch.equal(a.nan_to_num(), b.nan_to_num()) for a, b in pairs)


def _read(data: Any, place: int, device: torch.device, collate: Collate) -> Any:
    """A row as a batch of one."""
    batch = collate([data[place]])
    if isinstance(batch, Mapping):
        batch = dict(batch)
    else:
        batch = tuple(batch) if isinstance(batch, list | tuple) else (batch,)
    if not all(isinstance(leaf, Tensor) for leaf in tree_leaves(batch)) or size_of(batch) != 1:
        raise TypeError
    # a copy: rows that share one buffer would all be the last of them
    return tree_map(lambda leaf: leaf.detach().to(device, copy=True), batch)


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
