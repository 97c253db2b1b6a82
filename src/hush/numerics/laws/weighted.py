"""Analytic pieces: a piece that makes up only a part of a law."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from hush.arrays import Array
from hush.numerics.laws.envelope import Cells
from hush.numerics.laws.law import Nodes, Piece


@dataclass(frozen=True)
class Weighted:
    """A piece of mass `weight` times that of the inner one."""

    inner: Piece
    weight: float

    def nodes(self, tilt: float, reach: float, accuracy: float) -> Nodes:
        nodes = self.inner.nodes(tilt, reach, accuracy)
        return replace(nodes, log_weight=nodes.log_weight + math.log(self.weight))

    def cells(self, tilt: float, fineness: int) -> Cells:
        cells = self.inner.cells(tilt, fineness)
        shift = math.log(self.weight)
        return replace(cells, log_weight=cells.log_weight + shift, jumps=cells.jumps + shift, lost=cells.lost + shift)

    def cost(self, tilt: float, reach: float, accuracy: float) -> float:
        return self.inner.cost(tilt, reach, accuracy)

    def sweep(self, tilts: Array, accuracy: float) -> tuple[Array, Array]:
        loss, log_weight = self.inner.sweep(tilts, accuracy)
        return loss, log_weight + math.log(self.weight)

    @property
    def any_order(self) -> bool:
        return self.inner.any_order

    @property
    def rising(self) -> None:
        return None

    def without_tail(self, log_mass: float) -> tuple[Weighted, float]:
        inner, missing = self.inner.without_tail(log_mass - math.log(self.weight))
        return Weighted(inner, self.weight), self.weight * missing
