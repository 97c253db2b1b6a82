"""What a plan assumes about the data: a public distribution, a public pilot, or the worst case."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from hush.errors import InvalidParameter

Array: TypeAlias = Any

GRID = (np.arange(1 << 14) + 0.5) / (1 << 14)
"""Midpoints at which a quantile function is averaged."""
RULE = "a distribution with .ppf, such as scipy.stats.lognorm(0.5, scale=148), a hush.PublicPilot, or None (worst case)"


@dataclass(frozen=True)
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

    def ppf(self, probability: Array) -> Array:
        """The quantile function: straight lines through the sorted numbers."""
        found = np.interp(probability, np.linspace(0.0, 1.0, self.values.size), self.values)
        return float(found) if np.ndim(probability) == 0 else found

    def __str__(self) -> str:
        return f"a public pilot of {self.values.size} numbers"


@dataclass(frozen=True)
class Model:
    """A quantile function within bounds."""

    source: Any
    bounds: tuple[float, float]
    words: str
    mean: float
    variance: float
    outside: float
    """Share of the model that lies outside the bounds and is moved to them."""

    def quantiles(self, probability: Array) -> Array:
        """Values at these probabilities, moved to the bounds where they lie outside."""
        return np.clip(self.source.ppf(probability), *self.bounds)

    def around(self, centre: float) -> float:
        """Mean squared distance from a point."""
        return self.variance + (self.mean - centre) ** 2


def read_model(who: str, model: object, bounds: tuple[float, float]) -> Model | None:
    """The model, checked; None stands for the worst case."""
    if model is None:
        return None
    if not callable(getattr(model, "ppf", None)):
        hint = "wrap numbers that are public in hush.PublicPilot" if hasattr(model, "__len__") else RULE
        raise InvalidParameter(who, f"a public model: {hint}", model=type(model).__name__)
    if isinstance(model, PublicPilot) and not bounds[0] <= model.values[0] <= model.values[-1] <= bounds[1]:
        raise InvalidParameter(who, "a pilot within the bounds", bounds=bounds)
    with np.errstate(all="ignore"):
        values = np.asarray(model.ppf(GRID), dtype=float)  # type: ignore[attr-defined]
    if values.shape != GRID.shape or np.any(np.isnan(values)) or np.any(np.diff(values) < 0):
        raise InvalidParameter(who, "a model whose ppf gives rising numbers for probabilities", model=_words(model))
    inside = np.clip(values, *bounds)
    mean = math.fsum(inside) / len(inside)
    variance = math.fsum((inside - mean) ** 2) / len(inside)
    return Model(model, bounds, _words(model), mean, variance, float(np.mean(inside != values)))


def _words(model: object) -> str:
    """How the model is called: scipy's frozen distributions have no text of their own."""
    family = getattr(getattr(model, "dist", None), "name", None)
    if family is None:
        return str(model) if isinstance(model, PublicPilot) else f"a {type(model).__name__}"
    given = [f"{value:g}" for value in getattr(model, "args", ())]
    given += [f"{name}={value:g}" for name, value in getattr(model, "kwds", {}).items()]
    return f"{family}({', '.join(given)})"
