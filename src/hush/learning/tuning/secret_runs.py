"""A private search: a secret, random number of runs on random candidates; the best is kept, nothing of the others."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from hush.checks import listed
from hush.errors import InvalidParameter
from hush.learning.boundary import attempt, quiet
from hush.mechanisms.mechanism import Mechanism, require
from hush.mechanisms.runs import Runs
from hush.randomness.draws import integers
from hush.randomness.source import Source, source_or_secure

FAILED = -math.inf
"""The score of a run that raised, or whose score is no number: worse than any other."""


@dataclass(frozen=True, eq=False)
class Found:
    """The best run of a private search. How many runs there were is not kept, nor anything of the others."""

    candidate: Any
    output: Any
    score: float
    mechanism: Mechanism
    """What the whole search revealed: `mechanism.epsilon(delta=...)`."""
    private: bool
    """Whether it may be published: not where the number of runs can be replayed."""
    found: bool = True
    """Whether any run ended well; a Poisson number of runs may be none."""


def search(
    run: Callable[[Any], tuple[Any, float]],
    candidates: Sequence[Any],
    *,
    mechanism: Mechanism,
    runs: Runs,
    source: Source | None = None,
) -> Found:
    """The best of a secret number of runs, each on a candidate that is drawn at random; ties go to the earlier run.

    `run(candidate)` returns an output and its score. Both together must be private as `mechanism` says, for every
    candidate: a score that was computed on private data needs noise too. What a run raises stays inside, and the run
    counts as the worst. How long a search takes tells how many runs there were: keep that secret as well.

    >>> import hush
    >>> step = hush.Laplace(1.0)
    >>> best = search(lambda c: (c, float(c)), [1, 2, 3], mechanism=step, runs=hush.GeometricRuns(gamma=0.2))
    >>> best.candidate in (1, 2, 3), best.mechanism == step.best_of(runs=hush.GeometricRuns(gamma=0.2))
    (True, True)
    """
    whole = require("search", mechanism).best_of(runs=runs)
    options = listed("search", "a list of candidates", candidates=candidates)
    if not options:
        raise InvalidParameter("search", "at least one candidate", candidates=len(options))
    if not callable(run):
        raise InvalidParameter("search", "run= a function of a candidate", run=type(run))
    bits = source_or_secure(source)
    best, output, score, found = None, None, FAILED, False
    with quiet():
        for _ in range(runs.draw(bits)):
            candidate = options[int(integers(bits, len(options), 1)[0])]
            made = attempt(lambda candidate=candidate: _checked(run(candidate)))
            if made is not None and (not found or made[1] > score):
                best, found = candidate, True
                output, score = made
    return Found(best, output, score, whole, bits.private, found)


def _checked(made: tuple[Any, float]) -> tuple[Any, float]:
    """Output and score of a run; a score that is not a number is the worst."""
    output, score = made
    value = float(score)
    return output, FAILED if math.isnan(value) else value
