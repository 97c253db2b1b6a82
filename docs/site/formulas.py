"""Formulas of the theory pages as MathML, which browsers draw by themselves: no script, nothing from outside.

The pages write a formula as indented plain text, so that they read well in an editor too:

    δ(ε) = (1/2π) ∫ e^{−sε} M(s) / (s(s+1)) dy

>>> mathml("x_i^2")
'<math display="block"><msubsup><mi>x</mi><mi>i</mi><mn>2</mn></msubsup></math>'
"""

from __future__ import annotations

import html
import re

TOKEN = re.compile(r"\s{3,}|\s+|\d+(?:[.,]\d+)*|[A-Za-z]{2,}|[₀-₉₊₋ⱼᵢ]+|[²³¹⁰⁴-⁹⁺⁻]+|[\^_√′{}()\[\]]|.", re.DOTALL)
RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻", "0123456789+−")
LOWERED = str.maketrans("₀₁₂₃₄₅₆₇₈₉₊₋ⱼᵢ", "0123456789+−ji")
NAMES = frozenset({"log", "exp", "max", "min", "sup", "inf", "cosh", "ln", "Re", "Im", "Bin"})
"""Words that are functions; other words of two letters and more are text."""
SHORT_WORDS = frozenset(
    {"or", "of", "is", "at", "if", "in", "to", "add", "and", "for", "gap", "low", "put", "the", "all", "no", "run"}
)
"""Words of two or three letters that are words; others are products of letters, as in e^{iy}."""
CLOSING = {"(": ")", "[": "]", "{": "}"}
KEPT = re.compile(r"(```.*?```|`[^`\n]*`|\]\([^)]*\)|<[^>\n]*>)", re.DOTALL)
"""Code, and where links lead."""
UPPER = re.compile(r"\^(?:\{([^{}]*)\}|([−-]?[0-9A-Za-zα-ωΑ-Ω]+′?))")
LOWER = re.compile(r"(?<=[A-Za-zα-ωΑ-Ω)′∫])_(?:\{([^{}]*)\}|([0-9A-Za-zα-ω]+|\+))")
SIGN = re.compile(r"[=<>≤≥+−·×∈‖|,;:.!/∗*⊗~∘±→]")
FORMULA = re.compile(r"[=≤≥Σ∫Π‖δβγΔ√]|\^\{")
CODE = re.compile(r"\b(hush|import|print|def|return)\b|#|==|\w=\w|[a-z]{3,}_[a-z]{3,}|\w\.\w+\(")


def is_formula(text: str) -> bool:
    """Whether an indented block is a formula, and not code or a table.

    >>> is_formula("    δ(ε) = q(e^t − e^ε)"), is_formula("    make setup"), is_formula("    f = hush.Gaussian(1)")
    (True, False, False)
    """
    return bool(FORMULA.search(text)) and not CODE.search(text)


def raised(text: str) -> str:
    """Running text in which exponents stand above and indices below; code and links stay as they are.

    >>> raised("δ = Σ_k e^{−cx_k}, see `x_k`")
    'δ = Σ<sub>k</sub> e<sup>−cx<sub>k</sub></sup>, see `x_k`'
    """
    parts = KEPT.split(text)
    return "".join(part if place % 2 else _raised(part) for place, part in enumerate(parts))


def _raised(text: str) -> str:
    before = None
    while before != text:  # innermost braces first
        before = text
        text = LOWER.sub(r"<sub>\1\2</sub>", UPPER.sub(r"<sup>\1\2</sup>", text))
    return text


def mathml(line: str, *, display: bool = True) -> str:
    """One line of a formula, or a formula inside of a sentence.

    >>> mathml("δ_k", display=False)
    '<math><msub><mi>δ</mi><mi>k</mi></msub></math>'
    """
    opening = '<math display="block">' if display else "<math>"
    return f"{opening}{_Reader(line.strip()).all()}</math>"


class _Reader:
    """Reads tokens from left to right; a group in brackets is one thing for what stands above or below it."""

    def __init__(self, line: str) -> None:
        self.tokens = TOKEN.findall(line)
        self.place = 0

    def all(self) -> str:
        parts = []
        while self.place < len(self.tokens):
            parts.append(self._scripted())
        return "".join(parts)

    def _next(self) -> str:
        self.place += 1
        return self.tokens[self.place - 1]

    def _ahead(self) -> str:
        return self.tokens[self.place] if self.place < len(self.tokens) else ""

    def _scripted(self) -> str:
        """A thing with what is written below and above it."""
        base, below, above = self._one(), "", ""
        while (
            self._ahead() in ("^", "_", "′")
            or self._ahead().translate(RAISED) != self._ahead()
            or _is_low(self._ahead())
        ):
            word = self._next()
            if word == "_":
                below += self._argument()
            elif word == "^":
                above += self._argument()
            elif word == "′":
                above += "<mo>′</mo>"
            elif _is_low(word):
                below += _plain(word.translate(LOWERED))
            else:
                above += _plain(word.translate(RAISED))
        if below and above:
            return f"<msubsup>{base}{_row(below)}{_row(above)}</msubsup>"
        if below or above:
            tag = "msub" if below else "msup"
            return f"<{tag}>{base}{_row(below or above)}</{tag}>"
        return base

    def _argument(self) -> str:
        """What follows ^ or _: a group in braces, or one thing, with its sign."""
        if self._ahead() == "{":
            self._next()
            return self._until("}")
        if self._ahead() in ("−", "+", "*"):
            return f"<mo>{self._next()}</mo>" + (self._one() if self._ahead() else "")
        if self._ahead() == "(":
            return self._one()
        word = self._next() if self.place < len(self.tokens) else ""
        return f"<mtext>{word}</mtext>" if len(word) > 3 and word.isalpha() else "".join(map(_plain, word))

    def _one(self) -> str:
        word = self._next()
        if word == "√":
            return f"<msqrt>{self._bare()}</msqrt>"
        if word in ("(", "["):
            return f"<mrow><mo>{word}</mo>{self._until(CLOSING[word])}<mo>{CLOSING[word]}</mo></mrow>"
        if word == "{":
            return f"<mrow><mo>{{</mo>{self._until('}')}<mo>}}</mo></mrow>"
        return _plain(word)

    def _bare(self) -> str:
        """What stands under a root: a group without its brackets, or one thing."""
        if self._ahead() == "(":
            self._next()
            return self._until(")")
        return self._scripted()

    def _until(self, end: str) -> str:
        parts = []
        while self.place < len(self.tokens) and self._ahead() != end:
            parts.append(self._scripted())
        self.place += 1
        return "".join(parts)


def _is_low(word: str) -> bool:
    return bool(word) and word.translate(LOWERED) != word


def _row(parts: str) -> str:
    """One element, as a script must be."""
    return parts if parts.count("<m") == 1 else f"<mrow>{parts}</mrow>"


def _plain(word: str) -> str:
    """A number, a name, a sign or a word."""
    text = html.escape(word)
    if word.isspace():
        return f'<mspace width="{min(2.0, 0.25 * len(word)):g}em"/>' if len(word) > 2 else ""
    if word[0].isdigit():
        return f"<mn>{text}</mn>"
    if word in NAMES:
        return f"<mi>{text}</mi><mo>&#x2061;</mo>"
    if 1 < len(word) < 4 and word.isalpha() and word not in SHORT_WORDS:
        return "".join(f"<mi>{letter}</mi>" for letter in word)
    if len(word) > 1 and word.isalpha():
        return f"<mtext>&#x2009;{text}&#x2009;</mtext>"
    return f"<mo>{text}</mo>" if SIGN.match(word) or not word.isalpha() else f"<mi>{text}</mi>"
