"""Short forms of order statistics: one function per statistic, each the release of its query.

Options that they share: `bounds` are public, and `step`, a power of two, is the distance of the values that can come
out; `relation` says which datasets are neighbours; `column` is the column of a table that has several; `source` gives
the random bits, which are secret unless it is a hush.SeededSource; `ledger` is the budget book that pays.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hush.account import Account
from hush.curves.relation import Relation
from hush.randomness.source import Source
from hush.releases.noise.smooth_noise import smooth_noise
from hush.releases.release import Release
from hush.releases.statistics.many_quantiles import Quantiles
from hush.releases.statistics.private_bounds import Bounds
from hush.releases.statistics.quantile import Median, Quantile
from hush.releases.statistics.quantile_interval import QuantileInterval
from hush.releases.statistics.smooth_quantile import SmoothQuantile


def median(
    data: Any,
    *,
    bounds: tuple[float, float],
    epsilon: float,
    step: float | None = None,
    relation: Relation = Relation.ADD_REMOVE,
    column: str | None = None,
    source: Source | None = None,
    ledger: Account | None = None,
) -> Release:
    """The median by the exponential mechanism: `Median(...).release(data)`.

    Give the step where the data have one, such as step=1.0 for whole numbers.

    >>> import hush
    >>> abs(hush.releases.median(range(1001), bounds=(0, 1000), epsilon=1.0).value - 500) < 50
    True
    """
    query = Median(bounds=bounds, epsilon=epsilon, step=step, relation=relation)
    return query.release(data, column=column, source=source, ledger=ledger)


def quantile(
    data: Any,
    p: float,
    *,
    bounds: tuple[float, float],
    epsilon: float,
    step: float | None = None,
    relation: Relation = Relation.ADD_REMOVE,
    column: str | None = None,
    source: Source | None = None,
    ledger: Account | None = None,
) -> Release:
    """The p-quantile by the exponential mechanism: `Quantile(...).release(data)`.

    Give the step where the data have one, such as step=1.0 for whole numbers.

    >>> import hush
    >>> abs(hush.releases.quantile(range(1001), 0.9, bounds=(0, 1000), epsilon=1.0).value - 900) < 100
    True
    """
    query = Quantile(p=p, bounds=bounds, epsilon=epsilon, step=step, relation=relation)
    return query.release(data, column=column, source=source, ledger=ledger)


def smooth_median(
    data: Any,
    *,
    bounds: tuple[float, float],
    epsilon: float,
    delta: float = 0.0,
    step: float | None = None,
    column: str | None = None,
    source: Source | None = None,
    ledger: Account | None = None,
) -> Release:
    """The median with smooth-sensitivity noise, of the law that `smooth_noise` chooses for epsilon and delta.

    Neighbours replace one record: the number of records is public.

    >>> import hush
    >>> found = hush.releases.smooth_median(range(1001), bounds=(0, 1000), epsilon=1.0)
    >>> found.mechanism.epsilon(delta=0).upper
    1.0
    """
    return smooth_quantile(
        data,
        0.5,
        bounds=bounds,
        epsilon=epsilon,
        delta=delta,
        step=step,
        column=column,
        source=source,
        ledger=ledger,
    )


def smooth_quantile(
    data: Any,
    p: float,
    *,
    bounds: tuple[float, float],
    epsilon: float,
    delta: float = 0.0,
    step: float | None = None,
    column: str | None = None,
    source: Source | None = None,
    ledger: Account | None = None,
) -> Release:
    """The p-quantile with smooth-sensitivity noise, of the law that `smooth_noise` chooses for epsilon and delta.

    Neighbours replace one record: the number of records is public.
    """
    query = SmoothQuantile(p=p, bounds=bounds, noise=smooth_noise(epsilon=epsilon, delta=delta), step=step)
    return query.release(data, column=column, source=source, ledger=ledger)


def quantiles(
    data: Any,
    ps: Sequence[float],
    *,
    bounds: tuple[float, float],
    epsilon: float,
    step: float | None = None,
    relation: Relation = Relation.ADD_REMOVE,
    column: str | None = None,
    source: Source | None = None,
    ledger: Account | None = None,
) -> Release:
    """Several quantiles at once, epsilon for all together: `Quantiles(...).release(data)`.

    >>> import hush
    >>> len(hush.releases.quantiles(range(1001), (0.25, 0.5, 0.75), bounds=(0, 1000), epsilon=1.0).value)
    3
    """
    query = Quantiles(ps=ps, bounds=bounds, epsilon=epsilon, step=step, relation=relation)
    return query.release(data, column=column, source=source, ledger=ledger)


def median_interval(
    data: Any,
    *,
    bounds: tuple[float, float],
    epsilon: float,
    size: int | None = None,
    step: float | None = None,
    relation: Relation = Relation.ADD_REMOVE,
    confidence: float = 0.95,
    column: str | None = None,
    source: Source | None = None,
    ledger: Account | None = None,
) -> Release:
    """The median with a private confidence interval: `QuantileInterval(p=0.5, ...).release(data)`.

    `size` is a number of records that the table is known to have at least. Leave it out under REPLACE, where the number
    of records is public.

    >>> import hush
    >>> found = hush.releases.median_interval(range(10_001), bounds=(0, 10_000), epsilon=3.0, size=10_000)
    >>> found.value in found.noise_interval
    True
    """
    query = QuantileInterval(p=0.5, bounds=bounds, epsilon=epsilon, size=size, step=step, relation=relation)
    return query.release(data, column=column, confidence=confidence, source=source, ledger=ledger)


def private_bounds(
    data: Any,
    *,
    epsilon: float,
    powers: int = 64,
    failure: float = 1e-6,
    relation: Relation = Relation.ADD_REMOVE,
    column: str | None = None,
    source: Source | None = None,
    ledger: Account | None = None,
) -> Release:
    """Bounds found with this epsilon, to be given to other releases: `Bounds(...).release(data)`.

    They lie between plus and minus 2^powers. With probability at most `failure` an empty bin widens them.

    >>> import hush
    >>> hush.releases.private_bounds([3.0] * 1000, epsilon=1.0, source=hush.SeededSource(1)).value
    (2.0, 4.0)
    """
    query = Bounds(epsilon=epsilon, powers=powers, failure=failure, relation=relation)
    return query.release(data, column=column, source=source, ledger=ledger)
