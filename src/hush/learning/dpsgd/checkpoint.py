"""Checkpoints: tensors in a safetensors file, plan and mechanism as JSON in its header. Nothing is unpickled."""

from __future__ import annotations

import copy
import json
import os
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias

import torch
from torch import Tensor, nn

from hush.errors import InvalidParameter, NotInstalled
from hush.learning.dpsgd.clip_norms import NormRun
from hush.learning.dpsgd.followers import NO_FOLLOWERS, Followers
from hush.learning.per_example.clipping import checked_norm
from hush.questions.planning.training.train_plan import TrainPlan, train_plan_from_json

FilePath: TypeAlias = str | PathLike[str]
HEADER = "hush"
"""The entry of the file's metadata that holds plan, step and settings."""
NORM = "norm"
"""The number among those of the header that is the clipping norm of the next step."""


@dataclass(frozen=True)
class Checkpoint:
    """What a run writes down: the model, the optimizer, the plan and how far it is. Noise is never written down."""

    model: nn.Module
    optimizer: torch.optim.Optimizer
    plan: TrainPlan
    norms: NormRun
    """How examples are clipped: where an adaptive norm is by now is saved, as it was noised."""
    followers: Followers = NO_FOLLOWERS
    unit: str = "record"
    """Whom every step protects: a record, or a user by the mean or the sum of her rows."""

    def check(self, path: FilePath) -> None:
        """Find out before the training what would keep it from being saved."""
        _safetensors()
        if not Path(path).parent.is_dir():
            raise InvalidParameter("save_to", "a file in a directory that exists", save_to=str(path))
        self._json(
            {"groups": self.optimizer.state_dict()["param_groups"], "scheduler": self.followers.state()["scheduler"]}
        )

    @staticmethod
    def _json(header: dict[str, Any]) -> str:
        try:
            return json.dumps(header)
        except TypeError as error:
            rule = "an optimizer and a scheduler whose settings are numbers and tensors (a learning rate is a number)"
            raise InvalidParameter("save_to", rule, reason=str(error)) from None

    def save(self, path: FilePath, step: int, *, private: bool, agreed: Callable[[], object] | None = None) -> None:
        """Write the file as a whole or not at all; `agreed` is called before it takes its place, and may refuse."""
        tensors = {f"model.{name}": value for name, value in self.model.state_dict().items()}
        followers = self.followers.state()
        tensors |= {f"average.{name}": value for name, value in followers["average"].items()}
        state = self.optimizer.state_dict()
        numbers: dict[str, Any] = {NORM: self.norms.state}
        for key, values in state["state"].items():
            for name, value in values.items():
                place = f"optimizer.{key}.{name}"
                (tensors if isinstance(value, Tensor) else numbers)[place] = value
        header = {
            "version": 2,
            "step": self.plan.checked_start(step),
            "max_norm": self.norms.settings,
            "unit": self.unit,
            "private": private,
            "plan": json.loads(self.plan.to_json()),
            "numbers": numbers,
            "groups": state["param_groups"],
            "scheduler": followers["scheduler"],
        }
        target, module = Path(path), _safetensors()
        whole = {name: value.detach().clone().contiguous() for name, value in tensors.items()}
        temporary = target.with_name(f"{target.name}.{secrets.token_hex(4)}.part")  # no other run writes there
        try:
            module.save_file(whole, temporary, metadata={HEADER: self._json(header)})
            if agreed is not None:
                agreed()
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        os.replace(temporary, target)

    def state(self) -> tuple[Any, Any, Any]:
        """A copy of model, optimizer and what follows it, in memory."""
        return copy.deepcopy((self.model.state_dict(), self.optimizer.state_dict(), self.followers.state()))

    def restore(self, state: tuple[Any, Any, Any]) -> None:
        """Put model, optimizer and what follows it back, and forget the gradients."""
        self.model.load_state_dict(state[0])
        self.optimizer.load_state_dict(state[1])
        self.followers.load(state[2])
        self.model.zero_grad()

    def load(self, path: FilePath) -> tuple[int, bool]:
        """Put model and optimizer where the file left them: the step, and whether all so far was private."""
        header, tensors = _read(path)
        plan = train_plan_from_json(json.dumps(header["plan"]))
        if (plan, header["max_norm"], header["unit"]) != (self.plan, self.norms.settings, self.unit):
            made = f"{plan}; {header['max_norm']}; {header['unit']}"
            rule = f"the plan, the max_norm and the unit that the checkpoint was made with ({made})"
            raise InvalidParameter(
                "resume_from", rule, plan=str(self.plan), max_norm=self.norms.settings, unit=self.unit
            )
        step = self.plan.checked_start(header["step"])
        model = {name.removeprefix("model."): v for name, v in tensors.items() if name.startswith("model.")}
        try:
            state: dict[int, dict[str, Any]] = {}
            for place, value in {**tensors, **header["numbers"]}.items():
                if place.startswith("optimizer."):
                    _, key, name = place.split(".", 2)
                    state.setdefault(int(key), {})[name] = value
            self.model.load_state_dict(model)
            self.optimizer.load_state_dict({"state": state, "param_groups": header["groups"]})
            average = {name.removeprefix("average."): v for name, v in tensors.items() if name.startswith("average.")}
            self.followers.load({"scheduler": header["scheduler"], "average": average})
            self.norms.state = checked_norm("resume_from", header["numbers"][NORM])
        except (RuntimeError, ValueError, KeyError, TypeError) as error:
            raise InvalidParameter(
                "resume_from", "a checkpoint of this model, optimizer, scheduler and ema", path=str(path)
            ) from error
        return step, header["private"] is True


def _safetensors() -> Any:
    try:
        from safetensors import torch as module
    except ImportError:
        raise NotInstalled("A checkpoint", "safetensors", "torch") from None
    return module


def _read(path: FilePath) -> tuple[dict[str, Any], dict[str, Tensor]]:
    _safetensors()
    from safetensors import SafetensorError, safe_open

    rule = "a checkpoint that hush wrote (safetensors)"
    try:
        with safe_open(path, framework="pt") as file:
            header = json.loads((file.metadata() or {})[HEADER])
            tensors = {name: file.get_tensor(name) for name in file.keys()}
    except (SafetensorError, KeyError, ValueError, OSError, RecursionError) as error:
        raise InvalidParameter("resume_from", rule, path=str(path)) from error
    fields = {"version", "step", "max_norm", "unit", "private", "plan", "numbers", "groups", "scheduler"}
    if not isinstance(header, dict) or set(header) != fields or header["version"] != 2:
        raise InvalidParameter("resume_from", rule, path=str(path))
    return header, tensors
