"""Evidence against a claim: what an attacker certainly gains, with the confidence stated."""

from hush.auditing.claims import Claim
from hush.auditing.distinguish import distinguish
from hush.auditing.report import AuditReport, NullCheck
from hush.auditing.simulation import simulated

__all__ = ["AuditReport", "Claim", "NullCheck", "distinguish", "simulated"]
