"""Named intervals side by side on one axis: what is proven of each, and what somebody claims instead."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

from hush.errors import InvalidParameter
from hush.questions.charts.drawing import Axis, Picture

ROW, WIDE = 62, 680
"""Height of one row, and width of the picture, in pixels."""
THICK = 16
ROOM = 0.3
"""Share of the width that is kept free behind the longest bar, for its numbers."""
PLAIN, CLAIM, TRUTH = "#7f7f7f", "#0072b2", "#d55e00"


@dataclass(frozen=True)
class Range:
    """One row: a name, an interval, how it is written, and a line of text below it."""

    label: str
    lower: float
    upper: float
    shown: str
    note: str = ""
    under: str = ""
    """A second line of the name."""


class FalseReport(NamedTuple):
    """The number of one row that is reported for another one, and what that does."""

    reported: str
    ran: str
    text: str


@dataclass(frozen=True)
class Ranges(Picture):
    """Intervals on a logarithmic axis, one below the other; a bar without an end on one side goes on to the edge.

    >>> one, other = Range("a", 1.0, 1.0, "1"), Range("b", 2.0, 4.0, "2 to 4")
    >>> report = FalseReport("a", "b", "twice as much")
    >>> picture = Ranges("A title", "a parameter", Axis("ε", log=True), (one, other), report)
    >>> [(row["label"], row["low"], row["high"]) for row in picture.rows()]
    [('a', 1.0, 1.0), ('b', 2.0, 4.0)]
    """

    title: str
    subtitle: str
    axis: Axis
    ranges: tuple[Range, ...]
    claim: FalseReport | None = None

    def __post_init__(self) -> None:
        labels = [one.label for one in self.ranges]
        if len(set(labels)) < len(labels):
            raise InvalidParameter("Ranges", "no two rows of one name", labels=labels)
        if self.claim and not {self.claim.reported, self.claim.ran} <= set(labels):
            raise InvalidParameter("Ranges", f"a claim about two of {labels}", claim=self.claim)

    def row(self, label: str) -> Range:
        """The row of that name."""
        return next(one for one in self.ranges if one.label == label)

    @property
    def ends(self) -> tuple[float, float]:
        """From where to where the axis goes: all finite ends, and room for the numbers."""
        known = [end for one in self.ranges for end in (one.lower, one.upper) if self.axis.shows(end)] or [1.0]
        low, high = math.log(min(known)), math.log(max(known))
        reach = max(high - low, 1.0)
        return math.exp(low - 0.08 * reach), math.exp(high + reach * ROOM / (1 - ROOM))

    def rows(self) -> list[dict[str, Any]]:
        """One row for each range, its ends cut to the axis."""
        left, right = self.ends
        return [
            {
                "label": one.label,
                "name": f"{one.label}|{one.under}",
                "low": min(max(one.lower, left), right),
                "high": min(max(one.upper, left), right),
                "shown": one.shown,
                "note": one.note,
                "left": left,
                "colour": self._colour(one.label),
            }
            for one in self.ranges
        ]

    def _colour(self, label: str) -> str:
        if self.claim is None:
            return CLAIM
        return {self.claim.reported: CLAIM, self.claim.ran: TRUTH}.get(label, PLAIN)

    def altair(self, *, tooltips: bool = True) -> Any:
        from hush.questions.charts import rendering

        altair = rendering.needed("altair")
        low, high = self.ends
        scale = altair.Scale(type="log", domain=[low, high], nice=False)
        ticks = altair.Axis(title=self.axis.title, values=rendering.log_ticks(low, high), labelExpr=rendering.LABEL)
        names = altair.Axis(
            title=None, labelExpr="split(datum.value, '|')", labelLimit=0, labelLineHeight=16, ticks=False, grid=False
        )
        rows = self.rows()
        x = altair.X("low:Q", scale=scale, axis=ticks)
        y = altair.Y("name:N", sort=[row["name"] for row in rows], axis=names)
        base = altair.Chart(altair.Data(values=rows)).encode(
            x=x, y=y, color=altair.Color("colour:N", scale=None, legend=None)
        )
        layers = [*self._claimed(altair, x, y), *_bars(altair, base, tooltips, self.axis.title)]
        title = altair.TitleParams(self.title, subtitle=rendering.wrapped(self.subtitle), anchor="start", frame="group")
        height = ROW * len(rows)
        return rendering.dressed(altair.layer(*layers).properties(title=title, width=WIDE, height=height))

    def _claimed(self, altair: Any, x: Any, y: Any) -> list[Any]:
        """A line down from the number that is reported to the row that it is reported for, and how far off it is."""
        if self.claim is None:
            return []
        said, ran = self.row(self.claim.reported), self.row(self.claim.ran)
        if not self.axis.shows(said.upper):
            return []
        names = {row["label"]: row["name"] for row in self.rows()}
        far = min(max(ran.lower, said.upper), self.ends[1])
        above = {"low": said.upper, "name": names[said.label], "to": names[ran.label]}
        below = {"low": said.upper, "name": names[ran.label], "far": far}
        down, there = (altair.Chart(altair.Data(values=[data])).encode(x=x, y=y) for data in (above, below))
        dashed = {"strokeDash": [5, 4], "strokeWidth": 2}
        text = there.mark_text(align="left", dx=8, dy=-20, color=TRUTH, fontSize=13, fontWeight="bold")
        return [
            down.mark_rule(color=CLAIM, **dashed).encode(y2="to:N"),
            there.mark_rule(color=TRUTH, **dashed).encode(x2="far:Q"),
            text.encode(text=altair.value(self.claim.text)),
        ]


def _bars(altair: Any, base: Any, tooltips: bool, title: str) -> list[Any]:
    """The interval, a mark at its upper end, the number behind it and the note below."""
    thick = base.mark_bar(height=THICK, opacity=0.55).encode(x2="high:Q")
    mark = base.mark_tick(thickness=4, height=THICK + 6, opacity=1).encode(x="high:Q")
    number = base.mark_text(align="left", dx=9, fontSize=14, fontWeight="bold").encode(x="high:Q", text="shown:N")
    written = {"align": "left", "dx": 4, "dy": 22, "fontSize": 11.5}
    # first in white and wide, so that a line that passes behind stays readable text
    halo, note = (
        base.mark_text(**written, **style).encode(x="left:Q", text="note:N", color=altair.value(colour))
        for style, colour in (({"stroke": "white", "strokeWidth": 3}, "white"), ({}, "#555555"))
    )
    if tooltips:
        shown = [altair.Tooltip("label:N", title="row"), altair.Tooltip("shown:N", title=title)]
        thick, mark = thick.encode(tooltip=shown), mark.encode(tooltip=shown)
    return [thick, mark, number, halo, note]
