"""Private selection and bounded batches against dp_accounting, into results/selection.md: `python selection.py`.

Each library has a process of its own, on one thread. Smaller is better: all answers are upper bounds. dp_accounting has
Rényi bounds for selection, and a privacy loss distribution for truncated Poisson batches.
"""

import math
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

import processes
from processes import Row
from tables import about, listed, table, versions, write

TIME_LIMIT = 120  # seconds by the clock for one library on one problem
PACKAGES = ["hush", "dp-accounting", "numpy", "scipy"]
DELTA = 1e-6


@dataclass(frozen=True)
class Selection:
    """The best of a random number of runs of Gaussian noise."""

    noise: float
    mean: float
    """How many runs on average."""
    shape: float
    """Of the law of their number: 1 is geometric, 0 logarithmic, infinity Poisson."""

    def __str__(self) -> str:
        law = {0.0: "logarithmic", 1.0: "geometric", math.inf: "Poisson"}[self.shape]
        return f"ε at δ = {DELTA:g}, best of a {law} number of runs, {self.mean:g} on average, noise {self.noise:g}"


@dataclass(frozen=True)
class Capped:
    """Truncated Poisson batches: delta of one at an epsilon, or epsilon of many."""

    population: int
    rate: float
    cap: int
    noise: float
    steps: int
    epsilon: float | None = None

    def __str__(self) -> str:
        asked = f"ε at δ = {DELTA:g}" if self.epsilon is None else f"δ at ε = {self.epsilon:g}"
        return (
            f"{asked}, {self.steps} batches of at most {self.cap} of {self.population} records, rate {self.rate:g}, "
            f"noise {self.noise:g}"
        )


PROBLEMS: dict[str, Selection | Capped] = {
    "geometric": Selection(2.0, 10.0, 1.0),
    "many": Selection(1.0, 100.0, 1.0),
    "logarithmic": Selection(2.0, 10.0, 0.0),
    "poisson": Selection(2.0, 10.0, math.inf),
    "calm": Selection(10.0, 100.0, math.inf),
    "small": Capped(100, 0.1, 12, 1.0, 1, 0.5),
    "batch": Capped(1000, 0.05, 60, 0.8, 1, 1.0),
    "training": Capped(10_000, 0.01, 150, 1.0, 1000),
}


def hush_bound(problem: Selection | Capped) -> float:
    """hush."""
    import hush

    if isinstance(problem, Selection):
        run = hush.Gaussian(problem.noise)
        if problem.shape == math.inf:
            runs = hush.PoissonRuns(problem.mean)
        else:
            runs = hush.NegativeBinomialRuns(gamma_of(problem.mean, problem.shape), problem.shape)
        return run.best_of(runs=runs).epsilon(delta=DELTA).upper
    step = hush.Gaussian(problem.noise).on(hush.CappedPoisson(problem.rate, problem.cap, problem.population))
    whole = step.repeat(problem.steps)
    if problem.epsilon is None:
        return whole.epsilon(delta=DELTA).upper
    return whole.delta(epsilon=problem.epsilon).upper


def gamma_of(mean: float, shape: float) -> float:
    """The gamma of this mean, by halving; rounded so that the mean is not smaller."""
    low, high = 1e-9, 1 - 1e-9
    for _ in range(200):
        middle = math.sqrt(low * high)
        found = (1 / middle - 1) / math.log(1 / middle) if shape == 0 else 1 / middle
        low, high = (middle, high) if found > mean else (low, middle)
    return low


def dp_accounting_bound(problem: Selection | Capped) -> float:
    """dp_accounting, with its default orders and grid."""
    import dp_accounting
    from dp_accounting import pld, rdp

    if isinstance(problem, Selection):
        run = dp_accounting.GaussianDpEvent(problem.noise)
        event = dp_accounting.dp_event.RepeatAndSelectDpEvent(run, problem.mean, problem.shape)
        return rdp.RdpAccountant().compose(event).get_epsilon(DELTA)
    event = dp_accounting.dp_event.TruncatedSubsampledGaussianDpEvent(
        problem.population, problem.rate, problem.cap, problem.noise
    )
    accountant = pld.PLDAccountant().compose(dp_accounting.SelfComposedDpEvent(event, problem.steps))
    return accountant.get_epsilon(DELTA) if problem.epsilon is None else accountant.get_delta(problem.epsilon)


PEERS: dict[str, Callable[[Selection | Capped], float]] = {"hush": hush_bound, "dp-accounting": dp_accounting_bound}


def measure(peer: str, name: str) -> dict[str, object]:
    """The answer and the CPU seconds of the first call, imports included: nothing is kept from an earlier one."""
    start = time.process_time()
    value = PEERS[peer](PROBLEMS[name])
    return {"value": value, "cpu_seconds": time.process_time() - start}


def report(rows: list[Row]) -> str:
    """The Markdown page."""
    lines = ["# Selection and bounded batches, compared", "", about(__doc__), "", f"{listed(versions(PACKAGES))}.", ""]
    body = []
    for name, problem in PROBLEMS.items():
        found = {row["peer"]: row for row in rows if row["problem"] == name}
        shown = [f"{row['value']:.7g}" if "value" in row else row.get("failure", "–") for row in found.values()]
        seconds = [f"{row['cpu_seconds']:.3g} s" if "value" in row else "–" for row in found.values()]
        body.append([str(problem), *shown, *seconds])
    names = list(PEERS)
    return "\n".join(lines + table(["problem", *names, *(f"{name}, CPU" for name in names)], body))


def main() -> None:
    """With two names: measure. Else: ask everything, write both files, and fail where hush is looser."""
    rows = processes.rows(__file__, PEERS, PROBLEMS, measure, limit=TIME_LIMIT)
    write("selection", report(rows), rows)
    failed = [row for row in rows if "value" not in row]
    if failed:
        sys.exit(f"no answer: {failed}")
    values = {(row["peer"], row["problem"]): row["value"] for row in rows}
    looser = [name for name in PROBLEMS if values["hush", name] > values["dp-accounting", name] * (1 + 1e-6)]
    if looser:
        sys.exit(f"hush is looser: {', '.join(looser)}")


if __name__ == "__main__":
    main()
