"""The examples run, and show what they say."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def test_local_against_shuffled_against_central() -> None:
    example = load("local_shuffled_central")
    local, shuffled, central = example.compare(rounds=12)
    for way in (local, shuffled, central):
        assert way.epsilon <= example.EPSILON * (1 + 1e-9)
        assert 0.5 < way.observed / way.error < 1.7
    assert local.error > 20 * shuffled.error > 20 * central.error


def test_it_prints_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    example = load("local_shuffled_central")
    example.compare = lambda: [example.Way("local", 0.1, 0.01, 0.01)]
    example.main()
    assert "local" in capsys.readouterr().out
