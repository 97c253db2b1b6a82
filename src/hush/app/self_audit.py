"""hush audits itself: mechanisms that can be run, releases, models and a training, each against its own claim."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, is_dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np

import hush
from hush.auditing import AuditReport, distinguish, one_run, simulated
from hush.mechanisms.mechanism import Mechanism
from hush.randomness.source import SeededSource

CONFIDENCE = 0.9999
"""Of each audit: a hundred audits of sound mechanisms raise an alarm once in a hundred runs."""
REPLACE = hush.Relation.REPLACE
NEEDED = {"sklearn": "models", "torch": "DP-SGD"}
"""What is audited only where a package is installed."""


@dataclass(frozen=True)
class Case:
    """One audit, run when it is asked for; `effort` multiplies its samples."""

    name: str
    run: Callable[[float], AuditReport]


def cases(seed: int = 1) -> Iterator[Case]:
    """All of them: mechanisms, releases, models, training; no two have one name."""
    for mechanism, delta in mechanisms():
        yield _of_mechanism(mechanism, delta, 40_000, seed)
    for mechanism, delta in sampled():
        yield _of_mechanism(mechanism, delta, 4_000, seed)
    for released in queries():
        yield _of_release(released, seed)
    if find_spec("sklearn"):
        for model in models():
            yield _of_model(model, seed)
    if find_spec("torch"):
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
    yield from ((run, 0.01) for run in _descents())
    yield hush.Laplace(2.0).repeat(4), 0.0
    yield hush.Gaussian(2.0).then(hush.Laplace(2.0)), 0.01
    yield hush.Laplace(1.0).beside(hush.Laplace(1.0)), 0.0
    yield hush.Laplace(3.0).group(2), 0.0
    yield hush.RandomContributions(hush.Laplace(2.0), [0.25, 0.5, 0.25]), 0.0
    yield hush.Laplace(2.0).under(REPLACE), 0.0
    yield hush.KaryResponse(epsilon=1.0, choices=2).shuffled(people=8), 0.01


def _descents() -> Iterator[Mechanism]:
    loss = hush.ConvexLoss(smoothness=1, strong_convexity=0.5, sensitivity=2)
    far = float("inf")
    yield hush.NoisyGradientDescent(loss=loss, records=5, iterations=4, noise=0.5, step_size=0.5, diameter=far)
    yield hush.CyclicGradientDescent(
        loss=loss, batches=3, batch_size=2, epochs=3, noise=1.0, step_size=0.5, diameter=far
    )
    one_pass = hush.OnePassGradientDescent(loss=loss, records=4, noise=2.0, step_size=0.5)
    yield one_pass
    yield one_pass.stopped_at_random()


def sampled() -> Iterator[tuple[Mechanism, float]]:
    """Mechanisms on samples, drawn by their own schemes."""
    yield hush.Laplace(0.5).on(hush.Poisson(rate=0.3)), 0.0
    yield hush.Gaussian(0.5).on(hush.Poisson(rate=0.3)).repeat(3), 0.01
    yield hush.Laplace(0.5).on(hush.UnequalPoisson([0.1, 0.4])), 0.0
    yield hush.Laplace(0.5, REPLACE).on(hush.WithoutReplacement(3, 10)), 0.0
    yield hush.Gaussian(0.5, REPLACE).on(hush.WithReplacement(3, 10)), 0.01
    yield hush.Gaussian(1.0).on(hush.Allocation(steps=4)), 0.01
    yield hush.Gaussian(1.0).on(hush.ShuffledBatches(steps=4)), 0.01
    yield hush.Gaussian(1.0).on(hush.CyclicPoisson(rate=0.5, parts=2)).repeat(2), 0.01


@dataclass(frozen=True, eq=False)
class Released:
    """A query, a delta that the samples can reach, and the records besides the one that is replaced or left out."""

    query: Any
    delta: float = 0.0
    others: tuple[float, ...] = (0.0, 0.0)
    """The record that differs is 1: far from the others, or the one that decides."""


def queries() -> Iterator[Released]:
    """Every release: counts, sums, means, variance, histograms, quantiles, and bounds."""
    shown = hush.releases
    unit, wide = (0, 1), (-1, 2)  # with the ends of the range among the records a quantile would hardly tell them apart
    for epsilon in (1.0, 4.0):
        yield Released(shown.Count(epsilon=epsilon))
        yield Released(shown.Sum(bounds=unit, epsilon=epsilon))
        yield Released(shown.Mean(bounds=unit, epsilon=epsilon))
        yield Released(shown.Mean(bounds=unit, epsilon=epsilon, size=3))
        yield Released(shown.Mean(bounds=unit, epsilon=epsilon, relation=REPLACE))
        yield Released(shown.Variance(bounds=unit, epsilon=epsilon))
        yield Released(shown.Median(bounds=wide, epsilon=epsilon))
        yield Released(shown.Histogram(categories=[0.0, 1.0], epsilon=epsilon))
        high = shown.Quantile(p=0.9, bounds=unit, epsilon=epsilon, step=0.25, relation=REPLACE)
        yield Released(high, others=(0.0,) * 8 + (1.0,))
        yield Released(shown.Quantiles(ps=(0.25, 0.5, 0.75), bounds=wide, epsilon=epsilon))
        # its value has a third of epsilon
        yield Released(shown.QuantileInterval(p=0.5, bounds=wide, epsilon=3 * epsilon, size=3))
        laplace = shown.SmoothLaplace(epsilon=epsilon, delta=0.01)
        yield Released(shown.SmoothMedian(bounds=unit, noise=laplace), 0.01, others=(0.0, 1.0))
        yield Released(shown.SmoothQuantile(p=0.9, bounds=wide, noise=shown.SmoothStudent(epsilon=epsilon)))
        found = shown.Bounds(epsilon=epsilon, failure=0.4)
        yield Released(found, others=(1.0,) * (found.threshold - 1))
    yield Released(shown.Mean(bounds=unit, noise_multiplier=1.0), 0.01)
    yield Released(shown.Count(epsilon=4.0).on(hush.Poisson(rate=0.5)))


def models() -> Iterator[Any]:
    """A convex model by every method."""
    from hush.learning import FullBatchGradient, LinearRegression, LinearSVC, LogisticRegression

    for epsilon in (4.0, 16.0):
        shared: dict[str, Any] = {"data_norm": 1.0, "epsilon": epsilon, "delta": 0.01, "examples": 2}
        for method in ("objective", "output", "sgd", "iterate", FullBatchGradient(steps=5)):
            yield LogisticRegression(classes=[0, 1], method=method, **shared)
        yield LinearSVC(classes=[0, 1], method="output", **shared)
        yield LinearRegression(target_bounds=(0, 1), method="objective", **shared)


def _of_model(model: Any, seed: int) -> Case:
    """Two records, of which the one at the end is left out, or has the other's label instead."""

    def run(effort: float) -> AuditReport:
        source, samples = SeededSource(seed), int(max(200, 1_000 * effort))

        def weights(labels: list[int]) -> Any:
            # a source that can be replayed is copied by every fit: each run needs a seed of its own
            model.source = SeededSource(int(source.words(1)[0]))
            model.fit(np.tile([1.0, 0.0], (len(labels), 1)), labels)
            return [*np.ravel(model.coef_), *np.ravel(model.intercept_)]

        model.source = SeededSource(seed)
        claim = model.fit(np.tile([1.0, 0.0], (2, 1)), [0, 1]).guarantee_
        worlds = [0, 1], [0, 0] if claim.relation is REPLACE else [0]
        drawn = [np.array([weights(world) for _ in range(samples)]) for world in worlds]
        return distinguish(*drawn, claim=claim, delta=model.delta, confidence=CONFIDENCE)

    method = model.method if isinstance(model.method, str) else "gradient"
    return Case(f"{type(model).__name__} by {method}, epsilon {model.epsilon:g}", run)


def _of_mechanism(mechanism: Mechanism, delta: float, most: int, seed: int) -> Case:
    def run(effort: float) -> AuditReport:
        samples = int(max(200, most * effort))
        present, absent = simulated(mechanism, source=SeededSource(seed))
        return distinguish(present, absent, claim=mechanism, delta=delta, samples=samples, confidence=CONFIDENCE)

    return Case(f"{type(mechanism).__name__}: {mechanism}", run)


def _of_release(released: Released, seed: int) -> Case:
    """One record replaced, or left out."""
    query, others = released.query, [*released.others]
    worlds = [*others, 1.0], [*others, 0.0] if query.mechanism.relation is REPLACE else others

    def run(effort: float) -> AuditReport:
        source, samples = SeededSource(seed), int(max(200, 4_000 * effort))
        drawn = [
            np.array([_flat(query.release(world, source=source).value) for _ in range(samples)]) for world in worlds
        ]
        return distinguish(*drawn, claim=query.mechanism, delta=released.delta, confidence=CONFIDENCE, bits=True)

    return Case(f"release {_said(query)}", run)


def _said(value: Any) -> str:
    """A query, or a part of one, with what it was given."""
    if not is_dataclass(value) or type(value).__str__ is not object.__str__:
        return str(value)
    given = [(f.name, getattr(value, f.name)) for f in fields(value) if f.init and getattr(value, f.name) != f.default]
    return f"{type(value).__name__}({', '.join(f'{name}={_said(part)}' for name, part in given)})"


def _flat(value: Any) -> Any:
    """A number, or the numbers of a table in order."""
    if isinstance(value, dict):
        return [float(number) for number in value.values()]
    return np.asarray(value, dtype=float).tolist()


def training(canaries: int, seed: int, *, noise_multiplier: float = 0.7) -> AuditReport:
    """DP-SGD with one canary per coordinate, in one run; its weight is its score, and left out it is a row of zeros."""
    import torch

    from hush.learning import SecureNoise, fit

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
