"""What builds the site: formulas that are well-formed, every public name in the reference."""

from __future__ import annotations

import importlib.util
import sys
from types import ModuleType
from xml.dom import minidom

import pytest

import hush
from tests.docs.pages import ROOT

THEORY = sorted(path for path in (ROOT / "docs" / "theory").glob("*.md"))


def part_of_site(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"site_{name}", ROOT / "docs" / "site" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_every_formula_is_well_formed() -> None:
    formulas = part_of_site("formulas")
    lines = [line for path in THEORY for line in path.read_text(encoding="utf-8").splitlines()]
    found = [line for line in lines if line.startswith("    ") and formulas.is_formula(line)]
    assert len(found) > 40
    for line in found:
        minidom.parseString(formulas.mathml(line))


@pytest.mark.parametrize(
    ("line", "element"),
    [
        ("e^{−sε}", "<msup><mi>e</mi><mrow><mo>−</mo><mi>s</mi><mi>ε</mi></mrow></msup>"),
        ("√(β²+α²)", "<msqrt><msup><mi>β</mi><mn>2</mn></msup><mo>+</mo><msup><mi>α</mi><mn>2</mn></msup></msqrt>"),
        ("P₁", "<msub><mi>P</mi><mn>1</mn></msub>"),
        ("a < b & c", "<mo>&lt;</mo>"),
    ],
)
def test_formulas(line: str, element: str) -> None:
    assert element in part_of_site("formulas").mathml(line)


def test_code_is_no_formula() -> None:
    formulas = part_of_site("formulas")
    assert not formulas.is_formula("    found = hush.shift_reduction(p, q, noise, order=2.0, spent=3.2)")


def test_every_public_name_is_in_the_reference() -> None:
    reference = part_of_site("reference")
    listed = reference.public_names(ROOT)
    doors = set(reference.DOORS)
    assert {f"hush.{name}" for name in hush.__all__} - doors - {"hush.__version__"} == {
        name for name in listed if name.count(".") == 1
    }
    for name, place in listed.items():
        assert reference.page_of(name, place) in reference.PAGES
    pages = [reference.page(ROOT, which, heading) for which, heading in reference.PAGES.items()]
    assert sum(page.count("\n::: ") for page in pages) == len(listed)
