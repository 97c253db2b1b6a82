"""Pictures of the attacker: what the best one finds at every rate of false alarms, and how sure it becomes."""

from __future__ import annotations

from typing import Any

import hush
from hush.app.expression import parse
from hush.app.service.questions.question_fields import number, runs
from hush.auditing.best_attacker import Attacker
from hush.numerics.decimals import rounded_up
from hush.questions.charts.chart import RATES, SMALL_RATES
from hush.questions.charts.drawing import Axis, Chart, ChartLine, Stroke

READ_AT = (0.001, 0.01, 0.1)
"""False positive rates that are read off the curve in words."""
PLACES = tuple(sorted({*SMALL_RATES, *RATES}))
"""Rates that draw well on logarithmic and on plain axes."""
PRIORS = tuple(k / 200 for k in range(1, 200))


def drawn(chart: Chart) -> dict[str, Any]:
    """A chart as plain data: the page draws it in the colours of the reader."""
    lines = [
        {"label": line.label, "stroke": line.stroke.name.lower(), "band": bool(line.other)} for line in chart.lines
    ]
    axes = {name: {"title": axis.title, "log": axis.log, "domain": axis.domain} for name, axis in _axes(chart)}
    return {"title": chart.title, "subtitle": chart.subtitle, "lines": lines, "points": chart.rows()} | axes


def _axes(chart: Chart) -> list[tuple[str, Axis]]:
    return [("x", chart.x), ("y", chart.y)]


def roc(given: dict[str, Any]) -> dict[str, Any]:
    """The certified curve of the best attacker against each run, and what it says at three rates."""
    named = {name: parse(said) for name, said in runs(given)}
    picture = hush.chart.roc(named, false_positive_rates=PLACES)
    read = []
    for name, mechanism in named.items():
        curve, advantage = mechanism.roc(), mechanism.advantage()
        found = [{"at": rate, "found": _percent(curve.true_positive_rate(rate).upper)} for rate in READ_AT]
        read.append({"name": name, "rates": found, "advantage": _percent(advantage.upper)})
    return {"chart": drawn(picture), "read": read}


def posterior(given: dict[str, Any]) -> dict[str, Any]:
    """How sure an attacker is at most that a record is there, against how sure it was before."""
    rate, prior = number(given, "false_positive_rate"), number(given, "prior")
    named = {name: Attacker(parse(said)) for name, said in runs(given)}
    lines = [
        ChartLine(name, PRIORS, tuple(one.posterior(prior=p, false_positive_rate=rate) for p in PRIORS))
        for name, one in named.items()
    ]
    lines.append(ChartLine("learns nothing", (0.0, 1.0), (0.0, 1.0), stroke=Stroke.DOTTED))
    x = Axis("sure before: the prior", domain=(0.0, 1.0))
    y = Axis("sure after an alarm, at most", domain=(0.0, 1.0))
    said = f"the test of the best attacker gives a false alarm in {100 * rate:g}% of all cases"
    picture = Chart("How sure an attacker becomes", said, x, y, tuple(lines))
    read = [
        {"name": name, "after": _percent(one.posterior(prior=prior, false_positive_rate=rate))}
        for name, one in named.items()
    ]
    return {"chart": drawn(picture), "read": read}


def _percent(share: float) -> str:
    return f"{rounded_up(100 * min(share, 1.0), 3)}%"
