"""Random training runs: `python random_trainings.py` writes results/random-trainings.md.

Noise, rate, steps and delta are drawn log-uniformly, half of the runs with rare hits (rate times steps from 1e-4 to 5).
The first table has hush alone, on larger boxes; `--share 0.1` draws a tenth of its runs.
hush and dp-accounting's PLD answer in one process and one thread, each question once, after one warm-up question each.
The truth is taken to lie in hush's interval; an upper bound of PLD below hush's lower end is marked as below the truth.
"""

import argparse
import random
import time
from statistics import geometric_mean, median

from run import PACKAGES
from tables import about, listed, seconds, table, versions, write
from widths import Box, box_table, by_hush

BELOW = 1e-9
"""Relative distance from which on PLD is said to be below."""


COMPARED = (
    Box("wide", 0, (0.3, 50), (1, 1e5), (1e-10, 1e-4), rate=(1e-6, 0.5)),
    Box("rare hits", 0, (0.3, 2), (130, 1e5), (1e-10, 1e-4), hits=(1e-4, 5)),
)
"""Where the runs that PLD answers too are drawn from, in turn."""


def by_pld(noise: float, rate: float, steps: int, delta: float) -> float:
    import dp_accounting
    from dp_accounting import pld

    event = dp_accounting.PoissonSampledDpEvent(rate, dp_accounting.GaussianDpEvent(noise))
    return pld.PLDAccountant().compose(event, steps).get_epsilon(delta)


def timed(question, *point):
    start = time.process_time()
    answer = question(*point)
    return answer, time.process_time() - start


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--share", type=float, default=1.0)
    given = parser.parse_args()
    source = random.Random(given.seed)  # noqa: S311
    by_hush(1.0, 0.01, 1000, 1e-5), by_pld(1.0, 0.01, 1000, 1e-5)
    boxes, drawn = box_table(given.share, given.seed)
    rows, body = [], []
    for k in range(given.count):
        point = COMPARED[k % 2].drawn(source)
        (low, high), spent = timed(by_hush, *point)
        peer, taken = timed(by_pld, *point)
        gap = (peer - high) / high if high else 0.0
        note = "PLD below the truth" if peer < low * (1 - BELOW) else ""
        rows.append(
            dict(
                zip(("noise", "rate", "steps", "delta"), point, strict=True),
                low=low,
                high=high,
                pld=peer,
                hush_seconds=spent,
                pld_seconds=taken,
            )
        )
        noise, rate, steps, delta = point
        body.append(
            [
                f"{noise:.3g}",
                f"{rate:.3g}",
                steps,
                f"{delta:.2g}",
                f"{high:.9g}",
                f"{(high - low) / high if high else 0:.1e}",
                f"{peer:.9g}",
                f"{gap:+.1e}",
                seconds(spent),
                seconds(taken),
                note,
            ]
        )
    ours, theirs = ([row[name] for row in rows] for name in ("hush_seconds", "pld_seconds"))
    ratios = [row["pld_seconds"] / row["hush_seconds"] for row in rows]
    widths = [(row["high"] - row["low"]) / row["high"] if row["high"] else 0.0 for row in rows]
    below = sum(1 for row in rows if row["pld"] < row["low"] * (1 - BELOW))
    looser = sum(1 for row in rows if row["high"] > row["pld"] * (1 + 1e-6) and row["pld"] >= row["low"])
    compared = versions(PACKAGES)
    page = [
        "# Random training runs",
        "",
        about(__doc__),
        "",
        f"{listed(compared)}. {given.count} runs, seed {given.seed}.",
        "",
        *boxes,
        "The same runs by both:",
        "",
        f"- hush: relative width at most {max(widths):.1e}, median CPU {seconds(median(ours))}, "
        f"most {seconds(max(ours))}.",
        f"- PLD: {below} answers below the truth, median CPU {seconds(median(theirs))}; its time over that of hush: "
        f"geometric mean {geometric_mean(ratios):.0f}.",
        f"- hush above PLD by more than a millionth though PLD is not below the truth: {looser}.",
        "",
        *table(
            [
                "noise",
                "rate",
                "steps",
                "δ",
                "hush, upper",
                "width",
                "PLD",
                "PLD − hush, relative",
                "hush CPU",
                "PLD CPU",
                "note",
            ],
            body,
        ),
    ]
    write("random-trainings", "\n".join(page), {"versions": compared, "rows": rows, "boxes": drawn})
    print("\n".join(page[:20]))


if __name__ == "__main__":
    main()
