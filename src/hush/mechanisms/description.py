"""What a class of mechanism or scheme says of itself: its name, its word, and the parameters that make a value of it.

JSON and the expression language follow from it. A new class needs nothing but dataclass fields of types that JSON has
(numbers, texts, truths, enumerations, tuples of them, mechanisms, schemes); a field with compare=False is left out, and
`word: ClassVar[str]` gives the class another word than its name. Classes are found by name among the public ones, then
among those that a program has defined itself; nothing is ever imported because a text names it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import MISSING, dataclass, fields, is_dataclass
from enum import Enum
from inspect import isabstract
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import hush
from hush.door import homes_of
from hush.errors import InvalidParameter
from hush.mechanisms.mechanism import Mechanism
from hush.mechanisms.scheme import Scheme

ROOMS = ("hush.mechanisms.", "hush.curves.pairs.")
"""Where the public classes are that a text may name."""
PUBLIC = [name for name, home in homes_of(hush.__file__).items() if home.startswith(ROOMS)]


@dataclass(frozen=True)
class Parameter:
    """A field that is given when a value is made, and that counts when two values are compared."""

    name: str
    type: object
    required: bool = True
    words: str = ""
    """The names of its numbers in an expression, where its own name would not do."""

    @property
    def present(self) -> Any:
        """Its type where it is not None."""
        if get_origin(self.type) not in (Union, UnionType):
            return self.type
        others = [option for option in get_args(self.type) if option is not NoneType]
        return others[0] if len(others) == 1 else self.type


def parameters(kind: type) -> tuple[Parameter, ...]:
    """The parameters of a dataclass, in order.

    >>> [(p.name, p.type.__name__) for p in parameters(hush.Laplace)]
    [('scale', 'float'), ('relation', 'Relation')]
    """
    hints = get_type_hints(kind)
    given = [field for field in fields(kind) if field.init and field.compare]
    return tuple(
        Parameter(
            field.name,
            hints[field.name],
            field.default is MISSING and field.default_factory is MISSING,
            field.metadata.get("words", ""),
        )
        for field in given
    )


def choices(kind: type[Enum]) -> dict[str, Enum]:
    """How the members of an enumeration are written.

    >>> list(choices(hush.Relation))
    ['add_remove', 'replace', 'zero_out']
    """
    return {name.lower(): member for name, member in kind.__members__.items()}


def class_named(name: str) -> type | None:
    """The class of this name that values can be made of; None where there is none.

    >>> class_named("Laplace"), class_named("Mechanism"), class_named("os.system")
    (<class 'hush.mechanisms.leaves.laplace.Laplace'>, None, None)
    """
    if name in PUBLIC:
        found = getattr(hush, name)
        return found if _concrete(found) else None
    return _only(name, [kind for kind in defined() if kind.__name__ == name])


def class_said(word: str, root: type) -> type | None:
    """The class below the root that is written by this word in an expression; the public ones come first.

    >>> class_said("laplace", Mechanism), class_said("pure", Mechanism), class_said("poisson", Mechanism)
    (<class 'hush.mechanisms.leaves.laplace.Laplace'>, <class 'hush.mechanisms.leaves.stated.PureDP'>, None)
    """
    likely = (getattr(hush, name) for name in PUBLIC if _kebab(name) == word)  # loads no other
    for kinds in (likely, public(), defined()):
        said = [kind for kind in kinds if _concrete(kind) and issubclass(kind, root) and word_of(kind) == word]
        if said:
            return _only(word, said)
    return None


def _only(name: str, kinds: list[type]) -> type | None:
    """The one class of a name; two of them, as of two packages, may mean different things."""
    if len(set(kinds)) > 1:
        raise InvalidParameter("A text", "a name that one class alone has", name=name, classes=len(set(kinds)))
    return kinds[0] if kinds else None


def word_of(kind: type) -> str:
    """How an expression names the class: by its own `word`, or by its name in small letters.

    >>> word_of(hush.DiscreteLaplace), word_of(hush.PureDP)
    ('discrete-laplace', 'pure')
    """
    return vars(kind).get("word", _kebab(kind.__name__))


def public() -> Iterator[type]:
    """Every public class that values can be made of; they are loaded for it."""
    return filter(_concrete, (getattr(hush, name) for name in PUBLIC))


def defined() -> Iterator[type]:
    """Every mechanism and scheme whose module was imported, those of other packages too."""
    return (kind for root in (Mechanism, Scheme) for kind in _below(root) if _concrete(kind))


def _below(root: type) -> Iterator[type]:
    for kind in root.__subclasses__():
        yield kind
        yield from _below(kind)


def _concrete(kind: object) -> bool:
    return isinstance(kind, type) and is_dataclass(kind) and not isabstract(kind)


def _kebab(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", name).lower()
