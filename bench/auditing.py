"""Compare one-run audits with jax_privacy on the same scores: `make bench`, or run this file where it is installed.

A noisy sum of orthogonal canaries, each put in by a fair coin of its own; the score of a canary is its coordinate. The
auditors get the same scores, confidence 0.95, and choose the number of guesses themselves: hush by the claim (true,
halved or doubled), and all numbers that it tries are paid for. Bounds on mu are shown as epsilon at delta 1e-5. By
default jax_privacy shares the error among the corners of the convex hull of the ROC curve, some ten of a thousand
thresholds, which the labels pick: too few are paid for, and on null scores it errs more often than it says (last
lines). Its `Split` pays for nothing: half of the canaries, drawn with seed 0, choose the threshold, the others are
guessed.
"""

import json
import sys
import time
from collections.abc import Callable

import numpy as np
import processes
from processes import Row
from tables import about, listed, table, versions, write

DELTA = 1e-5
CANARIES = 1000
MUS, SEEDS, SHOWN = (1.0, 2.0, 4.0), range(1, 31), 3
NULLS = 3000
PACKAGES = ["hush", "jax_privacy", "numpy", "scipy"]
KINDS, OTHERS = ("epsilon", "by_curve"), ("jax_privacy", "jax_privacy, Split")

Bounds = Callable[[float, np.ndarray, np.ndarray], tuple[float, float]]
Finds = Callable[[np.ndarray, np.ndarray], bool]


def scores_of(mu: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Scores and labels."""
    random = np.random.default_rng(seed)
    members = random.random(CANARIES) < 0.5
    return mu * members + random.standard_normal(CANARIES), members


def hush_bounds(factor: float) -> Bounds:
    """By the theorem of (epsilon, delta), and by that of trade-off curves; the claim is so many times the truth."""

    def bounds(mu: float, scores: np.ndarray, members: np.ndarray) -> tuple[float, float]:
        import hush
        from hush.auditing import one_run

        claim = hush.GaussianDP(factor * mu)
        pure = one_run(scores, members, claim=claim, delta=DELTA).lower_bound
        found = one_run(scores, members, claim=claim).lower_bound
        return pure, hush.GaussianDP(max(found, 1e-9)).epsilon(delta=DELTA).lower

    return bounds


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


def hush_finds() -> Finds:
    """Whether the one-run audit of a pure claim finds anything, without the null check that each report adds."""
    import hush
    from hush.auditing import Claim
    from hush.auditing.canaries.numbers_of_guesses import planned_tests

    tests = planned_tests(CANARIES, Claim.of(hush.PureDP(1.0)), 0.05)
    return lambda scores, members: tests.is_evidence(members[np.argsort(-scores)])


def jax_privacy_finds() -> Finds:
    """The same question to its default."""
    from jax_privacy import auditing

    def finds(scores: np.ndarray, members: np.ndarray) -> bool:
        return auditing.CanaryScoreAuditor(scores[members], scores[~members]).epsilon_one_run(0.05, 1e-12) > 0

    return finds


def null_alarms(finds: Finds) -> int:
    """How often something is found in scores that know nothing, at confidence 0.95."""
    random, alarms = np.random.default_rng(1), 0
    for _ in range(NULLS):
        members, scores = random.random(CANARIES) < 0.5, random.standard_normal(CANARIES)
        alarms += finds(scores, members)
    return alarms


PEERS: dict[str, Bounds] = {
    "hush": hush_bounds(1.0),
    "hush, claim halved": hush_bounds(0.5),
    "hush, claim doubled": hush_bounds(2.0),
    "jax_privacy": jax_privacy_bounds,
    "jax_privacy, Split": split_bounds,
}
FINDS = {"hush": hush_finds, "jax_privacy": jax_privacy_finds}


def measure(peer: str) -> list[Row]:
    """All problems in this process."""
    rows = []
    for mu, seed in ((mu, seed) for mu in MUS for seed in SEEDS):
        start = time.process_time()
        pure, curve = PEERS[peer](mu, *scores_of(mu, seed))
        row = {"peer": peer, "mu": mu, "canaries": CANARIES, "seed": seed, "epsilon": pure, "by_curve": curve}
        rows.append(row | {"cpu_seconds": time.process_time() - start})
    if peer in FINDS:
        rows[0]["null_alarms"] = null_alarms(FINDS[peer]())
    return rows


def ask(peer: str) -> list[Row]:
    """The same in a fresh process, on one thread."""
    return processes.ask(__file__, peer, limit=600, environment=processes.ONE_THREAD | {"JAX_PLATFORMS": "cpu"})


def means(rows: list[Row]) -> list[list[object]]:
    """Of each peer at each mu, and how often each reaches what jax_privacy reaches."""
    body: list[list[object]] = []
    for mu in MUS:
        found = {
            peer: np.array([[r[k] for k in KINDS] for r in rows if (r["peer"], r["mu"]) == (peer, mu)])
            for peer in PEERS
        }
        for peer, bounds in found.items():
            reached = [f"{np.mean(bounds[:, k] >= found[other][:, k]):.0%}" for k in (0, 1) for other in OTHERS]
            pure, curve = bounds.mean(axis=0)
            body.append([f"{mu:g}", peer, f"{pure:.3f}", *reached[:2], f"{curve:.3f}", *reached[2:]])
    return body


def report(rows: list[Row]) -> str:
    """The Markdown page."""
    head = ["μ", "library", "ε ≥, (ε, δ) theorem", "ε ≥, trade-off theorem", "CPU"]
    kept = sorted((row for row in rows if row["seed"] <= SHOWN), key=lambda row: (row["mu"], row["seed"]))
    body = [
        [f"{r['mu']:g}", r["seed"], r["peer"], *(f"{r[k]:.4f}" for k in KINDS), f"{r['cpu_seconds']:.2f} s"]
        for r in kept
    ]
    alarms = [
        f"{r['peer']}, (ε, δ) theorem: {r['null_alarms']} alarms in {NULLS} null audits, {NULLS // 20} allowed."
        for r in rows
        if "null_alarms" in r
    ]
    reach = ["≥ default", "≥ Split"]
    summary = [*head[:3], *reach, head[3], *reach]
    return "\n".join(
        [
            *["# One-run audits, compared", "", about(__doc__), "", f"{listed(versions(PACKAGES))}.", ""],
            *[f"Means over {len(SEEDS)} sets of {CANARIES} scores; how often a bound is at least jax_privacy's:", ""],
            *table(summary, means(rows), words=["library"]),
            *[f"The first {SHOWN} sets:", ""],
            *table([head[0], "seed", *head[1:]], body, words=["library"]),
            *["\n\n".join(alarms), ""],
        ]
    )


def main() -> None:
    """Ask both, write the page and the numbers."""
    if len(sys.argv) > 1:
        print(json.dumps(measure(sys.argv[1])))
        return
    rows = [row for peer in PEERS for row in ask(peer)]
    page = report(rows)
    write("auditing", page, rows)
    print(page)


if __name__ == "__main__":
    main()
