"""The query whose release on a sample, for whole users, just meets a target."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from hush.checks import delta_in_range, number
from hush.curves.bound import Bound
from hush.errors import InvalidParameter
from hush.mechanisms.mechanism import Mechanism
from hush.mechanisms.scheme import Scheme
from hush.questions.calibrate import calibrate
from hush.releases.conditions import by_unit, covered, rate_of
from hush.releases.query import Query
from hush.releases.tables.table import Table

MARGINS = (0.0, 1e-15, 1e-13, 1e-11, 1e-9, 1e-6)
"""How much is given away, at most, so that the certified epsilon stays within the target in spite of rounding."""


@dataclass(frozen=True)
class Targeted:
    """A query that was fitted to a target: the value of its parameter, and what a release gives away in the end."""

    query: Query
    value: float
    mechanism: Mechanism
    bound: Bound


def meeting(
    build: Callable[[float], Query],
    table: Table,
    *,
    epsilon: float,
    delta: float = 0.0,
    scheme: Scheme | None = None,
    over: tuple[float, float] = (1e-6, 500.0),
) -> Targeted:
    """The query build(value) whose release gives away epsilon at delta, after sampling and for the units of the table.

    At delta 0 the value is an epsilon, by the closed form log(1 + (e^{epsilon/k} - 1)/rate) for at most k records per
    unit. Otherwise it is sought in `over`: an epsilon or a noise multiplier.

    >>> import hush
    >>> from hush.releases import Mean, table
    >>> found = meeting(
    ...     lambda e: Mean(bounds=(0, 1), epsilon=e), table([0.5]), epsilon=1.0, scheme=hush.Poisson(rate=0.01)
    ... )
    >>> found.value, found.bound.upper <= 1.0
    (5.1522..., True)
    """
    target = number("meeting", "0 < epsilon <= 500", 0, 500, low_open=True, epsilon=epsilon)
    delta = delta_in_range("meeting", delta)

    def mechanism(value: float) -> Mechanism:
        plain = build(value).mechanism
        return covered(by_unit(plain if scheme is None else plain.on(scheme), table))

    if delta > 0:
        found = calibrate(mechanism, over=over, epsilon=target, delta=delta)
        return Targeted(build(float(found.value)), float(found.value), found.mechanism, found.bound)
    inner = math.log1p(
        math.expm1(target / (table.max_contributions or 1)) / (1.0 if scheme is None else rate_of(scheme))
    )
    for margin in MARGINS:
        value = inner * (1 - margin)
        made = mechanism(value)
        bound = made.epsilon(delta=0)
        if bound.upper <= target:
            return Targeted(build(value), value, made, bound)
    raise InvalidParameter("meeting", "a target that the query can meet", epsilon=epsilon)
