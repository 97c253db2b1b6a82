"""The commands that draw: `hush chart`, `compare`, `compose` and `figures`."""

from __future__ import annotations

import json
import math
import sys
from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

import hush
from hush.app.commands import mechanism_of
from hush.app.expression import parse
from hush.errors import InvalidParameter, NotInstalled
from hush.questions.charts.chart import KINDS
from hush.questions.charts.drawing import Picture
from hush.questions.compositions import WHY, Compositions

AT = {"renyi": "orders", "profile": "epsilons", "tradeoff": "false_positive_rates", "roc": "false_positive_rates"}
"""What --at means for each kind; else steps."""


def run(arguments: Namespace) -> str:
    """The output of one command."""
    answers = {"chart": _chart, "compare": _compare, "compose": _compose, "figures": _figures}
    return answers[arguments.command](arguments)


def _chart(arguments: Namespace) -> str:
    chart = KINDS[arguments.kind](_named(arguments), **_chosen(arguments))
    if arguments.out is None and not arguments.json:
        raise InvalidParameter("hush chart", "--out FILE or --json", out=None)
    shown = f"{arguments.out}: {chart.title}" if arguments.out else ""
    if arguments.out:
        saved(chart, arguments.out)
    return _json({"title": chart.title, "points": chart.rows()}) if arguments.json else shown


def _named(arguments: Namespace) -> dict[str, hush.Mechanism]:
    mechanisms = [parse(text) for text in arguments.expressions]
    labels = arguments.label or [str(mechanism) for mechanism in mechanisms]
    if len(labels) != len(mechanisms) or len(set(labels)) < len(labels):
        raise InvalidParameter("hush chart", "one --label for each mechanism, no two alike", label=labels)
    return dict(zip(labels, mechanisms, strict=True))


def _chosen(arguments: Namespace) -> dict[str, object]:
    """The keywords that the kind of chart takes."""
    if (arguments.kind == "steps") != (arguments.delta is not None):
        raise InvalidParameter("hush chart", "--delta for steps, and for steps alone", delta=arguments.delta)
    chosen: dict[str, object] = {"delta": arguments.delta} if arguments.kind == "steps" else {}
    if arguments.at:
        chosen[AT.get(arguments.kind, "steps")] = sorted(arguments.at)
    return chosen


def saved(chart: Picture, path: str | Path) -> None:
    """Write a picture; a file that cannot be written is a named error."""
    try:
        chart.save(path)
    except OSError as reason:
        raise InvalidParameter("hush", "a file that can be written", out=str(path), reason=reason.strerror) from reason


def _compare(arguments: Namespace) -> str:
    found = hush.compare_schemes(
        noise_multiplier=arguments.noise, steps=arguments.steps, epochs=arguments.epochs, delta=arguments.delta
    )
    if arguments.out:
        saved(found.chart(), arguments.out)
    if not arguments.json:
        return str(found)
    rows = [
        {"scheme": row.name, "relation": row.mechanism.relation.value, "reason": row.reason}
        | ({"lower": row.bound.lower, "upper": row.bound.upper} if row.bound else {})
        for row in found.rows
    ]
    return _json({"delta": found.delta, "schemes": rows, "mistake": found.mistake})


def _compose(arguments: Namespace) -> str:
    found = hush.compositions(mechanism_of(arguments), times=arguments.times, delta=arguments.delta)
    if arguments.out:
        saved(found.chart(), arguments.out)
    if arguments.json:
        mechanism = json.loads(hush.to_json(found.mechanism))
        rows = [vars(row) for row in found.rows]
        return _json({"delta": found.delta, "mechanism": mechanism, "epsilon": rows})
    notes = [f"  {method}: {WHY[method]}" for method in found.methods]
    return "\n".join([_table(found), "", *notes])


def _table(found: Compositions) -> str:
    """A table with lines and colour where a person looks and rich is there, plain text elsewhere."""
    try:
        from rich.console import Console
        from rich.table import Table
    except ImportError:
        return str(found)
    if not sys.stdout.isatty():
        return str(found)
    title, *_ = str(found).splitlines()
    table = Table(title=title, title_justify="left")
    head, *body = found.table()
    for name in head:
        table.add_column(name, justify="right", style="bold" if name == "exact" else "")
    for row in body:
        table.add_row(*row)
    console = Console()
    with console.capture() as captured:
        console.print(table)
    return captured.get().rstrip()


def _figures(arguments: Namespace) -> str:
    charts, tables = _accuracy() if arguments.accuracy else _documentation()
    names = arguments.only or list(charts)
    unknown = [name for name in names if name not in charts]
    if unknown:
        raise InvalidParameter("hush figures", f"names among: {', '.join(charts)}", only=unknown)
    directory = Path(arguments.directory)
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as reason:
        raise InvalidParameter("hush figures", "a directory", directory=str(directory)) from reason
    made = []
    for name in progress(names, "hush figures"):
        made.append(directory / f"{name}.{arguments.format}")
        saved(charts[name](), made[-1])
    for name, text in ({} if arguments.only else tables()).items():
        made.append(directory / name)
        made[-1].write_text(text, encoding="utf-8")
    return _json({"files": [str(path) for path in made]}) if arguments.json else "\n".join(map(str, made))


Figures = tuple[Mapping[str, Callable[[], Picture]], Callable[[], dict[str, str]]]
"""Charts by their names, and the tables that go with them."""


def _documentation() -> Figures:
    from hush.documents.figures import FIGURES

    return FIGURES, dict


def _accuracy() -> Figures:
    from hush.documents.accuracy_charts import Accuracy

    found = Accuracy()
    return found.charts(), found.tables


def progress(names: list[str], who: str) -> Iterator[str]:
    """Each name, with a bar on the terminal's error stream while it is worked on."""
    try:
        from rich.console import Console
        from rich.progress import Progress
    except ImportError as reason:
        raise NotInstalled(who, "rich", "app") from reason
    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("", total=len(names))
        for name in names:
            progress.update(task, description=name)
            yield name
            progress.advance(task)


def _json(document: dict[str, object]) -> str:
    return json.dumps(_plain(document), allow_nan=False, ensure_ascii=False)


def _plain(value: object) -> object:
    """Infinite numbers as text, as JSON has none."""
    if isinstance(value, float) and math.isinf(value):
        return "inf"
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    return [_plain(inner) for inner in value] if isinstance(value, Iterable) and not isinstance(value, str) else value
