"""Gradients that are made of those of other layers: side by side, tied, or behind a weight that is computed."""

from __future__ import annotations

import torch
from torch import Tensor

from hush.learning.per_example.layers.layer_gradients import (
    LayerGradient,
    Lookup,
    Outer,
    PlainRows,
    Views,
    reliable_squares,
)


class Together(LayerGradient):
    """Parts of one layer that have no parameter in common, such as a weight and its bias."""

    def __init__(self, parts: list[LayerGradient]) -> None:
        self.parts, self.room = parts, max(part.room for part in parts)

    def squares(self) -> Tensor:
        return torch.stack([part.squares() for part in self.parts]).sum(0)

    def add(self, weights: Tensor, into: Views) -> None:
        for part in self.parts:
            part.add(weights, into)

    def rows(self) -> dict[str, Tensor]:
        return {name: rows for part in self.parts for name, rows in part.rows().items()}

    def without(self, bad: Tensor) -> LayerGradient:
        return Together([part.without(bad) for part in self.parts])

    def held(self) -> list[Tensor]:
        return [held for part in self.parts for held in part.held()]

    def folded(self, count: int) -> LayerGradient:
        return Together([part.folded(count) for part in self.parts])


class TiedTable(LayerGradient):
    """A table of words that is also the matrix of the last layer: what it reads and what it weighs, added up.

    For a read with places p_s and gradients e_s, and a matrix with factors left_t, right_t, the two gradients have the
    inner product sum_{t,s} left_t[p_s] (right_t . e_s): norms need no table per example.
    """

    def __init__(self, read: Lookup, matrix: Outer) -> None:
        self.read, self.matrix = read, matrix

    def squares(self) -> Tensor:
        return reliable_squares(self._measured, *self.read.factors(), *self.matrix.factors())

    def _measured(self, places: Tensor, errors: Tensor, left: Tensor, right: Tensor) -> tuple[Tensor, Tensor]:
        read = Lookup(places, errors, self.read.size).squares()
        matrix = Outer(left, right, ("weight",), ()).squares()
        at_places = left.gather(2, places.unsqueeze(1).expand(-1, left.shape[1], -1))
        shared = torch.linalg.vecdot(at_places.flatten(1), (right @ errors.mT).flatten(1))
        terms = torch.linalg.vector_norm(errors, dim=2).sum(1)
        terms = terms + (torch.linalg.vector_norm(left, dim=2) * torch.linalg.vector_norm(right, dim=2)).sum(1)
        return read + matrix + 2 * shared, terms.square_()

    def add(self, weights: Tensor, into: Views) -> None:
        self.read.add(weights, into)
        self.matrix.add(weights, into)

    def rows(self) -> dict[str, Tensor]:
        return {"weight": self.read.rows()["weight"] + self.matrix.rows()["weight"]}

    def without(self, bad: Tensor) -> LayerGradient:
        return TiedTable(self.read.without(bad), self.matrix.without(bad))

    def held(self) -> list[Tensor]:
        return [*self.read.held(), *self.matrix.held()]

    def folded(self, count: int) -> LayerGradient:
        return PlainRows(self.rows()).folded(count)
