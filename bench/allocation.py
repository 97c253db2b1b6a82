"""Compare hush with other accountants on random allocation: `make bench`, or run this file where they are installed.

Every library gets every problem in a process of its own, on one thread, with 600 s by the clock; one that takes longer
than a few seconds is asked once, and one that is ended is shown with the CPU time of its whole process until then. The
table goes to results/allocation.md, the numbers to results/allocation.json.
Truths are certified to the digits given (one epoch: 40-digit inversion of the transform), the direction is the worse
one, removal.
"""

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass

import processes
from processes import Row
from tables import about, listed, table, versions, write

TIME_LIMIT = 600  # seconds by the clock for one library on one problem
PATIENCE = 5.0  # CPU seconds after which a library is not asked again
PACKAGES = ["hush", "PLD_accounting", "random-allocation", "dp-accounting", "numpy", "scipy"]


@dataclass(frozen=True)
class Problem:
    """Noise, steps of an epoch, epochs, delta; and the true epsilon."""

    noise: float
    steps: int
    epochs: int
    delta: float
    truth: float

    @property
    def title(self) -> str:
        epochs = "1 epoch" if self.epochs == 1 else f"{self.epochs} epochs"
        return f"noise {self.noise:g}, 1 of {self.steps} steps, {epochs}, δ = {self.delta:g}"


PROBLEMS = {
    "small": Problem(1.0, 100, 1, 1e-6, 0.857985976556),
    "heavy": Problem(0.5, 1000, 1, 1e-6, 4.10601590884),
    "long": Problem(2.0, 10_000, 1, 1e-8, 0.0229173203433),
    "epochs": Problem(1.0, 1000, 10, 1e-5, 0.464458),
    "million": Problem(1.0, 10**6, 1, 1e-8, 0.0052331164215),
}
Answer = tuple[float | None, float]
"""Lower end where there is one, and upper end."""


def hush_bound(p: Problem) -> Answer:
    """The certified interval; nothing is remembered between calls."""
    import peers

    import hush

    peers.forget()
    found = hush.Gaussian(p.noise).on(hush.Allocation(steps=p.steps)).repeat(p.epochs).epsilon(delta=p.delta)
    return found.lower, found.upper


def pld_accounting(p: Problem) -> Answer:
    """Adaptive bounds, as its documentation begins; its default accuracy."""
    from PLD_accounting import gaussian_allocation_epsilon_range

    found = gaussian_allocation_epsilon_range(delta=p.delta, sigma=p.noise, num_steps=p.steps, num_epochs=p.epochs)
    low, high = sorted(float(end) for end in (found if isinstance(found, tuple) else (found.lower, found.upper))[:2])
    return low, high


def random_allocation(p: Problem) -> Answer:
    """Its decomposition bound, and the direct Rényi bound; the better of the two."""
    from random_allocation import (
        PrivacyParams,
        SchemeConfig,
        allocation_epsilon_decomposition,
        allocation_epsilon_direct,
    )

    params = PrivacyParams(
        sigma=p.noise, num_steps=p.steps, num_selected=1, num_epochs=p.epochs, epsilon=None, delta=p.delta
    )
    config = SchemeConfig(allocation_direct_alpha_orders=list(range(2, 61)))
    ways = (allocation_epsilon_decomposition, allocation_epsilon_direct)
    return None, min(float(way(params, config)) for way in ways)


PEERS: dict[str, Callable[[Problem], Answer]] = {
    "hush": hush_bound,
    "PLD_accounting": pld_accounting,
    "random-allocation": random_allocation,
}


def measure(peer: str, name: str) -> dict[str, object]:
    """The row of one library and one problem: its answer and the CPU seconds of the best of up to three calls."""
    times: list[float] = []
    answer: Answer = (None, 0.0)
    while len(times) < 3 and sum(times) < PATIENCE:
        start = time.process_time()
        answer = PEERS[peer](PROBLEMS[name])
        times.append(time.process_time() - start)
    return {"lower": answer[0], "upper": answer[1], "cpu_seconds": min(times)}


def line(row: Row, ours: float | None) -> list[str]:
    """One row of the table; of a library that ran out of time, the CPU seconds that it had used."""
    spent = row.get("cpu_seconds", row.get("at_least"))
    ratio = f"{spent / ours:.3g}" if spent and ours else "–"
    if "failure" in row:
        least = [f"at least {spent:.3g} s", f"at least {ratio}"] if "at_least" in row else ["–", "–"]
        return [row["peer"], "–", "–", *least, row["failure"]]
    low, high = row["lower"], row["upper"]
    width = "–" if low is None else f"{(high - low) / high:.1e}"
    shown = f"{high:.9g}" if low is None else f"[{low:.9g}, {high:.9g}]"
    note = "**below the truth**" if high < PROBLEMS[row["problem"]].truth * (1 - 1e-6) else ""
    return [row["peer"], shown, width, f"{spent:.3g} s", ratio, note]


def report(rows: list[Row]) -> str:
    """The Markdown page."""
    lines = ["# Random allocation, compared", "", about(__doc__), ""]
    lines += [f"{listed(versions(PACKAGES))}.", ""]
    for name, problem in PROBLEMS.items():
        mine = next((row.get("cpu_seconds") for row in rows if row["peer"] == "hush" and row["problem"] == name), None)
        lines += [f"## {problem.title}", "", f"True ε: {problem.truth:.12g}", ""]
        head = ["library", "ε", "relative width", "CPU", "x hush", "note"]
        lines += table(head, [line(row, mine) for row in rows if row["problem"] == name])
    return "\n".join(lines)


def main() -> None:
    """With two names: measure. Else: ask everything, write both files."""
    rows = processes.rows(__file__, PEERS, PROBLEMS, measure, limit=TIME_LIMIT)
    numbers = {"problems": {name: asdict(problem) for name, problem in PROBLEMS.items()}, "rows": rows}
    page = report(rows)
    write("allocation", page, numbers)
    print(page)


if __name__ == "__main__":
    main()
