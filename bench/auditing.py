"""Compare one-run audits with jax_privacy on the same scores: `make bench`, or run this file where it is installed.

A noisy sum of orthogonal canaries, each put in by a fair coin of its own; the score of a canary is its coordinate. Both
auditors get the same scores, confidence 0.95, and choose the number of guesses themselves (hush: knowing the claim,
and paying for every number that it tries). Bounds on mu are shown as epsilon at the delta. By default jax_privacy
shares the error among the corners of the convex hull of the ROC curve, some ten of a thousand thresholds, which the
labels pick: too few are paid for, and on null scores it errs more often than it says (last line). Its `Split` pays for
nothing: half of the canaries, drawn with seed 0, choose the threshold, the others are guessed.
"""

import json
import sys
import time

import numpy as np
import processes
from processes import Row
from tables import about, listed, table, versions, write

DELTA = 1e-5
PROBLEMS = [(mu, canaries, seed) for mu, canaries in ((1.0, 1000), (2.0, 1000), (4.0, 1000)) for seed in (1, 2, 3)]
PACKAGES = ["hush", "jax_privacy", "numpy", "scipy"]


def scores_of(mu: float, canaries: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Scores and labels."""
    random = np.random.default_rng(seed)
    members = random.random(canaries) < 0.5
    return mu * members + random.standard_normal(canaries), members


def hush_bounds(mu: float, scores: np.ndarray, members: np.ndarray) -> tuple[float, float]:
    """By the theorem of (epsilon, delta), and by that of trade-off curves."""
    import hush
    from hush.auditing import one_run

    claim = hush.GaussianDP(mu)
    pure = one_run(scores, members, claim=claim, delta=DELTA).lower_bound
    found = one_run(scores, members, claim=claim).lower_bound
    return pure, hush.GaussianDP(max(found, 1e-9)).epsilon(delta=DELTA).lower


def jax_privacy_bounds(mu: float, scores: np.ndarray, members: np.ndarray) -> tuple[float, float]:
    """Its auditor with its defaults."""
    from jax_privacy import auditing

    auditor = auditing.CanaryScoreAuditor(scores[members], scores[~members])
    return float(auditor.epsilon_one_run(0.05, DELTA)), float(auditor.epsilon_one_run_fdp(0.05, DELTA))


def split_bounds(mu: float, scores: np.ndarray, members: np.ndarray) -> tuple[float, float]:
    """Its auditor, the threshold chosen on half of the canaries."""
    from jax_privacy import auditing

    auditor, halves = auditing.CanaryScoreAuditor(scores[members], scores[~members]), auditing.Split(seed=0)
    both = auditor.epsilon_one_run, auditor.epsilon_one_run_fdp
    pure, curve = (float(bound(0.05, DELTA, threshold_strategy=halves)) for bound in both)
    return pure, curve


def null_alarms(audits: int = 3000) -> int:
    """How often jax_privacy finds something in scores that know nothing, at confidence 0.95."""
    from jax_privacy import auditing

    random, alarms = np.random.default_rng(1), 0
    for _ in range(audits):
        members, scores = random.random(1000) < 0.5, random.standard_normal(1000)
        auditor = auditing.CanaryScoreAuditor(scores[members], scores[~members])
        alarms += auditor.epsilon_one_run(0.05, 1e-12) > 0
    return alarms


PEERS = {"hush": hush_bounds, "jax_privacy": jax_privacy_bounds, "jax_privacy, Split": split_bounds}


def measure(peer: str) -> list[Row]:
    """All problems in this process."""
    rows = []
    for mu, canaries, seed in PROBLEMS:
        start = time.process_time()
        pure, curve = PEERS[peer](mu, *scores_of(mu, canaries, seed))
        row = {"peer": peer, "mu": mu, "canaries": canaries, "seed": seed, "epsilon": pure, "by_curve": curve}
        rows.append(row | {"cpu_seconds": time.process_time() - start})
    if peer == "jax_privacy":
        rows[0]["null_alarms"] = null_alarms()
    return rows


def ask(peer: str) -> list[Row]:
    """The same in a fresh process, on one thread."""
    return processes.ask(__file__, peer, limit=600, environment=processes.ONE_THREAD | {"JAX_PLATFORMS": "cpu"})


def report(rows: list[Row]) -> str:
    """The Markdown page."""
    head = ["μ", "canaries", "seed", "library", "ε ≥, (ε, δ) theorem", "ε ≥, trade-off theorem", "CPU"]
    body = [
        [
            f"{row['mu']:g}",
            row["canaries"],
            row["seed"],
            row["peer"],
            f"{row['epsilon']:.4f}",
            f"{row['by_curve']:.4f}",
            f"{row['cpu_seconds']:.2f} s",
        ]
        for row in sorted(rows, key=lambda row: (row["mu"], row["canaries"], row["seed"], row["peer"]))
    ]
    lines = ["# One-run audits, compared", "", about(__doc__), "", f"{listed(versions(PACKAGES))}.", ""]
    alarms = next(row["null_alarms"] for row in rows if "null_alarms" in row)
    said = f"jax_privacy, its default, (ε, δ) theorem: {alarms} false alarms in 3000 null audits; 150 are allowed."
    return "\n".join([*lines, *table(head, body, words=["library"]), said, ""])


def main() -> None:
    """Ask both, write the page and the numbers."""
    if len(sys.argv) > 1:
        print(json.dumps(measure(sys.argv[1])))
        return
    rows = [row for peer in PEERS for row in ask(peer)]
    page = report(rows)
    write("auditing", page, rows)
    print(page)
    found = {peer: {(r["mu"], r["seed"]): r for r in rows if r["peer"] == peer} for peer in PEERS}
    for peer in list(PEERS)[1:]:
        ours, theirs = found["hush"], found[peer]
        behind = [key for key, row in ours.items() if any(row[k] < theirs[key][k] for k in ("epsilon", "by_curve"))]
        print(f"behind {peer} at {behind}" if behind else f"nowhere behind {peer}")


if __name__ == "__main__":
    main()
