"""Public models of the values in data, in words: `lognormal 5 0.5`."""

from __future__ import annotations

import math

from hush.errors import InvalidParameter

FAMILIES = {
    "normal": ("MEAN", "SD"),
    "lognormal": ("MU", "SIGMA"),
    "uniform": ("LOW", "HIGH"),
    "exponential": ("MEAN",),
    "beta": ("A", "B"),
}
"""Public models that can be named, and their numbers."""


def named_model(text: str, bounds: tuple[float, float]) -> object:
    """A model in words: `lognormal 5 0.5`."""
    from scipy import stats

    family, *words = text.split() or [""]
    rule = "one of: " + ", ".join(f"{name} {' '.join(numbers)}" for name, numbers in FAMILIES.items())
    try:
        first, *rest = (float(word) for word in words)
    except ValueError:
        raise InvalidParameter("A model", rule, model=text) from None
    if len(words) != len(FAMILIES.get(family, ())) or not all(map(math.isfinite, (first, *rest))):
        raise InvalidParameter("A model", rule, model=text)
    if family == "normal":
        return stats.norm(first, rest[0])
    if family == "lognormal":
        return stats.lognorm(rest[0], scale=math.exp(min(first, 700.0)))
    if family == "uniform":
        return stats.uniform(first, rest[0] - first)
    if family == "exponential":
        return stats.expon(scale=first)
    return stats.beta(first, rest[0], loc=bounds[0], scale=bounds[1] - bounds[0])
