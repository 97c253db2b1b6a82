"""A model on PUBLIC rows: its loss and metrics, which may be shown while it trains."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn

from hush.errors import HushError, InvalidParameter
from hush.learning.per_example.batch import Loss, outputs, row_losses, size_of, unreduced

Metric = Callable[..., Any]
"""From the output and the targets (or the whole batch, where it is a mapping) to a number."""


@dataclass(frozen=True)
class Evaluation:
    """Public rows, and what is computed on them: dropout is off meanwhile."""

    loss: Loss
    public: Sequence[Any] | Mapping[str, Any] | None
    metrics: Mapping[str, Metric] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.metrics and self.public is None:
            raise InvalidParameter("metrics", "public=, rows to compute them on", metrics=", ".join(self.metrics))

    def of(self, model: nn.Module) -> tuple[float | None, dict[str, float]]:
        """The loss and the metrics; None and nothing without public rows."""
        if self.public is None:
            return None, {}
        batch = dict(self.public) if isinstance(self.public, Mapping) else self.public
        with torch.no_grad(), evaluating(model):
            try:
                value = float(row_losses(model, unreduced(self.loss), batch, size_of(batch)).mean())
                return value, self._metrics(model, batch) if self.metrics else {}
            except HushError:
                raise
            except Exception as error:
                reason = type(error).__name__
                raise InvalidParameter("public", "rows that model and loss take, as in data", reason=reason) from error

    def _metrics(self, model: nn.Module, batch: Any) -> dict[str, float]:
        output = outputs(model, batch)
        others = (batch,) if isinstance(batch, dict) else tuple(batch[1:])
        return {name: float(metric(output, *others)) for name, metric in self.metrics.items()}


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """In here the model is as `eval()` has it; afterwards every module is as it was."""
    before = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        yield
    finally:
        for module, training in before:
            module.training = training
