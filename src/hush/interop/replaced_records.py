"""What an event's sensitivity means where one record is replaced: libraries disagree, so the caller says it."""

from __future__ import annotations

from hush.curves.relation import Relation, any_relation
from hush.errors import InvalidParameter

STATED, DOUBLED = "stated", "doubled"
RULE = (
    "replaced='stated' (the sensitivity is how far a replaced record moves the sum) or replaced='doubled' "
    "(it is the norm of one record, so that a replaced one moves the sum by twice that)"
)


def checked_replaced(who: str, relation: Relation, replaced: object) -> str | None:
    """How a sensitivity is read: said for replace-one, and for replace-one alone."""
    if any_relation(who, relation) is not Relation.REPLACE:
        if replaced is not None:
            raise InvalidParameter(who, "replaced for Relation.REPLACE alone", replaced=replaced)
        return None
    if replaced not in (STATED, DOUBLED):
        raise InvalidParameter(who, RULE, replaced=replaced)
    return str(replaced)
