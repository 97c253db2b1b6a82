"""`hush audit scores`, `hush audit self` and `hush audit demo`: evidence against a claim."""

from __future__ import annotations

import hashlib
import json
from argparse import ArgumentParser, Namespace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hush.app import output, progress
from hush.app.options import add_examples, add_json, expressed
from hush.app.output import Refutation

if TYPE_CHECKING:
    from hush.auditing import AuditReport, MembershipReport

ABOUT = """\
scores FILE has a column of scores and a column that says who was a member (1 or 0, true or false, train or test), as
CSV, npz or parquet. Larger scores mean members; where the name of the column ends in `loss`, smaller ones do.
It has one row per canary of one training run, each put in by a fair coin of its own; with --runs one row per
independent run, its label saying which of two neighbouring inputs it had. Without --claim the membership attack alone
is described.

exit codes: 0 every claim survives, 4 one is refuted (2 bad input, 3 no theorem covers the claim)
"""


def add(parser: ArgumentParser) -> None:
    """The options."""
    kinds = parser.add_subparsers(dest="audit", metavar="WHAT", required=True)
    scores = kinds.add_parser("scores", help="audit scores and labels from a file")
    scores.add_argument("file", help="CSV, npz or parquet")
    scores.add_argument("--score-column", default="score", metavar="NAME", help="the column of scores (score)")
    scores.add_argument("--member-column", default="member", metavar="NAME", help="who was a member (member)")
    scores.add_argument("--member-value", metavar="WORD", help="the word for members, where it is not a usual one")
    scores.add_argument("--members", choices=("higher", "lower"), help="members have higher or lower scores (higher)")
    scores.add_argument("--claim", help="the mechanism that is claimed, as an expression")
    scores.add_argument("--delta", type=float, help="the delta at which epsilon is bounded, where the claim has none")
    scores.add_argument("--runs", action="store_true", help="each row is an independent run, not a canary of one run")
    scores.add_argument("--confidence", type=float, default=0.95)
    scores.add_argument("--out", help="a report to hand in (.html), or the picture alone (.svg, .png)")
    every = kinds.add_parser("self", help="audit every mechanism and release of hush, and a training")
    every.add_argument("--effort", type=float, default=1.0, help="multiplies the samples of each audit (1)")
    shown = kinds.add_parser("demo", help="reconstruction and linkage attacks, with and without protection")
    for kind in (scores, every, shown):
        add_json(kind)
    add_examples(
        parser,
        'hush audit scores canaries.csv --claim "gdp 2"',
        'hush audit scores canaries.npz --claim "gaussian 1.0 | poisson 0.01 | repeat 1000" --delta 1e-5',
        'hush audit scores runs.csv --claim "pure 1" --runs',
        "hush audit scores losses.csv --score-column loss --member-column split --out report.html",
        "hush audit self",
        "hush audit demo",
        more=ABOUT,
    )


def run(arguments: Namespace) -> str:
    """The reports, as text or JSON; a Refutation where a claim is refuted."""
    return {"scores": _scores, "self": _self, "demo": _demo}[arguments.audit](arguments)


def _scores(arguments: Namespace) -> str:
    from hush.app.score_files import ScoreColumns, read_scores
    from hush.auditing import distinguish, membership, one_run

    lower = _lower(arguments)
    columns = ScoreColumns(arguments.score_column, arguments.member_column, arguments.member_value, lower)
    scores, members = read_scores(arguments.file, columns)
    options: dict[str, Any] = {"confidence": arguments.confidence}
    attack = f"{'smaller' if lower else 'larger'} {arguments.score_column} means member"
    found = membership(scores, members, attack=attack, **options)
    if arguments.claim is None:
        _written(arguments, None, found)
        return found.to_json() if arguments.json else str(found)
    options |= {"claim": expressed(arguments.claim), "delta": arguments.delta}
    if arguments.runs:
        report = distinguish(scores[members == 1], scores[members != 1], **options)
    else:
        report = one_run(scores, members, **options)
    _written(arguments, report, found)
    said = f"{report}\n\n{found}"
    if arguments.json:
        said = json.dumps({"audit": json.loads(report.to_json()), "membership": json.loads(found.to_json())})
    return said if report.survives else Refutation(said)


def _lower(arguments: Namespace) -> bool:
    """Whether smaller scores mean members: said, or by the name of the column."""
    if arguments.members is not None:
        return arguments.members == "lower"
    return arguments.score_column.lower().endswith("loss")


def _written(arguments: Namespace, report: AuditReport | None, found: MembershipReport) -> None:
    """The file that was asked for: a report to hand in, or a picture."""
    if arguments.out is None:
        return
    if not arguments.out.lower().endswith(".html"):
        output.saved((report or found).chart(), arguments.out)
        return
    from hush.auditing.audit_page import audit_page

    path = Path(arguments.file)
    source = f"{path.name}, SHA-256 {hashlib.sha256(path.read_bytes()).hexdigest()}"
    output.written(arguments.out, audit_page(report, found, source=source))


def _self(arguments: Namespace) -> str:
    from hush.app.self_audit import NEEDED, cases
    from hush.checks import number

    effort = number("hush audit self", "0.001 <= effort <= 1000", 0.001, 1000.0, effort=arguments.effort)
    listed = {case.name: case for case in cases()}
    reports = {name: listed[name].run(effort) for name in progress.each(list(listed))}
    refuted = [name for name, report in reports.items() if not report.survives or not report.null.passes]
    if arguments.json:
        audits = [{"name": name} | json.loads(report.to_json()) for name, report in reports.items()]
        said = json.dumps({"refuted": refuted, "audits": audits})
    else:
        lines = [_line(name, report, name in refuted) for name, report in reports.items()]
        left = [f"{what} not audited: {name} is not installed" for name, what in NEEDED.items() if not find_spec(name)]
        silent = sum(report.lower_bound == 0 for report in reports.values())
        short = f"{len(reports)} audits, {len(refuted)} claims refuted, {silent} without evidence"
        said = "\n".join([*lines, *left, short])
    return Refutation(said) if refuted else said


def _line(name: str, report: AuditReport, refuted: bool) -> str:
    verdict = "REFUTED" if refuted else "survives" if report.lower_bound > 0 else "no evidence"
    bound, claimed = f"{report.claim.quantity} >= {report.lower_bound:<7.4f}", f"claimed {report.claim.value:<8.4f}"
    return f"{verdict:<11}  {bound} {claimed} {name}"


def _demo(arguments: Namespace) -> str:
    from hush.auditing import from_gradients, from_sums, linkage

    demonstrations = [from_sums(), from_gradients(), linkage()]
    if arguments.json:
        return json.dumps([vars(demonstration) for demonstration in demonstrations])
    return "\n".join(map(str, demonstrations))
