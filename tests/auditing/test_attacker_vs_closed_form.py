"""The theoretical attacker against closed forms, and audits inside its curve."""

from __future__ import annotations

import math

import pytest
from scipy import special

import hush
from hush.auditing import Attacker, distinguish, simulated


@pytest.mark.parametrize("rate", [0.001, 0.05, 0.5])
def test_gaussian_roc(rate: float) -> None:
    found = Attacker(hush.Gaussian(2.0)).true_positive_rate(false_positive_rate=rate)
    assert found == pytest.approx(special.ndtr(special.ndtri(rate) + 0.5), abs=1e-6)


@pytest.mark.parametrize("prior", [0.01, 0.3, 0.5, 0.9])
def test_bayes_risk_of_randomized_response(prior: float) -> None:
    """Answer as told, unless the prior outweighs it."""
    mechanism = hush.RandomizedResponse(epsilon=1.0, relation=hush.Relation.REPLACE)
    lie = 1 / (1 + math.e)
    found = Attacker(mechanism).bayes_risk(prior=prior)
    assert found.lower <= min(prior, 1 - prior, lie) + 1e-12
    assert found.upper >= min(prior, 1 - prior, lie) - 1e-12
    assert found.upper - found.lower < 1e-9


@pytest.mark.parametrize("prior", [0.2, 0.7])
def test_bayes_risk_of_gaussian(prior: float) -> None:
    """The threshold where both weighted densities agree."""
    cut = 0.5 + math.log((1 - prior) / prior)
    risk = prior * special.ndtr(cut - 1) + (1 - prior) * special.ndtr(-cut)
    assert Attacker(hush.Gaussian(1.0)).bayes_risk(prior=prior).lower == pytest.approx(risk, abs=1e-9)


def test_posterior_of_pure() -> None:
    attacker = Attacker(hush.PureDP(math.log(3)))
    assert attacker.largest_posterior(prior=0.5) == pytest.approx(0.75)
    assert attacker.posterior(prior=0.5, false_positive_rate=0.01) == pytest.approx(0.75)
    assert attacker.advantage().upper == pytest.approx(0.5)
    assert attacker.roc([0.0, 0.25]) == [(0.0, 0.0), (0.25, pytest.approx(0.75))]


def test_audit_lies_inside_the_certified_curve() -> None:
    """Every point that was counted is allowed, up to the noise of counting."""
    mechanism = hush.Gaussian(1.0)
    drawn = simulated(mechanism, source=hush.SeededSource(1))
    report = distinguish(*drawn, claim=hush.GaussianDP(1.0), samples=100_000)
    attacker = Attacker(mechanism)
    for false, true in report.curve[::10]:
        assert true <= attacker.true_positive_rate(false_positive_rate=false) + 0.015


@pytest.mark.parametrize("prior", [0.0, 1.0, math.nan])
def test_bad_prior(prior: float) -> None:
    with pytest.raises(hush.InvalidParameter, match="prior"):
        Attacker(hush.Gaussian(1.0)).bayes_risk(prior=prior)
