"""The best of a random number of runs: exact laws of small bases in random order, reference values, draws, edges."""

from __future__ import annotations

import math
from random import Random

import numpy as np
import pytest
from scipy import integrate, stats

import hush
from hush import GeometricRuns, InvalidParameter, NegativeBinomialRuns, PoissonRuns, Relation
from hush.curves.pairs.finite import FinitePair
from hush.curves.theorems.selection import shift_of
from hush.mechanisms.neighbours import ADDED, REMOVED
from hush.mechanisms.runs import Runs
from tests.mechanisms.test_schemes_vs_brute_force import EPSILONS, composed, stick

LAWS: list[Runs] = [
    *(
        NegativeBinomialRuns(gamma, eta)
        for gamma, eta in ((0.02, 1.0), (0.1, 0.0), (0.4, 2.0), (0.1, -0.5), (0.9, 0.5))
    ),
    GeometricRuns(0.05),
    *(PoissonRuns(mean) for mean in (0.3, 2.0, 30.0)),
]


def generating(runs: Runs, s: np.ndarray) -> np.ndarray:
    """phi(s), as it is printed in books."""
    if isinstance(runs, PoissonRuns):
        return np.exp(runs.mean * (s - 1))
    same = runs.same if isinstance(runs, GeometricRuns) else runs
    g, eta = same.gamma, same.eta
    if eta == 0:
        return np.log1p(-(1 - g) * s) / math.log(g)
    return ((1 - (1 - g) * s) ** -eta - 1) / (g**-eta - 1)


def best(runs: Runs, law: np.ndarray) -> np.ndarray:
    """The law of the best, outcome 0 the best of all, and of no run at all."""
    worse = 1 - np.concatenate([[0.0], np.cumsum(law)])
    at = generating(runs, np.maximum(worse, 0.0))
    return np.append(at[:-1] - at[1:], generating(runs, np.zeros(1)))


def base(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Two laws of a few outcomes in random order; the two directions may differ much, and masses may be missing."""
    random = Random(seed)
    size = random.randint(2, 5)
    p, q = (np.array([random.random() ** random.choice([1, 4]) + 1e-3 for _ in range(size)]) for _ in "pq")
    p, q = p / p.sum(), q / q.sum()
    kind = random.choice(["plain", "sampled", "near", "missing"])
    if kind == "sampled":  # one direction of a sample reveals far less than the other
        p = 0.05 * p + 0.95 * q
    elif kind == "near":
        p = 0.2 * p + 0.8 * q
    elif kind == "missing":
        p = np.append(p * 0.99, 0.01)
        q = np.append(q, 0.0)
    return p, q


def promised(p: np.ndarray, q: np.ndarray, runs: Runs) -> hush.Mechanism:
    pair = FinitePair.of(p, q)
    return hush.FromPair(pair, pair.swap()).best_of(runs=runs)


@pytest.mark.parametrize("runs", LAWS, ids=str)
def test_no_base_is_above_the_bound(runs: Runs) -> None:
    for seed in range(40):
        p, q = base(seed)
        mechanism = promised(p, q, runs)
        one, other = best(runs, p), best(runs, q)
        assert math.fsum(one) == pytest.approx(1.0, abs=1e-9)
        for way, first, second in ((REMOVED, one, other), (ADDED, other, one)):
            pair = mechanism.evidence(way).pair
            for epsilon in EPSILONS:
                truth = stick(first, second, epsilon)
                assert truth <= math.exp(pair.log_delta(epsilon)[1]) * (1 + 1e-9) + 1e-12, (seed, epsilon)


@pytest.mark.parametrize("runs", [NegativeBinomialRuns(0.1, 1.0), PoissonRuns(2.0)], ids=str)
def test_composed_with_others(runs: Runs) -> None:
    """A selection and a plain release, and two selections, against the product of the exact laws."""
    for seed in range(2):
        p, q = base(seed)
        one, other = best(runs, p), best(runs, q)
        exact = np.outer(composed(one, 2), p).ravel(), np.outer(composed(other, 2), q).ravel()
        pair = FinitePair.of(p, q)
        whole = promised(p, q, runs).repeat(2).then(hush.FromPair(pair, pair.swap()))
        found = whole.evidence(REMOVED).pair
        for epsilon in (0.0, 1.0):
            assert stick(*exact, epsilon) <= math.exp(found.log_delta(epsilon)[1]) * (1 + 1e-6) + 1e-9


@pytest.mark.parametrize("seed", range(12))
def test_witnesses_are_laws_of_real_searches(seed: int) -> None:
    """The lower end is that of runs in the order of their losses, which this enumerates."""
    p, q = base(seed)
    runs = LAWS[seed % len(LAWS)]
    order = np.argsort(-np.log(np.maximum(p, 1e-300)) + np.log(np.maximum(q, 1e-300)))
    for epsilon in (0.1, 0.5, 1.0):
        truths = [stick(p, q, epsilon) * (1 - runs.none), stick(q, p, epsilon) * (1 - runs.none)]
        for places in (order, order[::-1]):
            one, other = best(runs, p[places]), best(runs, q[places])
            truths += [stick(one, other, epsilon), stick(other, one, epsilon)]
        found = promised(p, q, runs).delta(epsilon=epsilon)
        assert found.lower == pytest.approx(max(truths), rel=1e-6, abs=1e-9)
        assert found.lower <= max(truths) * (1 + 1e-9)


GAUSSIAN = {
    # mu, eta, gamma, delta: one layer, what the root is, the witness, Rényi
    (0.5, 1.0, 0.1, 1e-6): (3.38251250884, 0.446086989752, 2.4903282, 4.54492782),
    (0.5, 0.0, 0.1, 1e-6): (2.84260421939, 0.446086989752, 2.3965, 3.5056),
    (1.0, 1.0, 0.01, 1e-6): (9.08238943415, 1.65314552563, 5.7760907, 11.15586717),
    (0.25, 1.0, 0.01, 1e-6): (2.15083973456, 0.429079840369, 1.2927, 2.8240),
    (0.5, 0.5, 0.05, 1e-8): (3.7870672716, 0.573497048918, 2.9268216, 4.7231324),
}
LAYERED = {(0.5, 1.0, 0.1, 1e-6): 3.345, (1.0, 1.0, 0.01, 1e-6): 8.964, (0.25, 1.0, 0.01, 1e-6): 2.088}


@pytest.mark.parametrize("case", GAUSSIAN)
def test_gaussian_reference(case: tuple[float, float, float, float]) -> None:
    mu, eta, gamma, delta = case
    one_layer, root, witness, renyi = GAUSSIAN[case]
    runs = NegativeBinomialRuns(gamma, eta)
    mechanism = hush.Gaussian(1 / mu).best_of(runs=runs)
    pair = mechanism.pairs()["remove"]
    shift = shift_of(runs, pair.opposite)
    assert shift / (eta + 1) == pytest.approx(root, rel=1e-10)
    assert pair.run.epsilon(math.log(delta / runs.mean))[1] + shift == pytest.approx(one_layer, rel=1e-10)
    found = mechanism.epsilon(delta=delta)
    assert found.upper < LAYERED.get(case, one_layer) < renyi
    assert found.lower == pytest.approx(witness, rel=5e-5)
    assert hush.ZCDP(mu * mu / 2).best_of(runs=runs).epsilon(delta=delta).upper == pytest.approx(renyi, rel=2e-5)


POISSON = {(0.5, 10.0): (4.464465043, 4.249, 2.49033, 5.182727632), (0.1, 100.0): (4.480611533, 2.853, 1.95544, 3.2346)}


@pytest.mark.parametrize("case", POISSON)
def test_poisson_reference(case: tuple[float, float]) -> None:
    mu, mean = case
    one_layer, layered, witness, renyi = POISSON[case]
    mechanism = hush.Gaussian(1 / mu).best_of(runs=PoissonRuns(mean))
    pair = mechanism.pairs()["remove"]
    simple = pair.run.epsilon(math.log(1e-6 / mean))[1] + shift_of(pair.runs, pair.opposite)
    assert simple == pytest.approx(one_layer, rel=1e-9)
    found = mechanism.epsilon(delta=1e-6)
    assert found.upper < layered < renyi * 1.0001
    assert found.lower == pytest.approx(witness, rel=1e-4)
    assert hush.ZCDP(mu * mu / 2).best_of(runs=PoissonRuns(mean)).epsilon(delta=1e-6).upper <= renyi * (1 + 1e-4)


PURE = {
    (1.0, 1.0, 0.1): 2.5913440783191,
    (0.5, 1.0, 0.01): 1.4793884247709,
    (1.0, 0.0, 0.1): 1.79567203916,
    (1.0, 1.0, 0.5): 1.62110018025,
}


@pytest.mark.parametrize("case", PURE)
def test_pure_reference(case: tuple[float, float, float]) -> None:
    """Less than (2 + eta) times the epsilon of one run, and for any law of the same run."""
    epsilon, eta, gamma = case
    found = hush.PureDP(epsilon).best_of(runs=NegativeBinomialRuns(gamma, eta)).epsilon(delta=0)
    assert found.upper == pytest.approx(PURE[case], rel=1e-9)
    assert found.upper < (2 + eta) * epsilon


def test_the_lower_end_is_below_the_continuous_witness() -> None:
    """Best is largest, one run N(1, 1) against N(0, 1): the exact integral is above what its cells attain."""
    gamma, epsilon = 0.01, 5.7760887

    def density(y: float, mean: float) -> float:
        return stats.norm.pdf(y - mean) * gamma * (gamma + (1 - gamma) * stats.norm.sf(y - mean)) ** -2

    def gap(y: float) -> float:
        return max(density(y, 1.0) - math.exp(epsilon) * density(y, 0.0), 0.0)

    exact = math.fsum(integrate.quad(gap, a, a + 0.25, epsabs=0, epsrel=1e-11)[0] for a in np.arange(2, 12, 0.25))
    found = hush.Gaussian(1.0).best_of(runs=GeometricRuns(gamma)).delta(epsilon=epsilon)
    assert exact * (1 - 1e-4) <= found.lower <= exact


@pytest.mark.parametrize(
    ("runs", "most"), [(GeometricRuns(0.3), 12), (NegativeBinomialRuns(0.2, -0.5), 9), (PoissonRuns(2.5), 9)], ids=str
)
def test_draws_have_their_law(runs: Runs, most: int) -> None:
    source, rounds = hush.SeededSource(8), 4000
    drawn = np.minimum([runs.draw(source) for _ in range(rounds)], most)
    # the chances from the generating function on the unit circle
    circle = np.exp(2j * math.pi * np.arange(1024) / 1024)
    chances = np.fft.fft(generating(runs, circle)).real[:most] / 1024
    expected = rounds * np.append(chances, 1 - chances.sum())
    counts = np.bincount(drawn, minlength=most + 1)
    likely = expected > 1e-6
    assert counts[~likely].sum() == 0
    assert float(stats.chisquare(counts[likely], expected[likely] * rounds / expected[likely].sum()).pvalue) > 1e-6


@pytest.mark.parametrize("eta", [-0.999, -0.5, 0.0, 1e-9, 1.0, 100.0])
@pytest.mark.parametrize("gamma", [1e-9, 0.5, 1 - 1e-9])
def test_edges(gamma: float, eta: float) -> None:
    """The best of one run for sure is that run; every answer is an interval that holds the plain run."""
    runs = NegativeBinomialRuns(gamma, eta)
    assert runs.mean >= 1
    found = hush.Laplace(2.0).best_of(runs=runs).delta(epsilon=0.2)
    plain = hush.Laplace(2.0).delta(epsilon=0.2)
    assert plain.lower * (1 - 1e-9) <= found.lower <= found.upper <= 1
    if gamma > 0.9:
        assert found.upper == pytest.approx(plain.upper, rel=1e-3)
        assert runs.draw(hush.SeededSource(1)) == 1


@pytest.mark.parametrize("mean", [1e-6, 1.0, 1e5])
def test_edges_of_poisson(mean: float) -> None:
    found = hush.Laplace(2.0).best_of(runs=PoissonRuns(mean)).delta(epsilon=0.2)
    assert 0 <= found.lower <= found.upper <= 1
    if mean < 1e-3:
        assert found.upper <= 1.001 * mean


@pytest.mark.parametrize("run", [hush.ApproxDP(0.5, 1e-9), hush.FromPair.of([0.5, 0.5, 0.0], [0.4, 0.3, 0.3])], ids=str)
@pytest.mark.parametrize("runs", [GeometricRuns(0.5), PoissonRuns(3.0)], ids=str)
def test_a_run_that_may_reveal_all_has_no_epsilon_at_delta_zero(run: hush.Mechanism, runs: Runs) -> None:
    for mechanism in (run.best_of(runs=runs), run.best_of(runs=runs).best_of(runs=GeometricRuns(0.5))):
        assert mechanism.epsilon(delta=0).upper == math.inf


def test_a_run_that_reveals_nothing() -> None:
    """Just below epsilon 0, where e^epsilon rounds to 1."""
    nothing = hush.PureDP(1.0).on(hush.Poisson(rate=0.0)).best_of(runs=PoissonRuns(10.0))
    for delta in (1e-300, 1e-9):
        assert nothing.best_of(runs=GeometricRuns(0.999999999)).epsilon(delta=delta).upper < 1e-9


def test_sampled_runs_and_runs_on_one_sample_differ() -> None:
    runs = GeometricRuns(0.1)
    each = hush.Gaussian(1.0).on(hush.Poisson(rate=0.1)).best_of(runs=runs)
    one = hush.Gaussian(1.0).best_of(runs=runs).on(hush.Poisson(rate=0.1))
    assert each.delta(epsilon=0.5).upper < one.delta(epsilon=0.5).upper


def test_groups_and_replacement() -> None:
    best_one = hush.Gaussian(4.0).best_of(runs=GeometricRuns(0.1))
    twice = hush.Gaussian(2.0).best_of(runs=GeometricRuns(0.1)).epsilon(delta=1e-6)
    for both in (best_one.group(2), best_one.under(Relation.REPLACE)):
        assert both.epsilon(delta=1e-6).upper == pytest.approx(twice.upper, rel=1e-6)


def test_words_json_and_bad_input() -> None:
    made = hush.Gaussian(2.0).best_of(runs=NegativeBinomialRuns(0.1, 0.0))
    assert hush.from_json(hush.to_json(made)) == made
    told = made.explain(delta=1e-6)
    assert "Papernot, Steinke 2022" in told
    assert "docs/theory/selection.md" in told
    assert "losing runs stay secret" in made.statement(delta=1e-6)
    for wrong in (3, None, hush.Poisson(rate=0.5)):
        with pytest.raises(InvalidParameter, match="law of the number of runs"):
            hush.Gaussian(1.0).best_of(runs=wrong)
    for gamma, eta in ((0.0, 1.0), (1.0, 1.0), (0.1, -1.0), (math.nan, 1.0), (0.1, 1e-12)):
        with pytest.raises(InvalidParameter):
            NegativeBinomialRuns(gamma, eta)
