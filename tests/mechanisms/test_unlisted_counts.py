"""No number of copies is left out, however unlikely: it rules Rényi divergences and the smallest deltas."""

from __future__ import annotations

import itertools
import math

import mpmath as mp
import numpy as np
import pytest

import hush
from hush import Gaussian, Poisson, Relation, Revealed, UnequalPoisson, WithoutReplacement, WithReplacement
from hush.mechanisms.neighbours import REMOVED, REPLACED
from hush.mechanisms.schemes.one_sample import OneSample

REPLACE = Relation.REPLACE


def binomial(n: int, rate: mp.mpf, k: int) -> mp.mpf:
    return mp.binomial(n, k) * rate**k * (1 - rate) ** (n - k)


def with_replacement(size: int, population: int, records: int) -> list[mp.mpf]:
    return [binomial(size, mp.mpf(records) / population, k) for k in range(size + 1)]


def without_replacement(size: int, population: int, records: int) -> list[mp.mpf]:
    rest, all_ = population - records, mp.binomial(population, size)
    return [mp.binomial(records, k) * mp.binomial(rest, size - k) / all_ for k in range(min(records, size) + 1)]


TRUTH = {
    "with replacement": (WithReplacement(100, 1000), 1, with_replacement(100, 1000, 1)),
    "with replacement, a group": (WithReplacement(300, 1000), 3, with_replacement(300, 1000, 3)),
    "with replacement, many draws": (WithReplacement(5000, 10**6), 1, with_replacement(5000, 10**6, 1)),
    "with replacement, nearly sure": (WithReplacement(90, 10**4), 9_999, with_replacement(90, 10**4, 9_999)),
    "without replacement": (WithoutReplacement(1000, 10**9), 60, without_replacement(1000, 10**9, 60)),
    "without replacement, nearly all": (WithoutReplacement(95, 100), 8, without_replacement(95, 100, 8)),
    "Poisson": (Poisson(rate=1e-5), 100, [binomial(100, mp.mpf("1e-5"), k) for k in range(101)]),
    "Poisson, nearly sure": (Poisson(rate=1 - 1e-9), 80, [binomial(80, mp.mpf(1 - 1e-9), k) for k in range(81)]),
}


@pytest.mark.parametrize("name", TRUTH)
@pytest.mark.parametrize("least", [0.0, 1e-30])
def test_lists_are_above_the_truth(name: str, least: float) -> None:
    scheme, records, truth = TRUTH[name]
    weights, rest = scheme.listed(records, least)
    assert all(weight >= chance * (1 - mp.mpf("1e-12")) for weight, chance in zip(weights, truth, strict=False))
    assert rest >= mp.fsum(truth[len(weights) :]) * (1 - mp.mpf("1e-12"))
    assert math.fsum(weights) + rest == pytest.approx(1, rel=1e-12)


def revealed_moment(truth: list[mp.mpf]) -> float:
    """Rényi divergence of order 2 for Gaussian noise of multiplier 1: log of the mean of e^{k^2}."""
    return float(mp.log(mp.fsum(chance * mp.exp(k * k) for k, chance in enumerate(truth))))


@pytest.mark.parametrize("name", [name for name in TRUTH if "Poisson" not in name] + ["Poisson"])
def test_revealed_moments(name: str) -> None:
    scheme, records, truth = TRUTH[name]
    mechanism = Gaussian(1.0, REPLACE).on(Revealed(scheme)).group(records)
    (found,) = mechanism.renyi(orders=[2])
    assert found >= revealed_moment(truth) * (1 - 1e-12)


def test_revealed_in_closed_form() -> None:
    scheme = Revealed(WithReplacement(100, 1000))
    (found,) = Gaussian(1.0, REPLACE).on(scheme).renyi(orders=[2])
    assert found == pytest.approx(9309.2245, rel=1e-8)
    assert Gaussian(0.1, REPLACE).on(scheme).log_delta(epsilon=40_000).upper == pytest.approx(-141.9986, rel=1e-6)
    twice = Gaussian(0.1, REPLACE).on(scheme).repeat(2)
    assert twice.log_delta(epsilon=40_000).upper >= -141.9986
    assert twice.renyi(orders=[2])[0] == pytest.approx(2 * (100 * 100 * 100 - 300 * math.log(10)), rel=1e-9)


def test_more_draws_than_are_listed_count_as_all_at_once() -> None:
    mechanism = Gaussian(0.01, REPLACE).on(Revealed(WithReplacement(5000, 10**6)))
    all_at_once = float(mp.log(mp.mpf("1e-6")) * 5000)
    assert mechanism.log_delta(epsilon=1e10).upper >= all_at_once
    unknown = hush.Laplace(0.01, REPLACE).on(Revealed(WithReplacement(5000, 10**6)))
    assert unknown.renyi(orders=[2])[0] == math.inf  # of five thousand copies nothing is known


def test_secret_samples_of_groups() -> None:
    """Sum w_k N(k) against N(0), which a query attains: its second moment is the sum of w_i w_j e^{ij}."""
    for name, neighbours in (("Poisson", REMOVED), ("without replacement", REPLACED)):
        scheme, records, truth = TRUTH[name]
        moment = mp.fsum(a * b * mp.exp(i * j) for i, a in enumerate(truth) for j, b in enumerate(truth))
        relation = Relation.ADD_REMOVE if name == "Poisson" else REPLACE
        found = Gaussian(1.0, relation).on(scheme).group(records).evidence(neighbours).curve(2.0)
        assert found >= float(mp.log(moment)) * (1 - 1e-12)


def test_lower_ends_do_not_use_what_was_rounded_up() -> None:
    mechanism = Gaussian(0.1).on(Poisson(rate=1e-5)).group(100)
    truth = float(mp.log(binomial(100, mp.mpf("1e-5"), 100)))  # at this epsilon all hundred are needed
    found = mechanism.log_delta(epsilon=1.0e6 / 2 - 2000)
    assert found.lower <= truth <= found.upper


def stick(parts: list[tuple[float, int]], epsilon: float) -> float:
    """delta of Laplace noise at so many units of distance, averaged over who was drawn."""
    return sum(chance * max(0.0, -math.expm1((epsilon - k) / 2)) for chance, k in parts)


@pytest.mark.parametrize("rates", [(0.1, 0.0), (0.5, 0.3, 0.1, 0.0), (1.0, 0.25, 0.2), (0.4, 0.4)])
@pytest.mark.parametrize("size", [1, 2, 3])
def test_revealed_unequal_rates_vs_enumeration(rates: tuple[float, ...], size: int) -> None:
    """The worst group holds the largest rates; others are no better."""
    mechanism = hush.Laplace(1.0, REPLACE).on(Revealed(UnequalPoisson(rates))).group(size)
    for epsilon in (0.1, 0.7):
        truth = 0.0
        for group in itertools.combinations(rates, min(size, len(rates))):
            drawn = itertools.product([0, 1], repeat=len(group))
            parts = [
                (math.prod(r if d else 1 - r for r, d in zip(group, coins, strict=True)), sum(coins)) for coins in drawn
            ]
            truth = max(truth, stick(parts, epsilon))
        found = mechanism.delta(epsilon=epsilon)
        assert found.lower <= truth * (1 + 1e-12)
        assert found.upper == pytest.approx(truth, rel=1e-9)


def test_revealed_unequal_rates_in_closed_form() -> None:
    found = Gaussian(1.0, REPLACE).on(Revealed(UnequalPoisson([0.1, 0]))).group(2).delta(epsilon=1)
    assert found.lower == pytest.approx(0.0126936737, rel=1e-8)
    assert found.upper == pytest.approx(0.0126936737, rel=1e-8)


NESTED: dict[str, OneSample] = {"without": WithoutReplacement(5, 20), "with": WithReplacement(5, 20)}


@pytest.mark.parametrize("outer", NESTED)
def test_likened_pairs_of_nested_samples(outer: str) -> None:
    """All others are like the new record, so a sample that misses the old one looks like Q: P >= (1 - hit) Q."""
    inner = Gaussian(0.5, REPLACE).on(WithoutReplacement(2, 5))
    scheme = NESTED[outer]
    missed = scheme.takes(1)[0]
    found = inner.on(scheme).special.likened(1, False)
    assert found
    for pair in found:
        assert math.exp(pair.swap().log_delta(-math.log(missed) + 1e-9)[1]) <= 1e-12


def test_nested_samples_are_one() -> None:
    nested = Gaussian(0.5, REPLACE).on(WithoutReplacement(2, 5)).on(WithoutReplacement(5, 20))
    once = Gaussian(0.5, REPLACE).on(WithoutReplacement(2, 20))
    for epsilon in np.linspace(0.0, 2.0, 5):
        a, b = nested.delta(epsilon=float(epsilon)), once.delta(epsilon=float(epsilon))
        assert a.upper == pytest.approx(b.upper, rel=1e-6)
        assert a.lower == pytest.approx(b.lower, rel=1e-6)


def test_a_sample_that_surely_holds_one_of_the_group() -> None:
    found = hush.Laplace(1.0, REPLACE).on(WithoutReplacement(99, 100)).group(2).epsilon(delta=0)
    assert found.upper == pytest.approx(2, rel=1e-9)
