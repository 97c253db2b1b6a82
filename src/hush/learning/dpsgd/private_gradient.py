"""Private gradients for any optimizer: clipped, summed, noised and averaged by a plan."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from hush.errors import HushError, InvalidParameter, NotCovered
from hush.learning.boundary import WITHHELD
from hush.learning.distributed.agreement import (
    agree,
    all_or_none,
    checked_ranks,
    refuse_wrapped,
    same_error_everywhere,
    same_start,
)
from hush.learning.distributed.common_facts import facts_of
from hush.learning.distributed.ranks import Ranks
from hush.learning.distributed.split_draws import check_scheme, check_users, rank_batches
from hush.learning.dpsgd.clip_norms import MaxNorm, NormStep, checked_clip_norm
from hush.learning.dpsgd.data import Collate, TrainingData, TrainingRows
from hush.learning.dpsgd.gradient_noise import GradientNoise
from hush.learning.dpsgd.shared_noise import SharedNoise
from hush.learning.dpsgd.streamed_noise import noise_of
from hush.learning.dpsgd.user_rows import UserBatch, UserRows
from hush.learning.per_example.batch import Augment, Loss, averaged_over_views
from hush.learning.per_example.clipped_sum import CheckedModel
from hush.learning.per_example.clipping import Clipping, Flat
from hush.learning.per_example.low_precision import checked_precision
from hush.learning.per_example.ways import Way
from hush.questions.planning.training.train_plan import TrainPlan
from hush.randomness.source import Source, source_or_secure

SLOW = "This model runs row by row, which takes many times as long as plain SGD. Its gradients are right. The way:"


@dataclass(eq=False)
class DrawnBatch:
    """Examples that the plan's scheme drew for one step. Their number is secret."""

    step: int
    examples: Any = field(repr=False)
    used: bool = False


class PrivateGradient:
    """Private gradients by a plan, for those who own their loop.

    `batches` draws as the plan says. Calling the object with a drawn batch, once each, puts the noised and averaged
    gradient into `.grad` of the parameters, where any torch optimizer finds it. Any other batch is refused. With
    `ranks` it is that of the batches of all processes together, the same in each of them.
    `augment` makes a random view of one example's inputs; the gradient of the example is then the mean over so many
    `views`, clipped after it (De et al. 2022). `autocast=torch.bfloat16` computes layers in bfloat16, forth and back.

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

    @same_error_everywhere
    def __init__(
        self,
        model: nn.Module,
        loss: Loss,
        plan: TrainPlan,
        *,
        max_norm: MaxNorm,
        clipping: Clipping | None = None,
        noise: GradientNoise | None = None,
        augment: Augment | None = None,
        views: int = 1,
        autocast: torch.dtype | None = None,
        ranks: Ranks | None = None,
    ) -> None:
        self.model, self.plan = model, checked_plan(plan)
        self.loss = averaged_over_views(loss, augment, views)
        self.autocast = checked_precision(autocast)
        norm = checked_clip_norm("PrivateGradient", max_norm)
        if self.plan.noise is not None and not norm.steady:
            raise NotCovered(
                "correlated noise with a clipping norm that changes: no theorem is built in. Give a number"
            )
        norm.check([self.plan.noise_multiplier * factor for _, factor in self.plan.noise_schedule or ((0, 1.0),)])
        self.share = 1 / self.plan.expected_batch  # the gradient is divided by the planned number of examples
        self.norms = norm.begun(self.share)
        if self.autocast is not None and self.norms.more:
            raise NotCovered("AdaptiveNorm with autocast: rows that fill up a pass would be counted. Give a number")
        self.clipping, self.noise = clipping or Flat(), noise_of(self.plan.noise, noise)
        self.steps = 0
        self._checked: CheckedModel | None = None
        self._states: list[tuple[Any, ...]] = []
        self._drawn: DrawnBatch | None = None
        self._run: object = None
        self.device = _one_device(model)
        self.ranks = checked_ranks(ranks)
        self.alike: dict[str, str] = {}
        """What else must be equal on all ranks, by name."""
        if self.ranks is not None:
            check_scheme(self.plan, self.ranks)
            self.noise = SharedNoise.of(self.noise, self.ranks)

    @property
    def way(self) -> Way | None:
        """How the gradients of single examples are found; its `explain()` says why no faster way is.

        None until the model was checked, which is when the first batch is drawn.
        """
        return None if self._checked is None else self._checked.way

    def batches(
        self,
        data: TrainingData,
        source: Source | None = None,
        *,
        unit: object = None,
        collate_fn: Collate | None = None,
        workers: int = 0,
    ) -> Iterator[DrawnBatch]:
        """The batches of all steps that are left, each drawn when it is asked for; one that is not used is a step too.

        data: (inputs, targets, ...) or a mapping of names, as tensors with examples in front; or rows: a torch Dataset
        with a length, a list, or a DataLoader without a sampler of its own. `collate_fn` makes a batch of one row, and
        `workers` processes read rows a few steps ahead. The model is checked on random rows of these shapes before any
        row is drawn. unit: the user of each row, or `RowUsers(...)`, where users are drawn and protected, not rows.
        """
        rows = self.agreed_rows((data, unit, collate_fn, workers), source, ranks=self.ranks)
        run = self._run = object()
        self.noise.start_over()  # parts of the records are drawn anew too, and correlation must not reach across
        for examples in rows.each(rank_batches(self.plan, len(rows), source, start=self.steps, ranks=self.ranks)):
            if run is not self._run:
                rule = "one run of batches at a time: another one began, and the plan accounts for one"
                raise InvalidParameter("PrivateGradient.batches", rule, step=self.steps)
            drawn = self._drawn = DrawnBatch(self.steps, examples)
            yield drawn
            if not drawn.used:
                self.noise.start_over()  # a step without noise: those after it would be closer than the plan has it
            self.steps = max(self.steps, drawn.step + 1)
        self.noise.start_over()  # who holds this object later learns nothing from it

    def checked_rows(
        self, data: TrainingData, unit: object = None, collate_fn: Collate | None = None, workers: int = 0
    ) -> TrainingRows | UserRows:
        """The rows, if model and plan can be used with them: found out before any row is drawn."""
        rows: TrainingRows | UserRows = TrainingRows.of(data, self.device, collate_fn, workers)
        if unit is not None:
            if self.autocast is not None:
                raise NotCovered("users with autocast: rounding that depends on other rows is not accounted for")
            rows = UserRows.of(rows, unit)
            check_users(self.ranks)
            self.alike["unit"] = rows.digest
        self.plan.checked_population(len(rows))
        self._ready(rows.none)
        return rows

    @same_error_everywhere
    def agreed_rows(
        self, given: tuple[TrainingData, object, Collate | None, int], source: Source | None, *, ranks: Ranks | None
    ) -> TrainingRows | UserRows:
        """The checked rows; on several ranks, once all of them agree on what will run."""
        rows = self.checked_rows(*given)
        if isinstance(self.noise, SharedNoise) and ranks is not None:
            drawn, noise = source_or_secure(source), source_or_secure(self.noise.noise.source)
            facts = facts_of(self.model, self.loss, self.plan, rows.none, secret=(drawn.private, noise.private))
            facts |= {"max_norm": repr((self.norms.settings, self.norms.state)), "clipping": repr(self.clipping)}
            facts |= {"step": str(self.steps), "autocast": str(self.autocast)}
            facts |= {"sharded": str(ranks.sharded), "data": str(ranks.sharded or len(rows)), **self.alike}
            agree(ranks, facts, {"noise": noise} | ({"draws": drawn} if ranks.sharded else {}))
            same_start(ranks, self.model)
        return rows

    def __call__(self, batch: DrawnBatch) -> None:
        """Put the private gradient of a drawn batch into the parameters; this is a step, even if it is empty."""
        if not isinstance(batch, DrawnBatch) or batch is not self._drawn or batch.used:
            rule = "the batch that `batches` drew last, once: the plan accounts for no other"
            raise InvalidParameter("PrivateGradient", rule, batch=type(batch).__name__)
        of_users = isinstance(batch.examples, UserBatch)
        checked = self._ready(batch.examples.none if of_users else batch.examples)
        batch.used, self.steps = True, self.steps + 1
        self.model.zero_grad()  # of the parameters that are not trained too: what is there has no noise
        noised = self._noised(checked, batch.examples, batch.step)
        self.model.zero_grad()
        for name, p in checked.parameters.items():
            p.grad = noised[name]

    def _noised(self, checked: CheckedModel, examples: Any, step: int) -> dict[str, Tensor]:
        """The clipped gradients of the examples, summed, noised and divided by the planned number of examples.

        An error may carry a reference to the sum, which has no noise yet: it is wiped first. What failed on private
        rows is not told, but for hush's own errors, which say nothing of a row.
        """
        noise_multiplier = self.plan.noise_at(step)
        norm = self.norms.at(step, noise_multiplier)
        scale = noise_multiplier, norm.sensitivity
        flat, named = checked.room(self.norms.more)  # the model holds no part of it
        failed = False
        try:
            self.noise.begin(flat, *scale)
            with all_or_none(self.ranks, step):
                self._add(checked, named, examples, norm)
            norm.put_count(flat)
            self.noise.finish(flat, *scale)
            self.norms.learn(norm, flat)
        except BaseException as error:
            flat.zero_()
            self.noise.start_over()
            if isinstance(error, HushError) or not isinstance(error, Exception):
                raise
            failed = True
        if failed:  # outside of the handler, so that the error is not kept as a context
            raise NotCovered(WITHHELD)
        return named

    def _add(self, checked: CheckedModel, named: dict[str, Tensor], examples: Any, norm: NormStep) -> None:
        """Add the clipped gradients of rows, or of users."""
        clipping = norm.clipping(self.clipping)
        if isinstance(examples, UserBatch):
            examples.add_clipped(checked, named, norm.norm, clipping, self.share)
        else:
            checked.add_clipped(named, examples, norm.norm, clipping, self.share)

    def _ready(self, batch: Any) -> CheckedModel:
        """Check the model on random data of these shapes, first and whenever the way it works was changed.

        That is train() or eval(), parameters that are frozen, not frozen any more or others, another forward.
        """
        states = [_state(module) for module in self.model.modules()]
        if self._checked is None or states != self._states:
            self._states = states
            self._checked = CheckedModel.of(self.model, self.loss, batch, self.plan.expected_batch, self.autocast)
            if self._checked.slow:
                warnings.warn(f"{SLOW}\n{self._checked.way.explain()}", stacklevel=3)
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
    refuse_wrapped(model)
    trained = [p for p in model.parameters() if p.requires_grad]
    places = sorted({f"{p.device}, {p.dtype}" for p in trained})
    if len(places) != 1:
        rule = "trainable parameters, all on one device and of one type"
        raise InvalidParameter("model", rule, parameters=places)
    if trained[0].is_meta:
        raise InvalidParameter("model", "parameters with numbers: model.to_empty(device=...) and load them", on="meta")
    return trained[0].device
