"""Whatever the constructors accept is answered or refused by a HushError: no other exception, no warning, no hang, 1 GB.

The expressions and questions are those of tests/wild.py and tests/wild_run.py, which find classes and methods themselves.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

import hush
from hush import Gaussian, Laplace, Poisson, Relation
from hush.curves.attacker import best_tests
from hush.mechanisms.scheme import Scheme
from hush.numerics import work
from tests.source import concrete
from tests.strategies import parts_of
from tests.wild import Wild
from tests.wild_run import questions

ROOT = Path(__file__).parents[2]


def run(first: int, last: int) -> None:
    """The seeds in a process of their own, as its memory is limited."""
    words = [sys.executable, "-m", "tests.wild_run", str(first), str(last)]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("first", range(0, 400, 100))
def test_wild_expressions(first: int) -> None:
    run(first, first + 100)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(10_000, 14_000, 500))
def test_more_wild_expressions(first: int) -> None:
    run(first, first + 500)


def test_every_class_is_drawn() -> None:
    kinds = {*concrete(hush.Mechanism), *concrete(Scheme)}
    for seed in range(600):
        kinds -= {type(part) for part in parts_of(Wild(Random(seed)).mechanism(seed % 4))}
        if not kinds:
            break
    assert not kinds


def test_every_question_is_asked() -> None:
    assert {"epsilon", "delta", "log_delta", "tradeoff", "roc", "renyi", "statement", "explain"} <= set(questions())


SAMPLED_TWICE = Gaussian(1.0).on(Poisson(rate=0.3)).repeat(3).on(Poisson(rate=0.5)).repeat(2)
HEAVY = {
    "samples of samples": SAMPLED_TWICE,
    "ten to the fifteen rare and large losses": Laplace(0.002).on(Poisson(rate=1e-12)).repeat(10**15),
    "the least rate": Gaussian(1.0).on(Poisson(rate=5e-324)).repeat(100),
    "large losses on a lattice": hush.PureDP(500).repeat(10**6),
    "a shift of 10^11 deviations": hush.DiscreteGaussian(1e4, 10**15),
    "so often": hush.DiscreteGaussian(1e4, 10**15).repeat(10**15),
    "copies of a composition": Gaussian(2.0).repeat(3).then(Laplace(1.0)).on(hush.WithReplacement(100, 1000)),
    "an allocation at the end of its transform": Gaussian(0.3125).on(hush.Allocation(1000)),
    "Skellam noise beside what has a curve alone": hush.Skellam(1.0, 3).then(hush.ZCDP(0.1)),
}


@pytest.mark.parametrize("name", HEAVY)
def test_heavy_questions_have_finite_upper_ends(name: str) -> None:
    mechanism = HEAVY[name].under(Relation.REPLACE) if "copies" in name else HEAVY[name]
    bound = mechanism.epsilon(delta=1e-5)
    assert 0 <= bound.lower <= bound.upper < float("inf")


def test_samples_of_samples_stay_between_their_parts() -> None:
    once = Gaussian(1.0).on(Poisson(rate=0.3)).repeat(3).on(Poisson(rate=0.5))
    bound = SAMPLED_TWICE.epsilon(delta=1e-5)
    assert once.epsilon(delta=1e-5).lower * (1 - 1e-4) <= bound.upper
    assert bound.upper <= 2 * once.epsilon(delta=5e-6).upper


def test_many_losses_that_no_line_follows_have_a_tight_tradeoff() -> None:
    bound = Laplace(1.0).repeat(20).tradeoff(false_positive_rate=0.01)
    assert bound.upper - bound.lower < 3e-6
    assert bound.lower <= 0.0575883585 <= bound.upper  # by a fine lattice, extrapolated


def test_the_order_of_questions_does_not_matter() -> None:
    """What is remembered from one question is not free in the next."""
    training = Gaussian(0.5).on(hush.Allocation(100)).repeat(3)
    first = training.epsilon(delta=1e-5)
    training.delta(epsilon=1.0)
    assert training.epsilon(delta=1e-5) == first


@pytest.mark.parametrize(
    "training",
    [
        Gaussian(1.0).on(Poisson(rate=0.01)).repeat(100),
        Laplace(1.0).repeat(5),
        Laplace(1.0).then(Gaussian(1.0)).on(Poisson(rate=0.1)).repeat(2),
    ],
    ids=str,
)
def test_a_curve_that_is_kept_changes_no_answer(training: hush.Mechanism, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was made for one question is charged to the next as if it were made anew."""
    first = [training.tradeoff(false_positive_rate=rate) for rate in (0.01, 0.3)]
    curve = training.roc()
    again = training.roc()
    assert (curve.lower == again.lower).all()
    assert (curve.upper == again.upper).all()
    assert [training.tradeoff(false_positive_rate=rate) for rate in (0.01, 0.3)] == first
    left: list[float] = []
    charged, curves = work._replay, best_tests._profile_tests.__wrapped__  # type: ignore[attr-defined]

    def noted(key: tuple[object, ...], trace: list[float]) -> None:
        charged(key, trace)
        if key[0] is curves:  # what is remembered inside of a curve is paid from the curve's own budget
            left.append(work._open.get().left)  # type: ignore[union-attr]

    monkeypatch.setattr(work, "_replay", noted)
    training.tradeoff(false_positive_rate=0.1)
    fresh = work.kept(1, best_tests.SHARE_OF_WORK * work.QUESTION)(curves)
    monkeypatch.setattr(best_tests, "_profile_tests", fresh)
    kept = left.copy()
    training.tradeoff(false_positive_rate=0.1)
    assert kept
    assert left == kept + kept


def test_groups_of_groups_are_one_group() -> None:
    assert Gaussian(1.0).group(20).group(30) == Gaussian(1.0).group(600)
    with pytest.raises(hush.InvalidParameter, match="size <= 10000"):
        Gaussian(1.0).group(10_000).group(10_000).group(10_000)
    with pytest.raises(hush.NotCovered, match="covered up to 10000"):
        Gaussian(1.0).group(10_000).repeat(2).group(10_000).epsilon(delta=1e-5)


@pytest.mark.parametrize(
    "make",
    [
        lambda: hush.Group(Gaussian(1.0), 10**15),
        lambda: hush.Group(Gaussian(1.0), 0),
        lambda: hush.Repeat(Gaussian(1.0), -1),
        lambda: hush.Sequence(()),
        lambda: hush.Sequence(((Gaussian(1.0), 1), (Gaussian(1.0, Relation.REPLACE), 1))),
        lambda: hush.Parallel((Gaussian(1.0, Relation.REPLACE), Laplace(1.0, Relation.REPLACE))),
        lambda: hush.Sampled(Gaussian(1.0), hush.Allocation(4)),  # type: ignore[arg-type]
        lambda: hush.Sampled(hush.GaussianPosterior(5, 1.0, 1.0, 1.0), Poisson(rate=0.5)),
        lambda: hush.Allocated(Gaussian(1.0), Poisson(rate=0.5)),  # type: ignore[arg-type]
    ],
)
def test_constructors_check_what_the_combinators_check(make: object) -> None:
    with pytest.raises(hush.HushError):
        make()  # type: ignore[operator]
