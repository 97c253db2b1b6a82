"""What questions cost, in counted work: with much less of it than a question may take, their answers are as narrow."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import hush
from hush import Bound, Gaussian, Laplace, Poisson, Relation, WithoutReplacement, WithReplacement
from hush.numerics import work

REPLACE = Relation.REPLACE
Asked = Callable[[], Bound]

CASES: dict[str, tuple[Asked, float, float]] = {
    # question, work that is enough for it, and the relative width that it must reach with that
    "many steps": (lambda: Gaussian(1.0).on(Poisson(rate=0.01)).repeat(10_000).epsilon(delta=1e-5), 1e6, 1e-6),
    "half sampled": (lambda: Gaussian(10.0).on(Poisson(rate=0.5)).repeat(500).epsilon(delta=1e-8), 1.2e6, 1e-6),
    "heavy tail": (lambda: Gaussian(0.5).on(Poisson(rate=0.001)).repeat(1000).epsilon(delta=1e-6), 3e6, 1e-6),
    "replaced": (
        lambda: Gaussian(1.0).on(Poisson(rate=0.01)).repeat(10_000).under(REPLACE).epsilon(delta=1e-5),
        1e6,
        1e-6,
    ),
    "without replacement": (
        lambda: Gaussian(2.0, REPLACE).on(WithoutReplacement(100, 10_000)).repeat(1000).epsilon(delta=1e-5),
        3e6,
        0.14,
    ),
    "with replacement": (
        lambda: Gaussian(0.6, REPLACE).on(WithReplacement(100, 100)).repeat(20).epsilon(delta=1e-6),
        3e8,
        0.12,
    ),
    "a hundred copies": (
        lambda: Gaussian(1.0, REPLACE).on(WithReplacement(1000, 10)).repeat(30).epsilon(delta=1e-6),
        5e8,
        1e-3,
    ),
    "thirty unlike parts": (
        lambda: hush.sequence(*(Laplace(1 + k / 10) for k in range(30))).epsilon(delta=1e-6),
        5e8,
        2e-5,
    ),
    "thirty unlike samples": (
        lambda: hush.sequence(*(Gaussian(1 + k / 10).on(Poisson(rate=0.1)) for k in range(30))).epsilon(delta=1e-6),
        8e7,
        1e-6,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_little_work_is_enough(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ask, enough, width = CASES[name]
    monkeypatch.setattr(work, "QUESTION", enough)
    found = ask()
    assert found.upper - found.lower <= width * found.upper, found


def test_nested_samples_end() -> None:
    """A sample of samples, twice: the work of one question gives an answer from both sides."""
    whole = Gaussian(1.0).on(Poisson(rate=0.3)).repeat(3).on(Poisson(rate=0.5)).repeat(2)
    found = whole.epsilon(delta=1e-6)
    assert found.lower < 4.8475468 < found.upper  # by a lattice of steps of 5e-5
    assert found.upper - found.lower < 1e-4
