"""Parts of a training that are covered each by itself, and not together: refused by name before anything is drawn."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import hush
from hush.learning import AdaptiveNorm, NormSchedule, fit

EXAMPLES = 40
NUMBERS = {"examples": EXAMPLES, "batch_size": 4, "epochs": 2, "delta": 1e-3}
BANDED = hush.train_plan(**NUMBERS, noise_multiplier=1.0, noise=hush.BandedNoise.optimal(steps=20, bands=2))
PLAIN = hush.train_plan(**NUMBERS, noise_multiplier=1.0)


def train(plan: hush.TrainPlan, **given: Any) -> Any:
    rows = torch.randn(EXAMPLES, 3, generator=torch.Generator().manual_seed(1)), torch.arange(EXAMPLES) % 2
    named: dict[str, Any] = {"loss": F.cross_entropy, "max_norm": 1.0, **given}
    return fit(nn.Linear(3, 2), rows, plan, **named)


@pytest.mark.parametrize("norm", [NormSchedule([(0, 1.0), (5, 0.5)]), AdaptiveNorm(1.0)])
def test_correlated_noise_wants_one_norm(norm: Any) -> None:
    with pytest.raises(hush.NotCovered, match="correlated noise with a clipping norm that changes"):
        train(BANDED, max_norm=norm)
    assert train(PLAIN, max_norm=norm).steps == PLAIN.steps


def test_correlated_noise_wants_one_scale() -> None:
    for noise in ("correlated", BANDED.noise):
        with pytest.raises(hush.NotCovered, match="correlated noise that changes from step to step"):
            hush.train_plan(**NUMBERS, epsilon=3.0, noise=noise, noise_schedule=((0, 1.0), (10, 0.5)))


def test_users_want_no_autocast() -> None:
    with pytest.raises(hush.NotCovered, match="users with autocast"):
        train(PLAIN, unit=list(range(EXAMPLES)), autocast=torch.bfloat16)


def test_correlated_noise_trains_users() -> None:
    assert train(BANDED, unit=list(range(EXAMPLES))).unit == "user"
