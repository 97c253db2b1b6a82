"""An audit as one page to hand in: verdict, bound, confidence, the null check explained, the chart; it prints well."""

from __future__ import annotations

from html import escape

from hush import __version__
from hush.auditing.membership import MembershipReport
from hush.auditing.report import AuditReport
from hush.markup import table_html
from hush.numerics.decimals import rounded_down

STYLE = """
body { font: 16px/1.5 Helvetica, Arial, sans-serif; color: #222; max-width: 46rem; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.6rem } h2 { font-size: 1.15rem; margin-top: 2rem }
.verdict { border-left: .5rem solid #7f7f7f; background: #f4f4f4; padding: .6rem 1rem; font-size: 1.2rem }
.survives { border-color: #0072b2 } .refuted { border-color: #d55e00 }
table { border-collapse: collapse; width: 100% } caption { text-align: left; padding-bottom: .4rem }
th, td { border-bottom: 1px solid #ddd; padding: .3rem .6rem; text-align: left }
svg { max-width: 100%; height: auto } figure { margin: 0 }
footer { margin-top: 2rem; font-size: .8rem; color: #555; overflow-wrap: anywhere }
@media print { body { margin: 0; max-width: none; font-size: 11pt } h2, figure, table { break-inside: avoid } }
@page { margin: 2cm }
"""

BOUND = (
    "An attack is run on what was released. If it tells members from others better than the claim allows, beyond "
    "chance, the claim is wrong. So an audit gives a lower bound on what was given away: it can refute a claim, and "
    "it can never prove one. A bound far below the claim may also mean that the attack is weak."
)
NULL = (
    "The same audit is repeated where there is nothing to find: who is a member is decided anew by coins that the "
    "scores know nothing of. Each such audit may raise a false alarm with a probability of {error:.2g} at most. "
    "More alarms than chance allows would mean that the rows are not independent, and nothing would follow from them."
)
SIMPLE = "No claim was given: this describes one attack, and bounds nothing."


def audit_page(report: AuditReport | None, found: MembershipReport, *, source: str = "") -> str:
    """The whole page as HTML that needs no network; without a report, of the membership attack alone.

    Needs the extra that draws: pip install 'hush-dp[app]'.
    """
    from hush.questions.charts import rendering

    drawing = rendering.file_bytes((report or found).chart(), ".svg").decode()
    parts = [
        "<h1>Privacy audit</h1>",
        _verdict(report),
        *(_facts(report) if report is not None else []),
        f"<h2>The picture</h2><figure>{drawing}</figure>",
        f"<h2>What the attack found</h2>{_attack(found)}",
        f"<footer>{escape(f'hush {__version__}' + (f'; {source}' if source else ''))}</footer>",
    ]
    head = f'<meta charset="utf-8"><title>Privacy audit</title><style>{STYLE}</style>'
    return f'<!doctype html><html lang="en"><head>{head}</head><body>{"".join(parts)}</body></html>'


def _verdict(report: AuditReport | None) -> str:
    if report is None:
        return f'<p class="verdict">{escape(SIMPLE)}</p>'
    evidence = report.lower_bound > 0 and report.null.passes
    kind = "" if not evidence else "survives" if report.survives else "refuted"
    said = f"{report.verdict}: {report.claim.words}"
    return f'<p class="verdict {kind}"><strong>{escape(said)}</strong></p>'


def _facts(report: AuditReport) -> list[str]:
    claim = report.claim
    at = f" at delta {claim.delta:g}" if claim.quantity == "epsilon" and claim.delta else ""
    rows = [
        ("what is claimed", f"{claim.words}: {claim.mechanism}"),
        (f"{claim.quantity} is at least", f"{rounded_down(report.lower_bound, 5)}{at}"),
        ("claimed", f"{claim.value:.5g}"),
        ("confidence", f"{report.confidence:.4g}"),
        ("attacker", report.attacker),
        ("method", f"{report.method}, {report.samples} samples behind the bound"),
        ("null check", report.null.words),
    ]
    return [
        table_html([("", "found"), *rows]),
        f"<h2>What this bound means</h2><p>{escape(BOUND)}</p>",
        f"<h2>What the null check is</h2><p>{escape(NULL.format(error=report.null.error))}</p>",
    ]


def _attack(found: MembershipReport) -> str:
    rows = [
        ("area under the ROC curve (0.5: no information)", str(found.area)),
        ("advantage (true minus false positive rate)", str(found.advantage)),
    ]
    for rate in found.rates:
        rows.append((f"true positives at {rate.false_positive_rate:g} false positives", str(rate.true_positive_rate)))
    title = f"{found.attack}: {found.members} members, {found.others} others; intervals of {found.confidence:.4g} each"
    return table_html([("", "value (interval)"), *rows], title=title)
