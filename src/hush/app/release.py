"""`hush release`: one noisy statistic of a file, on all records or on a secret sample."""

from __future__ import annotations

import json
import math
import sys
from argparse import Namespace
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from typing import Any

import hush
from hush import releases
from hush.errors import InvalidParameter
from hush.numerics.decimals import rounded_down
from hush.questions.json.strict import from_number
from hush.releases.query import Query
from hush.releases.statistics.histograms import read_category
from hush.releases.tables.table import Progress
from hush.releases.target import Targeted, meeting

NEEDS = {
    "count": (),
    "sum": ("bounds",),
    "mean": ("bounds",),
    "variance": ("bounds",),
    "median": ("bounds",),
    "quantile": ("bounds", "p"),
    "histogram": (),
}
"""Options without which a statistic makes no sense."""
MAY_HAVE = {"mean": ("size",), "histogram": ("categories", "edges", "other")}
OWN = ("bounds", "p", "size", "categories", "edges", "other")
"""Options that belong to some statistics only."""
ORDERED = ("median", "quantile")
"""Statistics by the exponential mechanism: with a delta their epsilon is sought; for all others, Gaussian noise is."""


def answer(arguments: Namespace) -> str:
    """The release as text or JSON."""
    given = _given(arguments)
    scheme = None if arguments.sample is None else hush.Poisson(rate=arguments.sample)
    with _progress() as progress:
        table = _table(arguments, progress)
        build = _builder(arguments, _typed(given, table))
        gaussian = arguments.delta > 0 and arguments.statistic not in ORDERED
        found = meeting(
            build,
            table,
            epsilon=arguments.epsilon,
            delta=arguments.delta,
            scheme=scheme,
            over=(0.01, 1e6) if gaussian else (1e-6, 500.0),
        )
        runner = found.query if scheme is None else found.query.on(scheme)
        release = runner.release(table, confidence=arguments.confidence)
    return _json(arguments, found, release) if arguments.json else _text(arguments, found, release)


def _table(arguments: Namespace, progress: Progress | None) -> releases.Table:
    """The file, with errors that name the options, and no column that was not named."""
    who = f"hush release {arguments.statistic}"
    reader = releases.table(arguments.file).reader
    columns = len(reader.names)
    for option in ("column", "unit"):
        name = getattr(arguments, option)
        if name is not None and name not in reader.names:
            raise InvalidParameter(who, f"--{option} a column of the file (it has {columns})", **{option: name})
    if (arguments.unit is None) != (arguments.max_contributions is None):
        raise InvalidParameter(who, "--unit and --max-contributions together", unit=arguments.unit)
    left = [name for name in reader.names if name != arguments.unit]
    if arguments.statistic != "count" and arguments.column is None and len(left) != 1:
        raise InvalidParameter(who, "--column the name of one column of the file", columns=columns)
    return releases.Table(reader, arguments.column, arguments.unit, arguments.max_contributions, progress)


def _given(arguments: Namespace) -> dict[str, Any]:
    """The options of the statistic."""
    name = arguments.statistic
    given = {option: value for option in OWN if (value := getattr(arguments, option)) not in (None, False)}
    missing = [f"--{option}" for option in NEEDS[name] if option not in given]
    if missing:
        raise InvalidParameter(f"hush release {name}", " and ".join(missing), missing=missing)
    foreign = [f"--{option}" for option in given if option not in (*NEEDS[name], *MAY_HAVE.get(name, ()))]
    if foreign:
        raise InvalidParameter(f"hush release {name}", "its own options", without=foreign)
    if "bounds" in given:
        given["bounds"] = tuple(given["bounds"])
    return given


def _typed(given: dict[str, Any], table: releases.Table) -> dict[str, Any]:
    """The options with categories in the type of the column: a word of the command line is a text."""
    if "categories" not in given:
        return given
    kind = table.reader.kind(table.name)
    return given | {"categories": [read_category(text, kind) for text in given["categories"]]}


def _builder(arguments: Namespace, given: dict[str, Any]) -> Callable[[float], Query]:
    """From the value that is sought, an epsilon or a noise multiplier, to the query."""
    name = arguments.statistic
    query = getattr(releases, name.capitalize())
    sought = "noise_multiplier" if arguments.delta > 0 and name not in ORDERED else "epsilon"
    return lambda value: query(**given, **{sought: value})


@contextmanager
def _progress() -> Iterator[Progress | None]:
    """A bar on a terminal, where rich is installed; nothing elsewhere."""
    try:
        from rich.console import Console
        from rich.progress import Progress as Bar
    except ImportError:
        yield None
        return
    console = Console(stderr=True)
    if sys.stderr is None or not sys.stderr.isatty():
        yield None
        return
    with Bar(console=console, transient=True) as bar:
        task = bar.add_task("reading", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _spent(arguments: Namespace, found: Targeted) -> str:
    sampled = f"after sampling at rate {arguments.sample:g}" if arguments.sample is not None else "on all records"
    unit = f", for up to {arguments.max_contributions} records of one {arguments.unit}" if arguments.unit else ""
    spent = found.bound.reported(7).removeprefix("= ")
    return f"{spent} at delta {arguments.delta:g}, {sampled}{unit}"


def _text(arguments: Namespace, found: Targeted, release: hush.releases.Release) -> str:
    head, *rest = str(release).splitlines()
    if isinstance(release.value, dict):
        head = "\n".join(_cells(release))
        rest = [line for line in rest if not line.startswith(("  noise ", "  total "))]
    lines = [head, *rest]
    lines.insert(1, f"  epsilon    {_spent(arguments, found)}")
    if arguments.sample is not None or arguments.unit:
        inner = found.query.mechanism.epsilon(delta=arguments.delta).upper
        lines.insert(2, f"  noise for  epsilon {rounded_down(inner, 7)} on a record that is used")
    return "\n".join(lines)


def _cells(release: hush.releases.Release) -> Iterator[str]:
    """A line for each cell of a histogram, with its total interval."""
    whole = release.total_interval
    for place, (cell, value) in enumerate(release.value.items()):
        within = f"  ({whole.low[place]:.6g} to {whole.high[place]:.6g})" if whole is not None else ""
        yield f"{_cell(cell)}  {value:.10g}{within}"


def _cell(cell: object) -> str:
    return f"{cell[0]:g} to {cell[1]:g}" if isinstance(cell, tuple) else str(cell)


def _json(arguments: Namespace, found: Targeted, release: hush.releases.Release) -> str:
    document = {
        "statistic": arguments.statistic,
        "value": _value(release.value),
        "noise_interval": _ends(release.noise_interval),
        "total_interval": _ends(release.total_interval),
        "confidence": arguments.confidence,
        "epsilon": found.bound.upper,
        "delta": arguments.delta,
        "inner": found.value,
        "private": release.private,
        "relation": release.mechanism.relation.value,
        "mechanism": json.loads(hush.to_json(release.mechanism)),
    }
    return json.dumps(document, allow_nan=False)


def _value(value: Any) -> Any:
    if isinstance(value, dict):
        return [{"cell": _json_cell(cell), "count": _number(count)} for cell, count in value.items()]
    return _number(value)


def _json_cell(cell: Any) -> Any:
    """A category, or the ends of a bin; what no number of JSON can hold is a text."""
    if isinstance(cell, tuple):
        return [_number(end) for end in cell]
    return str(cell) if isinstance(cell, Decimal) else _number(cell) if isinstance(cell, float) else cell


def _number(value: Any) -> Any:
    """What JSON can hold of a number: whole ones stay whole."""
    if isinstance(value, int):
        return value
    return "-inf" if value == -math.inf else from_number(value)


def _ends(interval: hush.releases.Interval | None) -> Any:
    if interval is None:
        return None
    ends = interval.low, interval.high
    return [[_number(v) for v in end] if isinstance(end, tuple) else _number(end) for end in ends]
