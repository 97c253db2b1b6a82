"""What a release would cost, before it runs, and the most accurate one that still fits."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, is_dataclass, replace
from functools import partial
from typing import Any

from hush.checks import ends
from hush.errors import BudgetExceeded, InvalidParameter
from hush.ledger.filters.filter import Units
from hush.ledger.standing import Standing
from hush.mechanisms.mechanism import Mechanism

SOUGHT = {"epsilon": 1, "rho": 1, "noise_multiplier": -1, "scale": -1}
"""Parameters that say how accurate a query is: with more of it, or with less."""
RANGE = (1e-9, 1e6)
"""Where they are sought; a query may take less of it."""
PRECISE = 1e-9
"""Relative width of the search."""


@dataclass(frozen=True)
class PriceLine:
    """What a release would cost one budget."""

    standing: Standing
    cost: Units

    @property
    def after(self) -> Units:
        """What would be spent then."""
        return self.standing.budget.filter.sum(self.standing.spent, self.cost)

    @property
    def fits(self) -> bool:
        """Whether the budget allows it."""
        return self.standing.budget.filter.admits(self.after)

    def __str__(self) -> str:
        rule = self.standing.budget.filter
        verdict = "fits" if self.fits else "DOES NOT FIT"
        return (
            f"{self.standing.name}: {100 * rule.share(self.cost):.4g}% of the budget, "
            f"{100 * self.standing.share:.4g}% is spent: {verdict}"
        )


@dataclass(frozen=True)
class Price:
    """What a release would cost its budget and all above it."""

    mechanism: Mechanism
    lines: tuple[PriceLine, ...]

    @property
    def fits(self) -> bool:
        """Whether all of them allow it."""
        return all(line.fits for line in self.lines)

    def __str__(self) -> str:
        return "\n".join(map(str, self.lines))


def mechanism_of(query: Any) -> Mechanism:
    """The mechanism that was given, or that of a query, a plan, a release: whatever has one.

    >>> import hush
    >>> print(mechanism_of(hush.releases.Count(noise_multiplier=2.0)))
    Gaussian noise of multiplier 2
    """
    found = query if isinstance(query, Mechanism) else getattr(query, "mechanism", None)
    if not isinstance(found, Mechanism):
        raise InvalidParameter("Ledger", "a mechanism, or what has one", query=type(query))
    return found


def largest_that_fits(fits: Callable[[Any], bool], query: Any, over: tuple[float, float] | None) -> Any:
    """What is made of the largest number that fits; the cost must grow with it."""
    if callable(query) and not isinstance(query, Mechanism):
        if over is None:
            raise InvalidParameter("Ledger.largest", "over=(low, high) with a function", over=over)
        build, sign = query, 1
    else:
        fits(query)  # a query that can never be charged here says why
        build, sign = _rebuilt(query)
    low, high = ends("Ledger.largest", "over=(low, high), 0 < low < high", over=over or RANGE)
    if low <= 0:
        raise InvalidParameter("Ledger.largest", "over=(low, high), 0 < low < high", over=over)

    def fitting(place: float) -> Any | None:
        """What is made at a place on the line of logarithms, if it fits and makes sense."""
        try:
            made = build(math.exp(sign * place))
            return made if fits(made) else None
        except InvalidParameter:
            return None

    start, stop = sorted((sign * math.log(low), sign * math.log(high)))
    best = None
    for step in range(2, 60):  # the first place from the cheap end that makes sense and fits
        best = fitting(start)
        if best is not None or start >= stop:
            break
        start = min(start + (stop - start) / step, stop)
    if best is None:
        raise BudgetExceeded("Nothing of this kind fits into what is left: nothing was spent.")
    while stop - start > PRECISE:
        middle = (start + stop) / 2
        made = fitting(middle)
        start, stop, best = (middle, stop, made) if made is not None else (start, middle, best)
    return best


def _rebuilt(query: Any) -> tuple[Callable[[float], Any], int]:
    """The same query with another value of the parameter that says how accurate it is."""
    for name, sign in SOUGHT.items():
        if is_dataclass(query) and _is_number(query.__dict__.get(name)):
            return partial(_replaced, query, name), sign
    inner = getattr(query, "query", None)
    if inner is not None and is_dataclass(query):
        build, sign = _rebuilt(inner)
        return lambda value: _replaced(query, "query", build(value)), sign
    rule = f"a query with one of {', '.join(SOUGHT)}, or a function with over=(low, high)"
    raise InvalidParameter("Ledger.largest", rule, query=type(query))


def _replaced(query: Any, name: str, value: float) -> Any:
    return replace(query, **{name: value})


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
