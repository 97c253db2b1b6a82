"""The examples run, and show what they say."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import hush

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
DATA = np.random.default_rng(5).normal(50, 15, 40_000)


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


def test_functions_on_a_secret_sample() -> None:
    example = load("functions_on_a_secret_sample")
    source = hush.SeededSource(3)
    interval = example.bootstrap_interval(DATA, source)
    low, high = interval.value
    # a 90% interval of a median of 20,000 normal records is 2 * 1.64 * 15 * sqrt(pi/2/20000) wide: 0.43
    assert 0.2 < high - low < 1 and abs((low + high) / 2 - interval.truth) < 0.6
    variance = example.jackknife_variance(DATA, source)
    assert variance.value == pytest.approx(variance.truth, rel=0.35)
    bagged = example.bagged_estimate(DATA, source)
    assert bagged.value == pytest.approx(bagged.truth, abs=0.6)
    words = np.random.default_rng(2).zipf(1.6, 20_000) % 100_000
    sketch = example.frequency_sketch(words, [1, 2, 3, 50], source)
    assert np.abs(np.array(sketch.value) - sketch.truth).max() < 400
    for shown in (interval, variance, bagged, sketch):
        assert 0.999 < shown.epsilon <= 1
