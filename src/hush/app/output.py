"""What commands print: an answer in a few lines, or one JSON object; and the files they write."""

from __future__ import annotations

import json
import math
import sys
from argparse import Namespace
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import hush
from hush.errors import InvalidParameter
from hush.numerics.decimals import rounded_down, rounded_up

if TYPE_CHECKING:
    from hush.questions.charts.drawing import Picture


class Refutation(str):
    """The output of an audit that refuted a claim."""


def shown(arguments: Namespace, mechanism: hush.Mechanism, bound: hush.Bound) -> str:
    """A bound at the delta or the epsilon that was asked for, as text or as JSON."""
    if arguments.json:
        return about(mechanism, fields(bound))
    where = f"at epsilon {bound.epsilon:g}" if bound.quantity == "delta" else f"at delta {bound.delta:g}"
    return answer(mechanism, bound, where, "`hush explain` names the theorems, and what is assumed")


def answer(mechanism: hush.Mechanism, bound: hush.Bound, where: str, hint: str = "") -> str:
    """The number to report, then the certified interval, the relation and the mechanism."""
    lines = [
        f"{bound.quantity} {_headline(bound)} {where}".rstrip(),
        f"  certified  {rounded_down(bound.lower, 10)} to {rounded_up(bound.upper, 10)}",
        f"  relation   {mechanism.compared}",
        f"  mechanism  {mechanism}",
        *([f"  hint       {hint}"] if hint else []),
    ]
    return "\n".join(lines)


def _headline(bound: hush.Bound) -> str:
    """The number to report: the end of the interval that is safe to claim, rounded to the safe side."""
    narrow = bound.width <= 1e-5
    digits = 7 if narrow else 4
    if bound.safe < bound.upper:
        return f"{'=' if narrow else '>='} {rounded_down(bound.lower, digits)}"
    return f"{'=' if narrow else '<='} {rounded_up(bound.upper, digits)}"


def text(arguments: Namespace, mechanism: hush.Mechanism, words: str) -> str:
    """Words about a mechanism at a delta, plain or inside JSON."""
    return about(mechanism, {"delta": arguments.delta, "text": words}) if arguments.json else words


def fields(bound: hush.Bound) -> dict[str, object]:
    """What is known of a bound, for JSON."""
    found: dict[str, object] = {
        "quantity": bound.quantity,
        "lower": bound.lower,
        "upper": bound.upper,
        "delta": bound.delta,
        "epsilon": bound.epsilon,
        "route": bound.route,
    }
    return {name: value for name, value in found.items() if value is not None}


def about(mechanism: hush.Mechanism, document: dict[str, object]) -> str:
    """JSON of an answer, with the relation and the mechanism that it is about."""
    said = json.loads(hush.to_json(mechanism))
    return as_json(document | {"relation": mechanism.relation.value, "mechanism": said})


def as_json(document: object) -> str:
    """One JSON text; infinite numbers are texts, as JSON has none.

    >>> as_json({"epsilon": math.inf, "steps": (1, 2)})
    '{"epsilon": "inf", "steps": [1, 2]}'
    """
    return json.dumps(_plain(document), allow_nan=False)


def _plain(value: object) -> object:
    if isinstance(value, float) and math.isinf(value):
        return "inf" if value > 0 else "-inf"
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    return [_plain(inner) for inner in value] if isinstance(value, Iterable) and not isinstance(value, str) else value


def saved(picture: Picture, path: str | Path) -> None:
    """Write a picture; a file that cannot be written is a named error."""
    _kept(lambda: picture.save(path), path)


def written(path: str, text: str) -> None:
    """Write a text, likewise."""
    _kept(lambda: Path(path).write_text(text, encoding="utf-8"), path)


def _kept(write: Callable[[], object], path: str | Path) -> None:
    try:
        write()
    except OSError as reason:
        raise InvalidParameter("hush", "a file that can be written", out=str(path), reason=reason.strerror) from reason


def framed(title: str, rows: Sequence[Sequence[str]], bold: str) -> str | None:
    """A table with lines and colour, one column bold; None where no person looks, or rich is not installed."""
    if not sys.stdout.isatty():
        return None
    try:
        from rich.console import Console
        from rich.table import Table
    except ImportError:
        return None
    table = Table(title=title, title_justify="left")
    head, *body = rows
    for name in head:
        table.add_column(name, justify="right", style="bold" if name == bold else "")
    for row in body:
        table.add_row(*row)
    console = Console()
    with console.capture() as captured:
        console.print(table)
    return captured.get().rstrip()
