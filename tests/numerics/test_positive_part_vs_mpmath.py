"""E(S)_+ of n equal trials: both ways against sums in high precision, against each other, and the binomial parts."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from random import Random

import mpmath
import numpy as np
import pytest

from hush.numerics.special.added_tails import direct
from hush.numerics.special.binomial_tails import excess, log_pmf, window
from hush.numerics.special.line_integral import along_line, log_chernoff
from hush.numerics.special.positive_part import log_positive_part
from hush.numerics.special.trials import Trials
from hush.numerics.work import question


def exact(trials: Trials) -> mpmath.mpf:
    """The sum over all counts, in forty digits."""
    with mpmath.workdps(40):
        n = trials.count
        chances = [mpmath.mpf(c) for c in trials.chances]
        rest = 1 - mpmath.fsum(chances)
        total = mpmath.mpf(0)
        for counts in itertools.product(range(n + 1), repeat=len(chances)):
            still = n - sum(counts)
            value = mpmath.fsum(k * mpmath.mpf(v) for k, v in zip(counts, trials.values, strict=True))
            if still < 0 or value <= 0 or (still > 0 and abs(rest) < 1e-15):
                continue
            weight = mpmath.factorial(n) * rest**still / mpmath.factorial(still)
            for k, c in zip(counts, chances, strict=True):
                weight *= c**k / mpmath.factorial(k)
            total += weight * value
        return total


def drawn(random: Random, drift: int) -> Trials:
    """One positive value, one as negative or more, and others between."""
    chances = [random.uniform(0.02, 0.2) for _ in range(2 + drift)]
    top = random.uniform(0.2, 3)
    bottom = -top * random.uniform(1, 2)
    between = [-top * random.uniform(0, 0.5) for _ in range(drift)]
    return Trials(random.randint(1, 12 if drift == 2 else 25), tuple(chances), (top, bottom, *between))


def around_truth(bounds: Callable[[Trials], tuple[float, float]], trials: Trials, slack: float) -> tuple[float, float]:
    """The bounds, which must enclose what enumeration says."""
    truth = float(mpmath.log(exact(trials)))
    low, high = bounds(trials)
    assert low <= truth + slack and truth - slack <= high
    return low, high


@pytest.mark.parametrize("seed", range(18))
def test_direct_vs_enumeration(seed: int) -> None:
    low, high = around_truth(direct, drawn(Random(seed), seed % 3), 1e-13)
    assert high - low < (1e-8 if seed % 3 < 2 else 0.5)  # several values between are spread, which costs


@pytest.mark.parametrize("seed", range(6))
def test_line_vs_enumeration(seed: int) -> None:
    around_truth(along_line, drawn(Random(seed), seed % 2), 1e-12)


@pytest.mark.parametrize("count", [500, 20_000, 250_000])
@pytest.mark.parametrize("tilt", [1.0, 1.02, 1.3])
def test_line_vs_direct(count: int, tilt: float) -> None:
    trials = Trials(count, (0.1, 0.1), (1.0, -tilt))
    a, b = direct(trials), along_line(trials)
    assert max(a[0], b[0]) <= min(a[1], b[1])
    assert a[1] - a[0] < 1e-6  # z is up to 60 here, which multiplies the slack of the tails


@pytest.mark.parametrize("count", [10**7, 10**9])
def test_line_vs_one_tail(count: int) -> None:
    """Two values and no rest: the sum is one binomial excess, for which the line is the second way."""
    trials = Trials(count, (0.3, 0.7), (1.0, -(0.3 + 3 * math.sqrt(0.21 / count)) / 0.7))
    a, b = direct(trials), along_line(trials)
    assert max(a[0], b[0]) <= min(a[1], b[1])
    assert b[1] - b[0] < 1e-5


def test_impossible_and_certain_sums() -> None:
    assert log_positive_part(Trials(10, (0.5,), (-1.0,))) == (-math.inf, -math.inf)
    low, high = log_positive_part(Trials(10, (0.5,), (1.0,)))
    assert low <= math.log(5) <= high and high - low < 1e-9


@pytest.mark.parametrize(("count", "chance"), [(1, 0.3), (30, 0.5), (1000, 0.01), (300_000, 0.4)])
def test_pmf_and_excess_vs_mpmath(count: int, chance: float) -> None:
    deviation = math.sqrt(count * chance * (1 - chance))
    for z in (-2.0, 0.0, 0.5, 3.0, 6.0):
        level = min(max(count * chance + z * deviation, 0.0), count - 0.5)
        m = math.floor(level) + 1
        with mpmath.workdps(40):
            p, total = mpmath.mpf(chance), mpmath.mpf(0)
            term = mpmath.binomial(count, m) * p**m * (1 - p) ** (count - m)
            first = term
            for k in range(m, count + 1):
                total += term * (k - mpmath.mpf(level))
                term *= (count - k) * p / ((k + 1) * (1 - p))
                if term < total * mpmath.mpf(10) ** -22:
                    break
        value, error = excess(np.array([float(count)]), chance, np.array([level]))
        assert abs(float(value[0]) - float(total)) <= float(error[0])
        assert float(error[0]) < 1e-8 * float(total)
        assert float(log_pmf(count, chance, float(m))) == pytest.approx(float(mpmath.log(first)), abs=2e-12)


@pytest.mark.parametrize(("count", "chance"), [(50, 0.2), (1000, 0.5), (1000, 1e-3)])
def test_window_vs_exact_tails(count: int, chance: float) -> None:
    for log_cut in (-2.0, -10.0, -40.0):
        low, high = window(count, chance, log_cut)
        mass = np.exp(log_pmf(count, chance, np.arange(count + 1)))
        assert mass[:low].sum() <= math.exp(log_cut) and mass[high + 1 :].sum() <= math.exp(log_cut)


@pytest.mark.parametrize("chance", [1e-40, 1e-60, 1e-90])
def test_a_line_near_orders_whose_moment_is_past_all_floats(chance: float) -> None:
    """Where e^{8c value} overflows, that order bounds no alias; the others do, and the interval holds."""
    trials = Trials(300, (chance, 0.5), (1.0, -0.02))
    with question():  # overflow that is not meant is an error here
        low, high = along_line(trials, 1e-8)
        least, most = direct(trials)
    assert low <= most
    assert least <= high < 0


@pytest.mark.parametrize("chances", [(1e-300, 1e-140), (1e-300, 1e-140, 0.5), (1e-310, 1e-3), (1e-200, 1e-90, 0.25)])
def test_several_rare_positive_values_vs_the_exact_mean(chances: tuple[float, ...]) -> None:
    """Where no line is in reach the mean bounds from above, and that of the largest value alone would not."""
    trials = Trials(1, chances, (1.0, 0.01, -0.5)[: len(chances)])
    exact = math.log(chances[0] * 1.0 + chances[1] * 0.01)
    for high in (along_line(trials)[1], log_chernoff(trials)):
        assert exact <= high <= max(0.999 * exact, 0.5 * exact + 20)
    assert log_chernoff(Trials(100, chances, (1.0, 0.01, -0.5)[: len(chances)])) >= exact


def test_no_positive_value() -> None:
    trials = Trials(10, (0.25, 0.25), (-1.0, -2.0))
    assert along_line(trials) == (-math.inf, -math.inf)
    assert log_chernoff(trials) == -math.inf
