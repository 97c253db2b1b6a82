"""What one layer adds to each example's gradient, in factors: norms and weighted sums without the gradients themselves.

A LayerGradient holds rows for the m examples of a micro-batch. It answers three questions: the squared norm of each
example's gradient, the sum of the gradients with given weights, and (where layers share parameters) the gradients.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

Views = Mapping[str, Tensor]
"""Where the sum of each trainable parameter of a layer is collected, by the parameter's name in the layer."""
Measure = Callable[..., tuple[Tensor, Tensor]]
"""From factors to squared norms, and to those of what they are sums of, without signs."""

RELIABLE = 2.0**-10
"""A squared norm of single precision that is this share of the largest possible one is right to 2^-10: it is the
difference of numbers that are right to some 2^-22. A smaller one is computed anew in double precision."""
CANCELLED, CANCELLED_DOUBLE = 2.0**-20, 2.0**-38
"""No squared norm counts as a smaller share of what its positions add up to without signs. A norm that is too large
clips more, and never less; so this is safe where the digits of the difference are gone."""


class Scratch:
    """Memory of one layer that is kept from one micro-batch to the next: fresh pages take as long as what fills them.

    What is taken is free once `taken` is cleared; asked for twice before, as by a layer that is used twice, it is new.
    common: that of all layers together, for what is needed only while a part is made.
    """

    def __init__(self, common: Scratch | None = None) -> None:
        self.common = common or self
        self.kept: dict[str, Tensor] = {}
        self.taken: set[str] = set()

    def take(self, name: str, shape: tuple[int, ...], like: Tensor) -> Tensor:
        """Memory for numbers of the kind of others; what it holds is not defined."""
        if name in self.taken:
            return like.new_empty(shape)
        self.taken.add(name)
        size, kept = math.prod(shape), self.kept.get(name)
        if kept is None or kept.numel() < size or kept.dtype != like.dtype or kept.device != like.device:
            kept = self.kept[name] = like.new_empty(size)
        return kept[:size].view(shape)


class LayerGradient(ABC):
    """The per-example gradients of the parameters of one layer."""

    room: int = 0
    """How many numbers were needed to make it, besides those that it holds."""

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
    def without(self, bad: Tensor) -> LayerGradient:
        """The same with the gradients of some examples set to zero, whatever they hold."""

    @abstractmethod
    def held(self) -> list[Tensor]:
        """Every tensor that it keeps in memory."""

    @abstractmethod
    def folded(self, count: int) -> LayerGradient:
        """The same where `count` examples each stand for several consecutive rows."""

    def joined(self, others: list[LayerGradient]) -> LayerGradient:
        """This layer used several times in one pass: the gradients add up."""
        total = dict(self.rows())
        for other in others:
            for name, gradient in other.rows().items():
                total[name] = total[name] + gradient
        return PlainRows(total)

    def factors(self) -> tuple[Tensor, ...] | None:
        """What the gradient is a sum over positions of, each (m, t, ...); None where the sum was made."""
        return None


class FactoredGradient(LayerGradient):
    """Gradients that are kept as factors, with positions in the second axis: to add some up is to append positions."""

    @abstractmethod
    def factors(self) -> tuple[Tensor, ...]: ...

    @abstractmethod
    def of_factors(self, *factors: Tensor) -> LayerGradient:
        """The gradient of the same parameters with other factors."""

    def joined(self, others: list[LayerGradient]) -> LayerGradient:
        every = [part.factors() for part in (self, *others)]
        known = [factors for factors in every if factors is not None]
        if len(known) < len(every):
            return super().joined(others)
        return self.of_factors(*(torch.cat(same, 1) for same in zip(*known, strict=True)))

    def folded(self, count: int) -> LayerGradient:
        return self.of_factors(*(factor.reshape(count, -1, *factor.shape[2:]) for factor in self.factors()))


def cleared(values: Tensor, bad: Tensor) -> Tensor:
    """Rows where `bad` is true set to zero: zero times infinity would not be zero."""
    return values.masked_fill(bad.view(-1, *(1,) * (values.dim() - 1)), 0)


class PlainRows(LayerGradient):
    """The gradients as they are: for layers with few parameters, and for any layer in the end.

    kernel: the shape (out, height, width, channels) that the weight is kept in, where it is a convolution's.
    room: how many numbers were needed to make them.
    """

    def __init__(self, gradients: dict[str, Tensor], kernel: tuple[int, ...] = (), room: int = 0) -> None:
        self.gradients, self.kernel, self.room = gradients, kernel, room

    def squares(self) -> Tensor:
        parts = [row_squares(gradient.flatten(1)) for gradient in self.gradients.values()]
        return parts[0] if len(parts) == 1 else torch.stack(parts).sum(0)

    def add(self, weights: Tensor, into: Views) -> None:
        for name, gradient in self.gradients.items():
            place(into[name], weights @ gradient.flatten(1), self.kernel if name == "weight" else ())

    def rows(self) -> dict[str, Tensor]:
        if not self.kernel:
            return self.gradients
        weight = self.gradients["weight"].view(-1, *self.kernel).permute(0, 1, 4, 2, 3)
        return {**self.gradients, "weight": weight}

    def folded(self, count: int) -> LayerGradient:
        summed = {name: rows.reshape(count, -1, *rows.shape[1:]).sum(1) for name, rows in self.gradients.items()}
        return PlainRows(summed, self.kernel, self.room)

    def without(self, bad: Tensor) -> LayerGradient:
        return PlainRows({name: cleared(gradient, bad) for name, gradient in self.gradients.items()}, self.kernel)

    def held(self) -> list[Tensor]:
        return list(self.gradients.values())


def place(view: Tensor, total: Tensor, kernel: tuple[int, ...]) -> None:
    """Add to a parameter's sum; a kernel comes as (out, height, width, channels), its channels belong second."""
    if kernel:
        total = total.view(kernel).permute(0, 3, 1, 2).reshape(view.shape)
    view.add_(total.view_as(view))


def row_squares(values: Tensor) -> Tensor:
    """Squared norm of each row of a matrix; one pass over the memory."""
    return torch.linalg.vector_norm(values, dim=1).square_()


def outer(
    left: Tensor, right: Tensor, names: tuple[str, ...], kernel: tuple[int, ...] = (), scratch: Scratch | None = None
) -> LayerGradient:
    """The gradient of a matrix (or kernel) and its bias: kept in factors, or made, whichever takes less time."""
    if left.dim() == 3 and "weight" in names and makes(left.shape[1], left.shape[2], right.shape[2]):
        room = (scratch or Scratch()).take("made", (len(left), left.shape[2], right.shape[2]), left)
        made = {"weight": torch.bmm(left.mT, right, out=room)}
        if "bias" in names:
            made["bias"] = left.sum(1)
        return PlainRows(made, kernel, room=left.numel() + right.numel())
    return Outer(left, right, names, kernel)


def makes(positions: int, out: int, into: int) -> bool:
    """Whether to make the gradients of a matrix takes less time than to keep their factors.

    Gram matrices take t^2 (in + out) products per row on top of the weighted sum. Gradients that are made are summed at
    once, but writing and reading each of the in * out numbers takes as long as some products, a few more for each t.
    """
    return positions**2 * (out + into) >= (positions // 4 + 12) * out * into


def faint(values: Tensor) -> float:
    """Squares below this have lost digits to underflow, and count as this much: norms may be too large only."""
    return 1e-35 if values.dtype == torch.float32 else 1e-290


def reliable_squares(measure: Measure, *factors: Tensor) -> Tensor:
    """Squared norms that are sums of terms with signs; where the terms cancel, anew in double precision.

    measure: from the factors, examples in front, to the sums and to what their terms add up to without signs. Where so
    much cancels that the sum of the rows itself would round by more than is charged, the norm counts as a 2^-10th of
    the norms of its terms: too large, which clips more and never less.
    """
    squares, sizes = measure(*factors)
    if squares.dtype == torch.float64:
        return torch.maximum(squares, sizes * CANCELLED_DOUBLE)
    weak = ~(squares >= sizes * RELIABLE)
    if weak.any():
        exact = [factor[weak].double() if factor.is_floating_point() else factor[weak] for factor in factors]
        squares[weak] = reliable_squares(measure, *exact).to(squares.dtype)
    return torch.maximum(squares, sizes * CANCELLED)


def ghost_squares(left: Tensor, right: Tensor) -> Tensor:
    """Squared norms of sum_t left_t right_t' from Gram matrices."""
    return reliable_squares(_of_factors, left, right)


def _of_factors(left: Tensor, right: Tensor) -> tuple[Tensor, Tensor]:
    return by_gram_matrices(right @ right.mT, left @ left.mT)


def by_gram_matrices(inputs: Tensor, outputs: Tensor) -> tuple[Tensor, Tensor]:
    """Squared norms, and those of what they are sums of, without signs."""
    squares = torch.linalg.vecdot(inputs.flatten(1), outputs.flatten(1))
    each = [gram.diagonal(dim1=1, dim2=2).clamp_min(faint(gram)).sqrt_() for gram in (inputs, outputs)]
    return squares, torch.linalg.vecdot(*each).square_()


class Outer(FactoredGradient):
    """The gradient of a matrix, a sum of outer products, one per position t, sum_t left_t right_t', and its bias.

    left: gradients of outputs (m, t, out), right: inputs (m, t, in); (m, out) and (m, in) where there is one position.
    The norm of an outer product is the product of the norms (Goodfellow 2015). With several positions it is read off
    the Gram matrices, sum_{t,s} (left_t.left_s)(right_t.right_s) (Li et al. 2022, ghost norm).
    """

    def __init__(self, left: Tensor, right: Tensor, names: tuple[str, ...], kernel: tuple[int, ...]) -> None:
        self.left, self.right, self.names, self.kernel = left, right, names, kernel
        self.weight, self.bias = "weight" in names, "bias" in names
        self.shifts: Tensor | None = None

    def squares(self) -> Tensor:
        left, right = self.left, self.right
        if left.dim() == 2:
            sizes = row_squares(left)
            if not self.weight:
                return sizes
            sizes.clamp_min_(faint(left))
            others = row_squares(right)
            return sizes.addcmul_(sizes, others) if self.bias else sizes.mul_(others.clamp_min_(faint(right)))
        found = []
        if self.weight:
            found.append(ghost_squares(left, right))
        if self.bias:
            found.append(row_squares(self._shifts()))
        return found[0] if len(found) == 1 else found[0].add_(found[1])

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
            scaled = left.T * each
            if not self.kernel and into["weight"].is_contiguous():
                into["weight"].view(len(scaled), -1).addmm_(scaled, right)
            else:
                place(into["weight"], scaled @ right, self.kernel)
        if self.bias:
            into["bias"].addmv_(self._shifts().T, weights)

    def rows(self) -> dict[str, Tensor]:
        left, right = self.factors()
        found = {}
        if self.weight:
            found["weight"] = left.mT @ right
        if self.bias:
            found["bias"] = self._shifts()
        return PlainRows(found, self.kernel if self.weight else ()).rows()

    def factors(self) -> tuple[Tensor, Tensor]:
        left, right = (rows if rows.dim() == 3 else rows.unsqueeze(1) for rows in (self.left, self.right))
        return left, right

    def of_factors(self, *factors: Tensor) -> LayerGradient:
        left, right = factors
        return outer(left, right, self.names, self.kernel)

    def without(self, bad: Tensor) -> Outer:
        return Outer(cleared(self.left, bad), cleared(self.right, bad), self.names, self.kernel)

    def held(self) -> list[Tensor]:
        return [self.left, self.right] if self.shifts is None else [self.left, self.right, self.shifts]


class Lookup(FactoredGradient):
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
        into["weight"].index_add_(0, self.places.flatten(), scaled.reshape(-1, scaled.shape[-1]))

    def rows(self) -> dict[str, Tensor]:
        count, _, width = self.left.shape
        full = self.left.new_zeros(count, self.size, width)
        return {"weight": full.scatter_add_(1, self.places.unsqueeze(-1).expand_as(self.left), self.left)}

    def factors(self) -> tuple[Tensor, Tensor]:
        return self.places, self.left

    def of_factors(self, *factors: Tensor) -> LayerGradient:
        places, left = factors
        return Lookup(places, left, self.size)

    def without(self, bad: Tensor) -> Lookup:
        return Lookup(self.places, cleared(self.left, bad), self.size)

    def held(self) -> list[Tensor]:
        return [self.places, self.left]


Rule = Callable[[nn.Module, Any, Tensor, tuple[str, ...], Scratch], LayerGradient]
"""From (layer, input, gradient of the output, names of the trainable parameters, memory), examples in front.

A layer that takes several tensors has them as a tuple.
"""
