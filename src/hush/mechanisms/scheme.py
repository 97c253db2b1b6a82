"""The base of sampling schemes: each is a value that draws, and that answers what is asked of it."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar, final

import numpy as np

from hush.arrays import Array, columns
from hush.curves.relation import Relation
from hush.errors import InvalidParameter
from hush.mechanisms.fields import Checked
from hush.randomness.source import Source

if TYPE_CHECKING:
    from hush.mechanisms.mechanism import Mechanism

FEW_RECORDS = 10
"""What a simulation draws from, where any number of records will do."""


class Scheme(Checked, ABC):
    """A way to draw a random sample, or the batches of an epoch.

    To write one, make a frozen dataclass that gives `applied`, `draw` and `__str__`. If one draw is one sample for one
    mechanism, start from `OneSample`, which asks for the theorem alone. To train models with it, give `for_training` as
    well. All other members have a default here: give those that are not as it says.

    >>> from dataclasses import dataclass
    >>> import hush
    >>> @dataclass(frozen=True)
    ... class Rounds(hush.Scheme):
    ...     "No sample at all: all records, so many times."
    ...     times: int
    ...
    ...     def applied(self, mechanism):
    ...         return mechanism.repeat(self.times)
    ...
    ...     def draw(self, population, source=None):
    ...         return [np.arange(population)] * self.times
    ...
    ...     def __str__(self):
    ...         return f"all records, {self.times} times"
    >>> hush.Laplace(2.0).on(Rounds(3)).epsilon(delta=0).upper
    1.5
    """

    population: int | None = None
    """How many records it is accounted for; None where any number will do."""
    steps: int = 1
    """Steps that one draw makes: 1, or those of an epoch."""

    @abstractmethod
    def applied(self, mechanism: Mechanism) -> Mechanism:
        """What `mechanism.on(scheme)` makes: the mechanism on a sample drawn in this way."""

    @abstractmethod
    def draw(self, population: int, source: Source | None = None) -> Any:
        """Draw from records 0..population-1, with secure randomness unless a source is given.

        One sample is an array of record numbers; an epoch is a list of such arrays, one per step.
        """

    # -- what it draws -----------------------------------------------------------------------------------------

    one_sample: bool = False
    """Whether it draws one sample for one mechanism, and not the batches of an epoch."""
    by_place: bool = False
    """Whether the chance of a record depends on its place, so that adding a record before it changes that chance."""
    places: int | None = None
    """How many places there are, where the chance of a record depends on its place."""
    streams: bool = False
    """Whether every record has a coin of its own, all of one rate: then any part of them can be drawn by itself."""

    @property
    def expected_rate(self) -> float | None:
        """The expected share of the records in one sample, where its error is known.

        None where records have different chances, or are drawn together, so that a sample may be farther off than one
        of independent draws.
        """
        return None

    @final
    def batches(self, population: int, source: Source) -> list[np.ndarray]:
        """The batches of the steps that one draw makes: what is drawn is checked against what is accounted for."""
        who, accounted = f"{type(self).__name__}.draw", self.population if self.places is None else self.places
        if accounted is not None and population != accounted:
            raise InvalidParameter(who, f"the population that is accounted for ({accounted})", population=population)
        return self.checked(
            [self.draw(population, source)] if self.one_sample else self.draw(population, source), population
        )

    @final
    def checked(self, drawn: list[np.ndarray], population: int) -> list[np.ndarray]:
        """Drawn batches, if they are as many as are accounted for, each of numbers of records."""
        who = f"{type(self).__name__}.draw"
        if len(drawn) != self.steps:
            raise InvalidParameter(who, f"as many batches as it is accounted for ({self.steps})", batches=len(drawn))
        batches = [np.asarray(batch) for batch in drawn]
        for batch in batches:
            whole = batch.ndim == 1 and (not batch.size or batch.dtype.kind in "iu")
            if not whole or (batch.size and not (batch.min() >= 0 and batch.max() < population)):
                rule = f"whole numbers of records from 0 to {population - 1}"
                raise InvalidParameter(who, rule, drawn=f"{batch.dtype}{list(batch.shape)}")
        return [batch.astype(np.int64, copy=False) for batch in batches]

    def course(self, population: int, source: Source) -> Iterator[list[np.ndarray]]:
        """One draw after the other, for a whole training: each on its own, unless the scheme remembers something."""
        while True:
            yield self.batches(population, source)

    @property
    def most_drawn(self) -> int:
        """The place of a record that is drawn as often as any."""
        return 0

    def simulate(self, inner: Mechanism, contributions: Array, source: Source) -> Array:
        """Outputs of the mechanism on samples drawn in this way; the record that contributes is drawn most."""
        population = self.population or self.places or (FEW_RECORDS if self.one_sample else self.steps)
        taken = np.zeros((len(contributions), self.steps))
        for run in range(len(contributions)):
            taken[run] = [np.count_nonzero(batch == self.most_drawn) for batch in self.batches(population, source)]
        outputs = [inner.simulate(contributions * taken[:, step], source) for step in range(self.steps)]
        return outputs[0] if self.one_sample else columns(outputs)

    # -- training and comparisons ------------------------------------------------------------------------------

    title: ClassVar[str] = ""
    """What it is called in tables; its own text where that is empty."""
    why: ClassVar[str] = "as its theorem says: {exact}"
    """Why it gives what it gives, in a line; how well that is known is put in for {exact}."""
    covers: ClassVar[Relation] = Relation.ADD_REMOVE
    """The neighbouring relation that its theorem is for."""
    gains: ClassVar[bool] = True
    """Whether its theorem promises more than every step on all records would."""
    quick: ClassVar[bool] = False
    """Whether an epsilon takes milliseconds, so that searches need no cheaper guess."""

    @property
    def public_size(self) -> bool:
        """Whether the guarantee takes the number of records as known, so that the data must have exactly that many."""
        return self.population is not None or self.places is not None

    @property
    def bands(self) -> int:
        """How many bands the noise of its steps may have and still be accounted for like independent noise.

        1 where a record may be drawn in two steps that follow each other: their noise must be independent then.
        """
        return 1

    @property
    def step_share(self) -> float:
        """The expected share of the records in one step, where a draw is not one sample."""
        return 1 / self.steps

    def training_steps(self, *, examples: int, batch_size: int, epochs: float) -> int:
        """Steps of a training in all: what is drawn as a whole epoch runs as one."""
        return math.ceil(epochs * examples / batch_size) if self.one_sample else self.steps * round(epochs)

    @classmethod
    def for_bands(cls, bands: int, *, examples: int, batch_size: int, epochs: float) -> Scheme:
        """The scheme whose batches have so many of the examples on average, for noise of so many bands."""
        rule = "a scheme that keeps the uses of a record apart, such as hush.CyclicPoisson or hush.CyclicAllocation"
        raise InvalidParameter("train_plan", f"{rule}, for noise of {bands} bands", scheme=cls)

    @classmethod
    def for_training(cls, *, examples: int, batch_size: int, epochs: float) -> Scheme:
        """The scheme whose batches have so many of the examples on average."""
        rule = "a scheme that can draw batches of a given size, such as hush.Poisson or hush.Allocation"
        raise InvalidParameter("train_plan", rule, scheme=cls)
