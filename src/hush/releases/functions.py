"""Short forms: one function per statistic, each the release of its query.

Options that they share: `epsilon`, `epsilon` with `delta`, `noise_multiplier` or `rho` set the noise; `relation` says
which datasets are neighbours; `confidence` is that of the intervals; `column` is the column of a table that has
several; `source` gives the random bits, which are secret unless it is a hush.SeededSource; `ledger` is the budget book
that pays.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hush.account import Account
from hush.curves.relation import Relation
from hush.randomness.source import Source
from hush.releases.release import Release
from hush.releases.statistics.histograms import Histogram
from hush.releases.statistics.sums import Count, Mean, Sum
from hush.releases.statistics.variances import Variance


def count(
    data: Any,
    *,
    epsilon: float | None = None,
    delta: float | None = None,
    noise_multiplier: float | None = None,
    rho: float | None = None,
    relation: Relation = Relation.ADD_REMOVE,
    confidence: float = 0.95,
    column: str | None = None,
    source: Source | None = None,
    ledger: Account | None = None,
) -> Release:
    """How many records there are, with noise: `Count(...).release(data)`.

    Give epsilon, epsilon and delta, noise_multiplier or rho.

    >>> import hush
    >>> abs(hush.releases.count([True] * 1000, epsilon=1.0).value - 1000) < 50
    True
    """
    query = Count(epsilon=epsilon, delta=delta, noise_multiplier=noise_multiplier, rho=rho, relation=relation)
    return query.release(data, column=column, confidence=confidence, source=source, ledger=ledger)


def sum(  # noqa: A001 - in its room it is the sum
    data: Any,
    *,
    bounds: tuple[float, float],
    epsilon: float | None = None,
    delta: float | None = None,
    noise_multiplier: float | None = None,
    rho: float | None = None,
    relation: Relation = Relation.ADD_REMOVE,
    confidence: float = 0.95,
    column: str | None = None,
    source: Source | None = None,
    ledger: Account | None = None,
) -> Release:
    """The sum of numbers clamped to the bounds, with noise: `Sum(...).release(data)`.

    Give epsilon, epsilon and delta, noise_multiplier or rho.

    >>> import hush
    >>> abs(hush.releases.sum([1.0] * 1000, bounds=(0, 1), epsilon=1.0).value - 1000) < 50
    True
    """
    query = Sum(
        bounds=bounds, epsilon=epsilon, delta=delta, noise_multiplier=noise_multiplier, rho=rho, relation=relation
    )
    return query.release(data, column=column, confidence=confidence, source=source, ledger=ledger)


def mean(
    data: Any,
    *,
    bounds: tuple[float, float],
    size: float | None = None,
    epsilon: float | None = None,
    delta: float | None = None,
    noise_multiplier: float | None = None,
    rho: float | None = None,
    relation: Relation = Relation.ADD_REMOVE,
    confidence: float = 0.95,
    column: str | None = None,
    source: Source | None = None,
    ledger: Account | None = None,
) -> Release:
    """The mean of numbers clamped to the bounds, with noise: `Mean(...).release(data)`.

    Give epsilon, epsilon and delta, noise_multiplier or rho. `size` is a public number of records, where there is one.

    >>> import hush
    >>> abs(hush.releases.mean([1.0] * 1000, bounds=(0, 2), epsilon=1.0, size=1000).value - 1) < 0.1
    True
    """
    query = Mean(
        bounds=bounds,
        size=size,
        epsilon=epsilon,
        delta=delta,
        noise_multiplier=noise_multiplier,
        rho=rho,
        relation=relation,
    )
    return query.release(data, column=column, confidence=confidence, source=source, ledger=ledger)


def variance(
    data: Any,
    *,
    bounds: tuple[float, float],
    epsilon: float | None = None,
    delta: float | None = None,
    noise_multiplier: float | None = None,
    rho: float | None = None,
    relation: Relation = Relation.ADD_REMOVE,
    confidence: float = 0.95,
    column: str | None = None,
    source: Source | None = None,
    ledger: Account | None = None,
) -> Release:
    """The variance of numbers clamped to the bounds, with noise: `Variance(...).release(data)`.

    Give epsilon, epsilon and delta, noise_multiplier or rho.

    >>> import hush
    >>> hush.releases.variance([1.0, 3.0] * 500, bounds=(0, 4), epsilon=1.0).value < 2
    True
    """
    query = Variance(
        bounds=bounds, epsilon=epsilon, delta=delta, noise_multiplier=noise_multiplier, rho=rho, relation=relation
    )
    return query.release(data, column=column, confidence=confidence, source=source, ledger=ledger)


def histogram(
    data: Any,
    *,
    categories: Sequence[object] | None = None,
    edges: Sequence[float] | None = None,
    other: bool = False,
    epsilon: float | None = None,
    delta: float | None = None,
    noise_multiplier: float | None = None,
    rho: float | None = None,
    relation: Relation = Relation.ADD_REMOVE,
    confidence: float = 0.95,
    column: str | None = None,
    source: Source | None = None,
    ledger: Account | None = None,
) -> Release:
    """Counts by category, or by bin between edges, with noise: `Histogram(...).release(data)`.

    Give categories or edges, and epsilon, epsilon and delta, noise_multiplier or rho. Records that fit nowhere are
    dropped, or with other=True counted in a cell of their own.

    >>> import hush
    >>> hush.releases.histogram([1, 5, 9], edges=(0, 5, 10), epsilon=1.0).value.keys()
    dict_keys([(0.0, 5.0), (5.0, 10.0)])
    """
    query = Histogram(
        categories=categories,
        edges=edges,
        other=other,
        epsilon=epsilon,
        delta=delta,
        noise_multiplier=noise_multiplier,
        rho=rho,
        relation=relation,
    )
    return query.release(data, column=column, confidence=confidence, source=source, ledger=ledger)
