"""Which datasets count as neighbours."""

from __future__ import annotations

from enum import Enum

from hush.errors import InvalidParameter


class Relation(Enum):
    """The neighbouring relation under which a mechanism's noise was set and its guarantee is stated.

    >>> Relation.ADD_REMOVE.words
    'add or remove one record'
    """

    ADD_REMOVE = "add_remove"
    REPLACE = "replace"
    ZERO_OUT = "zero_out"
    """A record is blanked: one that adds nothing takes its place, so that the number of records stays as it is. Noise
    is never set for it; `mechanism.under(Relation.ZERO_OUT)` states a whole run for it."""

    @property
    def words(self) -> str:
        """The relation in plain words."""
        return {"ADD_REMOVE": "add or remove", "REPLACE": "replace", "ZERO_OUT": "blank out"}[self.name] + " one record"

    @property
    def directions(self) -> tuple[tuple[str, int, int], ...]:
        """(name, records removed, records added) for each kind of neighbour."""
        if self is Relation.REPLACE:
            return (("replace", 1, 1),)
        return (("remove", 1, 0), ("add", 0, 1))


def any_relation(who: str, relation: object) -> Relation:
    """The relation, if it is one."""
    if not isinstance(relation, Relation):
        raise InvalidParameter(who, "a hush.Relation", relation=relation)
    return relation


def checked_relation(who: str, relation: object) -> Relation:
    """The relation, if it is one that noise is set for."""
    if any_relation(who, relation) is Relation.ZERO_OUT:
        rule = "noise for ADD_REMOVE or REPLACE; state the whole run by .under(hush.Relation.ZERO_OUT)"
        raise InvalidParameter(who, rule, relation=relation)
    return Relation(relation)
