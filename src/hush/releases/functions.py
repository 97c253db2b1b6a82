"""Short forms: one function a statistic, each the release of its query."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hush.randomness.source import Source
from hush.releases.release import Release
from hush.releases.statistics import sums
from hush.releases.statistics.histograms import Histogram
from hush.releases.statistics.variances import Variance


def count(
    data: Any,
    *,
    epsilon: float | None = None,
    confidence: float = 0.95,
    column: str | None = None,
    source: Source | None = None,
    **noise: Any,
) -> Release:
    """How many records there are, with noise: `Count(...).release(data)`.

    >>> import hush
    >>> abs(hush.releases.count([True] * 1000, epsilon=1.0).value - 1000) < 50
    True
    """
    return sums.Count(epsilon=epsilon, **noise).release(data, column=column, confidence=confidence, source=source)


def sum(
    data: Any,
    *,
    bounds: tuple[float, float],
    epsilon: float | None = None,
    confidence: float = 0.95,
    column: str | None = None,
    source: Source | None = None,
    **noise: Any,
) -> Release:
    """The sum of numbers clamped to the bounds, with noise: `Sum(...).release(data)`.

    >>> import hush
    >>> abs(hush.releases.sum([1.0] * 1000, bounds=(0, 1), epsilon=1.0).value - 1000) < 50
    True
    """
    return sums.Sum(bounds=bounds, epsilon=epsilon, **noise).release(
        data, column=column, confidence=confidence, source=source
    )


def mean(
    data: Any,
    *,
    bounds: tuple[float, float],
    epsilon: float | None = None,
    confidence: float = 0.95,
    column: str | None = None,
    source: Source | None = None,
    **noise: Any,
) -> Release:
    """The mean of numbers clamped to the bounds, with noise: `Mean(...).release(data)`; size= is public if given.

    >>> import hush
    >>> abs(hush.releases.mean([1.0] * 1000, bounds=(0, 2), epsilon=1.0, size=1000).value - 1) < 0.1
    True
    """
    return sums.Mean(bounds=bounds, epsilon=epsilon, **noise).release(
        data, column=column, confidence=confidence, source=source
    )


def variance(
    data: Any,
    *,
    bounds: tuple[float, float],
    epsilon: float | None = None,
    confidence: float = 0.95,
    column: str | None = None,
    source: Source | None = None,
    **noise: Any,
) -> Release:
    """The variance of numbers clamped to the bounds, with noise: `Variance(...).release(data)`.

    >>> import hush
    >>> hush.releases.variance([1.0, 3.0] * 500, bounds=(0, 4), epsilon=1.0).value < 2
    True
    """
    return Variance(bounds=bounds, epsilon=epsilon, **noise).release(
        data, column=column, confidence=confidence, source=source
    )


def histogram(
    data: Any,
    *,
    categories: Sequence[object] | None = None,
    edges: Sequence[float] | None = None,
    other: bool = False,
    epsilon: float | None = None,
    confidence: float = 0.95,
    column: str | None = None,
    source: Source | None = None,
    **noise: Any,
) -> Release:
    """Counts by category or bin of a given domain, with noise: `Histogram(...).release(data)`.

    >>> import hush
    >>> hush.releases.histogram([1, 5, 9], edges=(0, 5, 10), epsilon=1.0).value.keys()
    dict_keys([(0.0, 5.0), (5.0, 10.0)])
    """
    query = Histogram(categories=categories, edges=edges, other=other, epsilon=epsilon, **noise)
    return query.release(data, column=column, confidence=confidence, source=source)
