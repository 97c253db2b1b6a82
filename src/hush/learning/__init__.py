"""Models from data, trained with privacy."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hush.learning.convex.estimators import LinearRegression, LinearSVC, LogisticRegression
    from hush.learning.convex.gradient import FullBatchGradient, PoissonGradient
    from hush.learning.convex.objective import Objective
    from hush.learning.convex.one_pass import OnePass
    from hush.learning.convex.output import Output

HOMES = {
    "FullBatchGradient": "convex.gradient",
    "LinearRegression": "convex.estimators",
    "LinearSVC": "convex.estimators",
    "LogisticRegression": "convex.estimators",
    "Objective": "convex.objective",
    "OnePass": "convex.one_pass",
    "Output": "convex.output",
    "PoissonGradient": "convex.gradient",
}
"""Where each name lives; it is loaded when first used, as some need scikit-learn or torch."""

__all__ = [  # noqa: RUF022
    "LogisticRegression",
    "LinearRegression",
    "LinearSVC",
    "FullBatchGradient",
    "Objective",
    "OnePass",
    "Output",
    "PoissonGradient",
]


def __getattr__(name: str) -> object:
    if name not in HOMES:
        raise AttributeError(f"module 'hush.learning' has no attribute {name!r}")
    return getattr(import_module(f"hush.learning.{HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(HOMES)
