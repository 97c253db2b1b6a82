"""`fit`: private training by a plan, for the common case."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn
from torch.optim.lr_scheduler import LRScheduler

from hush.account import Account
from hush.checks import count
from hush.curves.bound import Bound
from hush.errors import InvalidParameter
from hush.learning.distributed.agreement import digest_of_state, same_error_everywhere
from hush.learning.distributed.ranks import Ranks
from hush.learning.dpsgd.checkpoint import Checkpoint, FilePath
from hush.learning.dpsgd.clip_norms import MaxNorm
from hush.learning.dpsgd.data import Collate, TrainingData
from hush.learning.dpsgd.evaluation import Evaluation, Metric
from hush.learning.dpsgd.followers import Followers
from hush.learning.dpsgd.gradient_noise import GradientNoise
from hush.learning.dpsgd.private_gradient import PrivateGradient, checked_plan
from hush.learning.dpsgd.training_payment import SavedRun
from hush.learning.dpsgd.user_rows import RowUsers
from hush.learning.per_example.batch import Augment, Loss
from hush.learning.per_example.clipping import Clipping
from hush.markup import Text
from hush.mechanisms.mechanism import Mechanism
from hush.questions.planning.training.train_plan import TrainPlan
from hush.randomness.source import Source


@dataclass(frozen=True)
class Progress:
    """Where training is. It holds nothing that private rows decide: `loss` is that of the public rows, if any."""

    step: int
    steps: int
    epsilon: float
    """Of the whole plan: stopping early because of what was seen does not lower it."""
    delta: float
    loss: float | None
    metrics: Mapping[str, float] = field(default_factory=dict)
    """On the public rows."""
    way: str = ""
    """How the gradients of single examples are found."""


@dataclass(frozen=True)
class Trained:
    """A model trained with privacy, and what it gives away."""

    model: nn.Module = field(repr=False)
    plan: TrainPlan = field(repr=False)
    steps: int
    private: bool
    """False if noise or samples could be replayed: FastNoise, a seeded source."""
    average: nn.Module | None = field(default=None, repr=False)
    """The model with the moving average of the weights, where `ema` asked for it."""
    unit: str = "record"
    """Whom the guarantee is for: `user` where training was by users."""

    @property
    def mechanism(self) -> Mechanism:
        """The whole plan, also if fewer steps ran: why they were fewer may depend on the data."""
        return self.plan.mechanism

    @property
    def bound(self) -> Bound:
        """Epsilon of the whole plan at its delta."""
        return self.plan.bound

    def statement(self, unit: str | None = None, *, style: str = "plain") -> Text:
        """The guarantee in words."""
        text = self.plan.statement(self.unit if unit is None else unit, style=style)
        unsafe = "NOT PRIVATE, noise or samples can be predicted; if they could not:"
        return text if self.private else Text(f"{unsafe} {text}")


OnStep = Callable[[Progress], object]
"""Called after a step with what may be shown of it."""


@same_error_everywhere
def fit(
    model: nn.Module,
    data: TrainingData,
    plan: TrainPlan,
    *,
    loss: Loss,
    max_norm: MaxNorm,
    unit: object = None,
    optimizer: torch.optim.Optimizer | None = None,
    clipping: Clipping | None = None,
    noise: GradientNoise | None = None,
    source: Source | None = None,
    collate_fn: Collate | None = None,
    workers: int = 0,
    augment: Augment | None = None,
    views: int = 1,
    autocast: torch.dtype | None = None,
    scheduler: LRScheduler | None = None,
    ema: float | None = None,
    public: Sequence[Any] | Mapping[str, Any] | None = None,
    metrics: Mapping[str, Metric] | None = None,
    on_step: OnStep | Sequence[OnStep] | None = None,
    save_to: FilePath | None = None,
    save_every: int | None = None,
    resume_from: FilePath | None = None,
    ledger: Account | None = None,
    ranks: Ranks | None = None,
) -> Trained:
    """Train a model by a plan: the batches that are drawn are those that are accounted for.

    `max_norm` is the norm to which each example's gradient is clipped: a number, a `NormSchedule` or an `AdaptiveNorm`.
    `unit` says whose each row is (ids, or `RowUsers(ids)`): users are then drawn and protected, the plan is of users.
    `optimizer` is any torch optimizer of the model's parameters (SGD at rate 0.1 with momentum if none is given).
    `data` is read by `collate_fn` and `workers`, and `augment`, `views` and `autocast` are those of `PrivateGradient`.
    A `scheduler` of the optimizer is stepped after each step; `ema` keeps a moving average of the weights.
    `public` is a batch of PUBLIC rows. Its loss and its `metrics`, functions of the output and the targets, are shown
    to `on_step`, one function or several; the training loss never is: it is not private.
    Checkpoints go to `save_to` every `save_every` steps (by default at the end); `resume_from` continues one.
    A `ledger` pays for the whole plan before the first step, as one charge. An account with a key may go on from the
    last checkpoint that it knows of, and is not charged again. Of several ranks the first one pays, once for all.
    What a run shows must be in a checkpoint then: with
    `save_to`, `on_step` is called right after each one. With `ranks` several processes train together; the first of
    them writes the checkpoints.

    >>> import hush
    >>> plan = hush.train_plan(examples=200, batch_size=50, epochs=2, epsilon=2.0, delta=1e-4)
    >>> data = torch.randn(200, 3), torch.zeros(200, dtype=torch.long)
    >>> trained = fit(nn.Linear(3, 2), data, plan, loss=nn.functional.cross_entropy, max_norm=1.0)
    >>> trained.steps, trained.bound.upper <= 2.0, trained.private
    (8, True, True)
    """
    plan = checked_plan(plan)
    every = _checked_interval(save_every, save_to, plan)
    gradient = PrivateGradient(
        model,
        loss,
        plan,
        max_norm=max_norm,
        clipping=clipping,
        noise=noise,
        augment=augment,
        views=views,
        autocast=autocast,
        ranks=ranks,
    )
    optimizer = _checked_optimizer(optimizer, model)
    followers = Followers.of(model, optimizer, scheduler, ema)
    evaluation = Evaluation(loss, public, metrics or {})
    protected = "record" if unit is None else f"user, {RowUsers.of(unit).gradient} of her rows"
    checkpoint = Checkpoint(model, optimizer, plan, gradient.norms, followers, protected)
    if save_to is not None:
        checkpoint.check(save_to)
    private = gradient.noise.private and (source is None or source.private)
    if resume_from is not None:
        gradient.steps, was_private = checkpoint.load(resume_from)
        private = private and was_private
    if ranks is not None:
        gradient.alike["optimizer"] = type(optimizer).__qualname__ + digest_of_state(optimizer.state_dict())
        gradient.alike["ledger"] = str((ledger is not None, save_to is not None, every))
        save_to = save_to if ranks.leads or ledger is not None else None
    evaluation.of(model)  # what fails fails before anything is drawn
    optimizer.zero_grad()  # what others left there, for parameters that are not trained, has no noise
    if ledger is not None:
        # what is wrong with them, or not alike on all ranks, costs nothing
        gradient.agreed_rows((data, unit, collate_fn, workers), source, ranks=ranks)
    run = SavedRun.begun(checkpoint, save_to, every, private, gradient, ledger=ledger, resumed=resume_from is not None)
    try:
        for batch in gradient.batches(data, source, unit=unit, collate_fn=collate_fn, workers=workers):
            gradient(batch)
            optimizer.step()
            followers.after(model)
            if run.after(gradient.steps) and on_step is not None:
                _show(on_step, gradient, evaluation)
        run.finished(gradient.steps)
        if ranks is not None:
            ranks.told("done")  # none leaves before the model is saved
    except BaseException:
        run.undone()
        raise
    average = None if followers.average is None else followers.average.module
    return Trained(model, plan, gradient.steps, private, average, "record" if unit is None else "user")


def _show(on_step: OnStep | Sequence[OnStep], gradient: PrivateGradient, evaluation: Evaluation) -> None:
    """Tell where training is: by the plan and by public rows alone."""
    plan, found = gradient.plan, evaluation.of(gradient.model)
    shown = Progress(gradient.steps, plan.steps, plan.epsilon, plan.delta, *found, str(gradient.way))
    for show in [on_step] if callable(on_step) else on_step:
        show(shown)


def _checked_interval(save_every: int | None, save_to: FilePath | None, plan: TrainPlan) -> int | None:
    """Steps between two checkpoints: an epoch that is drawn as a whole is saved as a whole."""
    every = None if save_every is None else count("fit", 1, save_every=save_every)
    if every is not None and (save_to is None or every % plan.epoch_steps):
        rule = "save_to with save_every" + (f", a multiple of {plan.epoch_steps}" if plan.epoch_steps > 1 else "")
        raise InvalidParameter("fit", rule, save_every=every)
    return every


def _checked_optimizer(given: torch.optim.Optimizer | None, model: nn.Module) -> torch.optim.Optimizer:
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
