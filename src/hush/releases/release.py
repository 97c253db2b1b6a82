"""What a release hands out: a value, the mechanism that made it, and how far it may be from the truth."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from hush.checks import number
from hush.errors import InvalidParameter
from hush.markup import Shown, Text
from hush.mechanisms.mechanism import Mechanism

if TYPE_CHECKING:
    from hush.releases.sample import Sample

NOT_PRIVATE = "NOT PRIVATE: made from a seeded source"


@dataclass(frozen=True)
class Interval:
    """A range that holds the truth with at least this confidence; for a vector, low and high are tuples.

    >>> Interval(1.0, 3.0, confidence=0.95)
    Interval(low=1.0, high=3.0, confidence=0.95)
    """

    low: Any
    high: Any
    confidence: float

    def __post_init__(self) -> None:
        number("Interval", "0 < confidence < 1", 0, 1, low_open=True, high_open=True, confidence=self.confidence)

    def map(self, f: Callable[[Any], Any]) -> Interval:
        """The interval of f(truth), for a monotone f of one number."""
        ends = f(self.low), f(self.high)
        return Interval(min(ends), max(ends), self.confidence)

    def __contains__(self, value: float) -> bool:
        return bool(self.low <= value <= self.high)

    def __str__(self) -> str:
        return f"{_shown(self.low)} to {_shown(self.high)} ({100 * self.confidence:g}%)"


@dataclass(frozen=True, eq=False)
class Release(Shown):
    """A value that may be published, with the mechanism that made it.

    The noise interval is about the statistic of the records that were used (all of them, or the drawn sample, scaled
    to the whole): only the noise is uncertain. The total interval is about the same statistic of all records, so it
    also covers the error of sampling. Both hold for any data within the bounds, and reveal nothing more. `None`
    stands for an interval that is not known.

    >>> import hush
    >>> found = hush.releases.count(range(100), epsilon=1.0, source=hush.SeededSource(1))
    >>> found.private, found.mechanism.epsilon(delta=0).upper
    (False, 1.0)
    >>> found.map(lambda value: value > 0).value
    True
    """

    value: Any
    mechanism: Mechanism
    noise_interval: Interval | None
    total_interval: Interval | None
    private: bool
    sample: Sample | None = field(default=None, repr=False, compare=False)
    """The sample that it was made from, where one was drawn: other uses of it are accounted together with this one.

    A stored or copied release forgets it, as there is only one, in one process; `of_sample` still tells of it.
    """
    of_sample: bool = field(default=False, repr=False, compare=False)
    """Whether its mechanism is that of all uses of one secret sample up to this one."""
    subject: str = field(default="", repr=False, compare=False)
    """What the value is, in words: the statistic, its column, its bounds."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "of_sample", self.of_sample or self.sample is not None)

    def __reduce__(self) -> tuple[Any, ...]:
        kept = (self.value, self.mechanism, self.noise_interval, self.total_interval, self.private)
        return Release, (*kept, None, self.of_sample, self.subject)

    def map(self, f: Callable[[Any], Any], *, monotone: bool = False) -> Release:
        """f(value), which costs nothing more; with monotone=True the intervals are mapped too, else they are dropped.

        >>> import hush
        >>> found = hush.releases.count(range(100), epsilon=1.0, source=hush.SeededSource(1))
        >>> found.map(lambda value: value / 100, monotone=True).mechanism == found.mechanism
        True
        """
        ranges = [self.noise_interval, self.total_interval]
        noise, total = [r.map(f) if monotone and r is not None else None for r in ranges]
        subject = f"a function of {self.subject}" if self.subject else ""
        return replace(self, value=f(self.value), noise_interval=noise, total_interval=total, subject=subject)

    def statement(self, *, delta: float = 0.0, unit: str = "record", style: str = "plain") -> Text:
        """The guarantee in words, and what was released; style="methods" is worded for a paper, with citations.

        >>> import hush
        >>> found = hush.releases.mean([1, 2], bounds=(0, 3), epsilon=1.0)
        >>> print(found.statement(style="methods"))
        We released the mean (each value moved into the bounds 0 to 3) by this mechanism: ...
        """
        return self.mechanism.statement(delta=delta, unit=unit, style=style, subject=self.subject)

    def require_private(self) -> Release:
        """This release, if its randomness was secret; an error otherwise. Whatever spends a budget asks it first."""
        if not self.private:
            raise InvalidParameter("A private release", "a secure source of randomness", source="SeededSource")
        return self

    def __str__(self) -> str:
        lines = [
            _shown(self.value),
            f"  noise      {self.noise_interval if self.noise_interval is not None else 'not known'}",
            f"  total      {self.total_interval if self.total_interval is not None else 'not known'}",
            f"  relation   {self.mechanism.compared}",
            f"  mechanism  {self.mechanism}",
        ]
        if self.of_sample:
            lines.append("  sample     the mechanism is that of all uses of one secret sample, this one included")
        if not self.private:
            lines.insert(1, f"  {NOT_PRIVATE}")
        return "\n".join(lines)


def _shown(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.10g}"
    if isinstance(value, tuple):
        return "(" + ", ".join(_shown(v) for v in value) + ")"
    return str(value)
