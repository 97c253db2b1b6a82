"""What one layer adds to each example's gradient, in factors: norms and weighted sums without the gradients themselves.

A part holds rows for the m examples of a micro-batch. It answers three questions: the squared norm of each
example's gradient, the sum of the gradients with given weights, and (where layers share parameters) the gradients.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping

import torch
from torch import Tensor

Views = Mapping[str, Tensor]
"""Where the sum of each trainable parameter of a layer is collected, by the parameter's name in the layer."""

RELIABLE = 2.0**-10
"""A squared norm of single precision that is this part of the largest possible one is right to 2^-10."""
CANCELLED, CANCELLED_DOUBLE = 2.0**-20, 2.0**-38
"""No squared norm counts as a smaller part of what its positions add up to without signs."""


class Part(ABC):
    """The per-example gradients of the parameters of one layer."""

    @abstractmethod
    def squares(self) -> Tensor:
        """The squared norm of each example's gradient, shape (m,)."""

    @abstractmethod
    def add(self, weights: Tensor, into: Views) -> None:
        """Add the weighted sum over the examples."""

    @abstractmethod
    def rows(self) -> dict[str, Tensor]:
        """Each example's gradient, by parameter: shape (m, *parameter)."""

    @abstractmethod
    def joined(self, others: list[Part]) -> Part:
        """This layer used several times in one pass: the gradients add up."""

    @abstractmethod
    def folded(self, count: int) -> Part:
        """The same where `count` examples each stand for several consecutive rows."""

    @abstractmethod
    def without(self, bad: Tensor) -> Part:
        """The same with the gradients of some examples set to zero, whatever they hold."""


def cleared(values: Tensor, bad: Tensor) -> Tensor:
    """Rows where `bad` is true set to zero: zero times infinity would not be zero."""
    return values.masked_fill(bad.view(-1, *(1,) * (values.dim() - 1)), 0)


class Rows(Part):
    """The gradients as they are: for layers with few parameters, and for any layer in the end."""

    def __init__(self, gradients: dict[str, Tensor]) -> None:
        self.gradients = gradients

    def squares(self) -> Tensor:
        parts = [row_squares(gradient.flatten(1)) for gradient in self.gradients.values()]
        return parts[0] if len(parts) == 1 else torch.stack(parts).sum(0)

    def add(self, weights: Tensor, into: Views) -> None:
        for name, gradient in self.gradients.items():
            into[name].add_((weights @ gradient.flatten(1)).view_as(into[name]))

    def rows(self) -> dict[str, Tensor]:
        return self.gradients

    def joined(self, others: list[Part]) -> Part:
        total = dict(self.gradients)
        for other in others:
            for name, gradient in other.rows().items():
                total[name] = total[name] + gradient
        return Rows(total)

    def folded(self, count: int) -> Part:
        return Rows({name: rows.view(count, -1, *rows.shape[1:]).sum(1) for name, rows in self.gradients.items()})

    def without(self, bad: Tensor) -> Part:
        return Rows({name: cleared(gradient, bad) for name, gradient in self.gradients.items()})


def row_squares(values: Tensor) -> Tensor:
    """Squared norm of each row of a matrix; one pass over the memory."""
    return torch.linalg.vector_norm(values, dim=1).square_()


def faint(values: Tensor) -> float:
    """Squares below this have lost digits to underflow, and count as this much: norms may be too large only."""
    return 1e-35 if values.dtype == torch.float32 else 1e-290


def ghost_squares(left: Tensor, right: Tensor) -> Tensor:
    """Squared norms of sum_t left_t right_t' from Gram matrices; where positions cancel, anew in double precision.

    Where so much cancels that the sum of the rows itself would round by more than is charged, the norm counts as a
    2^-10th of the sum of the positions' own norms: too large, which clips more and never less.
    """
    inputs, outputs = right @ right.mT, left @ left.mT
    squares = torch.linalg.vecdot(inputs.flatten(1), outputs.flatten(1))
    each = [gram.diagonal(dim1=1, dim2=2).clamp_min(faint(gram)).sqrt_() for gram in (inputs, outputs)]
    sizes = torch.linalg.vecdot(*each).square_()
    if left.dtype == torch.float64:
        return torch.maximum(squares, sizes * CANCELLED_DOUBLE)
    weak = ~(squares >= sizes * RELIABLE)
    if weak.any():
        squares[weak] = ghost_squares(left[weak].double(), right[weak].double()).to(squares.dtype)
    return torch.maximum(squares, sizes * CANCELLED)


class Outer(Part):
    """The gradient of a matrix that is a sum of outer products, one a position t: sum_t left_t right_t', and its bias.

    left: gradients of outputs (m, t, out), right: inputs (m, t, in); (m, out) and (m, in) where there is one position.
    One position needs no gradients at all: the norm of an outer product is the product of the norms (Goodfellow 2015).
    With several, it is either read off the Gram matrices, sum_{t,s} (left_t.left_s)(right_t.right_s) (Li et al. 2022,
    ghost norm), or the gradients are made.
    """

    def __init__(self, left: Tensor, right: Tensor, names: tuple[str, ...], shape: tuple[int, ...]) -> None:
        self.left, self.right, self.names, self.shape = left, right, names, shape
        self.weight, self.bias = "weight" in names, "bias" in names
        self.made: Tensor | None = None
        self.shifts: Tensor | None = None

    @property
    def ghost(self) -> bool:
        """Whether the Gram matrices of the positions are cheaper than the gradients."""
        positions, out, into = self.left.shape[1], self.left.shape[-1], self.right.shape[-1]
        return self.left.dim() == 2 or positions * (out + into) < out * into

    def squares(self) -> Tensor:
        left, right = self.left, self.right
        if left.dim() == 2:
            sizes = row_squares(left)
            if not self.weight:
                return sizes
            sizes.clamp_min_(faint(left))
            others = row_squares(right).clamp_min_(faint(right))
            return sizes.mul_(others.add_(1) if self.bias else others)
        found = []
        if self.weight and self.ghost:
            found.append(ghost_squares(left, right))
        elif self.weight:
            found.append(row_squares(self._gradients().flatten(1)))
        if self.bias:
            found.append(row_squares(self._shifts()))
        return found[0] if len(found) == 1 else found[0].add_(found[1])

    def _gradients(self) -> Tensor:
        if self.made is None:
            left, right = (rows if rows.dim() == 3 else rows.unsqueeze(1) for rows in (self.left, self.right))
            self.made = left.mT @ right
        return self.made

    def _shifts(self) -> Tensor:
        """Gradients of the bias, made once: what is added is what was measured."""
        if self.shifts is None:
            self.shifts = self.left if self.left.dim() == 2 else self.left.sum(1)
        return self.shifts

    def add(self, weights: Tensor, into: Views) -> None:
        left, right, each = self.left, self.right, weights
        if left.dim() == 3:
            each = weights.repeat_interleave(left.shape[1])
            left, right = left.reshape(-1, left.shape[-1]), right.reshape(-1, right.shape[-1])
        if self.weight:
            if self.made is not None:
                self._place(into["weight"], (weights @ self.made.flatten(1)).view(self.made.shape[1:]))
            elif self.shape:
                self._place(into["weight"], (left * each.unsqueeze(1)).T @ right)
            else:
                into["weight"].addmm_((left * each.unsqueeze(1)).T, right)
        if self.bias:
            into["bias"].addmv_(self._shifts().T, weights)

    def _place(self, view: Tensor, total: Tensor) -> None:
        """A kernel comes as (out, height, width, channels) and is kept as (out, channels, height, width)."""
        if self.shape:
            total = total.view(self.shape).permute(0, 3, 1, 2)
        view.add_(total.reshape(view.shape))

    def rows(self) -> dict[str, Tensor]:
        found = {}
        if self.weight:
            made = self._gradients()
            found["weight"] = made.view(-1, *self.shape).permute(0, 1, 4, 2, 3) if self.shape else made
        if self.bias:
            found["bias"] = self._shifts()
        return found

    def joined(self, others: list[Part]) -> Part:
        if not all(isinstance(other, Outer) for other in others):
            return Rows(self.rows()).joined(others)
        parts = [part.folded(len(self.left)) for part in (self, *others)]
        factors = [(part.left, part.right) for part in parts if isinstance(part, Outer)]
        left, right = (torch.cat(rows, 1) for rows in zip(*factors, strict=True))
        return Outer(left, right, self.names, self.shape)

    def folded(self, count: int) -> Outer:
        left, right = (rows.reshape(count, -1, rows.shape[-1]) for rows in (self.left, self.right))
        return Outer(left, right, self.names, self.shape)

    def without(self, bad: Tensor) -> Part:
        clean = Outer(cleared(self.left, bad), cleared(self.right, bad), self.names, self.shape)
        clean.made = None if self.made is None else cleared(self.made, bad)
        return clean


class Lookup(Part):
    """The gradient of a table of which each example reads some lines: places (m, t), left (m, t, width)."""

    def __init__(self, places: Tensor, left: Tensor, size: int) -> None:
        self.places, self.left, self.size = places, left, size

    def squares(self) -> Tensor:
        """Lines that an example reads more than once add up before they are squared."""
        count, positions, width = self.left.shape
        if positions == 1:
            return row_squares(self.left[:, 0])
        examples = torch.arange(count, device=self.places.device).view(-1, 1)
        keys, where = torch.unique(self.places + self.size * examples, return_inverse=True)
        lines = self.left.new_zeros(len(keys), width).index_add_(0, where.flatten(), self.left.reshape(-1, width))
        owners = torch.div(keys, self.size, rounding_mode="floor")
        squares = self.left.new_zeros(count).index_add_(0, owners, row_squares(lines))
        sizes = torch.linalg.vector_norm(self.left, dim=2).sum(1).square_()
        return torch.maximum(squares, sizes * (CANCELLED if sizes.dtype == torch.float32 else CANCELLED_DOUBLE))

    def add(self, weights: Tensor, into: Views) -> None:
        scaled = self.left * weights.view(-1, 1, 1)
        into["weight"].index_add_(0, self.places.flatten(), scaled.view(-1, scaled.shape[-1]))

    def rows(self) -> dict[str, Tensor]:
        count, _, width = self.left.shape
        full = self.left.new_zeros(count, self.size, width)
        return {"weight": full.scatter_add_(1, self.places.unsqueeze(-1).expand_as(self.left), self.left)}

    def joined(self, others: list[Part]) -> Part:
        parts = [self, *(other for other in others if isinstance(other, Lookup))]
        places, left = torch.cat([part.places for part in parts], 1), torch.cat([part.left for part in parts], 1)
        return Lookup(places, left, self.size)

    def folded(self, count: int) -> Part:
        return Lookup(self.places.reshape(count, -1), self.left.reshape(count, -1, self.left.shape[-1]), self.size)

    def without(self, bad: Tensor) -> Part:
        return Lookup(self.places, cleared(self.left, bad), self.size)
