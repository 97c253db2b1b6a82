"""How often is each answer given? The same question asked locally, through a shuffle, and by a trusted curator.

Every person holds one of eight answers. For the same epsilon and delta, what error does the estimated frequency of a
rare answer have? Run it: `python docs/examples/local_shuffled_central.py`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

import hush
from hush.randomness import add_laplace

PEOPLE, CHOICES, EPSILON, DELTA = 100_000, 8, 0.1, 1e-6


@dataclass(frozen=True)
class Way:
    """One way to ask: the guarantee that is proved, and the error that comes with it."""

    name: str
    epsilon: float
    error: float
    """Standard error of the estimated frequency of a rare answer, by formula."""
    observed: float
    """The same, seen in simulated rounds."""


def local(values: np.ndarray, source: hush.Source, rounds: int) -> Way:
    """Nobody is trusted: each report alone is epsilon-DP."""
    randomizer = hush.KaryResponse(epsilon=EPSILON, choices=CHOICES)
    bound = randomizer.epsilon(delta=0)
    return Way("local", bound.upper, randomizer.standard_error(PEOPLE), spread(randomizer, values, source, rounds))


def shuffled(values: np.ndarray, source: hush.Source, rounds: int) -> Way:
    """A shuffler drops the names: each report may carry the largest local epsilon that still meets the target."""
    found = hush.calibrate(
        lambda epsilon0: hush.KaryResponse(epsilon=epsilon0, choices=CHOICES).shuffled(people=PEOPLE),
        over=(0.1, 10.0),
        epsilon=EPSILON,
        delta=DELTA,
    )
    randomizer = hush.KaryResponse(epsilon=found.value, choices=CHOICES)
    error = randomizer.standard_error(PEOPLE)
    return Way("shuffled", found.bound.upper, error, spread(randomizer, values, source, rounds))


def central(values: np.ndarray, source: hush.Source, rounds: int) -> Way:
    """A curator sees everything and adds noise to the counts: replacing a person moves two of them by one."""
    mechanism = hush.Laplace(scale=1 / EPSILON, relation=hush.Relation.REPLACE)
    noise = 2 / EPSILON  # the scale is in units of the sensitivity, which is 2
    error = noise * math.sqrt(2) / PEOPLE
    rare = np.full(rounds, np.count_nonzero(values == CHOICES - 1))  # one count per round
    found = add_laplace(rare, sensitivity=2.0, scale=1 / EPSILON, source=source).values / PEOPLE
    return Way("central", mechanism.epsilon(delta=0).upper, error, float(np.std(found)))


def spread(randomizer: hush.KaryResponse, values: np.ndarray, source: hush.Source, rounds: int) -> float:
    """Deviation of the estimate of the rarest answer over so many rounds."""
    found = [randomizer.frequencies(randomizer.encode(values, source))[-1] for _ in range(rounds)]
    return float(np.std(found))


def compare(rounds: int = 20, seed: int = 1) -> list[Way]:
    """All three ways on the same people; the seed makes it a simulation, not a release."""
    chances = np.array([0.4, 0.25, 0.15, 0.1, 0.05, 0.03, 0.02, 0.0])
    values = np.random.default_rng(seed).choice(CHOICES, size=PEOPLE, p=chances)
    return [way(values, hush.SeededSource(seed), rounds) for way in (local, shuffled, central)]


def main() -> None:
    print(f"{PEOPLE} people, {CHOICES} answers, epsilon {EPSILON}, delta {DELTA} where it is needed")
    print(f"{'way':<10}{'epsilon':>10}{'error':>12}{'observed':>12}")
    for way in compare():
        print(f"{way.name:<10}{way.epsilon:>10.4g}{way.error:>12.2g}{way.observed:>12.2g}")


if __name__ == "__main__":
    main()
