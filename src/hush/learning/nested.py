"""Nested tuples, lists and dicts, taken apart into leaves and put together again.

The functions are those of torch.utils' own module of trees, for a torch in which that module is gone.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Nesting:
    """How a container is built: its type, its keys if it has any, and how its entries are built; None for a leaf."""

    kind: type[Any]
    keys: tuple[Any, ...]
    entries: tuple[Nesting | None, ...]


def tree_flatten(tree: Any) -> tuple[list[Any], Nesting | None]:
    """The leaves in a fixed order, and how to put them together.

    >>> leaves, nesting = tree_flatten({"x": (1, 2), "y": [3]})
    >>> leaves, tree_unflatten([4, 5, 6], nesting)
    ([1, 2, 3], {'x': (4, 5), 'y': [6]})
    """
    if type(tree) in (dict, OrderedDict):
        keys, entries = tuple(tree), tuple(tree.values())
    elif type(tree) in (tuple, list) or _has_fields(type(tree)):
        keys, entries = (), tuple(tree)
    else:
        return [tree], None
    flat = [tree_flatten(entry) for entry in entries]
    return [leaf for leaves, _ in flat for leaf in leaves], Nesting(type(tree), keys, tuple(n for _, n in flat))


def tree_unflatten(leaves: Iterable[Any], nesting: Nesting | None) -> Any:
    """The container of these leaves."""
    return _built(nesting, iter(leaves))


def tree_leaves(tree: Any) -> list[Any]:
    """The leaves in a fixed order."""
    return tree_flatten(tree)[0]


def tree_map(function: Callable[..., Any], tree: Any, *others: Any) -> Any:
    """The same container with the function's results in place of the leaves.

    >>> tree_map(lambda one, other: one + other, (1, [2]), (10, [20]))
    (11, [22])
    """
    leaves, nesting = tree_flatten(tree)
    return tree_unflatten([function(*each) for each in zip(leaves, *map(tree_leaves, others), strict=True)], nesting)


def _has_fields(kind: type[Any]) -> bool:
    """Whether it is a named tuple."""
    return issubclass(kind, tuple) and hasattr(kind, "_fields")


def _built(nesting: Nesting | None, left: Iterator[Any]) -> Any:
    if nesting is None:
        return next(left)
    entries = [_built(entry, left) for entry in nesting.entries]
    if nesting.keys:
        return nesting.kind(zip(nesting.keys, entries, strict=True))
    return nesting.kind(*entries) if _has_fields(nesting.kind) else nesting.kind(entries)
