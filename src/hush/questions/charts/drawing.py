"""A chart as plain data: lines with names on two axes, drawn only when it is saved or shown."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from hush.errors import InvalidParameter

FORMATS = (".svg", ".png", ".html")


class Stroke(Enum):
    """How a line is drawn: a second way to tell lines apart, for readers who do not see the colours."""

    SOLID = (1, 0)
    DASHED = (7, 4)
    DOTTED = (2, 3)
    HEAVY = (1, 0, 0, 0)
    """Solid and wide, to lie under a line that may coincide with it."""


@dataclass(frozen=True)
class Axis:
    """What an axis measures; domain fixes its ends."""

    title: str
    log: bool = False
    domain: tuple[float, float] | None = None

    def shows(self, value: float) -> bool:
        """Whether the value has a place on the axis.

        >>> Axis("δ", log=True).shows(0.0), Axis("ε").shows(0.0), Axis("ε").shows(math.inf)
        (False, True, False)
        """
        return math.isfinite(value) and (value > 0 or not self.log)


@dataclass(frozen=True)
class ChartLine:
    """One curve: y is what is drawn (the end of the interval that a guarantee quotes), other its other end."""

    label: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    other: tuple[float, ...] = ()
    stroke: Stroke = Stroke.SOLID

    def __post_init__(self) -> None:
        if len(self.x) != len(self.y) or len(self.other) not in (0, len(self.x)):
            raise InvalidParameter("A line", "as many x as y", x=len(self.x), y=len(self.y), other=len(self.other))


class Picture(ABC):
    """What can be drawn: plain data until then."""

    @abstractmethod
    def altair(self, *, tooltips: bool = True) -> Any:
        """The same as an altair chart, to change as one likes."""

    def save(self, path: str | Path) -> Path:
        """Write an SVG or PNG picture, or a page that needs no network (.html), as the name of the file says.

        Needs the extra: pip install 'hush-dp[app]'.
        """
        target = Path(path)
        if target.suffix.lower() not in FORMATS:
            raise InvalidParameter("save", f"a name that ends in one of {', '.join(FORMATS)}", path=str(path))
        from hush.questions.charts import rendering

        target.write_bytes(rendering.file_bytes(self, target.suffix.lower()))
        return target

    def _repr_svg_(self) -> str:
        """How a notebook shows it: a picture that needs neither a script nor a network."""
        from hush.questions.charts import rendering

        return rendering.file_bytes(self, ".svg").decode()


@dataclass(frozen=True)
class Chart(Picture):
    """Lines on two axes, with a title that says what is shown and a subtitle that says with which parameters.

    >>> chart = Chart("A title", "a parameter", Axis("x"), Axis("y"), (ChartLine("a", (0.0, 1.0), (2.0, 3.0)),))
    >>> chart.rows()[1]
    {'label': 'a', 'x': 1.0, 'y': 3.0}
    """

    title: str
    subtitle: str
    x: Axis
    y: Axis
    lines: tuple[ChartLine, ...]

    def line(self, label: str) -> ChartLine:
        """The line of that name."""
        for line in self.lines:
            if line.label == label:
                return line
        raise InvalidParameter("line", f"one of {[line.label for line in self.lines]}", label=label)

    def rows(self) -> list[dict[str, Any]]:
        """One row for each point that has a place on both axes."""
        return [row for line in self.lines for row in self._points(line)]

    def _points(self, line: ChartLine) -> Sequence[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        for place, (x, y) in enumerate(zip(line.x, line.y, strict=True)):
            if not (self.x.shows(x) and self.y.shows(y)):
                continue
            row: dict[str, Any] = {"label": line.label, "x": float(x), "y": float(y)}
            if line.other and self.y.shows(line.other[place]):
                row["other"] = float(line.other[place])
            found.append(row)
        return found

    def altair(self, *, tooltips: bool = True) -> Any:
        from hush.questions.charts import rendering

        return rendering.drawn(self, tooltips=tooltips)
