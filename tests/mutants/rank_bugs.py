"""Privacy bugs of training on several processes, of users and of norms that change: each is put into every rank."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

Patch = pytest.MonkeyPatch
BUG = "HUSH_TEST_BUG"
"""Names the bug ("module:function") that every rank puts in before it runs: mutants reach other processes by it."""


def on_every_rank(name: str) -> Any:
    """The bug, told to the processes that tests start."""

    def inject(patch: Patch) -> None:
        patch.setenv(BUG, f"tests.mutants.rank_bugs:{name}")

    return inject


def averaged_noise(patch: Patch) -> None:
    """Every rank noises the whole sum by itself, and the ranks' results are averaged: too little noise."""
    import torch

    from hush.learning.dpsgd import shared_noise

    def finish(self: Any, flat: Any, noise_multiplier: float, max_norm: float) -> None:
        grid, deviation = self.noise.grid_and_deviation(noise_multiplier, max_norm, flat.numel(), self.ranks.size)
        own = grid.quantise(flat.double().numpy())
        summed = sum(part.numpy() for part in self.ranks._gathered(torch.from_numpy(own)))
        self.noise.add(summed, deviation)
        noised = self.ranks._gathered(torch.from_numpy(grid.to_float(summed)))
        flat.copy_(sum(noised) / self.ranks.size)

    patch.setattr(shared_noise.SharedNoise, "finish", finish)


def silent_when_empty(patch: Patch) -> None:
    """A rank that drew no record leaves its coordinates without noise."""
    from hush.learning.dpsgd import private_gradient, shared_noise

    seen = [0]
    add, finish = private_gradient.PrivateGradient._add, shared_noise.SecureNoise.add

    def counted(self: Any, checked: Any, named: Any, examples: Any, norm: Any) -> None:
        seen[0] = len(examples[0])
        add(self, checked, named, examples, norm)

    def noise(self: Any, multiples: Any, deviation: float) -> None:
        if seen[0]:
            finish(self, multiples, deviation)

    patch.setattr(private_gradient.PrivateGradient, "_add", counted)
    patch.setattr(shared_noise.SecureNoise, "add", noise)


def paid_by_every_rank(patch: Patch) -> None:
    """Each rank asks the book for itself, and each is charged."""
    from hush.learning.dpsgd import training_payment

    patch.setattr(
        training_payment,
        "PaidByFirst",
        lambda ranks, account, charge, resumed: account.reserve(charge, resumed=resumed),
    )


def repeated_coins(patch: Patch) -> None:
    """Every rank draws noise and records from the same coins, and nobody compares them."""
    import hush
    from hush.learning.dpsgd import gradient_noise, private_gradient
    from hush.questions.planning.training import train_plan

    common = hush.SeededSource(1)
    for module in (gradient_noise, private_gradient, train_plan):
        patch.setattr(module, "source_or_secure", lambda source: common)
    patch.setattr(private_gradient, "agree", lambda ranks, facts, sources: setattr(ranks, "settled", True))


def noise_before_the_sum(patch: Patch) -> None:
    """Shares of the noise by rank: each adds its part, of deviation over the ranks, and one that is lost takes it along."""
    from hush.learning.dpsgd import shared_noise

    add = shared_noise.SecureNoise.add
    patch.setattr(
        shared_noise.SecureNoise, "add", lambda self, multiples, deviation: add(self, multiples, deviation / 2)
    )


def record_on_every_rank(patch: Patch) -> None:
    """All ranks work on all that was drawn: a record counts as often as there are ranks."""
    from hush.learning.distributed import split_draws

    def whole(plan: Any, population: int, source: Any, start: int, ranks: Any) -> Any:
        return plan.batches(population, source, start=start)

    patch.setattr(split_draws, "_parts", whole)


def rows_clipped_before_they_are_added(patch: Patch) -> None:
    """Each row of a user is clipped, and their sum is not."""
    from hush.learning.dpsgd import user_rows

    def each(checked: Any, named: Any, rows: Any, max_norm: float, clipping: Any, share: float, *, mean: bool) -> None:
        checked.add_watched(named, rows, max_norm, clipping, share)

    patch.setattr(user_rows, "add_clipped_user", each)


def count_for_free(patch: Patch) -> None:
    """The count of an adaptive norm is released beside a gradient that was noised as if it were alone."""
    from hush.learning.dpsgd.clip_norms import NormStep

    patch.setattr(NormStep, "sensitivity", property(lambda self: self.norm * self.share))


def quiet_count(patch: Patch) -> None:
    """The count of an adaptive norm may have as little noise as one likes."""
    from hush.learning.dpsgd.clip_norms import AdaptiveNorm, AdaptiveRun, NormStep

    def at(self: Any, step: int, noise_multiplier: float) -> NormStep:
        unit = self.state * self.share * noise_multiplier / (2 * (self.adaptive.count_noise or 1.0))
        return NormStep(self.state, self.share, 2.0 ** math.floor(np.log2(unit)))

    patch.setattr(AdaptiveNorm, "check", lambda self, noise_multipliers: None)
    patch.setattr(AdaptiveRun, "at", at)


def last_noise_for_all(patch: Patch) -> None:
    """Noise that fades is accounted as if all steps had the noise multiplier."""
    from hush.questions.planning.training import accounted_run

    patch.setattr(accounted_run, "pieces", lambda schedule, steps: iter([(steps, 1.0)]))
