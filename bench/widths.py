"""Width and time of hush's epsilon at random training runs of several boxes: a table for random_trainings.py.

Noise, rate (or the expected number of hits), steps and delta are drawn log-uniformly. Times are of the process.
"""

import math
import random
import time
from dataclasses import dataclass
from statistics import median

from tables import seconds, table

Range = tuple[float, float]


def log_uniform(source: random.Random, ends: Range) -> float:
    return math.exp(source.uniform(math.log(ends[0]), math.log(ends[1])))


@dataclass(frozen=True)
class Box:
    """Where training runs are drawn from, and how many in a full run."""

    name: str
    count: int
    noise: Range
    steps: Range
    delta: Range
    rate: Range | None = None
    hits: Range | None = None
    """Rate times steps, where the rate is not drawn itself."""
    replaced: bool = False
    """Whether neighbours replace a record instead of adding or removing one."""

    def drawn(self, source: random.Random) -> tuple[float, float, int, float]:
        """Noise multiplier, rate, steps and delta."""
        noise, steps = log_uniform(source, self.noise), int(log_uniform(source, self.steps))
        rate = log_uniform(source, self.rate) if self.rate else log_uniform(source, self.hits or (1, 1)) / steps
        return noise, rate, steps, log_uniform(source, self.delta)


WIDE = {"noise": (0.3, 50), "steps": (1, 1e6), "delta": (1e-12, 1e-3), "rate": (1e-6, 0.5)}
RARE = {"noise": (0.3, 2), "steps": (130, 1e6), "delta": (1e-12, 1e-3), "hits": (1e-4, 5)}
BOXES = (
    Box("wide", 1000, **WIDE),
    Box("rare hits", 300, **RARE),
    Box("wide, REPLACE", 1000, **WIDE, replaced=True),
    Box("rare hits, REPLACE", 300, **RARE, replaced=True),
    Box("wide, δ from 1e-60 to 1e-12", 200, **(WIDE | {"delta": (1e-60, 1e-12)})),
)


def by_hush(noise: float, rate: float, steps: int, delta: float, *, replaced: bool = False) -> Range:
    import hush

    training = hush.Gaussian(noise).on(hush.Poisson(rate=rate)).repeat(steps)
    bound = (training.under(hush.Relation.REPLACE) if replaced else training).epsilon(delta=delta)
    return bound.lower, bound.upper


def measured(box: Box, count: int, seed: int) -> list[dict]:
    """One row per drawn run: its numbers, both ends, the relative width and the time."""
    source = random.Random(seed)  # noqa: S311
    rows = []
    for _ in range(count):
        point = box.drawn(source)
        start = time.process_time()
        low, high = by_hush(*point, replaced=box.replaced)
        spent = time.process_time() - start
        width = (high - low) / high if 0 < high < math.inf else float(high > 0)
        named = dict(zip(("noise", "rate", "steps", "delta"), point, strict=True))
        rows.append({"box": box.name, **named, "low": low, "high": high, "width": width, "seconds": spent})
    return rows


def box_table(share: float, seed: int) -> tuple[list[str], list[dict]]:
    """A line per box, of this share of its runs; and all runs."""
    body, rows = [], []
    for box in BOXES:
        found = measured(box, max(math.ceil(share * box.count), 1), seed)
        widths, times = ([row[name] for row in found] for name in ("width", "seconds"))
        within = [f"{sum(width <= limit for width in widths) / len(widths):.1%}" for limit in (1e-6, 1e-4)]
        body.append([box.name, len(found), *within, f"{max(widths):.1e}", seconds(median(times)), seconds(max(times))])
        rows.extend(found)
    head = ["box", "runs", "width ≤ 1e-6", "≤ 1e-4", "widest", "median CPU", "most"]
    return table(head, body), rows
