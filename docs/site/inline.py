"""Formulas inside of sentences as MathML: what reads as mathematics between two words of a language is set as such.

>>> inline("noise at rate q, as they say")
"noise at rate <span class='set'><math><mi>q</mi></math></span>, as they say"
"""

from __future__ import annotations

import re

from formulas import KEPT, NAMES, mathml, raised

STRONG = re.compile(r"[α-ωΑ-Ω∞√∫∂∇ℝℕ=≤≥≠≈∈∉‖∘⊗⊂∪∩×·±→←↦≪≫^₀-₉₊₋ⱼᵢ²³¹⁰⁴-⁹⁺⁻′̄]|(?<=\w)_|\b[b-zB-HJ-Z]\b(?!['’])")
"""Signs that no sentence has without a formula: Greek letters, relations, raised and lowered signs, names of one letter."""
WORD = re.compile(r"(?<![_^{A-Za-z])[A-Za-z]{2,}(?!\s*[_^])")
FENCE = re.compile(r"(^```.*?^```$)", re.DOTALL | re.MULTILINE)
WEAK = re.compile(r"[A-Za-z]|[\d.,]+|[+\-−/|!<>*~:%]+|[\[({][^A-Za-z]*[\])}]")
END = re.compile(r"(?:[,.;:!?]|-[A-Za-z].*|’s|'s)+$")
"""What follows a formula and is none of it: the sign after it, and a word joined by a hyphen, as in ε-DP."""
TAIL = re.compile(r"(?:\s*(?:[,.;:!?]|(?<=[\w)\]}′])-[A-Za-z].*|’s|'s))*\s*$")
"""The same, with the space after it."""
SIGNS = str.maketrans({"*": "&#42;", "_": "&#95;", "[": "&#91;", "]": "&#93;", "|": "&#124;", "`": "&#96;"})
"""What Markdown would take for its own."""
TEXT = re.compile(r">[^<]+<")
"""What stands between two tags."""
PAIRS = {"(": ")", "[": "]", "{": "}"}
ARTICLE = re.compile(r"[aAI]\s+(?![=<>≤≥∈+−·])")
"""A word of one letter that begins a run, but no formula."""


def inline(text: str) -> str:
    """Running text with its formulas set; headings, code, links and what does not close its brackets stay as they are."""
    parts = FENCE.split(text)
    return "".join(
        part if place % 2 else "\n".join(map(_line, part.split("\n"))) for place, part in enumerate(parts)
    )


def _line(line: str) -> str:
    if line.startswith(("    ", "<div")):
        return line
    if line.startswith("#"):
        return raised(line)
    parts = KEPT.split(line)
    return "".join(part if place % 2 else _words(part) for place, part in enumerate(parts))


def _words(text: str) -> str:
    """The words between which formulas stand, each run of formulas set as one."""
    chunks = re.split(r"(\s+)", text)
    done, run = [], ""
    for place in range(0, len(chunks), 2):
        word, space = chunks[place], chunks[place + 1] if place + 1 < len(chunks) else ""
        inside = depth(run) > 0
        if run and word == "|" or not (strong(word) or (word and (run or inside) and weak(word, inside))):
            if not run and word and weak(word, False) and _leads(chunks, place):
                run = word + space
                continue
            done += [_set(run), word, space]
            run = ""
            continue
        run += word
        if END.search(word) and depth(run) == 0 and not word.endswith(":="):
            done += [_set(run), space]
            run = ""
        else:
            run += space
    return "".join([*done, _set(run)])


def _leads(chunks: list[str], place: int) -> bool:
    """Whether a weak word begins a formula: a number or a name, followed by a relation or an operation."""
    after = chunks[place + 2] if place + 2 < len(chunks) else ""
    return bool(re.match(r"[=≤≥≠≈∈<>+−·×/‖→←]", after)) and chunks[place] not in ("-", "*", "|", "+", "")


def depth(run: str) -> int:
    """How many brackets are open."""
    return sum(run.count(sign) for sign in PAIRS) - sum(run.count(sign) for sign in PAIRS.values())


def strong(word: str) -> bool:
    """Whether a word is mathematics by itself."""
    bare = END.sub("", word)
    if "**" in bare or "://" in bare or not STRONG.search(bare):
        return False
    return all(found in NAMES or _is_product(found) for found in WORD.findall(bare))


def _is_product(word: str) -> bool:
    """Two letters that are multiplied, as in nq, or a law such as Bin and Exp."""
    return word in ("Bin", "Exp", "Pr", "Var", "Lap", "Pois", "sgn", "erfc", "TV") or (
        len(word) == 2 and word.lower() not in SMALL
    )


SMALL = frozenset(
    "an as at be by do go he if in is it me my no of on or so to up us we am st nd rd th dp vs cf ie eg".split()
)


def weak(word: str, inside: bool) -> bool:
    """Whether a word may stand in the middle of a formula: numbers, operations, names; in brackets more than outside."""
    bare = END.sub("", word)
    if "**" in bare or not bare:
        return False
    if bare in NAMES or WEAK.fullmatch(bare):
        return True
    return all(found in NAMES or _is_product(found) for found in WORD.findall(bare)) and (inside or "(" in bare or "/" in bare)


def _set(run: str) -> str:
    """A run of formulas; articles and signs at its ends are none of it."""
    if not run:
        return ""
    before = ARTICLE.match(run)
    head = before[0] if before else ""
    core = run[len(head) :]
    end = TAIL.search(core)[0]  # type: ignore[index]  # it finds at least nothing
    core = core.removesuffix(end)
    if core[-1:] in PAIRS:  # what it opens ends elsewhere
        return head + _set(core[:-1]) + core[-1] + end
    opened = re.match(r"[(\[](?=.)", core)
    if opened and depth(core) == 1:  # a bracket of the sentence, not of the formula
        return head + opened[0] + _set(core[1:] + end)
    if depth(core) == -1 and core[-1] in ")]":
        return head + _set(core[:-1]) + core[-1] + raised(end)
    if depth(core) != 0 or not STRONG.search(core):
        return head + raised(core) + raised(end)
    # a span, as Markdown takes a line that begins with math for a paragraph of its own
    return f"{head}<span class='set'>{TEXT.sub(_kept, mathml(core, display=False))}</span>{raised(end)}"


def _kept(found: re.Match[str]) -> str:
    """Text of a formula that Markdown leaves as it is."""
    return found[0].translate(SIGNS)
