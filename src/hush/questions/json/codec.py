"""Values as JSON, and back, by the types of their fields: `{"kind": class name, field: value, ...}`."""

from __future__ import annotations

from enum import Enum
from typing import Any, TypeVar, get_args, get_origin

import numpy as np

from hush.curves.pairs.finite import FinitePair
from hush.errors import NotCovered
from hush.mechanisms.description import choices, class_named, parameters
from hush.mechanisms.last_iterate.descent import ConvexLoss
from hush.mechanisms.mechanism import Mechanism
from hush.mechanisms.runs import Runs
from hush.mechanisms.scheme import Scheme
from hush.mechanisms.stated_epsilon import EpsilonField
from hush.questions.json.strict import (
    as_list,
    as_number,
    as_text,
    as_truth,
    as_whole,
    from_number,
    members,
    refuse,
)

T = TypeVar("T")

READ = {float: as_number, EpsilonField: as_number, int: as_whole, bool: as_truth, str: as_text}
WRITE = {float: from_number, EpsilonField: from_number, int: int, bool: bool, str: str}
KINDS = (Mechanism, Scheme, ConvexLoss, FinitePair, Runs)
"""What may be an object in a text: each of them checks what it is made of."""


def encode(value: object) -> dict[str, object]:
    """The value as an object of its kind; a field that may be None, and is, is left out.

    >>> import hush
    >>> encode(hush.Poisson(rate=0.5))
    {'kind': 'Poisson', 'rate': 0.5}
    """
    kind = type(value)
    if not issubclass(kind, KINDS) or class_named(kind.__name__) is not kind:
        raise _no_form(value)
    found: dict[str, object] = {"kind": kind.__name__}
    for field in parameters(kind):
        part = getattr(value, field.name)
        if field.name in found:
            raise _no_form(value)
        if part is not None or field.present is field.type:
            found[field.name] = _write(field.present, part)
    return found


def decode(base: type[T], value: object) -> T:
    """The value that an object tells of, if it is of the base.

    >>> from hush import Mechanism
    >>> print(decode(Mechanism, {"kind": "Laplace", "scale": 2.0, "relation": "replace"}))
    Laplace noise of scale 2
    """
    name = value.get("kind") if isinstance(value, dict) else None
    kind = class_named(name) if isinstance(name, str) else None
    if kind is None or not issubclass(kind, base) or not issubclass(kind, KINDS):
        refuse(f"an object of a known kind of {base.__name__}", kind=name)
    fields = {field.name: field for field in parameters(kind)}
    optional = {name for name, field in fields.items() if field.present is not field.type}
    given = members(value, {"kind", *fields} - optional, optional)
    return kind(**{name: _read(field.present, given[name]) for name, field in fields.items() if name in given})


def _write(hint: Any, value: Any) -> object:
    origin = get_origin(hint)
    if value is None:
        raise _no_form(value)
    if hint in WRITE:
        return WRITE[hint](value)
    if origin is tuple:
        return [_write(inner, part) for inner, part in zip(_inner(hint, len(value)), value, strict=True)]
    if origin is np.ndarray:
        return [from_number(number) for number in value.tolist()]
    if isinstance(value, Enum):
        return value.name.lower()
    return encode(value)


def _read(hint: Any, value: object) -> Any:
    origin = get_origin(hint)
    if hint in READ:
        return READ[hint](value)
    if origin is tuple:
        parts = as_list(value)
        inner = _inner(hint, len(parts))
        if len(inner) != len(parts):
            refuse(f"lists of {len(inner)}", value=value)
        return tuple(_read(one, part) for one, part in zip(inner, parts, strict=True))
    if origin is np.ndarray:
        return np.array([as_number(number) for number in as_list(value)])
    if not isinstance(hint, type):
        refuse("a field that has a JSON form", value=value)
    return _member(hint, value) if issubclass(hint, Enum) else decode(hint, value)


def _inner(hint: Any, length: int) -> tuple[Any, ...]:
    """The type of each part of a tuple."""
    inner = get_args(hint)
    return (inner[0],) * length if len(inner) == 2 and inner[1] is Ellipsis else inner


def _member(kind: type[Enum], value: object) -> Enum:
    known = choices(kind)
    if not isinstance(value, str) or value not in known:
        refuse(f"a {kind.__name__.lower()} ({', '.join(known)})", value=value)
    return known[value]


def _no_form(value: object) -> NotCovered:
    return NotCovered(
        f"a {type(value).__name__} has no JSON form: hush.tabulated keeps the Rényi curve of a mechanism, and "
        "hush.curves.pairs.finite.tabulate makes a hush.FinitePair of a pair"
    )
