"""Schemes that keep the uses of a record so far apart that banded noise is accounted for like independent noise."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

from hush.arrays import Array
from hush.errors import InvalidParameter, NotCovered
from hush.mechanisms.evidence import Evidence
from hush.mechanisms.fields import instance
from hush.mechanisms.mechanism import Mechanism, require, require_any_number
from hush.mechanisms.neighbours import Neighbours
from hush.mechanisms.scheme import Scheme
from hush.mechanisms.traits import Scope, Step
from hush.mechanisms.wrapper import Wrapper
from hush.randomness.source import Source

USUAL_BANDS = (8, 4, 2, 1)
"""Bands of a comparison or a plan that names none: the first that fits."""
BANDED = (
    "the noise of the steps is independent, or banded with at most {bands} bands and columns of norm at most 1; "
    "which part a record is in does not depend on the data, and may be known; what is drawn within it is drawn for "
    "every record by itself, and stays secret"
)


class SpacedScheme(Scheme):
    """A scheme whose account holds for noise of up to `bands` bands."""

    theorem: ClassVar[str]
    """Why, for `explain`."""

    @abstractmethod
    def account(self, mechanism: Mechanism) -> Mechanism:
        """What dominates one draw of the scheme, for one record, with this mechanism in each step."""

    def shown(self, mechanism: Mechanism) -> Mechanism:
        """What some such run attains: independent noise, and parts that are known."""
        return self.account(mechanism)

    @classmethod
    @abstractmethod
    def for_bands(cls, bands: int, *, examples: int, batch_size: int, epochs: float) -> SpacedScheme: ...

    @classmethod
    def for_training(cls, *, examples: int, batch_size: int, epochs: float) -> SpacedScheme:
        for bands in USUAL_BANDS:
            try:
                return cls.for_bands(bands, examples=examples, batch_size=batch_size, epochs=epochs)
            except InvalidParameter:
                if bands == 1:
                    raise
        raise AssertionError

    def applied(self, mechanism: Mechanism) -> Mechanism:
        inner = require(type(self).__name__, mechanism)
        if self.steps > 1:
            require_any_number(inner, self)
        return self.account(inner) if self.bands == 1 else Spaced(inner, self)


@dataclass(frozen=True)
class Spaced(Wrapper):
    """Steps on batches that a spaced scheme drew, with noise that is independent or banded."""

    scheme: SpacedScheme = field(metadata=instance(SpacedScheme, "a scheme such as hush.CyclicPoisson"))
    verb: ClassVar[str] = "Spaced"

    @cached_property
    def account(self) -> Mechanism:
        """What dominates it, for one record."""
        return self.scheme.account(self.inner)

    @property
    def scope(self) -> Scope:
        return self.account.scope

    def knows(self, neighbours: Neighbours) -> Evidence:
        if neighbours.most > 1:
            raise NotCovered(
                f"{self.scheme} for groups: their records may take part in steps whose noise is correlated, at any "
                "offset. Covered: one record. Nearest: hush.Poisson with independent noise, which covers groups"
            )
        shown = self.scheme.shown(self.inner)
        found = self.account.evidence(neighbours)
        return found if shown == self.account else found.attained_by(shown.evidence(neighbours).attained)

    def derivation(self) -> Step:
        return Step(
            f"{self.scheme.steps} steps: {self.scheme}",
            f"{self.scheme.theorem}; it is dominated by {self.account}",
            BANDED.format(bands=self.scheme.bands),
            (self.account.derivation(),),
        )

    def simulate(self, contributions: Array, source: Source) -> Array:
        return self.scheme.simulate(self.inner, contributions, source)

    def __str__(self) -> str:
        return f"{self.inner} on {self.scheme}"
