"""What must hold before a release draws anything: of its scheme, its users, its mechanism and its confidence."""

from __future__ import annotations

from functools import lru_cache

from hush.checks import number
from hush.curves.relation import Relation
from hush.errors import InvalidParameter, NotCovered
from hush.mechanisms.mechanism import Mechanism
from hush.mechanisms.scheme import Scheme
from hush.releases.tables.table import Table


def require_one_sample(scheme: object) -> Scheme:
    """The scheme, if it draws one sample for one mechanism."""
    if not isinstance(scheme, Scheme):
        raise InvalidParameter("on", "a sampling scheme such as hush.Poisson(rate=0.01)", scheme=scheme)
    if not scheme.one_sample:
        raise NotCovered(
            f"a release on {scheme}: it makes the batches of an epoch. Covered: hush.Poisson, hush.UnequalPoisson, "
            "hush.WithoutReplacement, hush.WithReplacement"
        )
    return scheme


def require_placed(scheme: Scheme, relation: Relation) -> None:
    """Raise where adding or removing a record would move the others to other rates."""
    if scheme.by_place and relation is Relation.ADD_REMOVE:
        raise NotCovered(
            f"{scheme} of records that are added or removed: the records after such a one get other rates, and that "
            "there are as many as rates would show. Covered: REPLACE, where the number of records is public"
        )


def rate_of(scheme: Scheme) -> float:
    """The expected share of the records that a scheme draws, where it is the same for every record."""
    rate = scheme.expected_rate
    if rate is None:
        raise NotCovered(f"an estimate for all records from {scheme}: each must be drawn with the same probability")
    if rate == 0:
        raise InvalidParameter("A release", "a sample that draws something: rate > 0", rate=0)
    return rate


def by_unit(mechanism: Mechanism, table: Table) -> Mechanism:
    """The mechanism for the unit of the table: a user with at most so many records, or one record."""
    if table.unit is None or table.max_contributions is None:
        return mechanism
    if mechanism.relation is Relation.REPLACE:
        raise NotCovered(
            "a user replaced by another, who may have another number of records: users are covered under ADD_REMOVE"
        )
    return mechanism.group(table.max_contributions)


@lru_cache(maxsize=256)
def covered(mechanism: Mechanism) -> Mechanism:
    """The mechanism, if a theorem covers it; raises NotCovered before anything is drawn."""
    for _, neighbours in mechanism.directions():
        mechanism.evidence(neighbours).require()
    return mechanism


def checked_confidence(confidence: object) -> float:
    """A confidence above 0, and so far below 1 that it can be split among many intervals."""
    return number("release", "0 < confidence <= 1 - 1e-9", 0, 1 - 1e-9, low_open=True, confidence=confidence)
