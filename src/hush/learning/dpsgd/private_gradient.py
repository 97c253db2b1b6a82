"""Private gradients for any optimizer: clipped, summed, noised and averaged by a plan."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from hush.errors import HushError, InvalidParameter, NotCovered
from hush.learning.boundary import WITHHELD
from hush.learning.dpsgd.data import TrainingData, TrainingRows
from hush.learning.dpsgd.gradient_noise import GradientNoise
from hush.learning.dpsgd.streamed_noise import noise_of
from hush.learning.per_example.batch import Loss
from hush.learning.per_example.clipped_sum import CheckedModel
from hush.learning.per_example.clipping import Clipping, Flat, checked_norm
from hush.questions.planning.train_plan import TrainPlan
from hush.randomness.source import Source


@dataclass(eq=False)
class DrawnBatch:
    """Examples that the plan's scheme drew for one step. Their number is secret."""

    step: int
    examples: Any = field(repr=False)
    used: bool = False


class PrivateGradient:
    """Private gradients by a plan, for those who own their loop.

    `batches` draws as the plan says. Calling the object with a drawn batch, once each, puts the noised and averaged
    gradient into `.grad` of the parameters, where any torch optimizer finds it. Any other batch is refused.

    >>> import hush
    >>> plan = hush.train_plan(examples=100, batch_size=20, epochs=1, epsilon=3.0, delta=1e-3)
    >>> model = nn.Linear(3, 2)
    >>> optimizer = torch.optim.Adam(model.parameters())
    >>> gradient = PrivateGradient(model, nn.functional.cross_entropy, plan, max_norm=1.0)
    >>> for batch in gradient.batches((torch.randn(100, 3), torch.zeros(100, dtype=torch.long))):
    ...     gradient(batch)
    ...     optimizer.step()
    >>> gradient.steps == plan.steps
    True
    """

    def __init__(
        self,
        model: nn.Module,
        loss: Loss,
        plan: TrainPlan,
        *,
        max_norm: float,
        clipping: Clipping | None = None,
        noise: GradientNoise | None = None,
    ) -> None:
        self.model, self.loss, self.plan = model, loss, checked_plan(plan)
        self.max_norm = checked_norm("PrivateGradient", max_norm)
        self.share = 1 / self.plan.expected_batch  # the gradient is divided by the planned number of examples
        self.clipping, self.noise = clipping or Flat(), noise_of(self.plan.noise, noise)
        self.steps = 0
        self._checked: CheckedModel | None = None
        self._states: list[tuple[Any, ...]] = []
        self._drawn: DrawnBatch | None = None
        self._run: object = None
        self.device = _one_device(model)

    def batches(self, data: TrainingData, source: Source | None = None) -> Iterator[DrawnBatch]:
        """The batches of all steps that are left, each drawn when it is asked for; one that is not used is a step too.

        data: (inputs, targets, ...) as tensors with examples in front, or a torch Dataset with a length. The model is
        checked on random rows of these shapes before any row is drawn.
        """
        rows = self.checked_rows(data)
        run = self._run = object()
        self.noise.start_over()  # parts of the records are drawn anew too, and correlation must not reach across
        for places in self.plan.batches(len(rows), source, start=self.steps):
            if run is not self._run:
                rule = "one run of batches at a time: another one began, and the plan accounts for one"
                raise InvalidParameter("PrivateGradient.batches", rule, step=self.steps)
            drawn = self._drawn = DrawnBatch(self.steps, rows.at(torch.as_tensor(places)))
            yield drawn
            if not drawn.used:
                self.noise.start_over()  # a step without noise: those after it would be closer than the plan has it
            self.steps = max(self.steps, drawn.step + 1)
        self.noise.start_over()  # who holds this object later learns nothing from it

    def checked_rows(self, data: TrainingData) -> TrainingRows:
        """The rows, if model and plan can be used with them: found out before any row is drawn."""
        rows = TrainingRows.of(data, self.device)
        self.plan.checked_population(len(rows))
        self._ready(rows.none)
        return rows

    def __call__(self, batch: DrawnBatch) -> None:
        """Put the private gradient of a drawn batch into the parameters; this is a step, even if it is empty."""
        if not isinstance(batch, DrawnBatch) or batch is not self._drawn or batch.used:
            rule = "the batch that `batches` drew last, once: the plan accounts for no other"
            raise InvalidParameter("PrivateGradient", rule, batch=type(batch).__name__)
        checked = self._ready(batch.examples)
        batch.used, self.steps = True, self.steps + 1
        self.model.zero_grad()  # of the parameters that are not trained too: what is there has no noise
        noised = self._noised(checked, batch.examples)
        self.model.zero_grad()
        for name, p in checked.parameters.items():
            p.grad = noised[name]

    def _noised(self, checked: CheckedModel, examples: Any) -> dict[str, Tensor]:
        """The clipped gradients of the examples, summed, noised and divided by the planned number of examples.

        An error may carry a reference to the sum, which has no noise yet: it is wiped first. What failed on private
        rows is not told, but for hush's own errors, which say nothing of a row.
        """
        scale = self.plan.noise_multiplier, self.max_norm * self.share
        flat, named = checked.room()  # new, so that the model holds no part of it
        failed = False
        try:
            self.noise.begin(flat, *scale)
            checked.add_clipped(named, examples, self.max_norm, self.clipping, self.share)
            self.noise.finish(flat, *scale)
        except BaseException as error:
            flat.zero_()
            self.noise.start_over()
            if isinstance(error, HushError) or not isinstance(error, Exception):
                raise
            failed = True
        if failed:  # outside of the handler, so that the error is not kept as a context
            raise NotCovered(WITHHELD)
        return named

    def _ready(self, batch: Any) -> CheckedModel:
        """Check the model on random data of these shapes, first and whenever the way it works was changed.

        That is train() or eval(), parameters that are frozen, not frozen any more or others, another forward.
        """
        states = [_state(module) for module in self.model.modules()]
        if self._checked is None or states != self._states:
            self._states = states
            self._checked = CheckedModel.of(self.model, self.loss, batch, self.plan.expected_batch)
        return self._checked


def checked_plan(plan: object) -> TrainPlan:
    """The plan, if it is one."""
    if not isinstance(plan, TrainPlan):
        raise InvalidParameter("plan", "a plan of hush.train_plan(...)", plan=type(plan).__name__)
    return plan


def _state(module: nn.Module) -> tuple[Any, ...]:
    trained = [(id(p), p.requires_grad) for p in module.parameters(recurse=False)]
    return module.training, module.__dict__.get("forward"), trained


def _one_device(model: object) -> torch.device:
    if not isinstance(model, nn.Module):
        raise InvalidParameter("model", "a torch.nn.Module", model=type(model).__name__)
    trained = [p for p in model.parameters() if p.requires_grad]
    places = sorted({f"{p.device}, {p.dtype}" for p in trained})
    if len(places) != 1:
        rule = "trainable parameters, all on one device and of one type"
        raise InvalidParameter("model", rule, parameters=places)
    return trained[0].device
