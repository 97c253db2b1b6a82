"""Compare hush with other accountants on random allocation: `make bench`, or run this file where they are installed.

Every library gets every problem in a process of its own, on one thread, with a limit on time; one that takes longer than a few
seconds is asked once. The table goes to results/allocation.md, the numbers to results/allocation.json. Truths are certified
to the digits given (one epoch: 40-digit inversion of the transform), the direction is the worse one, removal.
"""

import json
import os
import platform
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path

HERE = Path(__file__).parent
RESULTS = HERE / "results"
TIME_LIMIT = 300  # seconds for one library on one problem
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


def ask(peer: str, name: str) -> dict[str, object]:
    """The same in a fresh process; what fails or takes too long is a row too."""
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    command = [sys.executable, "-W", "ignore", __file__, peer, name]
    row: dict[str, object] = {"peer": peer, "problem": name}
    try:
        child = subprocess.run(
            command, cwd=HERE, env=os.environ | threads, capture_output=True, text=True, timeout=TIME_LIMIT
        )
    except subprocess.TimeoutExpired:
        return row | {"failure": f"over {TIME_LIMIT} s", "at_least": float(TIME_LIMIT)}
    if child.returncode:
        return row | {"failure": (child.stderr.strip().splitlines() or ["no output"])[-1][:100]}
    return row | json.loads(child.stdout.splitlines()[-1])


def line(row: dict[str, object], ours: float | None) -> str:
    """One row of the table."""
    problem = PROBLEMS[str(row["problem"])]
    spent = row.get("cpu_seconds", row.get("at_least"))
    ratio = f"{spent / ours:.3g}" if isinstance(spent, float) and ours else "–"
    if "failure" in row:
        more = f"at least {ratio}" if "at_least" in row else "–"
        return f"| {row['peer']} | – | – | – | {more} | {row['failure']} |"
    low, high = row["lower"], row["upper"]
    width = f"{(high - low) / high:.1e}" if isinstance(low, float) and isinstance(high, float) else "–"
    shown = f"[{low:.9g}, {high:.9g}]" if isinstance(low, float) else f"{high:.9g}"
    below = isinstance(high, float) and high < problem.truth * (1 - 1e-6)
    note = "**below the truth**" if below else ""
    return f"| {row['peer']} | {shown} | {width} | {spent:.3g} s | {ratio} | {note} |"


def report(rows: list[dict[str, object]]) -> str:
    """The Markdown page."""
    found = {"Python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    lines = ["# Random allocation, compared", "", __doc__.split("\n\n")[1].replace("\n", " "), ""]
    lines += [", ".join(f"{name} {version}" for name, version in found.items()) + ".", ""]
    for name, problem in PROBLEMS.items():
        mine = next((row.get("cpu_seconds") for row in rows if row["peer"] == "hush" and row["problem"] == name), None)
        lines += [f"## {problem.title}", "", f"True ε: {problem.truth:.12g}", ""]
        lines += ["| library | ε | relative width | CPU | x hush | note |", "|---|---:|---:|---:|---:|---|"]
        lines += [line(row, mine if isinstance(mine, float) else None) for row in rows if row["problem"] == name]
        lines += [""]
    return "\n".join(lines)


def main() -> None:
    """With two names: measure. Else: ask everything, write both files."""
    if len(sys.argv) == 3:
        warnings.simplefilter("ignore")
        print("\n" + json.dumps(measure(*sys.argv[1:])))
        return
    rows = []
    for name in PROBLEMS:
        for peer in PEERS:
            rows.append(ask(peer, name))
            print(rows[-1], flush=True)
    RESULTS.mkdir(exist_ok=True)
    RESULTS.joinpath("allocation.md").write_text(report(rows), encoding="utf-8")
    numbers = {"problems": {name: asdict(problem) for name, problem in PROBLEMS.items()}, "rows": rows}
    RESULTS.joinpath("allocation.json").write_text(json.dumps(numbers, indent=1) + "\n", encoding="utf-8")
    print(report(rows))


if __name__ == "__main__":
    main()
