"""Private training with PyTorch: gradients with noise for any optimizer, and a loop for the common case."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from os import PathLike
from typing import Any

import torch
from torch import nn

from hush.checks import count
from hush.curves.bound import Bound
from hush.errors import HushError, InvalidParameter, NotCovered
from hush.learning.boundary import WITHHELD
from hush.learning.dpsgd.checkpoint import Checkpoint
from hush.learning.dpsgd.data import TrainingRows
from hush.learning.dpsgd.gradient_noise import GradientNoise, SecureNoise
from hush.learning.per_example.batch import Loss, row_losses, size_of, unreduced
from hush.learning.per_example.clipped_sum import CheckedModel
from hush.learning.per_example.clipping import Clipping, Flat, checked_norm
from hush.mechanisms.mechanism import Mechanism
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

    `batches` draws as the plan says; calling it with a drawn batch, once each, puts the noised and averaged gradient
    into `.grad` of the parameters, where any torch optimizer finds it. A batch that came from elsewhere is refused.

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
        self.model, self.loss, self.plan = model, loss, _a_plan(plan)
        self.max_norm = checked_norm("PrivateGradient", max_norm)
        self.clipping, self.noise = clipping or Flat(), noise or SecureNoise()
        self.steps = 0
        self._watched: CheckedModel | None = None
        self._drawn: DrawnBatch | None = None
        self._run: object = None
        self._states: list[tuple[Any, ...]] = []
        self.device = _one_device(model)

    def batches(self, data: Any, source: Source | None = None) -> Iterator[DrawnBatch]:
        """The batches of all steps that are left, each drawn when it is asked for; one that is not used is a step too.

        data: (inputs, targets, ...) as tensors with examples in front, or a torch Dataset with a length. The model is
        checked on random rows of these shapes before any row is drawn.
        """
        rows = TrainingRows.of(data, self.device)
        self.plan.checked_population(len(rows))
        self._ready(rows.none)
        run = self._run = object()
        for places in self.plan.batches(len(rows), source, start=self.steps):
            if run is not self._run:
                rule = "one run of batches at a time: another one began, and the plan accounts for one"
                raise InvalidParameter("PrivateGradient.batches", rule, step=self.steps)
            drawn = self._drawn = DrawnBatch(self.steps, rows.at(torch.from_numpy(places)))
            yield drawn
            self.steps = max(self.steps, drawn.step + 1)

    def __call__(self, batch: DrawnBatch) -> None:
        """Put the private gradient of a drawn batch into the parameters; this is a step, even if it is empty."""
        if not isinstance(batch, DrawnBatch) or batch is not self._drawn or batch.used:
            raise InvalidParameter(
                "PrivateGradient",
                "the batch that `batches` drew last, once: the plan accounts for no other",
                batch=type(batch).__name__,
            )
        watched = self._ready(batch.examples)
        batch.used, self.steps = True, self.steps + 1
        share = 1 / self.plan.expected_batch
        scale = self.plan.noise_multiplier, self.max_norm * share
        self.model.zero_grad()  # of the parameters that are not trained too: what is there has no noise
        flat, failed = watched.zeros(), False  # new, so that the model holds no part of it
        named = watched.named(flat)
        try:
            self.noise.begin(flat, *scale)
            watched.add_clipped(named, batch.examples, self.max_norm, self.clipping, share)
            self.noise.finish(flat, *scale)
        except BaseException as error:
            flat.zero_()  # an error may carry it, and it has no noise yet
            if isinstance(error, HushError) or not isinstance(error, Exception):
                raise
            failed = True
        if failed:
            raise NotCovered(WITHHELD)
        self.model.zero_grad()
        for name, p in watched.parameters.items():
            p.grad = named[name]

    def _ready(self, batch: Any) -> CheckedModel:
        """Check the model on random data of these shapes, first and whenever the way it works was changed.

        That is train() or eval(), parameters that are frozen, not frozen any more or others, another forward.
        """
        states = [_state(module) for module in self.model.modules()]
        if self._watched is None or states != self._states:
            self._states = states
            self._watched = CheckedModel.of(self.model, self.loss, batch, self.plan.expected_batch)
        return self._watched


def _state(module: nn.Module) -> tuple[Any, ...]:
    trained = [(id(p), p.requires_grad) for p in module.parameters(recurse=False)]
    return module.training, module.__dict__.get("forward"), trained


@dataclass(frozen=True)
class Progress:
    """Where training is. It holds nothing that private rows decide: `loss` is that of the public rows, if any."""

    step: int
    steps: int
    epsilon: float
    """Of the whole plan: stopping early because of what was seen does not lower it."""
    delta: float
    loss: float | None


@dataclass(frozen=True)
class Trained:
    """A model trained with privacy, and what it gives away."""

    model: nn.Module = field(repr=False)
    plan: TrainPlan = field(repr=False)
    steps: int
    private: bool
    """False if noise or samples could be replayed: FastNoise, a seeded source."""

    @property
    def mechanism(self) -> Mechanism:
        """The whole plan, also if fewer steps ran: why they were fewer may depend on the data."""
        return self.plan.mechanism

    @property
    def bound(self) -> Bound:
        """Epsilon of the whole plan at its delta."""
        return self.plan.bound

    def statement(self, unit: str = "record") -> str:
        """The guarantee in words."""
        text = self.plan.statement(unit)
        return text if self.private else f"NOT PRIVATE, noise or samples can be predicted; if they could not: {text}"


def fit(
    model: nn.Module,
    data: Any,
    plan: TrainPlan,
    *,
    loss: Loss,
    max_norm: float,
    optimizer: torch.optim.Optimizer | None = None,
    clipping: Clipping | None = None,
    noise: GradientNoise | None = None,
    source: Source | None = None,
    public: Any = None,
    on_step: Callable[[Progress], object] | None = None,
    save_to: str | PathLike[str] | None = None,
    save_every: int | None = None,
    resume_from: str | PathLike[str] | None = None,
) -> Trained:
    """Train a model by a plan: the batches that are drawn are those that are accounted for.

    `optimizer` is any torch optimizer of the model's parameters (SGD at rate 0.1 with momentum if none is given).
    `public` is a batch of PUBLIC rows; its loss is shown to `on_step`, the training loss never is: it is not private.
    Checkpoints go to `save_to` every `save_every` steps (by default at the end); `resume_from` continues one.

    >>> import hush
    >>> plan = hush.train_plan(examples=200, batch_size=50, epochs=2, epsilon=2.0, delta=1e-4)
    >>> data = torch.randn(200, 3), torch.zeros(200, dtype=torch.long)
    >>> trained = fit(nn.Linear(3, 2), data, plan, loss=nn.functional.cross_entropy, max_norm=1.0)
    >>> trained.steps, trained.bound.upper <= 2.0, trained.private
    (8, True, True)
    """
    plan = _a_plan(plan)
    every = None if save_every is None else count("fit", 1, save_every=save_every)
    if every is not None and (save_to is None or every % plan.epoch_steps):
        rule = "save_to with save_every" + (f", a multiple of {plan.epoch_steps}" if plan.epoch_steps > 1 else "")
        raise InvalidParameter("fit", rule, save_every=every)
    gradient = PrivateGradient(model, loss, plan, max_norm=max_norm, clipping=clipping, noise=noise)
    optimizer = _an_optimizer(optimizer, model)
    run = Checkpoint(model, optimizer, plan, gradient.max_norm)
    if save_to is not None:
        run.check(save_to)
    private = gradient.noise.private and (source is None or source.private)
    if resume_from is not None:
        gradient.steps, was_private = run.load(resume_from)
        private = private and was_private
    _public_loss(model, loss, public)  # what fails fails before anything is drawn
    optimizer.zero_grad()  # what others left there, for parameters that are not trained, has no noise
    for batch in gradient.batches(data, source):
        gradient(batch)
        optimizer.step()
        if on_step is not None:
            on_step(Progress(gradient.steps, plan.steps, plan.epsilon, plan.delta, _public_loss(model, loss, public)))
        if save_to is not None and every is not None and gradient.steps % every == 0:
            run.save(save_to, gradient.steps, private=private)
    if save_to is not None:
        run.save(save_to, gradient.steps, private=private)
    return Trained(model, plan, gradient.steps, private)


def _public_loss(model: nn.Module, loss: Loss, public: Any) -> float | None:
    if public is None:
        return None
    with torch.no_grad():
        try:
            return float(row_losses(model, unreduced(loss), public, size_of(public)).mean())
        except HushError:
            raise
        except Exception as error:
            reason = type(error).__name__
            raise InvalidParameter("public", "rows that model and loss take, as in data", reason=reason) from error


def _a_plan(plan: object) -> TrainPlan:
    if not isinstance(plan, TrainPlan):
        raise InvalidParameter("plan", "a plan of hush.train_plan(...)", plan=type(plan).__name__)
    return plan


def _an_optimizer(given: torch.optim.Optimizer | None, model: nn.Module) -> torch.optim.Optimizer:
    """It moves parameters of the model, all or some, and at least one that gets a gradient; frozen ones do no harm."""
    if given is None:
        return torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    rule = "a torch optimizer of parameters of this model, at least one of them trainable"
    if not hasattr(given, "param_groups"):
        raise InvalidParameter("optimizer", rule, optimizer=type(given).__name__)
    if isinstance(given, torch.optim.LBFGS | torch.optim.SparseAdam):
        raise InvalidParameter(
            "optimizer", "one that steps by one dense gradient, without a closure", optimizer=type(given).__name__
        )
    own = {id(p) for p in model.parameters()}
    moved = [p for group in given.param_groups for p in group["params"]]
    others = sum(id(p) not in own for p in moved)
    if others or not any(p.requires_grad for p in moved):
        raise InvalidParameter("optimizer", rule, parameters_of_others=others)
    return given


def _one_device(model: object) -> torch.device:
    if not isinstance(model, nn.Module):
        raise InvalidParameter("model", "a torch.nn.Module", model=type(model).__name__)
    trained = [p for p in model.parameters() if p.requires_grad]
    places = sorted({f"{p.device}, {p.dtype}" for p in trained})
    if len(places) != 1:
        rule = "trainable parameters, all on one device and of one type"
        raise InvalidParameter("model", rule, parameters=places)
    return trained[0].device
