"""Coefficients of banded noise, by hush and by jax_privacy: `make bench`, or run this file where both are installed.

Every optimiser is asked twice in one process, on one thread; the second time counts, so that what is compiled once
is not. The losses are computed by one function of neither: a direct solve in numpy.
"""

import os
import time
from collections.abc import Callable

os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
os.environ["OPENBLAS_NUM_THREADS"] = "1"

import jax
import numpy as np
from jax_privacy.matrix_factorization import toeplitz
from tables import about, listed, table, versions, write

from hush.numerics.prefix_sums.banded_coefficients import best_coefficients

STEPS = 2000
BANDS = (2, 4, 8, 16, 32, 64)
jax.config.update("jax_enable_x64", True)


def loss(coefficients: np.ndarray, aim: str) -> float:
    """Mean or largest variance of the prefix sums, by forward substitution."""
    c = np.asarray(coefficients, dtype=float)
    u = np.zeros(STEPS)
    for t in range(STEPS):
        back = min(t, len(c) - 1)
        u[t] = (1 - c[1 : back + 1] @ u[t - back : t][::-1]) / c[0]
    weights = 1 - np.arange(STEPS) / STEPS if aim == "mean" else np.ones(STEPS)
    return float(c @ c * (weights @ u**2))


def hush_coefficients(bands: int, aim: str) -> np.ndarray:
    """Ours, with nothing remembered."""
    best_coefficients.cache_clear()
    return np.array(best_coefficients(bands, STEPS, aim))  # type: ignore[arg-type]


def jax_coefficients(bands: int, aim: str) -> np.ndarray:
    """Theirs, by their defaults."""
    last = {} if aim == "mean" else {"reduction_fn": lambda errors: errors[-1]}
    return np.array(toeplitz.optimize_banded_toeplitz(STEPS, bands, **last))


def measured(ask: Callable[[int, str], np.ndarray], bands: int, aim: str) -> tuple[float, float]:
    """The loss, and the CPU seconds of the second call."""
    ask(bands, aim)
    start = time.process_time()
    found = ask(bands, aim)
    return loss(found, aim), time.process_time() - start


def main() -> None:
    """All bands and both aims."""
    rows = []
    for aim in ("mean", "max"):
        for bands in BANDS:
            ours, theirs = measured(hush_coefficients, bands, aim), measured(jax_coefficients, bands, aim)
            rows.append({"aim": aim, "bands": bands, "hush": ours, "jax_privacy": theirs})
            print(rows[-1], flush=True)
    head = ["error", "bands", "hush: loss", "jax_privacy: loss", "hush: CPU s", "jax_privacy: CPU s", "times"]
    lines = [
        [
            *(row["aim"], str(row["bands"]), f"{row['hush'][0]:.10f}", f"{row['jax_privacy'][0]:.10f}"),
            *(f"{row['hush'][1]:.3f}", f"{row['jax_privacy'][1]:.2f}", f"{row['jax_privacy'][1] / row['hush'][1]:.0f}"),
        ]
        for row in rows
    ]
    page = [f"# Coefficients of banded noise, {STEPS} steps", "", about(__doc__), "", *table(head, lines)]
    compared = versions(["hush", "jax_privacy", "jax", "numpy", "scipy"])
    write(
        "correlated-noise",
        "\n".join([*page, f"Compared: {listed(compared)}.", ""]),
        {"versions": compared, "rows": rows},
    )


if __name__ == "__main__":
    main()
