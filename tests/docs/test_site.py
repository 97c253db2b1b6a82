"""What builds the site: formulas that are well-formed, every public name in the reference."""

from __future__ import annotations

import importlib.util
import re
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


def part_in_its_folder(name: str) -> ModuleType:
    """A part that imports another by its bare name, as mkdocs loads them."""
    sys.modules.setdefault("formulas", part_of_site("formulas"))
    return part_of_site(name)


def test_formulas_inside_of_sentences_are_well_formed() -> None:
    inline = part_in_its_folder("inline").inline
    found = [re.findall("<math>.*?</math>", inline(path.read_text(encoding="utf-8"))) for path in THEORY]
    assert all(found) and sum(map(len, found)) > 2000
    for formula in (formula for page in found for formula in page):
        minidom.parseString(formula)
        assert not re.search(r">[^<]*[*_`|\[\]][^<]*<", formula)  # what Markdown would take for its own


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The upper end (ε, δ)-DP of a δ, and n records", "The upper end ∎-DP of a ∎, and ∎ records"),
        ("a rate of at most 2 in 10, as it is", "a rate of at most 2 in 10, as it is"),
        ("see (1−q)N(0) + qN(1) (k of them), I think", "see ∎ (∎ of them), I think"),
        ("| `a_b` | δ_k(ε) | 3 |", "| `a_b` | ∎ | 3 |"),
        ("[a δ](b_c.md) is `x ≤ y`", "[a ∎](b_c.md) is `x ≤ y`"),
        ("mass δ = 1 − q (`UNIT`)", "mass ∎ (`UNIT`)"),
        ("## On δ ≤ 1", "## On δ ≤ 1"),
    ],
)
def test_what_is_a_formula_in_a_sentence(text: str, words: str) -> None:
    assert re.sub(r"<span class='set'>.*?</span>", "∎", part_in_its_folder("inline").inline(text)) == words


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
