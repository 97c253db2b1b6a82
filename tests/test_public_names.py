"""Every public name can be imported and says what it is."""

from __future__ import annotations

import inspect
import re

import pytest

import hush

NAMES = list(hush.__all__)
QUESTIONS = ["epsilon", "delta", "log_delta", "renyi", "tradeoff", "advantage", "explain", "statement"]
VERBS = ["on", "repeat", "then", "beside", "group", "under"]


def sentence(text: str | None) -> bool:
    """A docstring starts with a sentence: a capital or a symbol, some words, and a stop or a colon."""
    first = (text or "").strip().split("\n\n")[0]
    return len(first.split()) >= 3 and bool(re.search(r"[.:)]$", first.strip()))


@pytest.mark.parametrize("name", NAMES)
def test_importable_and_documented(name: str) -> None:
    value = getattr(hush, name)
    assert sentence(inspect.getdoc(value)), f"{name} needs a docstring that starts with a sentence"
    if inspect.isclass(value) or inspect.isfunction(value):
        assert value.__module__.startswith("hush."), name


def test_names_are_sorted_once_and_public() -> None:
    assert len(NAMES) == len(set(NAMES))
    assert not [name for name in NAMES if name.startswith("_")]
    assert set(NAMES) <= set(dir(hush))


@pytest.mark.parametrize("name", QUESTIONS + VERBS)
def test_algebra_and_questions_are_documented(name: str) -> None:
    assert sentence(inspect.getdoc(getattr(hush.Mechanism, name)))


@pytest.mark.parametrize("name", ["epsilon", "delta", "log_delta", "renyi", "tradeoff", "explain"])
def test_quantities_are_keyword_only(name: str) -> None:
    parameters = list(inspect.signature(getattr(hush.Mechanism, name)).parameters.values())[1:]
    assert parameters
    assert all(p.kind is inspect.Parameter.KEYWORD_ONLY for p in parameters)


def test_no_name_is_vague() -> None:
    vague = re.compile(r"get_|compute_|utils|common|manager|engine|zoo", re.IGNORECASE)
    assert not [name for name in NAMES if vague.search(name)]


def test_unknown_names_are_attribute_errors() -> None:
    with pytest.raises(AttributeError, match="hush"):
        hush.no_such_name  # noqa: B018
    assert hasattr(hush, "Gaussian")
    assert not hasattr(hush, "_private")


def test_errors_are_one_tree() -> None:
    for error in (hush.InvalidParameter, hush.NotCovered):
        assert issubclass(error, hush.HushError)
    assert not issubclass(hush.HushError, ValueError)
    assert issubclass(hush.InvalidParameter, ValueError)
