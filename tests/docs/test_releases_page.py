"""The page on releases: its blocks run, in order, and print what they say; its examples stand for what they say."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import hush
from tests.docs.test_examples import load
from tests.test_readme import BLOCK, promised, same

PAGE = Path(__file__).parents[2] / "docs" / "releases.md"
DATA = np.random.default_rng(5).normal(50, 15, 40_000)


def test_blocks_print_what_they_say(capsys: pytest.CaptureFixture[str]) -> None:
    namespace: dict[str, object] = {}
    found = BLOCK.findall(PAGE.read_text(encoding="utf-8"))
    assert len(found) >= 5
    for block in found:
        exec(compile(block, "releases.md", "exec"), namespace)
        shown = capsys.readouterr().out.splitlines()
        assert len(shown) == len(promised(block)), (shown, promised(block))
        assert [(a, b) for a, b in zip(shown, promised(block), strict=True) if not same(a, b)] == []


def test_every_link_leads_somewhere() -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", PAGE.read_text(encoding="utf-8")):
        assert (PAGE.parent / target).exists(), target


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
