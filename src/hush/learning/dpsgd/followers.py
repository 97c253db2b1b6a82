"""What follows each step of the optimizer: the schedule of its rate, and the average of the weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.optim.lr_scheduler import LRScheduler, ReduceLROnPlateau
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from hush.checks import number
from hush.errors import InvalidParameter


@dataclass(frozen=True)
class Followers:
    """A scheduler and an exponential moving average, if any.

    Both see the weights after the step of the optimizer, whose gradient is noised: what they do is post-processing.
    """

    scheduler: LRScheduler | None = None
    average: AveragedModel | None = None

    @classmethod
    def of(
        cls,
        model: nn.Module,
        optimizer: torch.optim.Optimizer,
        scheduler: LRScheduler | None = None,
        ema: float | None = None,
    ) -> Followers:
        """The followers of this model, with an average of which each step takes a share of 1 - ema."""
        if scheduler is not None:
            _check_scheduler(scheduler, optimizer)
        if ema is None:
            return cls(scheduler)
        decay = number("fit", "0 < ema < 1", 1e-12, 1 - 1e-12, ema=ema)
        return cls(scheduler, AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(decay)))

    def after(self, model: nn.Module) -> None:
        """Called after each step of the optimizer."""
        if self.scheduler is not None:
            self.scheduler.step()
        if self.average is not None:
            self.average.update_parameters(model)

    def state(self) -> dict[str, Any]:
        """Where they are."""
        return {
            "scheduler": None if self.scheduler is None else self.scheduler.state_dict(),
            "average": {} if self.average is None else self.average.state_dict(),
        }

    def load(self, state: dict[str, Any]) -> None:
        """Go on from there."""
        if (self.scheduler is None) != (state["scheduler"] is None) or (self.average is None) != (not state["average"]):
            raise ValueError("a scheduler or an average that is not in the checkpoint")
        if self.scheduler is not None:
            self.scheduler.load_state_dict(state["scheduler"])
        if self.average is not None:
            self.average.load_state_dict(state["average"])


NO_FOLLOWERS = Followers()
"""Neither of them."""


def _check_scheduler(scheduler: object, optimizer: torch.optim.Optimizer) -> None:
    """One of this optimizer, that needs no measure of how training goes."""
    rule = "a torch scheduler of this optimizer, which is stepped after every step"
    if not isinstance(scheduler, LRScheduler) or getattr(scheduler, "optimizer", None) is not optimizer:
        raise InvalidParameter("scheduler", rule, scheduler=type(scheduler).__name__)
    if isinstance(scheduler, ReduceLROnPlateau):
        raise InvalidParameter("scheduler", "one that steps without a measure", scheduler=type(scheduler).__name__)
