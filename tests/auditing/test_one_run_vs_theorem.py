"""One-run audits against the theorems computed another way, against simulated attackers, and on bad input."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import optimize, special, stats

import hush
from hush.auditing import Claim, one_run
from hush.auditing.canaries.chances_of_guesses import (
    Inverse,
    bound_from_right,
    chance_of_right,
    gaussian_inverse,
    is_possible,
    right_guesses,
)
from hush.auditing.canaries.numbers_of_guesses import JointTests, expected_guesses, numbers_of_guesses, planned_tests


def mean_query(canaries: int, noise: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Orthogonal unit canaries, their noisy sum, and its product with each of them."""
    random = np.random.default_rng(seed)
    members = random.random(canaries) < 0.5
    return members + noise * random.standard_normal(canaries), members


def p_value(right: int, guesses: int, canaries: int, epsilon: float, delta: float) -> float:
    """The theorem as it is printed, term by term."""
    law = stats.binom(guesses, 1 / (1 + math.exp(-epsilon)))
    i = np.arange(1, right + 1)
    return law.sf(right - 1) + 2 * canaries * delta * np.max((law.sf(right - i - 1) - law.sf(right - 1)) / i)


def pure_inverse(epsilon: float) -> Inverse:
    return lambda y: np.maximum(y * math.exp(-epsilon), 1 - math.exp(epsilon) * (1 - y))


@pytest.mark.parametrize("noise", [0.5, 1.0])
@pytest.mark.parametrize("delta", [1e-5, 1e-7])
def test_mean_query_vs_theorem(noise: float, delta: float) -> None:
    """1000 canaries, 100 guesses at each end fixed in advance: at least what the theorem says, and below the truth."""
    scores, members = mean_query(1000, noise, 1)
    claim = hush.Gaussian(noise)
    report = one_run(scores, members, claim=claim, delta=delta, guesses=(100, 100))
    ranked = members[np.argsort(-scores)]
    correct = int(ranked[:100].sum() + (~ranked[-100:]).sum())
    value = optimize.brentq(lambda e: p_value(correct, 200, 1000, e, delta) - 0.05, 0, 12, xtol=1e-5)
    assert value - 1e-4 <= report.lower_bound <= claim.epsilon(delta=delta).upper


@pytest.mark.parametrize(("right", "guesses"), [(60, 100), (95, 100), (1, 3), (50, 50)])
@pytest.mark.parametrize("epsilon", [0.0, 0.7, 3.0, 30.0])
@pytest.mark.parametrize("delta", [0.0, 1e-6, 1e-3])
def test_chance_vs_terms(right: int, guesses: int, epsilon: float, delta: float) -> None:
    """Term by term; and where it is small, no larger than the theorem that it sharpens."""
    law = stats.binom(guesses, special.expit(epsilon))
    tail, missed = law.sf(right - 1), law.cdf(right - 1)
    leak = 200 * delta * tail * missed / (right * law.pmf(right)) if missed > 0 else 0.0
    terms = min(1.0, tail + leak)
    found = float(chance_of_right(right, guesses, 200, epsilon=epsilon, delta=delta))
    assert found == pytest.approx(terms, rel=1e-6)
    assert found > 0.5 or found <= p_value(right, guesses, 200, epsilon, delta) * (1 + 1e-6)


def test_chance_grows_with_epsilon() -> None:
    for correct, guesses, delta in ((60, 100, 1e-3), (95, 100, 1e-5), (3, 40, 0.1), (40, 40, 0.01)):
        found = chance_of_right(correct, guesses, 200, epsilon=np.linspace(0, 64, 500), delta=delta)
        assert np.all(np.diff(found) >= -1e-12)
        assert np.all((found >= 0) & (found <= 1))


@pytest.mark.parametrize("mu", [0.0, 0.5, 1.5])
@pytest.mark.parametrize("guesses", [(15, 15), (8, 8), (10, 0)])
def test_tradeoff_theorem_vs_simulation(mu: float, guesses: tuple[int, int]) -> None:
    """What an attacker on 30 independent Gaussian canaries reaches is never called impossible."""
    random = np.random.default_rng(7)
    runs, canaries = 20_000, 30
    members = random.random((runs, canaries)) < 0.5
    order = np.argsort(-(mu * members + random.standard_normal(members.shape)), axis=1)
    ranked = np.take_along_axis(members, order, axis=1)
    first, last = guesses
    found = ranked[:, :first].sum(axis=1) + (~ranked[:, canaries - last :]).sum(axis=1)
    for value in range(first + last + 1):
        chance = np.mean(found >= value) - 4 * math.sqrt(0.25 / runs)
        if chance > 0.001:
            assert is_possible(value, first + last, canaries, chance, gaussian_inverse(mu), ())


def test_tradeoff_theorem_vs_randomized_response() -> None:
    """Independent coins kept with probability e^eps/(1 + e^eps) attain the pure bound; the other theorem allows it."""
    epsilon, canaries = 1.0, 50
    for value in (30, 37, 42, 46):
        chance = stats.binom.sf(value - 1, canaries, 1 / (1 + math.exp(-epsilon)))
        assert is_possible(value, canaries, canaries, chance, pure_inverse(epsilon), ())
        assert not is_possible(value, canaries, canaries, min(8 * chance + 0.3, 1.0), pure_inverse(0.1), ())


@pytest.mark.parametrize("claim", [hush.GaussianDP(1.0), hush.PureDP(1.0), hush.ApproxDP(1.0, 1e-5)], ids=str)
def test_null_audits_vs_confidence(claim: hush.Mechanism) -> None:
    random = np.random.default_rng(3)
    alarms = 0
    for _ in range(60):
        scores, members = random.standard_normal(60), random.random(60) < 0.5
        alarms += one_run(scores, members, claim=claim).lower_bound > 0
    assert alarms <= stats.binom.ppf(0.999, 60, 0.05)


@pytest.mark.parametrize(
    ("mu", "claim", "delta"), [(1.0, hush.GaussianDP(1.0), None), (3.0, hush.GaussianDP(3.0), 1e-5)]
)
def test_bound_vs_truth(mu: float, claim: hush.Mechanism, delta: float | None) -> None:
    stated = Claim.of(claim, delta)
    above = 0
    for seed in range(60):
        scores, members = mean_query(200, 1 / mu, seed)
        ranked = members[np.argsort(-scores)]
        found = bound_from_right(right_guesses(ranked, (25, 25)), (25, 25), 200, stated, 0.05)
        above += found > stated.value
    assert above <= stats.binom.ppf(0.999, 60, 0.05)


def test_no_noise_is_refuted() -> None:
    scores, members = mean_query(1000, 0.01, 2)
    report = one_run(scores, members, claim=hush.ApproxDP(2.0, 1e-6))
    assert not report.survives
    assert report.lower_bound > 4


def test_more_numbers_of_guesses_cost_confidence() -> None:
    assert sum(numbers_of_guesses(1000, [(63, 62), (500, 500)]).values()) == pytest.approx(1.0)
    scores, members = mean_query(1000, 1.0, 5)
    for delta in (None, 1e-5):
        options = {"claim": hush.GaussianDP(1.0), "delta": delta}
        tried = [one_run(scores, members, guesses=(half, half), **options).lower_bound for half in range(5, 500, 15)]
        assert 0 < one_run(scores, members, **options).lower_bound < max(tried)


@pytest.mark.parametrize(("canaries", "delta", "together"), [(1000, 1e-5, True), (1000, 0.0, True), (1000, 0.1, False)])
def test_together_unless_delta_takes_the_error(canaries: int, delta: float, together: bool) -> None:
    claim = Claim.of(hush.ApproxDP(2.0, delta) if delta else hush.PureDP(2.0))
    assert isinstance(planned_tests(canaries, claim, 0.05), JointTests) == together


@pytest.mark.parametrize("mu", [1.0, 3.0])
def test_together_vs_the_best_number_paid_for(mu: float) -> None:
    """On the average of many scores, one test of all numbers proves more than the expected number with all the error."""
    claim = Claim.of(hush.GaussianDP(mu), 1e-6)
    tests, expected = planned_tests(500, claim, 0.05), expected_guesses(500, mu, claim, 0.05)[0]
    together, alone = [], []
    for seed in range(20):
        scores, members = mean_query(500, 1 / mu, 100 + seed)
        ranked = members[np.argsort(-scores)]
        together.append(tests.bound(ranked)[0])
        alone.append(bound_from_right(right_guesses(ranked, expected), expected, 500, claim, 0.05))
    assert np.mean(together) > np.mean(alone)


def test_delta_costs() -> None:
    """At a large delta the same scores prove less."""
    scores, members = mean_query(400, 0.3, 6)
    claims = [hush.ApproxDP(1.0, delta) for delta in (1e-9, 1e-2, 1e-1)]
    found = [one_run(scores, members, claim=claim, guesses=(200, 200)).lower_bound for claim in claims]
    assert found[0] > found[1] + 0.01
    assert found[1] > found[2] + 0.05


def test_fit_draws_fair_coins() -> None:
    seen = []

    def fit(included: np.ndarray) -> np.ndarray:
        seen.append(included.copy())
        return included + 0.3 * np.random.default_rng(1).standard_normal(len(included))

    report = one_run(fit, 400, claim=hush.GaussianDP(1 / 0.3), source=hush.SeededSource(9))
    assert len(seen) == 1
    assert 150 < seen[0].sum() < 250
    assert 0.5 < report.lower_bound < 1 / 0.3


class TestBadInput:
    scores, members = mean_query(100, 1.0, 1)

    @pytest.mark.parametrize("first", [True, False])
    def test_ties_do_not_follow_the_order_of_the_file(self, first: bool) -> None:
        members = (np.arange(100) < 50) == first
        report = one_run(np.zeros(100), members, claim=hush.PureDP(1.0))
        assert report.verdict == "no evidence against the claim"

    def test_ties_in_a_file_sorted_by_label(self) -> None:
        """Randomized response at epsilon .5 has two scores alone: the bound stays below, whatever the order is."""
        random, above = np.random.default_rng(31), 0
        for run in range(40):
            members = random.random(600) < 0.5
            scores = np.where(random.random(600) < 1 / (1 + math.exp(-0.5)), members, ~members).astype(float)
            places = np.argsort(members if run % 2 else ~members, kind="stable")
            sorted_file = one_run(scores[places], members[places], claim=hush.PureDP(0.5)).lower_bound
            assert sorted_file == one_run(scores, members, claim=hush.PureDP(0.5)).lower_bound
            above += sorted_file > 0.5
        assert above <= 6

    @pytest.mark.parametrize(
        ("scores", "members", "match"),
        [
            (scores[:10], members[:10], "at least 20"),
            (np.append(scores[:-1], math.nan), members, "no NaN"),
            (scores, members[:50], "one label for each"),
            (scores, None, "list of numbers"),
            (scores, members * 2, "1 for a member"),
            (scores, np.ones(100), "fair coin"),
            ([["a"]], members, "list of numbers"),
        ],
    )
    def test_named_errors(self, scores: object, members: object, match: str) -> None:
        with pytest.raises(hush.InvalidParameter, match=match):
            one_run(scores, members, claim=hush.PureDP(1.0))

    @pytest.mark.parametrize("guesses", [(0, 0), (90, 90), (1.5, 2), 7, ("a", 1)])
    def test_guesses(self, guesses: object) -> None:
        with pytest.raises(hush.InvalidParameter, match="guesses"):
            one_run(self.scores, self.members, claim=hush.PureDP(1.0), guesses=guesses)

    def test_a_training_that_raises(self) -> None:
        def broken(included: np.ndarray) -> np.ndarray:
            raise RuntimeError("row 7")

        with pytest.raises(hush.InvalidParameter, match="a training that runs; got fit='RuntimeError'"):
            one_run(broken, 100, claim=hush.PureDP(1.0))


class TestEdges:
    scores, members = mean_query(1000, 0.5, 1)

    @pytest.mark.parametrize("claim", [hush.PureDP(1.0), hush.ApproxDP(1.0, 1e-6), hush.GaussianDP(0.3)], ids=str)
    def test_twenty_canaries_told_apart(self, claim: hush.Mechanism) -> None:
        members = np.random.default_rng(3).permutation(np.arange(20) < 10)
        report = one_run(members * 1.0, members, claim=claim)
        assert not report.survives
        assert one_run(members * -1.0, members, claim=claim).lower_bound == 0

    def test_a_leak_of_everything_with_probability_delta_is_no_evidence(self) -> None:
        assert one_run(self.members, self.members, claim=hush.ApproxDP(1.0, 0.5)).lower_bound == 0

    @pytest.mark.parametrize("claim", [hush.PureDP(2.0), hush.ApproxDP(2.0, 1e-8), hush.GaussianDP(1.0)], ids=str)
    def test_more_confidence_proves_less(self, claim: hush.Mechanism) -> None:
        found = [
            one_run(self.scores, self.members, claim=claim, confidence=level).lower_bound
            for level in (0.5, 0.95, 0.9999)
        ]
        assert found[0] > found[1] > found[2] > 0

    @pytest.mark.parametrize("claim", [hush.PureDP(0.0), hush.PureDP(500.0), hush.ApproxDP(0.0, 1e-6)], ids=str)
    def test_claims_of_nothing_and_of_anything(self, claim: hush.Mechanism) -> None:
        """The claim only steers which numbers of guesses are favoured: the bound hardly depends on it."""
        found = one_run(self.scores, self.members, claim=claim).lower_bound
        assert found == pytest.approx(one_run(self.scores, self.members, claim=hush.PureDP(2.0)).lower_bound, rel=0.15)

    def test_better_guesses_prove_more(self) -> None:
        tests = planned_tests(300, Claim.of(hush.ApproxDP(2.0, 1e-6)), 0.05)
        ranked = np.arange(300) < 150
        found = []
        for wrong in (0, 3, 10, 40):
            worse = ranked.copy()
            worse[:wrong], worse[-wrong or 300 :] = False, True
            found.append(tests.bound(worse)[0])
        assert found == sorted(found, reverse=True)
        assert found[0] > found[1]
