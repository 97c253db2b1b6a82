"""Rényi bounds of a sample drawn without replacement, at orders 2 to 501: `python renyi.py` writes results/renyi.md.

Two theorems of Wang, Balle and Kasiviswanathan 2019: the general bound (Thm 9) and the improved one for mechanisms with
one worst pair (Thm 27). Each library has a process of its own, one thread, and every timed call starts from nothing.
The general bound is compared with the theorem's own sum in 60 digits.
"""

import argparse
import json
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import mpmath
import peers
import processes
from measure import timed
from processes import Row
from run import PACKAGES, TIME_LIMIT
from tables import listed, seconds, table, versions, write

ORDERS = range(2, 502)
RATE = 0.001
NOISE = {"Gaussian 5": ("gaussian", 5.0), "Laplace 0.5": ("laplace", 0.5)}
CHECKED = (2, 3, 10, 100, 501)

Values = Sequence[float]


def hush_general(kind: str, scale: float) -> Values:
    """The curve, sampled, at all orders at once."""
    import hush
    from hush.curves.renyi.sampling import without_replacement

    relation = hush.Relation.REPLACE
    mechanism = hush.Gaussian(scale, relation) if kind == "gaussian" else hush.Laplace(scale, relation)
    return without_replacement(mechanism.renyi_curve(), RATE)(ORDERS).tolist()


def hush_improved(kind: str, scale: float) -> Values:
    """From the pair of the noise, which is worst for every order."""
    import hush
    from hush.curves.renyi.sampling import without_replacement_pair

    relation = hush.Relation.REPLACE
    mechanism = hush.Gaussian(scale, relation) if kind == "gaussian" else hush.Laplace(scale, relation)
    return without_replacement_pair(mechanism.at(1, 1), RATE)(ORDERS).tolist()


def _autodp(kind: str, scale: float, *, improved: bool) -> Values:
    from autodp import rdp_acct, rdp_bank

    if kind == "gaussian":
        curve = lambda order: rdp_bank.RDP_gaussian({"sigma": scale}, order)  # noqa: E731
    else:
        curve = lambda order: rdp_bank.RDP_laplace({"b": scale}, order)  # noqa: E731
    accountant = rdp_acct.anaRDPacct(m=ORDERS[-1])
    # composing computes every whole order up to m, once
    accountant.compose_subsampled_mechanism(curve, RATE, improved_bound_flag=improved)
    return accountant.RDPs_int[1:].tolist()


def autodp_general(kind: str, scale: float) -> Values:
    """The accountant's table of whole orders."""
    return _autodp(kind, scale, improved=False)


def autodp_improved(kind: str, scale: float) -> Values:
    """The same with the flag for the improved bound."""
    return _autodp(kind, scale, improved=True)


def dp_accounting_improved(kind: str, scale: float) -> Values:
    """It has the improved bound for the Gaussian, and no other."""
    if kind != "gaussian":
        raise peers.NotOffered("Gaussian noise only")
    import dp_accounting
    from dp_accounting import rdp

    relation = dp_accounting.NeighboringRelation.REPLACE_ONE
    event = dp_accounting.SampledWithoutReplacementDpEvent(1000, 1, dp_accounting.GaussianDpEvent(scale))
    return rdp.RdpAccountant(list(ORDERS), relation).compose(event)._rdp.tolist()


ASKED: dict[str, dict[str, Callable[[str, float], Values]]] = {
    "general": {"hush": hush_general, "autodp": autodp_general},
    "improved": {"hush": hush_improved, "autodp": autodp_improved, "dp_accounting": dp_accounting_improved},
}


def curve_of(kind: str, scale: float) -> Callable[[int], Any]:
    """The unsampled curve in mpmath."""
    b = mpmath.mpf(scale)
    if kind == "gaussian":
        return lambda order: mpmath.mpf(order) / (2 * b * b)

    def laplace(order: int) -> Any:
        a = mpmath.mpf(order)
        moment = a / (2 * a - 1) * mpmath.exp((a - 1) / b) + (a - 1) / (2 * a - 1) * mpmath.exp(-a / b)
        return mpmath.log(moment) / (a - 1)

    return laplace


def theorem(kind: str, scale: float, order: int) -> float:
    """Thm 9 at one order, summed in 60 digits, and never above the unsampled curve."""
    with mpmath.workdps(60):
        curve, rate = curve_of(kind, scale), mpmath.mpf(RATE)
        spread = mpmath.inf if kind == "gaussian" else mpmath.expm1(1 / mpmath.mpf(scale))

        def term(j: int) -> Any:
            bound = mpmath.exp((j - 1) * curve(j)) * min(mpmath.mpf(2), spread**j)
            if j == 2:
                bound = min(bound, 4 * mpmath.expm1(curve(2)))
            return rate**j * mpmath.binomial(order, j) * bound

        total = mpmath.log1p(mpmath.fsum(term(j) for j in range(2, order + 1))) / (order - 1)
        return float(min(total, curve(order)))


def measure(bound: str, peer: str, name: str) -> dict[str, object]:
    """One library on one problem, in this process: best CPU time after a warm-up, and the largest distance."""
    kind, scale = NOISE[name]
    question = ASKED[bound][peer]
    try:
        values, spent = timed(lambda: question(kind, scale))
    except peers.NotOffered as reason:
        return {"not_offered": str(reason)}
    row: dict[str, object] = {"cpu_seconds": spent, "value": {str(n): values[n - 2] for n in CHECKED}}
    if bound == "general":
        truths = {order: theorem(kind, scale, order) for order in CHECKED}
        row["excess"] = max(values[n - 2] / truth - 1 for n, truth in truths.items())
        row["deficit"] = max(1 - values[n - 2] / truth for n, truth in truths.items())
    return row


def ask(bound: str, peer: str, name: str) -> Row:
    """The same in a process of its own."""
    asked = {"bound": bound, "peer": peer, "case": name}
    return asked | processes.row(__file__, "--measure", bound, peer, name, limit=TIME_LIMIT)


def line(row: Row, ours: object) -> list[str]:
    """One row of the table."""
    spent = row.get("cpu_seconds")
    ratio = f"{spent / ours:.3g}" if isinstance(spent, float) and isinstance(ours, float) else "–"
    excess = row.get("excess")
    note = str(row.get("failure") or row.get("not_offered") or "")
    shown = row.get("value")
    if row["bound"] == "improved" and isinstance(shown, dict):
        note = f"{shown['10']:.6g} at order 10, {shown['100']:.6g} at order 100"
    distance = f"{excess:+.0e}, {-float(str(row['deficit'])):+.0e}" if isinstance(excess, float) else "–"
    return [str(row["peer"]), seconds(spent), ratio, distance, note]


def report(rows: list[Row], compared: dict[str, str]) -> str:
    """The Markdown page."""
    lines = [
        "# Sampled Rényi curves, compared",
        "",
        f"CPU time for orders 2 to 501 of a sample of {RATE:g} of the data without replacement, replace-one:",
        "the best of three calls in a warm process, caches emptied. Distance: the largest and the least relative",
        "difference from Thm 9 of Wang, Balle, Kasiviswanathan 2019 in 60 digits; below 0 the bound is not one.",
        f"It is taken at orders {', '.join(map(str, CHECKED))}.",
        "The improved bound has no single sum to compare with; its values are shown.",
        f"Made by `make bench` with {listed(compared)}.",
        "",
    ]
    for bound in ASKED:
        for name in NOISE:
            chosen = [row for row in rows if (row["bound"], row["case"]) == (bound, name)]
            ours = next((row.get("cpu_seconds") for row in chosen if row["peer"] == "hush"), None)
            lines += [f"## {bound.capitalize()} bound, {name}", ""]
            lines += table(["library", "CPU", "x hush", "distance", "note"], [line(row, ours) for row in chosen])
    return "\n".join(lines)


def main() -> None:
    """Measure one, or ask for all and write both files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--measure", nargs=3, metavar=("BOUND", "PEER", "CASE"))
    names = parser.parse_args().measure
    warnings.simplefilter("ignore")
    if names:
        sys.stdout.write("\n" + json.dumps(measure(*names)) + "\n")
        return
    rows = [ask(bound, peer, name) for bound, asked in ASKED.items() for name in NOISE for peer in asked]
    compared = versions(PACKAGES)
    page = report(rows, compared)
    write("renyi", page, {"versions": compared, "rows": rows})
    print(page)


if __name__ == "__main__":
    main()
