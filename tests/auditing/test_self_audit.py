"""hush audits itself: a quick pass over every kind of case, and the whole in the slow tier."""

from __future__ import annotations

import inspect

import pytest

import hush
from hush.app.self_audit import Case, cases, mechanisms, queries, sampled, training
from hush.auditing.simulation import outputs

CASES = {case.name: case for case in cases()}
FEW = [name for place, name in enumerate(CASES) if place % 6 == 0 and name != "DP-SGD, end to end"]


@pytest.mark.parametrize("name", FEW)
def test_some_claims_survive(name: str) -> None:
    report = CASES[name].run(0.1)
    assert report.survives, report
    assert report.null.passes


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES.values(), ids=lambda case: case.name)
def test_every_claim_survives(case: Case) -> None:
    report = case.run(1.0)
    assert report.survives, report
    assert report.null.passes


@pytest.mark.slow
def test_training_at_several_strengths() -> None:
    for noise in (0.5, 1.0, 3.0):
        assert training(600, 2, noise_multiplier=noise).survives


def test_every_mechanism_that_can_run_is_audited() -> None:
    """What the simulation knows is in the list."""
    runnable = {kind for kind in outputs.registry if kind is not object and issubclass(kind, hush.Mechanism)}
    seen: set[type] = set()
    waiting = [mechanism for mechanism, _ in [*mechanisms(), *sampled()]]
    while waiting:
        mechanism = waiting.pop()
        seen.add(type(mechanism))
        parts = [getattr(mechanism, name, None) for name in ("inner", "randomizer")]
        waiting += [part for part in parts if isinstance(part, hush.Mechanism)]
    assert {kind for kind in runnable if not inspect.isabstract(kind)} <= seen | {hush.Mechanism}


def test_every_release_is_audited() -> None:
    shown = {type(query).__name__ for query, _ in queries()}
    assert {"Count", "Sum", "Mean", "Variance", "Median", "Histogram", "OnSample"} <= shown
