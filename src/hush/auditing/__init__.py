"""Evidence against a claim: what an attacker certainly gains, with the confidence stated."""

from hush.auditing.audit_page import audit_page
from hush.auditing.best_attacker import Attacker
from hush.auditing.canaries.one_run import one_run
from hush.auditing.claims import Claim
from hush.auditing.confidence import Estimate
from hush.auditing.demonstrations import Demonstration, from_gradients, from_sums, linkage
from hush.auditing.distinguish import distinguish
from hush.auditing.membership import MembershipReport, likelihood_ratio, loss_threshold, membership
from hush.auditing.report import AuditReport, NullCheck
from hush.auditing.simulation import simulated

__all__ = [
    "Attacker",
    "AuditReport",
    "Claim",
    "Demonstration",
    "Estimate",
    "MembershipReport",
    "NullCheck",
    "audit_page",
    "distinguish",
    "from_gradients",
    "from_sums",
    "likelihood_ratio",
    "linkage",
    "loss_threshold",
    "membership",
    "one_run",
    "simulated",
]
