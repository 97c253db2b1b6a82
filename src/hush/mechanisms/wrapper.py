"""Mechanisms around one other mechanism."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from hush.curves.relation import Relation
from hush.mechanisms.fields import Checked
from hush.mechanisms.mechanism import Mechanism, require_child


@dataclass(frozen=True)
class Wrapper(Checked, Mechanism):
    """A mechanism around one other, whose neighbouring relation it has."""

    inner: Mechanism
    relation: Relation = field(init=False)
    verb: ClassVar[str]
    """What makes it, for messages."""

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "relation", require_child(self.verb, self.inner).relation)

    @property
    def children(self) -> tuple[Mechanism, ...]:
        return (self.inner,)
