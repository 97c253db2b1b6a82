"""Plans for a private search: how many runs a budget buys, and what a plain search of as many would cost."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from hush.checks import delta_in_range, number
from hush.errors import InvalidParameter
from hush.mechanisms.mechanism import Mechanism, require
from hush.mechanisms.runs import GeometricRuns, NegativeBinomialRuns, PoissonRuns, Runs
from hush.questions.text_table import aligned

PLAIN = 20
"""Runs of the plain search that the plan is compared with: a small grid."""
LAWS: dict[str, Callable[[float], Runs]] = {
    "geometric": lambda size: GeometricRuns(gamma=1 / size),
    "logarithmic": lambda size: NegativeBinomialRuns(gamma=1 / size, eta=0.0),
    "Poisson": lambda size: PoissonRuns(mean=size),
}
"""Laws of the number of runs, each by one number that grows with the runs."""
SMALLEST, LARGEST = 1.001, 1e5
ROUNDS = 14
"""Halvings of the range of scales: the answer is within a thousandth of the largest that fits."""


@dataclass(frozen=True)
class SearchRow:
    """What one law of the number of runs gives."""

    law: str
    runs: Runs | None
    """None where not even the smallest search fits."""
    epsilon: float

    @property
    def mean(self) -> float:
        """The expected number of runs."""
        return 0.0 if self.runs is None else self.runs.mean


@dataclass(frozen=True)
class SearchPlan:
    """How many runs a budget buys; its text is a table."""

    mechanism: Mechanism
    epsilon: float
    delta: float
    rows: tuple[SearchRow, ...]
    one: float
    """epsilon of one run."""
    plain: float
    """epsilon of a plain search of PLAIN runs, all of them shown."""

    @property
    def best(self) -> SearchRow:
        """The law with the most runs on average."""
        return max(self.rows, key=lambda row: row.mean)

    def document(self) -> dict[str, object]:
        """The plan as plain data."""
        rows = [{"law": row.law, "mean": row.mean, "epsilon": row.epsilon, "runs": str(row.runs)} for row in self.rows]
        return {"epsilon": self.epsilon, "delta": self.delta, "one_run": self.one, "plain_runs": PLAIN} | {
            "plain": self.plain,
            "rows": rows,
        }

    def __str__(self) -> str:
        head = ("number of runs", "on average", "epsilon")
        lines = [(row.law, f"{row.mean:.4g}", f"{row.epsilon:.4g}" if row.runs else "none fits") for row in self.rows]
        said = f"{self.mechanism}: epsilon {self.epsilon:g} at delta {self.delta:g}"
        plain = (
            f"One run costs {self.one:.4g}. A plain search of {PLAIN} runs, all of them shown, costs {self.plain:.4g}; "
            "where only the best is released, and the number of runs is drawn and stays secret:"
        )
        return "\n".join([said, plain, "", *aligned([head, *lines], left=1)])


def search(mechanism: Mechanism, *, epsilon: float, delta: float) -> SearchPlan:
    """The most runs on average, by each law of their number, that a budget buys for runs of this mechanism.

    >>> import hush
    >>> found = search(hush.Gaussian(4.0), epsilon=2.0, delta=1e-6)
    >>> found.best.law, found.best.mean > 20, found.plain > 2 * found.epsilon
    ('logarithmic', True, True)
    """
    step = require("plan.search", mechanism)
    epsilon = number("plan.search", "0 < epsilon <= 1e6", 0, 1e6, low_open=True, epsilon=epsilon)
    delta = delta_in_range("plan.search", delta)
    if delta == 0:
        raise InvalidParameter("plan.search", "delta > 0", delta=delta)
    rows = tuple(_row(step, law, epsilon, delta) for law in LAWS)
    one, plain = (step.repeat(times).epsilon(delta=delta).upper for times in (1, PLAIN))
    return SearchPlan(step, epsilon, delta, rows, one, plain)


def _row(step: Mechanism, law: str, epsilon: float, delta: float) -> SearchRow:
    """The largest scale that fits, by halving; each candidate is checked, so the answer always fits."""
    make = LAWS[law]

    def fits(size: float) -> bool:
        return step.best_of(runs=make(size)).upper_log_delta(epsilon=epsilon) <= math.log(delta)

    low, high = math.log(SMALLEST), math.log(LARGEST)
    if not fits(SMALLEST):
        return SearchRow(law, None, math.inf)
    for _ in range(ROUNDS):
        middle = (low + high) / 2
        low, high = (middle, high) if fits(math.exp(middle)) else (low, middle)
    runs = make(math.exp(low))
    return SearchRow(law, runs, step.best_of(runs=runs).epsilon(delta=delta).upper)
