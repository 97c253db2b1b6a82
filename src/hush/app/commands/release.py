"""`hush release`: one noisy statistic of a file, or a table by group, on all records or on a secret sample."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import hush
from hush.app import book_options, output, progress, table_options
from hush.app.options import STYLES, add_examples, add_json, number_or_fraction
from hush.errors import InvalidParameter
from hush.numerics.decimals import rounded_down

if TYPE_CHECKING:
    from hush.ledger.price import Price
    from hush.releases.target import Targeted

NEEDS = {
    "count": (),
    "sum": ("bounds",),
    "mean": ("bounds",),
    "variance": ("bounds",),
    "median": ("bounds",),
    "quantile": ("bounds", "p"),
    "histogram": (),
}
"""Every statistic, and the options without which it makes no sense."""
MAY_HAVE = {"mean": ("size",), "histogram": ("categories", "edges", "other")}
OWN = ("bounds", "p", "size", "categories", "edges", "other")
"""Options that belong to some statistics only."""
ORDERED = ("median", "quantile")
"""Statistics by the exponential mechanism: with a delta their epsilon is sought; for all others, Gaussian noise is."""
ABOUT = """\
--epsilon is what the release gives away in the end: with --sample, after amplification; with --unit, for a whole user.
The noise is what just meets it; both are printed. Bounds, categories and edges are public: never read them off the
data. Cells of a CSV file that are no number, and missing values, count as the lower bound.
"""


def add(parser: ArgumentParser) -> None:
    """The options."""
    parser.add_argument("statistic", choices=(*NEEDS, "table"))
    parser.add_argument("file", help="a .parquet or .csv file; of a table also a pattern or a folder")
    parser.add_argument("--column", help="the column, unless there is only one")
    parser.add_argument("--epsilon", type=float, required=True, help="what the release may give away in the end")
    parser.add_argument("--delta", type=float, default=0.0, help="0 (the default): pure, with Laplace noise")
    parser.add_argument("--bounds", nargs="+", action="append", metavar="LOW HIGH", help="where numbers are clamped to")
    parser.add_argument("--sample", type=number_or_fraction, metavar="RATE", help="run on a secret Poisson sample")
    parser.add_argument("--p", type=float, help="which quantile, 0 to 1")
    parser.add_argument("--size", type=float, help="public number of records, for a mean")
    parser.add_argument("--categories", nargs="+", help="the categories of a histogram")
    parser.add_argument("--edges", type=float, nargs="+", help="the edges of a histogram's bins")
    parser.add_argument("--other", action="store_true", help="count what is in no category or bin, too")
    parser.add_argument("--unit", metavar="COLUMN", help="protect all records that share a value of this column")
    parser.add_argument("--max-contributions", type=int, metavar="K", help="records kept of each unit")
    parser.add_argument("--confidence", type=float, default=0.95, help="of the intervals (0.95)")
    parser.add_argument("--statement", choices=STYLES, help="a paragraph on it too: for everybody, or for a paper")
    book_options.add(parser)
    add_json(parser)
    table_options.add(parser)
    add_examples(
        parser,
        "hush release table 'data/*.parquet' --by region=N,S --mean income --count --bounds income 0 2000 --epsilon 1",
        "hush release median data.parquet --column income --bounds 0 2000 --epsilon 1 --sample 0.01",
        "hush release mean data.csv --column income --bounds 0 2000 --epsilon 1 --size 10000",
        "hush release quantile data.parquet --column age --p 0.9 --bounds 0 120 --epsilon 0.5",
        "hush release histogram data.csv --column answer --categories yes no --other --epsilon 1",
        "hush release sum data.parquet --column minutes --bounds 0 60 --epsilon 1 --unit user_id --max-contributions 5",
        "hush release mean data.parquet --column income --bounds 0 2000 --epsilon 1 --delta 1e-6",
        "hush release table data.csv --by region=N,S --count --epsilon 0.1 --ledger budget.db --dataset census --key k",
        "hush release count data.csv --epsilon 0.1 --ledger budget.db --dataset census --dry-run",
        more=ABOUT + table_options.ABOUT,
    )


def run(arguments: Namespace) -> str:
    """The release, as text or JSON."""
    if arguments.statistic == "table":
        return table_options.run(arguments)
    from hush.releases.target import meeting

    given, book = _given(arguments), book_options.book_of(arguments, "dry_run")
    scheme = None if arguments.sample is None else hush.Poisson(rate=arguments.sample)
    gaussian = arguments.delta > 0 and arguments.statistic not in ORDERED
    with progress.bar("reading") as show:
        table = _table(arguments, show)
        found = meeting(
            _builder(arguments, _typed(given, table), "noise_multiplier" if gaussian else "epsilon"),
            table,
            epsilon=arguments.epsilon,
            delta=arguments.delta,
            scheme=scheme,
            over=(0.01, 1e6) if gaussian else (1e-6, 500.0),
        )
        if arguments.dry_run and book is not None:
            return _cost(arguments, found, book_options.price_of(arguments, found.mechanism, book))
        runner = found.query if scheme is None else found.query.on(scheme)
        account = book_options.account(arguments, book)
        release = runner.release(table, confidence=arguments.confidence, ledger=account)
    return _json(arguments, found, release) if arguments.json else _text(arguments, found, release)


def _cost(arguments: Namespace, found: Targeted, price: Price) -> str:
    """What the release would cost each budget, in words or JSON."""
    if arguments.json:
        return output.about(found.mechanism, book_options.document(price))
    lines = (f"  epsilon    {_spent(arguments, found)}", f"  mechanism  {found.mechanism}")
    return "\n".join((str(price), *lines, "  nothing was drawn or spent"))


def _table(arguments: Namespace, show: progress.Show) -> hush.releases.Table:
    """The file, with errors that name the options, and no column that was not named."""
    who = f"hush release {arguments.statistic}"
    reader = hush.releases.table(arguments.file).reader
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
    return hush.releases.Table(reader, arguments.column, arguments.unit, arguments.max_contributions, show)


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
    tables = [name for name in (*table_options.PLAIN, *table_options.ONLY) if getattr(arguments, name)]
    if tables:
        raise InvalidParameter(f"hush release {name}", "its own options: these are those of a table", without=tables)
    if "bounds" in given:
        given["bounds"] = _bounds(name, given["bounds"][-1])
    return given


def _bounds(statistic: str, words: list[str]) -> tuple[float, ...]:
    try:
        ends = tuple(float(word) for word in words)
    except ValueError:
        ends = ()
    if len(ends) != 2:
        raise InvalidParameter(f"hush release {statistic}", "--bounds LOW HIGH", bounds=words)
    return ends


def _typed(given: dict[str, Any], table: hush.releases.Table) -> dict[str, Any]:
    """The options with categories in the type of the column: a word of the command line is a text."""
    from hush.releases.statistics.histograms import read_category

    if "categories" not in given:
        return given
    kind = table.reader.kind(table.name)
    return given | {"categories": [read_category(text, kind) for text in given["categories"]]}


def _builder(arguments: Namespace, given: dict[str, Any], sought: str) -> Callable[[float], hush.releases.Query]:
    """From the value that is sought, an epsilon or a noise multiplier, to the query."""
    query = getattr(hush.releases, arguments.statistic.capitalize())
    return lambda value: query(**given, **{sought: value})


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
    if arguments.statement:
        lines += ["", release.statement(delta=arguments.delta, style=arguments.statement)]
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
    }
    if arguments.statement:
        document["statement"] = release.statement(delta=arguments.delta, style=arguments.statement)
    return output.about(release.mechanism, document)


def _value(value: Any) -> Any:
    if isinstance(value, dict):
        return [{"cell": _json_cell(cell), "count": _number(count)} for cell, count in value.items()]
    return _number(value)


def _json_cell(cell: Any) -> Any:
    """A category, or the ends of a bin; what no number of JSON can hold is a text."""
    if isinstance(cell, tuple):
        return [float(end) for end in cell]
    return str(cell) if isinstance(cell, Decimal) else cell


def _number(value: Any) -> float:
    """A plain number: whole ones stay whole."""
    return value if isinstance(value, int) else float(value)


def _ends(interval: hush.releases.Interval | None) -> Any:
    if interval is None:
        return None
    ends = interval.low, interval.high
    return [[_number(v) for v in end] if isinstance(end, tuple) else _number(end) for end in ends]
