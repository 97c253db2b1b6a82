"""A file of scores that was dropped onto the page: what it proves against the claim that stands there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hush.app.expression import parse
from hush.app.service.questions.question_fields import number, text
from hush.auditing import membership, one_run
from hush.auditing.membership import MembershipReport
from hush.errors import HushError, InvalidParameter
from hush.numerics.decimals import rounded_down
from hush.questions.charts.chart import SMALL_RATES

MOST_POINTS = 400
"""Of the counted curve; a picture needs no more."""


def scores(given: dict[str, Any]) -> dict[str, Any]:
    """The attacker's curve as counted, what is certain of it, and whether the claim survives."""
    found_scores, members = _read(text(given, "file"))
    found = membership(found_scores, members, false_positive_rates=_rates(len(members)))
    told: dict[str, Any] = {"text": str(membership(found_scores, members)), "points": _points(found)}
    try:
        claim = parse(text(given, "expression"))
        report = one_run(found_scores, members, claim=claim, delta=number(given, "delta"))
    except HushError as reason:  # the attack is described all the same
        return told | {"reason": str(reason)}
    shown = rounded_down(report.lower_bound, 5)
    return told | {"audit": json.loads(report.to_json()) | {"shown": shown}, "verdict": str(report)}


def _read(path: str) -> Any:
    """The scores of the file, which the server has put into a folder of its own."""
    from hush.app.score_files import ScoreColumns, read_scores

    try:
        return read_scores(path, ScoreColumns())
    except InvalidParameter as reason:
        message = str(reason).replace(path, Path(path).name)
    raise HushError(message)


def _rates(members: int) -> tuple[float, ...]:
    """Rates at which the confidence is worked out: no smaller than what so few records can show."""
    return tuple(rate for rate in SMALL_RATES[::8] if rate * members >= 1)


def _points(found: MembershipReport) -> list[dict[str, Any]]:
    step = max(1, len(found.curve) // MOST_POINTS)
    counted = [{"label": "your attack, as counted", "x": x, "y": y} for x, y in found.curve[::step] if x > 0 and y > 0]
    proven = [
        {"label": "proven of it (95% each)", "x": one.false_positive_rate, "y": one.true_positive_rate.lower}
        for one in found.rates
        if one.true_positive_rate.lower > 0
    ]
    return counted + proven
