"""How long a release takes, roughly: nanoseconds per record, measured on Parquet files (docs/theory/planning.md)."""

from __future__ import annotations

from dataclasses import dataclass

from hush.checks import number


@dataclass(frozen=True)
class Cost:
    """Nanoseconds: to read a record, to toss its coin, and to work on it once it is in the sample.

    >>> MEDIAN.seconds(100_000_000, 1.0) / MEDIAN.seconds(100_000_000, 0.01) > 3
    True
    """

    read: float
    draw: float
    work: float

    def __post_init__(self) -> None:
        for name in ("read", "draw", "work"):
            value = number("Cost", f"0 <= {name} <= 1e9 nanoseconds", 0.0, 1e9, **{name: getattr(self, name)})
            object.__setattr__(self, name, value)

    def seconds(self, population: int, rate: float) -> float:
        """Seconds for a population: every record is read, whatever the rate."""
        return 1e-9 * population * (self.read + self.work * rate + (self.draw if rate < 1 else 0.0))


MEAN = Cost(read=9.0, draw=2.0, work=0.7)
MEDIAN = Cost(read=9.0, draw=2.0, work=35.0)
