"""Inject a mutant, ask its catcher, and put everything back."""

from __future__ import annotations

import inspect
import sys
from importlib import import_module

import pytest

from hush.errors import Contradiction
from tests.mutants.bugs import Mutant

SEEN = (AssertionError, BaseExceptionGroup, Contradiction, pytest.fail.Exception)
"""How a test, or a check inside hush, says that something is wrong; any other error is no catch."""


def forget() -> None:
    """Empty every cache of hush: what was worked out before must not hide the bug, nor outlive it."""
    for name, module in list(sys.modules.items()):
        if name.startswith("hush."):
            for value in list(vars(module).values()):
                if callable(getattr(value, "cache_clear", None)) and not isinstance(value, type):
                    value.cache_clear()
                elif inspect.isfunction(value) and hasattr(value, "__wrapped__"):
                    inspect.getclosurevars(value).nonlocals.get("known", {}).clear()


def ask(mutant: Mutant, patch: pytest.MonkeyPatch) -> None:
    """Run the catcher as it stands."""
    catcher = mutant.catcher
    if isinstance(catcher, str):
        module, function = catcher.split(":")
        catcher = getattr(import_module(module), function)
    needs = inspect.signature(catcher).parameters
    catcher(*mutant.arguments, **({"monkeypatch": patch} if "monkeypatch" in needs else {}))


def is_caught(mutant: Mutant) -> bool:
    """Whether the catcher fails with the bug in place."""
    forget()
    try:
        with pytest.MonkeyPatch.context() as patch:
            mutant.inject(patch)
            ask(mutant, patch)
    except SEEN:
        return True
    finally:
        forget()
    return False
