"""The house stays in order: names, sizes of folders, types that nobody asks for, imports that come late."""

from __future__ import annotations

import ast
import inspect
import re
from collections import Counter, defaultdict
from functools import cache
from pathlib import Path

import hush
from hush.curves.pairs.pair import Pair
from hush.mechanisms.scheme import Scheme
from tests.source import dotted, files, imported, inside, load, settings, shown, tree

LARGEST_FOLDER = 13
"""Files of a folder, its `__init__.py` not counted."""

COMMANDS = "app/commands"
"""One file per command, each with the name of what it asks: as many as there are, and alike on purpose."""

TWINS = {
    "allocation": "the theorem on a pair, and the scheme",
    "shuffled_batches": "the theorem on a pair, and the scheme",
    "smooth_sensitivity": "the theorem, and the sensitivities of statistics",
    "group": "the theorem, and the combinator",
    "one_pass": "the mechanism, and the method that fits a model by it",
    "normal": "the pair of two normals, and the law of its loss",
    "boundary": "what may pass out of releases, and out of training",
    "report": "what an audit found, and reports of people",
    "sampled": "the pair of a sample, and Rényi theorems on samples",
    "batch_size": "batch sizes of a plan, and those that a model takes",
    "mechanism": "the base, and its JSON form",
    "draw": "random draws, and the drawing of charts",
    "target": "targets of plans, and of releases",
}
"""Files whose names are alike but for an ending, and why each may keep its own."""

VISIBLE = 19
"""Names without an underscore that a mechanism shows, its own fields not counted: at most."""

EXTRAS = settings()["project"]["optional-dependencies"]
IMPORTED_AS = {"dp-accounting": "dp_accounting", "scikit-learn": "sklearn", "vl-convert-python": "vl_convert"}
OPTIONAL = {
    IMPORTED_AS.get(name, name)
    for extra in ("app", "data", "interop", "learn", "ledger", "torch")
    for name in (re.match(r"[\w-]+", requirement)[0] for requirement in EXTRAS[extra])  # type: ignore[index]
}
"""Packages of the extras."""


# -- names -------------------------------------------------------------------------------------------------------


def test_no_class_name_is_defined_twice() -> None:
    names = Counter(node.name for path in files() for node in ast.walk(tree(path)) if isinstance(node, ast.ClassDef))
    assert {name for name, times in names.items() if times > 1} == set()


def bare(stem: str) -> str:
    """A file's name without underscores, and its words without endings."""
    return "".join(re.sub(r"(?<=\w\w\w)(ing|ed|es|s|e)$", "", word) for word in stem.split("_"))


def test_no_two_files_have_names_that_are_alike() -> None:
    stems = defaultdict(list)
    for path in files():
        if path.stem != "__init__" and shown(path.parent) != COMMANDS:
            stems[bare(path.stem)].append(shown(path))
    known = {bare(twin) for twin in TWINS}
    assert {name: paths for name, paths in stems.items() if len(paths) > 1 and name not in known} == {}


def test_endings_are_seen() -> None:
    assert bare("table") == bare("tables") == bare("tabled") != bare("tabulate")
    assert bare("sampled") == bare("sampling") == bare("samples")
    assert bare("trainplan") == bare("train_plan") != bare("plan_training")


def test_folders_are_small() -> None:
    sizes = Counter(
        shown(path.parent) for path in files() if path.stem != "__init__" and shown(path.parent) != COMMANDS
    )
    assert {folder: size for folder, size in sizes.items() if size > LARGEST_FOLDER} == {}


def test_no_field_needs_a_second_name_for_epsilon() -> None:
    wrong = [shown(path) for path in files() if re.search(r"\bepsilon_\b", path.read_text(encoding="utf-8"))]
    assert not wrong


def test_a_mechanism_shows_few_names() -> None:
    mechanism = hush.Gaussian(1.0)
    names = {name for name in dir(mechanism) if not name.startswith("_")} - set(vars(mechanism))
    assert {"epsilon", "on", "repeat"} <= names
    assert len(names) <= VISIBLE, sorted(names)


# -- nobody asks for a type --------------------------------------------------------------------------------------


@cache
def kinds() -> frozenset[str]:
    """The names of all concrete mechanisms, pairs and schemes of hush."""
    found = set()
    for module in load("curves", "mechanisms"):
        for name, value in vars(module).items():
            if inspect.isclass(value) and issubclass(value, hush.Mechanism | Pair | Scheme):
                found |= {name} if not inspect.isabstract(value) else set()
    return frozenset(found)


def named(node: ast.AST) -> set[str]:
    """The names in an expression, also those behind a dot."""
    found = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
    return found | {part.attr for part in ast.walk(node) if isinstance(part, ast.Attribute)}


def asked(node: ast.AST) -> set[str]:
    """The classes that a node asks for: isinstance(x, A), issubclass(x, A), type(x) is A, case A()."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("isinstance", "issubclass"):
        return named(node.args[1])
    if isinstance(node, ast.MatchClass):
        return named(node.cls)
    if isinstance(node, ast.Compare) and any("type" in named(side) for side in [node.left, *node.comparators]):
        return named(node)
    return set()


def asked_types(module: ast.Module) -> list[tuple[int, set[str]]]:
    """Lines that ask for a concrete class, but those in `of`, constructors and comparisons, which look at what they are given."""
    others = [node for node in ast.walk(module) if isinstance(node, ast.ImportFrom) and "hush" not in str(node.module)]
    hidden = kinds() - {alias.name for node in others for alias in node.names}  # such as Sequence of collections.abc
    found = []
    for around, node in inside(module):
        if around and around[-1] in ("of", "__init__", "__post_init__", "__eq__"):
            continue
        if wanted := asked(node) & hidden:
            found.append((getattr(node, "lineno", 0), wanted))
    return found


def test_nobody_asks_for_a_type() -> None:
    found = [(shown(path), *place) for path in files() for place in asked_types(tree(path))]
    assert found == []


def test_asking_for_a_type_is_seen() -> None:
    asking = "def f(x):\n    return isinstance(x, hush.Gaussian | int)\ndef g(x):\n    return type(x) is Poisson\n"
    assert len(asked_types(ast.parse(asking))) == 2
    assert not asked_types(ast.parse("def f(x):\n    return isinstance(x, Mechanism | Pair | Scheme | Relation)"))
    assert not asked_types(ast.parse("class A:\n    def of(x):\n        return isinstance(x, Gaussian)"))


# -- imports that come late --------------------------------------------------------------------------------------


@cache
def at_the_top() -> dict[str, set[str]]:
    """What each module imports outside functions, by name, and the optional packages that it says it needs."""
    known = {dotted(path) for path in files()}
    found: dict[str, set[str]] = {}
    for path in files():
        statements = [node for around, node in inside(tree(path)) if not around]
        names = {name for node in statements for name in imported(node)} | needed(tree(path))
        found[dotted(path)] = {name for name in names if name in known or not name.startswith("hush")}
    return found


def needed(module: ast.Module) -> set[str]:
    """Optional packages that are asked for by name, as in needed("altair")."""
    calls = [node for node in ast.walk(module) if isinstance(node, ast.Call) and named(node.func) & {"needed", "needs"}]
    return {part.value for node in calls for part in node.args if isinstance(part, ast.Constant)} & OPTIONAL


@cache
def needs_optional(module: str) -> bool:
    """Whether a module cannot be imported without an optional package, by itself or by what it imports."""
    waiting, seen = [module], set()
    while waiting:
        name = waiting.pop()
        if name.split(".")[0] in OPTIONAL:
            return True
        waiting += [other for other in at_the_top().get(name, ()) if other not in seen]
        seen.add(name)
    return False


def is_late_for_a_reason(path: Path, around: tuple[str, ...], names: list[str]) -> bool:
    """The door; what a command runs; what needs an optional package; the short forms explain and statement."""
    place = shown(path)
    if place == "door.py" or (place.startswith("app/") and around[-1] != "add"):
        return True
    if place == "mechanisms/mechanism.py" and around in (("Mechanism", "explain"), ("Mechanism", "statement")):
        return True
    return any(needs_optional(name) for name in names if name in at_the_top())


def late_imports() -> list[tuple[str, str, str]]:
    found = []
    for path in files():
        classes = {node.name for node in ast.walk(tree(path)) if isinstance(node, ast.ClassDef)}
        for around, node in inside(tree(path)):
            names = [name for name in imported(node) if name.split(".")[0] == "hush"]
            if names and set(around) - classes and not is_late_for_a_reason(path, around, names):
                found.append((shown(path), ".".join(around), names[0]))
    return found


def test_imports_come_first() -> None:
    found = late_imports()
    assert found == []


def test_optional_packages_are_told_apart() -> None:
    assert needs_optional("hush.learning.dpsgd.fit")
    assert needs_optional("hush.questions.charts.rendering")
    assert not needs_optional("hush.mechanisms.leaves.gaussian")
