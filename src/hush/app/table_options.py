"""`hush release table`: the options of a grouped query, and what it prints."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hush
from hush.app import book_options, output
from hush.errors import InvalidParameter

if TYPE_CHECKING:
    from hush.ledger import Ledger

WHO = "hush release table"
PLAIN = ("sum", "mean", "variance", "median")
"""Statistics of a column that need its bounds alone."""
ONLY = ("by", "count", "users", "column_quantile", "bins", "values", "distinct", "top", "where", "missing", "split")
"""Options of a table that are not those of one statistic, beside the ones of PLAIN."""
ABOUT = """\
a table:  --by COLUMN=KEY,KEY,... (several times for several keys), or --by COLUMN and --delta where only the data
know the keys; then any of --count, --users, --mean, --median, --sum, --variance, --quantile-of, --bins, --values,
--distinct, --top; --bounds COLUMN LOW HIGH for each column of numbers. With --unit: --max-groups and --max-per-group,
or --max-contributions in all. --dry-run shows noise and expected errors, and reads nothing; with --ledger
the price, too.
"""


def add(parser: ArgumentParser) -> None:
    """The options that a table has beside those of one statistic."""
    more = add_query(parser, "a table (hush release table)")
    more.add_argument("--together", action="store_true", help="all intervals hold at once")
    more.add_argument("--delimiter", help="between the cells of a CSV file (,)")
    more.add_argument("--out", help="write the table too: a name that ends in .csv, .json or .parquet")
    more.add_argument("--group-size", type=float, default=1000.0, help="records of a group, for --dry-run (1000)")


def add_query(parser: ArgumentParser, title: str) -> Any:
    """The options that say what is asked of each group."""
    more = parser.add_argument_group(title)
    more.add_argument("--by", action="append", default=[], metavar="COLUMN[=KEY,...]", help="a key of the groups")
    more.add_argument("--count", action="store_true", help="the number of records")
    more.add_argument("--users", action="store_true", help="the number of users")
    for name in PLAIN:
        more.add_argument(f"--{name}", action="append", default=[], metavar="COLUMN", help=f"the {name} of a column")
    more.add_argument(
        "--quantile-of", dest="column_quantile", action="append", default=[], nargs=2, metavar=("COLUMN", "P")
    )
    more.add_argument(
        "--bins", action="append", default=[], nargs=2, metavar=("COLUMN", "EDGES"), help="edges: 0,10,20"
    )
    more.add_argument(
        "--values", action="append", default=[], nargs=2, metavar=("COLUMN", "VALUES"), help="counted: a,b"
    )
    more.add_argument("--distinct", action="append", default=[], metavar="COLUMN", help="how many different values")
    more.add_argument("--top", action="append", default=[], nargs=3, metavar=("COLUMN", "K", "VALUES"))
    more.add_argument("--where", metavar="CONDITION", help="which records: 'age >= 18 and region in (''N'', ''S'')'")
    more.add_argument("--missing", action="append", default=[], metavar="COLUMN=HOW", help="drop, low, or a number")
    more.add_argument("--max-groups", type=int, help="groups of each user that count")
    more.add_argument("--max-per-group", type=int, help="records of each user that count in a group")
    more.add_argument("--split", choices=("equal", "error"), help="of the budget (equal)")
    return more


def run(arguments: Namespace) -> str:
    """The table, as text or JSON."""
    _check(arguments)
    book = book_options.book_of(arguments)
    scheme = None if arguments.sample is None else hush.Poisson(rate=arguments.sample)
    if arguments.dry_run:
        query = met(arguments, scheme, None)
        return _planned(arguments, query, scheme, book)
    table = hush.releases.table(arguments.file, delimiter=arguments.delimiter)
    query = met(arguments, scheme, table)
    runner = query if scheme is None else query.on(scheme)
    account = book_options.account(arguments, book)
    found = runner.release(table, confidence=arguments.confidence, together=arguments.together, ledger=account)
    if arguments.out:
        _write(found, arguments.out)
    spent = runner.mechanism.epsilon(delta=arguments.delta)
    if arguments.json:
        document = {
            "rows": list(found.value.rows()),
            "confidence": arguments.confidence,
            "together": arguments.together,
        }
        document |= {
            "epsilon": spent.upper,
            "delta": arguments.delta,
            "private": found.private,
            "notes": list(query.notes),
        }
        if arguments.statement:
            document["statement"] = found.statement(style=arguments.statement)
        return output.about(found.mechanism, document)
    title = f"hush release table, epsilon {arguments.epsilon:g}"
    framed = output.framed(title, found.value.shown(), "")
    head, *rest = str(found).split("\n  relation")
    lines = [framed or head, f"  epsilon    {spent.reported(7).removeprefix('= ')} at delta {arguments.delta:g}"]
    lines += ["  relation" + part for part in rest]
    if arguments.statement:
        return "\n".join([*lines, "", found.statement(style=arguments.statement)])
    return "\n".join([*lines, *(f"  note       {note}" for note in query.notes)])


def met(arguments: Namespace, scheme: Any, table: hush.releases.Table | None) -> hush.releases.GroupBy:
    """The query whose release, after sampling, gives away the epsilon and delta that were asked for."""
    query = asked(arguments, table)
    return query if scheme is None or arguments.sample == 1 else hush.plan.on_sample(query, float(arguments.sample))


def asked(arguments: Namespace, table: hush.releases.Table | None = None) -> hush.releases.GroupBy:
    """The query of these options, on all records."""
    given = _given(arguments, table)
    return hush.releases.GroupBy(**given, epsilon=arguments.epsilon, delta=arguments.delta or None)


def _check(arguments: Namespace) -> None:
    foreign = [
        f"--{name}" for name in ("column", "p", "size", "categories", "edges", "other") if getattr(arguments, name)
    ]
    if foreign:
        raise InvalidParameter(WHO, "its own options", without=foreign)
    if arguments.out and not arguments.out.endswith((".csv", ".json", ".parquet")):
        raise InvalidParameter(WHO, "--out a name that ends in .csv, .json or .parquet", out=arguments.out)


def _given(arguments: Namespace, table: hush.releases.Table | None) -> dict[str, Any]:
    """The fields of the query, but for its budget."""
    most = (arguments.max_groups, arguments.max_per_group, arguments.max_contributions)
    if (arguments.unit is None) != (most == (None, None, None)):
        raise InvalidParameter(WHO, "--unit together with --max-groups and --max-per-group", unit=arguments.unit)
    return {
        "keys": _keys(arguments, table),
        "ask": _asked(arguments, table),
        "where": arguments.where,
        "missing": dict(_pair("missing", text) for text in arguments.missing),
        "unit": arguments.unit,
        "contributions": None if arguments.unit is None else hush.releases.AtMost(*most),
        "split": arguments.split or "equal",
    }


def _keys(arguments: Namespace, table: hush.releases.Table | None) -> Any:
    given = [text.partition("=") for text in arguments.by]
    if any(sign for _, sign, _ in given) and not all(sign for _, sign, _ in given):
        raise InvalidParameter(WHO, "keys of all columns, or of none (with --delta)", by=arguments.by)
    if given and not given[0][1]:
        return hush.releases.Unknown(*(name for name, _, _ in given))
    return {name: tuple(_typed(name, text, table) for text in keys.split(",")) for name, _, keys in given}


def _typed(name: str, text: str, table: hush.releases.Table | None) -> object:
    """A key or value in the type of its column: a whole number, a truth value or a text."""
    if table is None or name not in table.reader.names:
        return text
    kind = table.reader.kind(name)
    if kind == "truth":
        return {"true": True, "false": False}.get(text.lower(), text)
    if kind == "number":
        try:
            return int(text)
        except ValueError:
            raise InvalidParameter(WHO, f"whole numbers as keys of {name}", key=text) from None
    return text


def _asked(arguments: Namespace, table: hush.releases.Table | None) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if arguments.count:
        found["count"] = hush.releases.Rows()
    if arguments.users:
        found["users"] = hush.releases.Users()
    bounds = {name: ends for name, *ends in arguments.bounds or []}
    columns: dict[str, dict[str, Any]] = {}
    for option in PLAIN:
        for column in getattr(arguments, option):
            columns.setdefault(column, {})[option] = True
    for column, p in arguments.column_quantile:
        columns.setdefault(column, {}).setdefault("quantiles", []).append(_number("quantile-of", p))
    for column, edges in arguments.bins:
        columns.setdefault(column, {})["histogram"] = [_number("bins", edge) for edge in edges.split(",")]
    for column, options in columns.items():
        ends = tuple(_number("bounds", end) for end in bounds.get(column, ()))
        found[column] = hush.releases.Stats(column, bounds=ends or None, **options)  # type: ignore[arg-type]
    for column, values in arguments.values:
        members = tuple(_typed(column, text, table) for text in values.split(","))
        found[f"{column}_is"] = hush.releases.ValueCounts(column, of=members)
    for column in arguments.distinct:
        found[f"{column}_distinct"] = hush.releases.Distinct(column)
    for column, k, values in arguments.top:
        members = tuple(_typed(column, text, table) for text in values.split(","))
        found[f"{column}_top"] = hush.releases.Top(column, of=members, k=int(_number("top", k)))
    return found


def _number(option: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InvalidParameter(WHO, f"numbers in --{option}", **{option.replace("-", "_"): text}) from None


def _pair(option: str, text: str) -> tuple[str, Any]:
    name, sign, value = text.partition("=")
    if not sign:
        raise InvalidParameter(WHO, f"--{option} COLUMN=HOW", **{option: text})
    return name, value if value in ("drop", "low") else _number(option, value)


def _planned(arguments: Namespace, query: hush.releases.GroupBy, scheme: Any, book: Ledger | None) -> str:
    whole = query if scheme is None else query.on(scheme)
    errors = whole.expected_error(arguments.group_size)
    mechanism = whole.mechanism
    spent = mechanism.epsilon(delta=arguments.delta)
    price = None if book is None else book_options.price_of(arguments, mechanism, book)
    if arguments.json:
        document = {} if price is None else book_options.document(price)
        document |= {"expected_error": errors, "group_size": arguments.group_size, "threshold": query.plan.threshold}
        return output.about(mechanism, document | {"epsilon": spent.upper, "delta": arguments.delta})
    lines = [] if price is None else [str(price)]
    lines += [f"nothing was read; expected errors in a group of {arguments.group_size:g} records:"]
    lines += [f"  {name:<24} {error:.6g}" for name, error in errors.items()]
    lines += [f"  epsilon    {spent.reported(7).removeprefix('= ')} at delta {arguments.delta:g}"]
    lines += [f"  mechanism  {mechanism}", *(f"  note       {note}" for note in query.notes)]
    return "\n".join(lines)


def _write(found: hush.releases.GroupRelease, path: str) -> None:
    if path.endswith(".parquet"):
        from pyarrow import parquet

        parquet.write_table(found.to_arrow(), path)
    else:
        (found.to_csv if path.endswith(".csv") else found.to_json)(Path(path))
