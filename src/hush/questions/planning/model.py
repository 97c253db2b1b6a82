"""What a plan assumes about the data: a public distribution, a public pilot, or the worst case."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from hush.arrays import Array
from hush.errors import InvalidParameter
from hush.numerics.quantile_table import QuantileTable

FIRST, LAST = 1e-12, 1 - 1e-12
"""Where the table of a quantile function begins and ends."""
CHECKED = np.linspace(0.0, 1.0, 1001)[1:-1]
RULE = "a distribution with .ppf, such as scipy.stats.lognorm(0.5, scale=148), a hush.PublicPilot, or None (worst case)"


@dataclass(frozen=True, eq=False)
class PublicPilot:
    """Numbers that are public, declared so by whoever writes this: a plan may look at them, and at no others.

    Between neighbouring numbers the model is uniform.

    >>> PublicPilot([3.0, 1.0, 2.0]).ppf(0.5)
    2.0
    """

    values: Any = field(repr=False)

    def __post_init__(self) -> None:
        rule = "at least two finite numbers in one row"
        try:
            found = np.sort(np.asarray(self.values, dtype=float))
        except (TypeError, ValueError):
            raise InvalidParameter("PublicPilot", rule, values=type(self.values).__name__) from None
        if found.ndim != 1 or found.size < 2:
            raise InvalidParameter("PublicPilot", rule, shape=found.shape)
        if not np.all(np.isfinite(found)):
            raise InvalidParameter("PublicPilot", rule, infinite_or_missing=int(np.sum(~np.isfinite(found))))
        found.flags.writeable = False
        object.__setattr__(self, "values", found)

    def ppf(self, probability: Array | float) -> Array | float:
        """The quantile function: straight lines through the sorted numbers."""
        values: Array = self.values
        found = np.asarray(np.interp(np.asarray(probability), np.linspace(0.0, 1.0, values.size), values))
        return float(found) if np.ndim(probability) == 0 else found

    def require_within(self, who: str, bounds: tuple[float, float]) -> None:
        """The bounds of a plan must hold for numbers that are known one by one."""
        if not bounds[0] <= self.values[0] <= self.values[-1] <= bounds[1]:
            raise InvalidParameter(who, "a pilot within the bounds", bounds=bounds)

    def __str__(self) -> str:
        return f"a public pilot of {self.values.size} numbers"


@dataclass(frozen=True)
class Mixture:
    """Several distributions, each with its share of the records: those with .cdf and .ppf, as scipy's have.

    >>> from scipy import stats
    >>> round(Mixture([(0.5, stats.uniform(0, 1)), (0.5, stats.uniform(2, 1))]).ppf(0.75), 9)
    2.5
    """

    parts: Any

    def __post_init__(self) -> None:
        rule = "a list of (share, distribution), shares above 0 that sum to 1, distributions with cdf and ppf"
        try:
            parts = tuple((float(share), law) for share, law in self.parts)
        except (TypeError, ValueError):
            raise InvalidParameter("Mixture", rule, parts=type(self.parts).__name__) from None
        shares = [share for share, _ in parts]
        lacking = [law for _, law in parts if not (hasattr(law, "cdf") and hasattr(law, "ppf"))]
        if lacking or not parts or not min(shares) > 0 or abs(math.fsum(shares) - 1) > 1e-9:
            raise InvalidParameter("Mixture", rule, shares=shares)
        object.__setattr__(self, "parts", parts)

    def pdf(self, value: Array | float) -> Array:
        """The density."""
        return np.sum([share * law.pdf(value) for share, law in self.parts], axis=0)

    def ppf(self, probability: Array | float) -> Array | float:
        """The quantile function, by halving between the least and the largest of the parts' own quantiles."""
        wanted = np.asarray(probability, dtype=float)
        ends: Array = np.array([law.ppf(wanted) for _, law in self.parts])
        low: Array = ends.min(axis=0)
        high: Array = ends.max(axis=0)
        for _ in range(52):
            middle = low / 2 + high / 2
            short = sum(share * law.cdf(middle) for share, law in self.parts) < wanted
            low, high = np.where(short, middle, low), np.where(short, high, middle)
        return float(high) if wanted.ndim == 0 else high

    def __str__(self) -> str:
        return " + ".join(f"{share:g} {_words(law)}" for share, law in self.parts)


@dataclass(frozen=True)
class Model:
    """A quantile function within bounds."""

    table: QuantileTable
    words: str
    outside: float = 0.0
    """Share of the model that lies outside the bounds and is moved to them."""

    @staticmethod
    def of(source: Any, bounds: tuple[float, float], words: str, outside: float = 0.0) -> Model:
        """From anything with a ppf, moved to the bounds where it lies outside."""
        return Model(QuantileTable.of(lambda u: np.clip(source.ppf(u), *bounds), FIRST, LAST), words, outside)

    def quantiles(self, probability: Array) -> Array:
        """Values at these probabilities."""
        return self.table.at(probability)

    @cached_property
    def mean(self) -> float:
        return self.table.moments()[0]

    @cached_property
    def variance(self) -> float:
        return self.table.moments()[1]

    def around(self, centre: float) -> float:
        """Mean squared distance from a point."""
        return self.variance + (self.mean - centre) ** 2


def read_model(who: str, model: Any, bounds: tuple[float, float]) -> Model | None:
    """The model, checked; None stands for the worst case."""
    if model is None:
        return None
    if not callable(getattr(model, "ppf", None)):
        hint = "wrap numbers that are public in hush.PublicPilot" if hasattr(model, "__len__") else RULE
        raise InvalidParameter(who, f"a public model: {hint}", model=type(model).__name__)
    if hasattr(model, "require_within"):
        model.require_within(who, bounds)
    with np.errstate(all="ignore"):
        values = np.asarray(model.ppf(CHECKED), dtype=float)
    if values.shape != CHECKED.shape or np.any(np.isnan(values)) or np.any(np.diff(values) < 0):
        raise InvalidParameter(who, "a model whose ppf gives rising numbers for probabilities", model=_words(model))
    outside = float(np.mean((values < bounds[0]) | (values > bounds[1])))
    return Model.of(model, bounds, _words(model), outside)


def _words(model: Any) -> str:
    """The name of a model: its own text, its family (scipy's distributions have no text), or the name of its class."""
    family = getattr(getattr(model, "dist", None), "name", None)
    if family is None:
        named = type(model).__str__ is not object.__str__
        return str(model) if named else f"a {type(model).__name__}"
    given = [f"{value:g}" for value in getattr(model, "args", ())]
    given += [f"{name}={value:g}" for name, value in getattr(model, "kwds", {}).items()]
    return f"{family}({', '.join(given)})"
