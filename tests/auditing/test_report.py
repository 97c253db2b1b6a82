"""Reports as text, JSON and chart."""

from __future__ import annotations

import json

import hush
from hush.auditing import distinguish, simulated


def report(scale: float = 1.0) -> hush.auditing.AuditReport:
    drawn = simulated(hush.Laplace(scale), source=hush.SeededSource(3))
    return distinguish(*drawn, claim=hush.Laplace(1.0), delta=0.0, samples=20_000)


def test_json_vs_report() -> None:
    found = report()
    shown = json.loads(found.to_json())
    assert shown["lower_bound"] == found.lower_bound
    assert shown["survives"] is True
    assert shown["claimed"] == 1.0
    assert shown["null_runs"] == found.null.runs
    assert shown["attacker"] == found.attacker


def test_text_has_claim_bound_confidence_and_attacker() -> None:
    text = str(report())
    for part in ("1-DP", "epsilon >= 0.9", "confidence 0.95", "null check", "threshold", "10000 samples"):
        assert part in text, part


def test_chart_draws_the_attacker_inside_the_certified_curve() -> None:
    chart = report().chart()
    claim, _, seen, sure = chart.lines
    assert claim.label == "claim"
    certified = dict(zip(claim.x, claim.y, strict=True))
    for x, y in zip(seen.x, seen.y, strict=True):
        nearest = min(certified, key=lambda rate: abs(rate - x))
        assert y >= certified[nearest] - 0.03
    assert len(sure.x) == len(sure.y) > 2


def test_chart_of_a_refuted_claim_has_its_limits_below_the_curve() -> None:
    found = report(scale=0.5)
    assert not found.survives
    assert not found.claim.allows(found.limits)
