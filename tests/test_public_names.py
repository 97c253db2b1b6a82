"""Every public name can be imported and says what it is."""

from __future__ import annotations

import inspect
import re
from collections import defaultdict
from pathlib import Path

import pytest

import hush
from hush.door import EXPORT
from tests.source import ROOT, above
from tests.test_layers import loaded

STUBS = {
    "hush": ROOT / "__init__.pyi",
    "hush.learning": ROOT / "learning" / "__init__.pyi",
    "hush.ledger": ROOT / "ledger" / "__init__.pyi",
    "hush.randomness": ROOT / "randomness" / "__init__.pyi",
}
"""Packages behind a door, and the list of what each shows."""
NAMES = list(hush.__all__)
QUESTIONS = ["epsilon", "delta", "log_delta", "renyi", "tradeoff", "roc", "advantage", "explain", "statement"]
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


# -- the doors ---------------------------------------------------------------------------------------------------


def exports(stub: Path) -> dict[str, str]:
    """Each public name, with the module it comes from."""
    return {name: home for home, name in EXPORT.findall(stub.read_text(encoding="utf-8"))}


@pytest.mark.parametrize("package", STUBS)
def test_a_stub_has_nothing_but_public_names(package: str) -> None:
    """Every line of it is one that the door reads, so that type checkers and Python see the same."""
    lines = STUBS[package].read_text(encoding="utf-8").splitlines()
    others = [line for line in lines if line and not line.startswith("#") and not EXPORT.match(line)]
    assert set(others) <= {"__version__: str"}
    assert len(exports(STUBS[package])) >= 10


def test_importing_hush_loads_the_door_alone() -> None:
    assert {name for name in loaded("import hush") if name.startswith("hush")} == {"hush", "hush.door", "hush.errors"}
    modules = loaded("import hush.learning\nassert 'fit' in dir(hush.learning)")
    assert not {"numpy", "scipy", "torch"} & modules


def by_room() -> dict[str, list[str]]:
    found = defaultdict(list)
    for name, home in exports(STUBS["hush"]).items():
        if home != "hush":
            found[home.split(".")[1]].append(name)
    return dict(found)


@pytest.mark.parametrize(("room", "names"), by_room().items())
def test_a_name_loads_no_room_above_its_own(room: str, names: list[str]) -> None:
    modules = loaded("import hush\n" + "\n".join(f"hush.{name}" for name in names))
    rooms = {module.split(".")[1] for module in modules if module.startswith("hush.")}
    assert room in rooms
    assert not rooms & above(room) - {"door"}


@pytest.mark.parametrize(
    ("name", "unloaded"),
    [
        ("NotCovered", ["numpy"]),
        ("Relation", ["scipy.special", "hush.mechanisms"]),
        ("Gaussian", ["hush.questions", "hush.mechanisms.local", "hush.mechanisms.last_iterate"]),
        ("calibrate", ["hush.questions.planning", "hush.questions.charts", "hush.releases"]),
        ("to_json", ["hush.questions.planning", "hush.questions.charts"]),
        ("explain", ["hush.questions.planning", "hush.questions.charts"]),
        ("SeededSource", ["hush.curves", "cryptography"]),
        ("releases", ["hush.learning", "hush.auditing", "hush.ledger", "torch", "pyarrow", "pandas"]),
        ("ledger", ["hush.learning", "hush.auditing", "hush.releases", "sqlalchemy"]),
        ("auditing", ["hush.learning", "hush.releases", "torch"]),
    ],
)
def test_a_name_loads_only_what_it_needs(name: str, unloaded: list[str]) -> None:
    modules = loaded(f"import hush\nhush.{name}")
    assert not [module for module in unloaded if module in modules]


def test_every_name_of_learning_exists_and_says_what_it_is() -> None:
    pytest.importorskip("torch")
    pytest.importorskip("sklearn")
    for name in exports(STUBS["hush.learning"]):
        assert sentence(inspect.getdoc(getattr(hush.learning, name))), name


def test_every_name_of_the_ledger_exists_and_says_what_it_is() -> None:
    pytest.importorskip("sqlalchemy")
    for name in exports(STUBS["hush.ledger"]):
        assert sentence(inspect.getdoc(getattr(hush.ledger, name))), name


def test_budgets_load_no_database() -> None:
    modules = loaded("import hush\nhush.ledger.Budget(epsilon=1.0, delta=1e-6)")
    assert not {"sqlalchemy", "sqlite3", "hush.releases", "hush.learning"} & modules


def test_convex_models_load_no_torch() -> None:
    pytest.importorskip("sklearn")
    assert "torch" not in loaded("import hush.learning\nhush.learning.LogisticRegression")
