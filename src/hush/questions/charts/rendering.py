"""Charts as pictures: altair makes the drawing, vl-convert the file; both are loaded only here."""

from __future__ import annotations

import math
import textwrap
from importlib import import_module
from typing import Any

from hush.errors import NotInstalled
from hush.questions.charts.drawing import Axis, Chart, ChartLine, Idea, Picture, Stroke

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000", "#7f7f7f")
"""Okabe and Ito 2008, without its yellow (too faint on white): told apart by every kind of colour vision."""

UNDER = Idea.EXACT.value
"""The wide line that lies under the others."""
MARKER = 45
"""Size of the marker of a measured point."""

WIDTH, HEIGHT, WRAP = 600, 360, 102
FONT = "Helvetica, Arial, sans-serif"
INK, GRID = "#222222", "#e4e4e4"


def needed(name: str) -> Any:
    """The module, or an error that says how to get it."""
    try:
        return import_module(name)
    except ImportError as reason:
        raise NotInstalled("Drawing", name, "app") from reason


def file_bytes(picture: Picture, suffix: str) -> bytes:
    """The whole file: .svg, .png, or .html with the libraries inside."""
    altair, convert = needed("altair"), needed("vl_convert")
    version = ".".join(altair.SCHEMA_VERSION.lstrip("v").split(".")[:2])
    document = picture.altair(tooltips=suffix == ".html").to_dict()
    if suffix == ".svg":
        return convert.vegalite_to_svg(document, vl_version=version).encode()
    if suffix == ".png":
        return convert.vegalite_to_png(document, vl_version=version, scale=2)
    return convert.vegalite_to_html(document, vl_version=version, bundle=True).encode()


def drawn(chart: Chart, *, tooltips: bool) -> Any:
    """The altair chart: a band where both ends of an interval are known, a line, a legend below."""
    altair = needed("altair")
    base = altair.Chart(altair.Data(values=chart.rows()))
    x = altair.X("x:Q", scale=_scale(altair, chart, "x"), axis=_axis(altair, chart, "x"))
    y = altair.Y("y:Q", scale=_scale(altair, chart, "y"), axis=_axis(altair, chart, "y"))
    named = _named(altair, chart)
    layers = [base.mark_line(clip=True, interpolate="linear", strokeJoin="round").encode(x=x, y=y, **named)]
    if any(line.other for line in chart.lines):
        band = base.transform_filter("isValid(datum.other)").mark_area(clip=True, opacity=0.25, line=False)
        layers.insert(0, band.encode(x=x, y=y, y2="other:Q", color=named["color"]))
    if any(line.measured for line in chart.lines):
        inside = chart.x.domain is None and chart.y.domain is None  # then a marker on the frame is shown whole
        shown = base.transform_filter("datum.measured")
        marks = shown.mark_point(clip=not inside, filled=True, opacity=1, size=MARKER)
        layers.append(marks.encode(x=x, y=y, color=named["color"]))
    if tooltips:
        shown = [altair.Tooltip("label:N", title="line"), *_numbers(altair, chart)]
        dots = base.mark_point(clip=True, opacity=0, size=80, filled=True)
        layers.append(dots.encode(x=x, y=y, tooltip=shown))
    title = altair.TitleParams(chart.title, subtitle=wrapped(chart.subtitle), anchor="start", frame="group")
    return dressed(altair.layer(*layers).properties(title=title, width=WIDTH, height=HEIGHT))


def _named(altair: Any, chart: Chart) -> dict[str, Any]:
    """Colour, dash and width by the name of the line, in one legend."""
    labels = [line.label for line in chart.lines]
    colours = _colours(chart.lines)
    # after one round of colours the dashes differ, so that no two lines look the same
    again = [
        line.stroke if place < len(COLOURS) else list(Stroke)[place // len(COLOURS) % 3]
        for place, line in enumerate(chart.lines)
    ]
    dashes = [list(stroke.value[:2]) for stroke in again]
    widths = [6.0 if stroke is Stroke.HEAVY else 2.2 for stroke in again]
    columns = 1 if max(map(len, labels)) > 42 else 2 if max(map(len, labels)) > 22 or len(labels) == 4 else 3
    legend = altair.Legend(title=None, columns=columns) if len(labels) > 1 else None
    settings: dict[str, tuple[str, list[Any]]] = {
        "color": ("Color", colours),
        "strokeDash": ("StrokeDash", dashes),
        "strokeWidth": ("StrokeWidth", widths),
    }
    return {
        channel: getattr(altair, kind)(
            "label:N", scale=altair.Scale(type="ordinal", domain=labels, range=values), legend=legend, sort=None
        )
        for channel, (kind, values) in settings.items()
    }


def _colours(lines: tuple[ChartLine, ...]) -> list[str]:
    """The colour of each line's idea; others take those that no idea has taken, in turn."""
    taken = {line.idea.value for line in lines if line.idea is not None}
    free = [colour for colour in COLOURS if colour not in taken] or list(COLOURS)
    found, place = [], 0
    for line in lines:
        if line.idea is not None or line.stroke is Stroke.HEAVY:
            found.append(line.idea.value if line.idea is not None else UNDER)
        else:
            found.append(free[place % len(free)])
            place += 1
    return found


def _ends(chart: Chart, name: str) -> tuple[float, float]:
    """From where to where an axis goes: its domain, or what the lines need."""
    axis: Axis = getattr(chart, name)
    if axis.domain:
        return axis.domain
    values = [row[key] for row in chart.rows() for key in ((name, "other") if name == "y" else (name,)) if key in row]
    return (min(values), max(values)) if values else (1.0, 10.0)


def _scale(altair: Any, chart: Chart, name: str) -> Any:
    axis: Axis = getattr(chart, name)
    if not axis.log:
        settings: dict[str, Any] = {"domain": list(axis.domain)} if axis.domain else {"zero": False}
        return altair.Scale(nice=axis.domain is None and name == "y", **settings)
    return altair.Scale(type="log", domain=list(_ends(chart, name)), nice=False)


def _axis(altair: Any, chart: Chart, name: str) -> Any:
    axis: Axis = getattr(chart, name)
    if not axis.log:
        return altair.Axis(title=axis.title, format="~r", tickCount=8)
    return altair.Axis(title=axis.title, values=log_ticks(*_ends(chart, name)), labelExpr=LABEL)


LABEL = (
    "datum.value >= 0.001 && datum.value < 10000 ? format(datum.value, '~r') : "
    "replace(format(datum.value, '~e'), '+', '')"
)
"""Plain numbers near 1, powers of ten elsewhere."""


def log_ticks(low: float, high: float) -> list[float]:
    """About eight round numbers on a logarithmic axis: powers of ten, with 2 and 5 between them where few fit.

    >>> log_ticks(1.0, 100.0)
    [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0]
    >>> log_ticks(2e-9, 5.0)
    [1e-08, 1e-06, 0.0001, 0.01, 1.0]
    """
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    decades = math.log10(high / low) if high > low else 1.0
    digits = range(1, 10) if decades < 0.7 else (1, 2, 5) if decades < 3.1 else (1,)
    stride = max(1, math.ceil(decades / 8))
    powers = [power for power in range(first, last + 1) if power % stride == 0]
    ticks = [float(f"{digit}e{power}") for power in powers for digit in digits]
    return [tick for tick in ticks if low * (1 - 1e-9) <= tick <= high * (1 + 1e-9)]


def _numbers(altair: Any, chart: Chart) -> list[Any]:
    ends = [("x", chart.x.title), ("y", chart.y.title)]
    if any(line.other for line in chart.lines):
        ends.append(("other", "other end"))
    return [altair.Tooltip(f"{name}:Q", title=title, format=".5~g") for name, title in ends]


def wrapped(text: str) -> list[str]:
    """A subtitle in lines that fit."""
    return [line for part in text.split("\n") for line in textwrap.wrap(part, WRAP)]


def dressed(drawing: Any) -> Any:
    """Fonts, colours and sizes, the same in every picture."""
    return (
        drawing.configure(font=FONT, background="white", padding=12)
        .configure_view(stroke="#888888")
        .configure_title(fontSize=17, subtitleFontSize=13, subtitleColor="#555555", color=INK, offset=12)
        .configure_axis(
            labelFontSize=13,
            titleFontSize=14,
            titleFontWeight="normal",
            titlePadding=8,
            labelColor=INK,
            titleColor=INK,
            gridColor=GRID,
            labelOverlap="greedy",
        )
        .configure_legend(
            orient="bottom",
            direction="horizontal",
            labelFontSize=13,
            labelLimit=0,
            labelColor=INK,
            symbolType="stroke",
            symbolSize=700,
            symbolOpacity=1,
            rowPadding=4,
            columnPadding=24,
            offset=14,
        )
    )
