"""Audits of mechanisms whose parameter is known: the bound stays below it as often as stated, and comes near it."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest
from scipy import stats

import hush
from hush.auditing import Claim, distinguish, simulated
from hush.auditing.confidence import joint_limits
from hush.auditing.distinguish import as_worlds, attack

RESPONSE = hush.RandomizedResponse(epsilon=1.0, relation=hush.Relation.REPLACE)


def worlds(mechanism: hush.Mechanism, samples: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    present, absent = simulated(mechanism, source=hush.SeededSource(seed))
    return present(samples).astype(float), absent(samples).astype(float)


@pytest.mark.parametrize("claim", [hush.PureDP(1.0), hush.ApproxDP(1.0, 1e-2), hush.GaussianDP(1.0)], ids=str)
def test_null_audits_vs_confidence(claim: hush.Mechanism) -> None:
    """At most 67 false alarms in 1000 at 95%: five standard deviations would be 84."""
    random = np.random.default_rng(5)
    stated = Claim.of(claim)
    alarms = 0
    for _ in range(340):
        pair = random.standard_normal(200), random.standard_normal(200)
        _, _, true, false = attack(pair, stated, 0.05)
        alarms += bool(np.min(stated.bound(true, false)) > 0)
    assert alarms <= 22


@pytest.mark.parametrize("tilt", [0.05, math.pi / 4, math.pi / 2 - 0.05])
def test_limits_vs_exact_probability_of_error(tilt: float) -> None:
    """Summed over all counts, at rates on the edge of the claim from one in a million to nearly one."""
    size = 20
    found = [[joint_limits(x, size, y, size, 0.05, tilt) for y in range(size + 1)] for x in range(size + 1)]
    rates = np.array([1e-6, 1e-3, 0.03, 0.2, 0.5, 0.8, 0.97, 0.999])
    for claim in (Claim.of(hush.PureDP(1.0)), Claim.of(hush.ApproxDP(1.0, 0.01)), Claim.of(hush.GaussianDP(1.0))):
        bounds = np.array([[np.min(claim.bound(*corners)) for corners in row] for row in found])
        for truth in (0.0, 0.3, 1.0, 3.0):
            edge = np.minimum(math.exp(truth) * rates + claim.delta, 1 - math.exp(-truth) * (1 - claim.delta - rates))
            if claim.quantity == "mu":
                edge = stats.norm.cdf(stats.norm.ppf(rates) + truth)
            for p, q in zip(np.clip(edge, 0, 1), rates, strict=True):
                chances = np.outer(*(stats.binom.pmf(np.arange(size + 1), size, rate) for rate in (p, q)))
                assert chances[bounds > truth + 1e-9].sum() <= 0.05


@pytest.mark.parametrize(
    ("mechanism", "claim", "delta"),
    [
        (RESPONSE, hush.PureDP(1.0), None),
        (hush.Laplace(1.0), hush.PureDP(1.0), None),
        (hush.Gaussian(1.0), hush.GaussianDP(1.0), None),
        (hush.Gaussian(1.0), hush.Gaussian(1.0), 1e-2),
    ],
    ids=str,
)
def test_bound_vs_true_parameter(mechanism: hush.Mechanism, claim: hush.Mechanism, delta: float | None) -> None:
    """Above the truth at most 5% of the time; 200 seeded audits, the limit is the 99.9% quantile."""
    stated = Claim.of(claim, delta)
    above = 0
    for seed in range(200):
        _, _, true, false = attack(worlds(mechanism, 1000, seed), stated, 0.05)
        above += bool(np.min(stated.bound(true, false)) > stated.value)
    assert above <= stats.binom.ppf(0.999, 200, 0.05)


@pytest.mark.parametrize(
    ("mechanism", "claim", "delta", "share"),
    [
        (RESPONSE, hush.PureDP(1.0), None, 0.9),
        (hush.Laplace(1.0), hush.PureDP(1.0), None, 0.9),
        (hush.Gaussian(1.0), hush.GaussianDP(1.0), None, 0.85),
        (hush.Gaussian(1.0), hush.Gaussian(1.0), 1e-2, 0.85),
        (hush.Gaussian(3.73), hush.Gaussian(3.73), 1e-2, 0.85),
        (hush.Gaussian(3.73), hush.Gaussian(3.73), 1e-5, 0.45),
    ],
)
def test_power_vs_truth(mechanism: hush.Mechanism, claim: hush.Mechanism, delta: float | None, share: float) -> None:
    """100,000 samples per world after the split."""
    report = distinguish(*worlds(mechanism, 200_000, 1), claim=claim, delta=delta)
    assert report.samples == 100_000
    assert share * report.claim.value <= report.lower_bound <= report.claim.value
    assert report.survives


def test_too_little_noise_is_refuted() -> None:
    report = distinguish(*worlds(hush.Laplace(0.8), 100_000, 2), claim=hush.PureDP(1.0))
    assert not report.survives
    assert "REFUTED" in str(report)


def test_a_point_outside_the_curve_refutes_though_the_number_is_small() -> None:
    """The epsilon at a large delta is met, the trade-off curve is not."""
    claim = hush.Gaussian(10.0)
    report = distinguish(*worlds(hush.Gaussian(2.0), 100_000, 3), claim=claim, delta=1e-5)
    assert not report.survives


@pytest.mark.parametrize("order", [1, -1])
def test_both_directions_are_tried(order: int) -> None:
    """An event that only one world has, in either order of the worlds."""
    random = np.random.default_rng(1)
    rare = np.where(random.random(20_000) < 0.05, 9.0, 0.0)
    never = np.zeros(20_000)
    report = distinguish(*(rare, never)[::order], claim=hush.PureDP(1.0))
    assert report.lower_bound > 3
    assert not report.survives


def test_million_samples_take_two_seconds() -> None:
    random = np.random.default_rng(1)
    present, absent = random.standard_normal(1_000_000) + 1, random.standard_normal(1_000_000)
    start = time.process_time()
    report = distinguish(present, absent, claim=hush.GaussianDP(1.0))
    assert time.process_time() - start < 2
    assert report.lower_bound > 0.97


def test_float_noise_vs_last_bits() -> None:
    """Noise made of floats keeps its promise until somebody looks at the last bits (Mironov 2012)."""
    drawn = worlds(hush.Laplace(1.0), 20_000, 4)
    assert distinguish(*drawn, claim=hush.PureDP(1.0)).survives
    assert not distinguish(*drawn, claim=hush.PureDP(1.0), bits=True).survives
    grid = tuple(np.round(world * 1024) / 1024 for world in drawn)
    assert distinguish(*grid, claim=hush.PureDP(1.0 + 1 / 1024), bits=True).survives


def test_vectors_vs_composition() -> None:
    """Three coordinates leak three times."""
    report = distinguish(*worlds(hush.Laplace(1.0).repeat(3), 100_000, 1), claim=hush.PureDP(3.0))
    assert 2.5 < report.lower_bound < 3


def test_text_is_an_output_too() -> None:
    random = np.random.default_rng(1)
    present, absent = (np.where(random.random(5000) < p, "yes", "no") for p in (0.9, 0.1))
    report = distinguish(present, absent, claim=hush.PureDP(2.5))
    assert 1.9 < report.lower_bound < math.log(9)


def test_text_seen_only_by_the_counting_half_moves_no_event() -> None:
    """What the attacker may choose among is fixed by the half that chooses."""
    random = np.random.default_rng(2)
    first = np.array([f"{number:04}" for number in random.integers(0, 3000, 200)])
    late = [np.array([f"{number:04}{letter}" for number in random.integers(0, 3000, 200)]) for letter in "ab"]
    placed = [as_worlds(np.concatenate([first, unseen]), np.concatenate([first, first]))[0] for unseen in late]
    assert np.array_equal(placed[0][:200], placed[1][:200])
    assert len(set(placed[0][:200])) == len(set(first))


def test_null_audits_of_text_that_never_repeats() -> None:
    random = np.random.default_rng(6)
    stated, alarms = Claim.of(hush.PureDP(1.0)), 0
    for _ in range(100):
        texts = np.array([f"{number:.17f}" for number in random.random(400)])
        _, _, true, false = attack(as_worlds(texts[:200], texts[200:]), stated, 0.05)
        alarms += bool(np.min(stated.bound(true, false)) > 0)
    assert alarms <= 12


def test_bytes_of_any_encoding_are_text() -> None:
    random = np.random.default_rng(1)
    present, absent = (np.where(random.random(5000) < p, b"\xff\xfe", b"\x80") for p in (0.9, 0.1))
    assert 1.9 < distinguish(present, absent, claim=hush.PureDP(2.5)).lower_bound < math.log(9)


class TestNullCheck:
    def test_dependent_runs_are_noticed(self) -> None:
        """Runs that carry their noise along drift: the null check says so, and the report claims nothing."""
        random = np.random.default_rng(3)
        present, absent = (np.cumsum(random.standard_normal(20_000)) for _ in range(2))
        report = distinguish(present, absent, claim=hush.PureDP(1.0))
        assert not report.null.passes
        assert report.survives
        assert "no evidence" in report.verdict

    def test_runs_always(self) -> None:
        report = distinguish(*worlds(hush.Laplace(1.0), 1000, 1), claim=hush.PureDP(1.0))
        assert report.null.runs >= 4
        assert report.null.passes


class TestBadInput:
    good = np.random.default_rng(1).standard_normal(200)

    @pytest.mark.parametrize(
        ("bad", "match"),
        [
            (good[:99], "at least 100"),
            (np.append(good, math.nan), "NaN"),
            (good.reshape(2, 10, 10), "rows of numbers"),
            (good.astype(object), "numbers or text"),
            (3.0, "rows of numbers"),
        ],
    )
    def test_named_errors(self, bad: object, match: str) -> None:
        for pair in ((bad, self.good), (self.good, bad)):
            with pytest.raises(hush.InvalidParameter, match=match):
                distinguish(*pair, claim=hush.PureDP(1.0))

    def test_a_mechanism_that_raises(self) -> None:
        def broken(size: int) -> np.ndarray:
            raise ZeroDivisionError("secret 17")

        with pytest.raises(hush.InvalidParameter, match="a mechanism that runs; got present='ZeroDivisionError'"):
            distinguish(broken, self.good, claim=hush.PureDP(1.0))

    def test_constant_outputs_are_no_evidence(self) -> None:
        report = distinguish(np.zeros(500), np.zeros(500), claim=hush.PureDP(1.0))
        assert report.lower_bound == 0
        assert report.verdict == "no evidence against the claim"

    def test_shapes_must_agree(self) -> None:
        with pytest.raises(hush.InvalidParameter, match="one shape"):
            distinguish(self.good, self.good.reshape(100, 2), claim=hush.PureDP(1.0))

    def test_a_claim_without_delta(self) -> None:
        with pytest.raises(hush.InvalidParameter, match="delta="):
            distinguish(self.good, self.good, claim=hush.Gaussian(1.0))

    @pytest.mark.parametrize("confidence", [0.2, 1.0, math.nan, "high"])
    def test_confidence(self, confidence: object) -> None:
        with pytest.raises(hush.InvalidParameter, match="confidence"):
            distinguish(self.good, self.good, claim=hush.PureDP(1.0), confidence=confidence)

    def test_infinite_outputs_are_outputs(self) -> None:
        ends = np.where(np.arange(4000) % 2 == 0, math.inf, -math.inf)
        report = distinguish(ends, -ends, claim=hush.PureDP(1.0))
        assert report.survives
