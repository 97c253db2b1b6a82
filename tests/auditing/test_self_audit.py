"""hush audits itself: a quick pass over every kind of case, and the whole in the slow tier."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from importlib.util import find_spec

import pytest

import hush
from hush.app.self_audit import Case, cases, mechanisms, models, queries, sampled, training
from hush.mechanisms.description import public

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
    if "(epsilon=4.0" in case.name or case.name.endswith("epsilon 16"):  # where an audit can see
        assert report.lower_bound > 0, report


@pytest.mark.slow
def test_training_at_several_strengths() -> None:
    for noise in (0.5, 1.0, 3.0):
        assert training(600, 2, noise_multiplier=noise).survives


def test_every_mechanism_that_can_run_is_audited() -> None:
    """What can be simulated is in the list."""
    public()
    seen: set[type] = set()
    waiting = [mechanism for mechanism, _ in [*mechanisms(), *sampled()]]
    while waiting:
        mechanism = waiting.pop()
        seen.add(type(mechanism))
        parts = [getattr(mechanism, name, None) for name in ("inner", "randomizer")]
        waiting += [part for part in parts if isinstance(part, hush.Mechanism)]
    assert {kind for kind in below(hush.Mechanism) if can_run(kind)} <= seen


STATED = {"ApproxDP", "FromPair", "GaussianDP", "LocalDP", "PureDP", "RenyiDP", "TCDP", "UnknownKeys", "ZCDP"}
"""They say what holds, and nothing that could be run."""
UNRUN = {"BestOf", "Either", "SampledGradientDescent"}
"""They have no simulation: enumeration and exact runs on a grid are compared with them in tests/mechanisms."""
TABLES = {hush.releases.GroupBy}
"""Their answers are tables, which tests/releases compares with brute force over all neighbours."""


def below(kind: type) -> Iterator[type]:
    for child in kind.__subclasses__():
        yield from below(child)
        if not inspect.isabstract(child) and child.__module__.startswith("hush."):
            yield child


def can_run(kind: type) -> bool:
    return kind.simulate is not hush.Mechanism.simulate  # type: ignore[attr-defined]


def test_every_mechanism_can_run_or_only_states() -> None:
    public()  # so that all are loaded
    assert {kind.__name__ for kind in below(hush.Mechanism) if not can_run(kind)} == STATED | UNRUN


def test_every_release_is_audited() -> None:
    shown = {type(released.query) for released in queries()}
    assert set(below(hush.releases.Query)) - TABLES | {hush.releases.OnSample} <= shown


def test_every_method_of_the_models_is_audited() -> None:
    from hush.learning.linear.estimators import METHODS

    named = {model.method if isinstance(model.method, str) else "gradient" for model in models()}
    assert named == set(METHODS)


def test_no_case_hides_another() -> None:
    assert len(CASES) == sum(1 for _ in cases())


@pytest.mark.parametrize("package", ["torch", "sklearn"])
def test_without_a_package_the_rest_is_audited(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip(package)
    monkeypatch.setattr("hush.app.self_audit.find_spec", lambda name: None if name == package else find_spec(name))
    kept = {case.name for case in cases()}
    assert 0 < len(kept) < len(CASES)
    assert kept < set(CASES)
