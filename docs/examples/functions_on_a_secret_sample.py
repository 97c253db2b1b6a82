"""Statistics that have no release of their own, each on a secret sample: any function with a guarantee will do.

A subsampling bootstrap interval, a jackknife-like variance, a bagged estimate and a frequency sketch. Each is written
for the records that it gets, and adds noise of its own; hush draws the sample and accounts for what sampling adds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import hush
from hush.randomness.additive import add_laplace, scale_for
from hush.randomness.draws import integers
from hush.randomness.source import source_or_secure
from hush.releases import Mean, Quantile, Sample, Variance

EPSILON, RATE = 1.0, 0.5
"""What each example gives away in the end, and the share of the records that it uses."""
INNER = float(np.log1p(np.expm1(EPSILON) / RATE)) * (1 - 1e-12)
"""What may be given away about the sample: log(1 + (e^epsilon - 1)/rate)."""
BLOCKS = 1000
BOUNDS = (30.0, 70.0)
"""Public knowledge about the median of a block."""
REPLACE = hush.Relation.REPLACE


@dataclass(frozen=True)
class Shown:
    """What came out, what it stands for, and what it gave away."""

    value: Any
    truth: Any
    epsilon: float


def by_block(records: np.ndarray, source: hush.Source | None) -> np.ndarray:
    """The median of each of BLOCKS parts of the records, which fall into them at random, each on its own.

    A record is in one block, so adding or removing it replaces one of BLOCKS numbers (sample and aggregate: Nissim,
    Raskhodnikova, Smith 2007): what is epsilon-private for a replaced number is epsilon-private for the record.
    """
    blocks = integers(source_or_secure(source), BLOCKS, len(records))
    parts = np.split(records[np.argsort(blocks, kind="stable")], np.cumsum(np.bincount(blocks, minlength=BLOCKS))[:-1])
    return np.array([np.median(part) if len(part) else sum(BOUNDS) / 2 for part in parts])


def on_sample(data: np.ndarray, function: Callable[[np.ndarray], Any], source: hush.Source | None) -> Any:
    """The function on a secret sample: its own guarantee is INNER, that of the release is amplified."""
    return Sample(data, hush.Poisson(rate=RATE), source=source).apply(function, guarantee=hush.PureDP(INNER))


def bootstrap_interval(data: np.ndarray, source: hush.Source | None = None) -> Shown:
    """A 90% interval for the median by subsampling (Politis, Romano 1994).

    Estimates of blocks of b records spread sqrt(m/b) = sqrt(blocks) times as far as that of all m.
    """

    def interval(records: np.ndarray) -> tuple[float, float]:
        estimates = by_block(records, source)
        low, middle, high = (
            Quantile(p=p, bounds=BOUNDS, epsilon=INNER / 3, relation=REPLACE).release(estimates, source=source).value
            for p in (0.05, 0.5, 0.95)
        )
        return middle - (high - middle) / BLOCKS**0.5, middle + (middle - low) / BLOCKS**0.5

    release = on_sample(data, interval, source)
    return Shown(release.value, float(np.median(data)), release.mechanism.epsilon(delta=0).upper)


def jackknife_variance(data: np.ndarray, source: hush.Source | None = None) -> Shown:
    """The variance of the median of a block, from how the blocks differ; that of the whole is BLOCKS times less."""

    def variance(records: np.ndarray) -> float:
        query = Variance(bounds=BOUNDS, epsilon=INNER, relation=REPLACE)
        return query.release(by_block(records, source), source=source).value

    release = on_sample(data, variance, source)
    # the variance of the median of b normal records of deviation s is about pi s^2 / (2 b)
    truth = np.pi / 2 * float(data.var()) / (RATE * len(data) / BLOCKS)
    return Shown(release.value, truth, release.mechanism.epsilon(delta=0).upper)


def bagged_estimate(data: np.ndarray, source: hush.Source | None = None) -> Shown:
    """The mean of the estimates of many bags of records (Breiman 1996, with disjoint bags)."""

    def bagged(records: np.ndarray) -> float:
        query = Mean(bounds=BOUNDS, epsilon=INNER, relation=REPLACE)
        return query.release(by_block(records, source), source=source).value

    release = on_sample(data, bagged, source)
    return Shown(release.value, float(np.median(data)), release.mechanism.epsilon(delta=0).upper)


def frequency_sketch(words: np.ndarray, asked: list[int], source: hush.Source | None = None) -> Shown:
    """How often some numbers occur, from a count sketch (Charikar, Chen, Farach-Colton 2002) with noisy counters.

    A record changes one counter in each of the rows by 1. The hashes are public and fixed.
    """
    rows, width = 5, 1 << 10
    prime, factors, shifts = (1 << 61) - 1, (7919, 104729, 1299709, 15485863, 32452843), (11, 101, 1009, 10007, 100003)

    def places(values: np.ndarray, row: int) -> tuple[np.ndarray, np.ndarray]:
        hashed = np.array([(factors[row] * int(v) * int(v) + shifts[row] * int(v) + row) % prime for v in values])
        return hashed % width, 1 - 2 * (hashed // width % 2)

    def sketch(records: np.ndarray) -> list[float]:
        counters = np.zeros((rows, width), dtype=np.int64)
        for row in range(rows):
            place, sign = places(records, row)
            np.add.at(counters[row], place, sign)
        noisy = add_laplace(counters, sensitivity=rows, scale=scale_for(INNER), source=source).values
        found = []
        for value in asked:
            cells = [places(np.array([value]), row) for row in range(rows)]
            found.append(float(np.median([noisy[row, place[0]] * sign[0] for row, (place, sign) in enumerate(cells)])))
        return found

    release = on_sample(words, sketch, source).map(lambda counts: [count / RATE for count in counts])
    truth = [int(np.sum(words == value)) for value in asked]
    return Shown(release.value, truth, release.mechanism.epsilon(delta=0).upper)


def main() -> None:
    """Run all four on made-up data."""
    random = np.random.default_rng(1)
    data = random.normal(50, 15, 40_000)
    words = random.zipf(1.6, 20_000) % 100_000
    for example in (bootstrap_interval, jackknife_variance, bagged_estimate):
        shown = example(data)
        print(f"{example.__name__}: {shown.value}, stands for {shown.truth:.3f}, epsilon {shown.epsilon:.3f}")
    shown = frequency_sketch(words, [1, 2, 3, 50])
    print(f"frequency_sketch: {shown.value}, stands for {shown.truth}, epsilon {shown.epsilon:.3f}")


if __name__ == "__main__":
    main()
