"""How much of each budget was spent, over time, as a chart."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hush.errors import LedgerError
from hush.ledger.entries import Entry, read_costs
from hush.ledger.standing import Standing
from hush.questions.charts.drawing import Axis, Chart, ChartLine

DAY = 86_400_000_000
"""Microseconds of a day."""
POINTS = 1000
"""Of a line, at most about twice as many."""


def spending_chart(standings: Sequence[Standing], charges: Iterable[Entry]) -> Chart:
    """A line for each budget: days since the first charge, and the share that was spent.

    A clock that was set back moves no point to the left: entries stay in their order.
    """
    spent = {standing.name: standing.budget.filter.nothing for standing in standings}
    lines: dict[str, list[tuple[float, float]]] = {name: [(0.0, 0.0)] for name in spent}
    first, days = None, 0.0
    rules = {standing.name: standing.budget.filter for standing in standings}
    for entry in charges:
        if not isinstance(entry.time, int):
            raise LedgerError("The book has a time that is not a number: it was edited.")
        first = entry.time if first is None else first
        days = max(days, (entry.time - first) / DAY)
        for name, cost in read_costs(entry.costs).items():
            if name not in spent or len(cost) != len(spent[name]):
                raise LedgerError("The book has a cost that is not of its budget: it was edited.")
            spent[name] = rules[name].sum(spent[name], cost)
            lines[name].append((days, rules[name].share(spent[name])))
            if len(lines[name]) > 2 * POINTS:
                lines[name] = [*lines[name][:-1:2], lines[name][-1]]
    return Chart(
        "What was spent",
        "share of each budget that its filter counts as spent",
        Axis("days since the first charge"),
        Axis("share of the budget", domain=(0.0, 1.0)),
        tuple(ChartLine(name, *zip(*points, strict=True)) for name, points in lines.items()),  # type: ignore[arg-type]
    )
