"""What a mechanism says of itself beside its evidence: its derivation, on which data it holds, what few know."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from hush.curves.pairs.pair import Pair
from hush.mechanisms.neighbours import Counts


@dataclass(frozen=True)
class Step:
    """One line of a derivation: what is done, and by which theorem."""

    what: str
    theorem: str
    assumes: str = ""
    inner: tuple[Step, ...] = ()


@dataclass(frozen=True)
class Scope:
    """On which data the promise of a mechanism holds."""

    populations: frozenset[int] = frozenset()
    """How many records its parts run on, where what they promise holds for just that number."""
    together: frozenset[int] = frozenset([1])
    """How many records change at once between neighbours; several numbers where parts count differently."""
    no_secret_sample: str = ""
    """Why no sample is secret, or exchangeable, once this ran on it; empty where one may be."""

    @classmethod
    def of_all(cls, scopes: Iterable[Scope]) -> Scope:
        """Of mechanisms that run on the same data."""
        found = list(scopes)
        return cls(
            frozenset().union(*(scope.populations for scope in found)),
            frozenset().union(*(scope.together for scope in found)),
            next((scope.no_secret_sample for scope in found if scope.no_secret_sample), ""),
        )


@dataclass(frozen=True)
class Special:
    """Pairs that single schemes ask for and that few mechanisms know; None, or no pair, where nothing is known."""

    likened: Callable[[int, bool], tuple[Pair, ...]] = lambda records, alone: ()  # noqa: ARG005
    """Attained pairs (P, Q) of so many replaced records where all others are like the new ones: a sample that misses
    those records then looks like Q. Alone, as in `Evidence.attained`."""
    copies: Callable[[Counts], Pair] | None = None
    """The attained pair where a replaced record is in the data 0, 1, 2, ... times, all others like the new one."""
    distance: float | None = None
    """For Gaussian noise on a sum that one record is added to or removed from: how far it moves it, in deviations."""
