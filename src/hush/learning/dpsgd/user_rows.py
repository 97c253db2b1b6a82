"""Whose rows they are: training that protects users, of whom each may have any number of rows."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from typing import Any, Literal
from uuid import UUID

import numpy as np
import torch
from torch import Tensor

from hush.arrays import Array
from hush.errors import InvalidParameter
from hush.learning.boundary import attempt, quiet
from hush.learning.dpsgd.data import TrainingRows
from hush.learning.dpsgd.user_gradients import add_clipped_user
from hush.learning.per_example.clipped_sum import CheckedModel
from hush.learning.per_example.clipping import Clipping


@dataclass(frozen=True, eq=False)
class RowUsers:
    """The user of each row, for `unit=`: users are drawn, not rows, and each user's gradient is clipped as a whole.

    `ids` has one number, text, date or UUID per row; rows without one (None, NaN, anything else) are left out. A
    user's gradient is the `mean` of those of her rows, or their `sum`. The plan is then one of users:
    `train_plan(examples=` how many users there are, `batch_size=` users of a step, on average`)`. Ids are never shown.

    >>> RowUsers([7, 7, 9], gradient="sum")
    RowUsers(gradient='sum')
    """

    ids: Any
    gradient: Literal["mean", "sum"] = "mean"

    def __post_init__(self) -> None:
        if self.gradient not in ("mean", "sum"):
            raise InvalidParameter("RowUsers", "gradient='mean' or 'sum'", gradient=self.gradient)

    @classmethod
    def of(cls, given: object) -> RowUsers:
        """What was given as `unit`."""
        return given if isinstance(given, RowUsers) else cls(given)

    def places(self, rows: int) -> list[Array]:
        """The numbers of the rows of each user, users in order of their first row."""
        rule = "unit= one id per row, numbers or texts, in a list, an array or a tensor"
        given = self.ids.tolist() if hasattr(self.ids, "tolist") else self.ids
        if not isinstance(given, list | tuple) or len(given) != rows:
            raise InvalidParameter("fit", rule, unit=type(self.ids).__name__)
        found: dict[Any, list[int]] = {}
        with quiet():
            for place, identity in enumerate(given):
                key = attempt(lambda identity=identity: _key(identity))
                if key is not None:
                    found.setdefault(key, []).append(place)
        return [np.array(own, dtype=np.int64) for own in found.values()]

    def __repr__(self) -> str:
        return f"RowUsers(gradient={self.gradient!r})"


def _key(identity: Any) -> Any:
    """An id that can be compared by its value; None for one that is missing, or that is neither a number nor a text.

    Things that compare by where they are in memory, such as tensors, would make every row a user of its own.
    """
    value = identity.item() if isinstance(identity, Tensor | np.ndarray | np.generic) else identity
    if not isinstance(value, str | bytes | int | float | date | UUID) or value != value:
        return None
    return value


@dataclass(frozen=True, eq=False)
class UserRows:
    """Training data by user: what stands in place of rows by their numbers."""

    rows: TrainingRows
    places: list[Array]
    mean: bool

    @classmethod
    def of(cls, rows: TrainingRows, unit: object) -> UserRows:
        """The rows, and who they belong to."""
        users = RowUsers.of(unit)
        if rows.workers:
            raise InvalidParameter(
                "fit", "workers=0 with unit=: rows of a user are read one after the other", workers=rows.workers
            )
        return cls(rows, users.places(len(rows)), users.gradient == "mean")

    @property
    def none(self) -> Any:
        return self.rows.none

    @property
    def digest(self) -> str:
        """Which rows belong together: compared between ranks, never shown."""
        whole = hashlib.sha256(str(self.mean).encode())
        for own in self.places:
            whole.update(own.tobytes() + b";")
        return whole.hexdigest()

    def __len__(self) -> int:
        return len(self.places)

    def each(self, drawn: Iterable[Any]) -> Iterator[UserBatch]:
        """The drawn users of each step, whose rows are read when their turn comes."""
        return (UserBatch(self, [self.places[user] for user in users.tolist()]) for users in drawn)


@dataclass(frozen=True, eq=False)
class UserBatch:
    """The users of one step. Their number is secret."""

    data: UserRows
    places: list[Array]

    @property
    def none(self) -> Any:
        return self.data.none

    def add_clipped(
        self, checked: CheckedModel, named: dict[str, Tensor], max_norm: float, clipping: Clipping, share: float
    ) -> None:
        """Add a share of each user's clipped gradient; what her rows leave in the model is undone before the next."""
        for own in self.places:
            with checked.watched():
                rows = self.data.rows.at(torch.from_numpy(own))
                add_clipped_user(checked, named, rows, max_norm, clipping, share, mean=self.data.mean)
