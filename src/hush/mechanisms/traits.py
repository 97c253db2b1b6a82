"""What a mechanism says of itself beside its evidence: its derivation, its scope, and what only few of them know.

Every mechanism gives a `Step`, which a leaf makes of its `theorem`. `Scope` and `Special` have defaults that hold for
noise on any number of records: give others where a guarantee is stated for one number of records, or more is known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from hush.curves.pairs.pair import Pair
from hush.mechanisms.neighbours import Counts


@dataclass(frozen=True)
class Step:
    """One line of a derivation: what is done, by which theorem, what it assumes, and the lines it builds on.

    >>> import hush
    >>> step = hush.Gaussian(1.0).repeat(2).derivation()
    >>> step.what, step.inner[0].what
    ('repeated 2 times', 'Gaussian noise of multiplier 1')
    """

    what: str
    theorem: str
    assumes: str = ""
    inner: tuple[Step, ...] = ()


@dataclass(frozen=True)
class Scope:
    """On which data the guarantee of a mechanism holds: by default, on any number of records, one of which changes."""

    populations: frozenset[int] = frozenset()
    """How many records its parts run on, where their guarantees hold for just that number; else empty."""
    together: frozenset[int] = frozenset([1])
    """How many records change at once between neighbours; several numbers where parts count differently."""
    no_secret_sample: str = ""
    """Why no sample is secret, or exchangeable, once this ran on it; empty where one may be."""

    @classmethod
    def of_all(cls, scopes: Iterable[Scope]) -> Scope:
        """The scope of mechanisms that run on the same data."""
        found = list(scopes)
        return cls(
            frozenset().union(*(scope.populations for scope in found)),
            frozenset().union(*(scope.together for scope in found)),
            next((scope.no_secret_sample for scope in found if scope.no_secret_sample), ""),
        )


@dataclass(frozen=True)
class Special:
    """What only some schemes ask for, and only few mechanisms know. It is never needed: without it bounds are wider.

    None, or no pair, says that nothing is known.
    """

    likened: Callable[[int, bool], tuple[Pair, ...]] = lambda records, alone: ()  # noqa: ARG005
    """Attained pairs (P, Q) of so many replaced records where all others are like the new ones: a sample that misses
    those records then looks like Q. `alone` is that of `Evidence`."""
    copies: Callable[[Counts], Pair] | None = None
    """The attained pair where a replaced record is in the data 0, 1, 2, ... times, all others like the new one."""
    distance: float | None = None
    """For Gaussian noise on a sum that one record is added to or removed from: how far it moves it, in deviations."""
