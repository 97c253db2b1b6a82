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

    @property
    def words(self) -> str:
        """The relation in plain words."""
        return "add or remove one record" if self is Relation.ADD_REMOVE else "replace one record"

    @property
    def directions(self) -> tuple[tuple[str, int, int], ...]:
        """(name, records removed, records added) for each kind of neighbour."""
        if self is Relation.ADD_REMOVE:
            return (("remove", 1, 0), ("add", 0, 1))
        return (("replace", 1, 1),)


def checked_relation(who: str, relation: object) -> Relation:
    """The relation, if it is one."""
    if not isinstance(relation, Relation):
        raise InvalidParameter(who, "a hush.Relation", relation=relation)
    return relation
