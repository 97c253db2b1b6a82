"""Arrays have no truth value: a dataclass that holds one must not compare its fields."""

from __future__ import annotations

import dataclasses
import inspect
import pkgutil
import re
from importlib import import_module
from importlib.util import find_spec

import hush

ARRAYS = re.compile(r"(?<!\[)\b(Array|ndarray|NDArray|Tensor|Any)\b(?!\])")
"""Annotations of a field that may hold an array; what a callable takes or gives does not count."""

PLAIN = {"Interval", "Mixture", "Population"}
"""Fields of type Any that hold no array: numbers or tuples of them, distributions."""


def dataclasses_of_hush() -> list[type]:
    found: dict[str, type] = {}
    for module in pkgutil.walk_packages(hush.__path__, "hush."):
        if module.name.startswith("hush.learning") and not find_spec("torch"):
            continue
        if module.name.startswith("hush.interop") and not find_spec("dp_accounting"):
            continue
        for _, value in inspect.getmembers(import_module(module.name), inspect.isclass):
            if dataclasses.is_dataclass(value) and value.__module__.startswith("hush."):
                found[f"{value.__module__}.{value.__name__}"] = value
    return [found[name] for name in sorted(found)]


def test_no_generated_equality_over_arrays() -> None:
    held = {
        f"{kind.__module__}.{kind.__name__}": [f.name for f in dataclasses.fields(kind) if ARRAYS.search(str(f.type))]
        for kind in dataclasses_of_hush()
        if kind.__dataclass_params__.eq and kind.__name__ not in PLAIN  # type: ignore[attr-defined]
    }
    assert {name: fields for name, fields in held.items() if fields} == {}
