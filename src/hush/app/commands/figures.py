"""`hush figures`: the pictures and tables of the documentation."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from hush.app import output, progress
from hush.app.options import add_examples, add_json
from hush.errors import InvalidParameter

if TYPE_CHECKING:
    from hush.questions.charts.drawing import Picture

    Figures: TypeAlias = tuple[Mapping[str, Callable[[], Picture]], Callable[[], dict[str, str]]]
    """Charts by their names, and the tables that go with them."""


def add(parser: ArgumentParser) -> None:
    """The options."""
    parser.add_argument("directory", help="where to put them")
    parser.add_argument(
        "--accuracy",
        action="store_true",
        help="instead: the experiment on the accuracy of samples, its tables (.md, .csv) and pictures",
    )
    parser.add_argument("--only", nargs="+", metavar="NAME", help="some of them")
    parser.add_argument("--format", choices=("svg", "png", "html"), default="svg")
    add_json(parser)
    add_examples(
        parser,
        "hush figures pictures",
        "hush figures pictures --only compositions schemes --format png",
        "hush figures --accuracy pictures",
    )


def run(arguments: Namespace) -> str:
    """The names of the files that were written, as text or JSON."""
    charts, tables = _accuracy() if arguments.accuracy else _theory()
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
    for name in progress.each(names):
        made.append(directory / f"{name}.{arguments.format}")
        output.saved(charts[name](), made[-1])
    for name, text in ({} if arguments.only else tables()).items():
        made.append(directory / name)
        made[-1].write_text(text, encoding="utf-8")
    return output.as_json({"files": [str(path) for path in made]}) if arguments.json else "\n".join(map(str, made))


def _theory() -> Figures:
    from hush.documents.figures import FIGURES

    return FIGURES, dict


def _accuracy() -> Figures:
    from hush.documents.accuracy_figures import Accuracy

    found = Accuracy()
    return found.charts(), found.tables
