"""The commands `hush audit scores`, `hush audit self` and `hush audit demo`."""

from __future__ import annotations

import csv
import json
import math
import zipfile
import zlib
from argparse import Namespace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from hush import releases
from hush.app.commands import Refutation
from hush.app.expression import parse
from hush.app.pictures import progress, saved
from hush.auditing import AuditReport, distinguish, from_gradients, from_sums, linkage, membership, one_run
from hush.checks import number
from hush.errors import InvalidParameter
from hush.releases.tables.columns import as_number

COLUMNS = ("score", "member")
LARGEST = 1 << 30
"""Bytes of a file of scores: more is refused."""


def run(arguments: Namespace) -> str:
    """The output of one command."""
    return {"scores": _scores, "self": _self, "demo": _demo}[arguments.audit](arguments)


def _scores(arguments: Namespace) -> str:
    scores, members = read_scores(arguments.file)
    options = {"confidence": arguments.confidence}
    found = membership(scores, members, **options)
    if arguments.claim is None:
        if arguments.out:
            saved(found.chart(), arguments.out)
        return found.to_json() if arguments.json else str(found)
    options |= {"claim": parse(arguments.claim), "delta": arguments.delta}
    if arguments.runs:
        inside = np.asarray(members) == 1
        report = distinguish(np.asarray(scores)[inside], np.asarray(scores)[~inside], **options)
    else:
        report = one_run(scores, members, **options)
    if arguments.out:
        saved(report.chart(), arguments.out)
    said = f"{report}\n\n{found}"
    if arguments.json:
        said = json.dumps({"audit": json.loads(report.to_json()), "membership": json.loads(found.to_json())})
    return said if report.survives else Refutation(said)


def _self(arguments: Namespace) -> str:
    from hush.app.self_audit import NEEDED, cases

    effort = number("hush audit self", "0.001 <= effort <= 1000", 0.001, 1000.0, effort=arguments.effort)
    rows = []
    listed = {case.name: case for case in cases()}
    for name in progress(list(listed), "hush audit self"):
        report = listed[name].run(effort)
        rows.append((name, report))
    refuted = [name for name, report in rows if not report.survives or not report.null.passes]
    if arguments.json:
        said = json.dumps(
            {"refuted": refuted, "audits": [{"name": name} | json.loads(r.to_json()) for name, r in rows]}
        )
    else:
        left = [f"{what} not audited: {name} is not installed" for name, what in NEEDED.items() if not find_spec(name)]
        said = "\n".join([*(_line(name, report, name in refuted) for name, report in rows), *left, _in_short(rows)])
    return Refutation(said) if refuted else said


def _line(name: str, report: AuditReport, refuted: bool) -> str:
    verdict = "REFUTED" if refuted else "survives" if report.lower_bound > 0 else "no evidence"
    bound, claimed = f"{report.claim.quantity} >= {report.lower_bound:<7.4f}", f"claimed {report.claim.value:<8.4f}"
    return f"{verdict:<11}  {bound} {claimed} {name}"


def _in_short(rows: list[tuple[str, AuditReport]]) -> str:
    refuted = sum(not report.survives or not report.null.passes for _, report in rows)
    silent = sum(report.lower_bound == 0 for _, report in rows)
    return f"{len(rows)} audits, {refuted} claims refuted, {silent} without evidence"


def _demo(arguments: Namespace) -> str:
    shown = [from_sums(), from_gradients(), linkage()]
    if arguments.json:
        return json.dumps([vars(demonstration) for demonstration in shown])
    return "\n".join(map(str, shown))


# -- files -----------------------------------------------------------------------------------------------------


def read_scores(name: str) -> tuple[Any, Any]:
    """The two columns of a file of scores, by the ending of its name."""
    path = Path(name)
    readers = {".csv": _csv, ".npz": _npz, ".parquet": _parquet}
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise InvalidParameter("hush audit", f"a name that ends in one of {', '.join(readers)}", file=name)
    try:
        if path.stat().st_size > LARGEST:
            raise InvalidParameter("hush audit", "a file of at most a gigabyte", file=name)
        found = reader(path)
    except (OSError, EOFError, UnicodeDecodeError, csv.Error) as reason:
        raise InvalidParameter(
            "hush audit", "a file that can be read", file=name, reason=type(reason).__name__
        ) from reason
    missing = [column for column in COLUMNS if column not in found]
    if missing:
        raise InvalidParameter("hush audit", f"columns {' and '.join(COLUMNS)}", missing=missing)
    return found["score"], found["member"]


def _csv(path: Path) -> dict[str, Any]:
    with path.open(newline="", encoding="utf-8-sig") as file:  # spreadsheets put a mark first
        rows = csv.DictReader(file)
        columns: dict[str, list[float]] = {name: [] for name in COLUMNS if name in (rows.fieldnames or ())}
        for row in rows:
            for name, column in columns.items():
                column.append(as_number(row[name]))
    for name, column in columns.items():
        if any(map(math.isnan, column)):  # which line it is would point at a record
            raise InvalidParameter("hush audit", f"numbers in column {name} (no NaN)", column=name)
    return columns


def _npz(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as opened:
            file = np.load(opened, allow_pickle=False)
            if not isinstance(file, np.lib.npyio.NpzFile):  # a single array under a wrong name
                raise InvalidParameter("hush audit", "an npz file of plain arrays", file=str(path))
            return {name: file[name] for name in COLUMNS if name in file}
    except (ValueError, zipfile.BadZipFile, zlib.error) as reason:
        raise InvalidParameter("hush audit", "an npz file of plain arrays", file=str(path)) from reason


def _parquet(path: Path) -> dict[str, Any]:
    try:
        table = releases.table(path)
    except InvalidParameter:
        raise InvalidParameter("hush audit", "a parquet file that is whole", file=str(path)) from None
    found = {name: table.of(name) for name in COLUMNS if name in table.reader.names}
    for column in found.values():
        column.require_numbers("hush audit")
    return {name: column.array(numbers=True) for name, column in found.items()}
