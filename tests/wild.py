"""Any expression that the constructors accept, over the whole of what they accept.

Nothing is listed by name: mechanisms and schemes are found as subclasses, combinators as methods that return a mechanism,
arguments by their types. So a new class, combinator or field enters by itself. Where a constructor refuses a value, the
numbers in its rule ("0.002 <= scale <= 1e9") are tried next: the ends of each domain are met without being listed.
"""

from __future__ import annotations

import functools
import inspect
import math
import re
import types
import typing
from collections import abc
from collections.abc import Callable
from random import Random
from typing import Any

import hush
from hush.app import expression
from hush.curves.pairs.finite import FinitePair
from hush.curves.pairs.pair import Pair
from hush.mechanisms.scheme import Scheme
from hush.mechanisms.schemes.one_sample import OneSample
from hush.mechanisms.stated_epsilon import EpsilonField
from tests.source import concrete

TRIES = 20
"""How often a value is drawn anew before a constructor is given up: its conditions may bind several fields."""
NAMES = {"Scheme": Scheme, "OneSample": OneSample, **{name: getattr(hush, name) for name in hush.__all__}}
"""What annotations may refer to that their own modules import for type checkers alone."""
NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?:[e^]-?\d+)?")
ZERO_OUT = hush.Relation.ZERO_OUT
"""Noise is never set for it."""
FUNCTIONS: list[Callable[[float], float]] = [
    lambda order: order / 2,
    lambda order: 0.0,
    lambda order: 1e300,
    lambda order: math.inf,
    lambda order: min(order, 5.0) * 1e-9,
]
"""Rényi curves that a user may state; what a broken one does is not asked here."""


@functools.cache
def hints(function: Callable[..., Any]) -> dict[str, Any]:
    """Types of the arguments and of what is returned."""
    plain = inspect.unwrap(function)
    return typing.get_type_hints(plain, globalns={**NAMES, **plain.__globals__})


class Refused(Exception):
    """No accepted value was found."""


class Wild:
    """Writes values of any type that a constructor of hush asks for."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.ends: list[float] = []
        """Numbers in the rules that were broken so far: where domains end."""
        self.relation: hush.Relation | None = None
        """What parts of a composition must have in common."""

    # -- numbers ---------------------------------------------------------------------------------------------------

    def number(self) -> float:
        """Any size, with a weight on moderate ones; the ends of the unit interval, of floats, and of rules met so far."""
        random = self.random
        spread = random.choice([0.5, 2, 2, 6, 12, 300])
        options = [10 ** random.uniform(-spread, spread)] * 6 + [random.random()] * 3
        options += [0.0, 1.0, 5e-324, 1e-300, 1e300, 1 - 2.0**-53, math.inf]
        return random.choice(options + [end * (1 + by) for end in self.ends for by in (0.0, 0.0, 1e-9, -1e-9)])

    def whole(self) -> int:
        """From 0 to 10^15, with a weight on small ones."""
        random = self.random
        large = int(10 ** random.uniform(0, random.choice([1, 2, 3, 6, 15])))
        return random.choice([large, large, large, random.randint(0, 5), 1, 2, 10**15, *map(int, self.ends)])

    def learn(self, refusal: Exception) -> None:
        """Remember the numbers of the rule that was broken."""
        found = [text.partition("^") for text in NUMBER.findall(str(refusal).partition("; got")[0])]
        self.ends = [*self.ends, *(float(base) ** int(power or 1) for base, _, power in found)][-8:]

    # -- values ----------------------------------------------------------------------------------------------------

    def value(self, kind: Any, depth: int) -> Any:
        """A value of the type; mechanisms in it are at most so many combinators deep."""
        origin, inside = typing.get_origin(kind), typing.get_args(kind)
        if origin in (typing.Union, types.UnionType):
            return self.value(self.random.choice(inside), depth)
        if origin in (abc.Sequence, list):
            return [self.value(inside[0], depth) for _ in range(self.random.choice([1, 1, 2, 3, 8]))]
        if origin is tuple and inside[-1] is Ellipsis:
            return tuple(self.value(inside[0], depth) for _ in range(self.random.randint(1, 3)))
        if origin is tuple:
            return tuple(self.value(each, depth) for each in inside)
        if origin is abc.Callable:
            return self.random.choice(FUNCTIONS)
        plain = {
            float: self.number,
            EpsilonField: self.number,
            int: self.whole,
            bool: lambda: self.random.random() < 0.5,
            str: lambda: "x",
            type(None): lambda: None,
        }
        if kind in plain:
            return plain[kind]()
        if kind is hush.Relation:
            return self.relation or self.random.choice(list(hush.Relation))
        if kind is Pair:
            return self.finite_pair()
        if kind is hush.Mechanism:
            return self.mechanism(self.random.randint(0, max(depth - 1, 0)))
        return self.made(self.random.choice(concrete(kind)), depth - 1)

    def finite_pair(self) -> FinitePair:
        """Two distributions on the same few outcomes; some have a chance of 1e-300, or none."""
        sides = []
        for size in [self.random.randint(1, 5)] * 2:
            far = self.random.choice([1, 8, 300])
            weights = [10 ** self.random.uniform(-far, 0) * self.random.choice([0, 1, 1, 1]) for _ in range(size)]
            weights[0] = weights[0] or 1.0
            sides.append([weight / math.fsum(weights) for weight in weights])
        return FinitePair.of(*sides) if len(sides[0]) == len(sides[1]) else self.finite_pair()

    def made(self, kind: type, depth: int) -> Any:
        """A value of this class, by its constructor."""
        return self.called(kind, kind.__init__, depth)

    def called(self, function: Callable[..., Any], typed: Callable[..., Any], depth: int) -> Any:
        """What the function gives for arguments of its types, drawn until they are accepted."""
        self.ends = []
        for _ in range(TRIES):
            given, named = self.arguments(function, hints(typed), depth)
            try:
                return function(*given, **named)
            except hush.NotCovered:
                continue
            except hush.InvalidParameter as refusal:
                self.learn(refusal)
        raise Refused(function)

    def arguments(
        self, function: Callable[..., Any], kinds: dict[str, Any], depth: int
    ) -> tuple[list[Any], dict[str, Any]]:
        """Values for all that must be given, and for most of what may be left out."""
        given: list[Any] = []
        named: dict[str, Any] = {}
        for name, field in inspect.signature(function).parameters.items():
            if field.kind is field.VAR_POSITIONAL:
                given += [self.value(kinds[name], depth) for _ in range(self.random.randint(1, 2))]
            elif field.default is field.empty or self.random.random() < 0.7:
                named[name] = self.value(kinds[name], depth)
        return given, named

    def leaf(self) -> hush.Mechanism:
        """A mechanism without another inside."""
        while True:
            kind = self.random.choice(LEAVES)
            try:
                return self.from_pair() if kind is hush.FromPair else self.made(kind, 0)
            except Refused:
                continue

    def from_pair(self) -> hush.FromPair:
        pair = self.finite_pair()
        relation = self.relation or self.random.choice(list(hush.Relation))
        return hush.FromPair(pair, pair.swap(), hush.Relation.REPLACE if relation is ZERO_OUT else relation)

    def mechanism(self, depth: int) -> hush.Mechanism:
        """Any mechanism, up to so many combinators deep; now and then by the constructor of what is around others."""
        if depth <= 0:
            return self.leaf()
        inner = self.mechanism(depth - 1)
        for _ in range(8):
            verb = getattr(inner, self.random.choice(combinators(type(inner))))
            self.relation = self.random.choice([inner.relation, hush.Relation.REPLACE])
            try:
                if self.random.random() < 0.15:
                    return self.made(self.random.choice(AROUND), depth)
                return self.called(verb, verb.__func__, depth)
            except Refused:
                continue
            finally:
                self.relation = None
        return inner

    def text(self) -> str:
        """An expression of the command line."""

        def words(forms: list[expression.Form]) -> str:
            form = self.random.choice(forms)
            numbers = [name for name in form.usage.split()[1:] if name.strip("[]").isupper()]
            return " ".join([form.word, *(str(self.random.choice([self.number, self.whole])()) for _ in numbers)])

        pipes = [words(expression.pipes()) for _ in range(self.random.randint(0, 4))]
        return " | ".join([words(expression.atoms()), *pipes])


@functools.cache
def combinators(kind: type) -> list[str]:
    """Public methods that return a mechanism."""
    found = []
    for name, method in inspect.getmembers(kind, inspect.isfunction):
        result = None if name.startswith("_") else hints(method).get("return")
        if inspect.isclass(result) and issubclass(result, hush.Mechanism):
            found.append(name)
    return found


def _around(kind: type) -> bool:
    """Whether a mechanism of this class is made of another."""
    return any("Mechanism" in str(hint) or _is_mechanism(hint) for hint in hints(kind.__init__).values())


def _is_mechanism(hint: object) -> bool:
    return inspect.isclass(hint) and issubclass(hint, hush.Mechanism)


AROUND = [kind for kind in concrete(hush.Mechanism) if _around(kind)]
LEAVES = [kind for kind in concrete(hush.Mechanism) if not _around(kind)]
