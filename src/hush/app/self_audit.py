"""hush audits itself: every mechanism that can be run, every release, and a training, each against its own claim."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import hush
from hush.auditing import AuditReport, distinguish, one_run, simulated
from hush.mechanisms.mechanism import Mechanism
from hush.randomness.source import SeededSource

CONFIDENCE = 0.9999
"""Of each audit: a hundred audits of sound mechanisms raise an alarm once in a hundred runs."""
REPLACE = hush.Relation.REPLACE


@dataclass(frozen=True)
class Case:
    """One audit, run when it is asked for; `effort` multiplies its samples."""

    name: str
    run: Callable[[float], AuditReport]


def cases(seed: int = 1) -> Iterator[Case]:
    """All of them: mechanisms, releases, training."""
    for mechanism, delta in mechanisms():
        yield _of_mechanism(mechanism, delta, 40_000, seed)
    for mechanism, delta in sampled():
        yield _of_mechanism(mechanism, delta, 4_000, seed)
    for query, delta in queries():
        yield _of_release(query, delta, seed)
    yield Case("DP-SGD, end to end", lambda effort: training(int(max(100, 400 * effort)), seed))


def mechanisms() -> Iterator[tuple[Mechanism, float]]:
    """Everything that can be run, at several strengths, with a delta that the samples can reach."""
    for strength in (0.5, 1.0, 3.0):
        yield hush.Gaussian(1 / strength), 0.01
        yield hush.Laplace(1 / strength), 0.0
        yield hush.DiscreteGaussian(2 / strength, 2), 0.01
        yield hush.DiscreteLaplace(2 / strength, 2), 0.0
        yield hush.Skellam(4 / strength**2, 1), 0.01
        yield hush.RandomizedResponse(epsilon=strength, choices=3, relation=REPLACE), 0.0
        yield hush.Exponential(strength), 0.0
        yield hush.ReportNoisyMax(2 / strength), 0.0
        yield hush.KaryResponse(epsilon=strength, choices=4), 0.0
        yield hush.UnaryEncoding(epsilon=strength, choices=5), 0.0
        yield hush.LaplaceReport(1 / strength), 0.0
        yield hush.GaussianReport(1 / strength), 0.01
    yield hush.BetaPosterior(flips=20, heads=5.0, tails=5.0), 0.01
    yield hush.GaussianPosterior(5, 10.0, 3.0, 2.0), 0.01
    yield hush.NoisyIteration(sensitivities=[1, 0, 1], deviations=1.0, contractions=0.7), 0.01
    yield _descent(), 0.01
    yield hush.Laplace(2.0).repeat(4), 0.0
    yield hush.Gaussian(2.0).then(hush.Laplace(2.0)), 0.01
    yield hush.Laplace(1.0).beside(hush.Laplace(1.0)), 0.0
    yield hush.Laplace(3.0).group(2), 0.0
    yield hush.Laplace(2.0).under(REPLACE), 0.0
    yield hush.KaryResponse(epsilon=1.0, choices=2).shuffled(people=8), 0.01


def _descent() -> Mechanism:
    loss = hush.ConvexLoss(smoothness=1, strong_convexity=0.5, sensitivity=2)
    return hush.NoisyGradientDescent(
        loss=loss, records=5, iterations=4, noise=0.5, step_size=0.5, diameter=float("inf")
    )


def sampled() -> Iterator[tuple[Mechanism, float]]:
    """Mechanisms on samples, drawn by their own schemes."""
    yield hush.Laplace(0.5).on(hush.Poisson(rate=0.3)), 0.0
    yield hush.Gaussian(0.5).on(hush.Poisson(rate=0.3)).repeat(3), 0.01
    yield hush.Laplace(0.5).on(hush.UnequalPoisson([0.1, 0.4])), 0.0
    yield hush.Laplace(0.5, REPLACE).on(hush.WithoutReplacement(3, 10)), 0.0
    yield hush.Gaussian(0.5, REPLACE).on(hush.WithReplacement(3, 10)), 0.01
    yield hush.Gaussian(1.0).on(hush.Allocation(steps=4)), 0.01
    yield hush.Gaussian(1.0).on(hush.ShuffledBatches(steps=4)), 0.01


def queries() -> Iterator[tuple[Any, float]]:
    """Every release: counts, sums, means, variance, histograms and quantiles."""
    shown = hush.releases
    for epsilon in (0.5, 2.0):
        yield shown.Count(epsilon=epsilon), 0.0
        yield shown.Sum(bounds=(0, 1), epsilon=epsilon), 0.0
        yield shown.Mean(bounds=(0, 1), epsilon=epsilon), 0.0
        yield shown.Mean(bounds=(0, 1), epsilon=epsilon, size=3), 0.0
        yield shown.Mean(bounds=(0, 1), epsilon=epsilon, relation=REPLACE), 0.0
        yield shown.Variance(bounds=(0, 1), epsilon=epsilon), 0.0
        yield shown.Median(bounds=(0, 1), epsilon=epsilon), 0.0
        yield shown.Histogram(categories=[0.0, 1.0], epsilon=epsilon), 0.0
    yield shown.Mean(bounds=(0, 1), noise_multiplier=1.0), 0.01
    yield shown.Count(epsilon=2.0).on(hush.Poisson(rate=0.3)), 0.0


def _of_mechanism(mechanism: Mechanism, delta: float, most: int, seed: int) -> Case:
    def run(effort: float) -> AuditReport:
        samples = int(max(200, most * effort))
        present, absent = simulated(mechanism, source=SeededSource(seed))
        return distinguish(present, absent, claim=mechanism, delta=delta, samples=samples, confidence=CONFIDENCE)

    return Case(str(mechanism), run)


def _of_release(query: Any, delta: float, seed: int) -> Case:
    """The record at the end of the bounds that the others are far from; replaced, or left out."""
    others = [0.0, 0.0]
    replaced = query.mechanism.relation is REPLACE
    worlds = [*others, 1.0], [*others, 0.0] if replaced else others

    def run(effort: float) -> AuditReport:
        source, samples = SeededSource(seed), int(max(200, 2_000 * effort))
        drawn = [
            np.array([_flat(query.release(world, source=source).value) for _ in range(samples)]) for world in worlds
        ]
        return distinguish(*drawn, claim=query.mechanism, delta=delta, confidence=CONFIDENCE, bits=True)

    said = "Count on a sample" if isinstance(query, hush.releases.OnSample) else type(query).__name__
    return Case(f"release {said}: {query.mechanism}", run)


def _flat(value: Any) -> Any:
    """A number, or the numbers of a table in order."""
    if isinstance(value, dict):
        return [float(number) for number in value.values()]
    return np.asarray(value, dtype=float).tolist()


def training(canaries: int, seed: int, *, noise_multiplier: float = 0.7) -> AuditReport:
    """DP-SGD with one canary a coordinate, in one run; its weight is its score, and left out it is a row of zeros."""
    import torch

    from hush.learning.noise import SecureNoise
    from hush.learning.sgd import fit

    plan = hush.train_plan(
        examples=canaries, batch_size=canaries // 2, epochs=4, noise_multiplier=noise_multiplier, delta=1e-5
    )
    source = SeededSource(seed)

    def scores(included: Any) -> Any:
        model = torch.nn.Linear(canaries, 1, bias=False)
        torch.nn.init.zeros_(model.weight)
        rows = torch.diag(torch.tensor(included, dtype=torch.float32))
        optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
        options = {"optimizer": optimizer, "noise": SecureNoise(source), "source": source, "max_norm": 1.0}
        fit(model, (rows, torch.ones(canaries)), plan, loss=_against, **options)
        return model.weight.detach().numpy()[0].astype(float)

    return one_run(scores, canaries, claim=plan.mechanism, delta=1e-5, confidence=CONFIDENCE, source=SeededSource(seed))


def _against(out: Any, target: Any) -> Any:
    """A loss whose gradient is minus the row, of norm 1."""
    return -(out[:, 0] * target)
