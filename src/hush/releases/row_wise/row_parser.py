"""Row-wise expressions in a line of text, in the words of SQL: `age >= 18 and region in ('N', 'S')`. Nothing is run."""

from __future__ import annotations

import re
from collections.abc import Callable

from hush.errors import InvalidParameter
from hush.releases.row_wise.row_constants import Value
from hush.releases.row_wise.row_expressions import (
    ARITHMETIC,
    DEEPEST,
    Arithmetic,
    ColumnOf,
    Comparison,
    Constant,
    Expression,
    IsIn,
    IsNull,
    Logic,
    Negation,
)

LONGEST = 10_000
"""Characters of an expression."""
TOKEN = re.compile(
    r"""\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|(?P<text>'(?:[^']|'')*')|(?P<quoted>"(?:[^"]|"")+")"""
    r"""|(?P<word>[^\W\d]\w*)|(?P<sign><=|>=|==|!=|<>|[-+*/()<>=,]))"""
)
WORDS = ("and", "or", "not", "is", "in", "null", "true", "false")
SIGNS = {"=": "==", "<>": "!="}
RULE = "an expression such as age >= 18 and region in ('N', 'S')"


def row_expression(text: str) -> Expression:
    """The expression that a text says.

    Columns by name (in double quotes where it is no plain word), numbers, texts in single quotes, true, false; = != <
    <= > >=, + - * /, and, or, not, is null, is not null, in (...), not in (...), and parentheses.

    >>> str(row_expression("age >= 18 and not (region in ('N','S') or income is null)"))
    "((age >= 18) and (not ((region in ('N', 'S')) or (income is null))))"
    """
    if not isinstance(text, str) or not text.strip() or len(text) > LONGEST:
        raise InvalidParameter(
            "row_expression", f"a text of up to {LONGEST} characters", expression=type(text).__name__
        )
    return _Reading(_tokens(text)).whole()


def _tokens(text: str) -> list[tuple[str, str]]:
    found, place, text = [], 0, text.rstrip()
    while place < len(text):
        match = TOKEN.match(text, place)
        if match is None:
            raise InvalidParameter("row_expression", RULE, at=text[place : place + 20].strip())
        kind = str(match.lastgroup)
        said = match[kind]
        if kind == "word" and said.lower() in WORDS:
            kind, said = "sign", said.lower()
        found.append((kind, said))
        place = match.end()
    return found


class _Reading:
    """From tokens to a tree: or, and, not, comparisons, sums, products, one value."""

    def __init__(self, tokens: list[tuple[str, str]]) -> None:
        self._tokens, self._place, self._depth = tokens, 0, 0

    def whole(self) -> Expression:
        found = self._either()
        if self._place < len(self._tokens):
            raise self._wrong()
        return found

    def _wrong(self) -> InvalidParameter:
        rest = " ".join(said for _, said in self._tokens[self._place :])[:20]
        return InvalidParameter("row_expression", RULE, at=rest or "the end")

    def _taken(self, *signs: str) -> str | None:
        kind, said = self._tokens[self._place] if self._place < len(self._tokens) else ("", "")
        if kind != "sign" or said not in signs:
            return None
        self._place += 1
        return said

    def _needed(self, sign: str) -> None:
        if self._taken(sign) is None:
            raise self._wrong()

    def _either(self) -> Expression:
        self._depth += 1
        if self._depth > DEEPEST:
            raise InvalidParameter("row_expression", f"at most {DEEPEST} levels", depth=self._depth)
        found = self._chain(self._both, lambda sign, a, b: Logic(sign, a, b), "or")
        self._depth -= 1
        return found

    def _both(self) -> Expression:
        return self._chain(self._opposite, lambda sign, a, b: Logic(sign, a, b), "and")

    def _opposite(self) -> Expression:
        times = 0
        while self._taken("not"):
            times += 1
        found = self._comparison()
        return Negation(found) if times % 2 else found

    def _comparison(self) -> Expression:
        left = self._sum()
        if self._taken("is"):
            opposite = self._taken("not")
            self._needed("null")
            return Negation(IsNull(left)) if opposite else IsNull(left)
        opposite = self._taken("not")
        if opposite or (self._place < len(self._tokens) and self._tokens[self._place] == ("sign", "in")):
            self._needed("in")
            return Negation(self._members(left)) if opposite else self._members(left)
        sign = self._taken("=", "==", "!=", "<>", "<", "<=", ">", ">=")
        return left if sign is None else Comparison(SIGNS.get(sign, sign), left, self._sum())

    def _members(self, left: Expression) -> Expression:
        self._needed("(")
        members = [self._constant()]
        while self._taken(","):
            members.append(self._constant())
        self._needed(")")
        return IsIn(left, tuple(members))

    def _constant(self) -> Value:
        negative = self._taken("-")
        found = self._single()
        if not isinstance(found, Constant) or (negative and not isinstance(found.value, int | float)):
            raise self._wrong()
        return -float(found.value) if negative else found.value

    def _sum(self) -> Expression:
        return self._chain(self._product, lambda sign, a, b: Arithmetic(sign, a, b), *ARITHMETIC[:2])

    def _product(self) -> Expression:
        return self._chain(self._signed, lambda sign, a, b: Arithmetic(sign, a, b), *ARITHMETIC[2:])

    def _signed(self) -> Expression:
        if self._taken("-"):
            found = self._single()
            return Constant(-float(found.value)) if isinstance(found, Constant) and _is_number(found.value) else -found
        self._taken("+")
        return self._single()

    def _single(self) -> Expression:
        if self._taken("("):
            found = self._either()
            self._needed(")")
            return found
        if self._place == len(self._tokens):
            raise self._wrong()
        kind, said = self._tokens[self._place]
        if kind == "sign" and said not in ("true", "false"):
            raise self._wrong()
        self._place += 1
        return _leaf(kind, said)

    def _chain(
        self, part: Callable[[], Expression], join: Callable[[str, Expression, Expression], Expression], *signs: str
    ) -> Expression:
        found = part()
        while (sign := self._taken(*signs)) is not None:
            found = join(sign, found, part())
        return found


def _leaf(kind: str, said: str) -> Expression:
    if kind == "number":
        return Constant(int(said) if said.isdigit() else float(said))
    if kind == "text":
        return Constant(said[1:-1].replace("''", "'"))
    if kind == "quoted":
        return ColumnOf(said[1:-1].replace('""', '"'))
    return ColumnOf(said) if kind == "word" else Constant(said == "true")


def _is_number(value: Value) -> bool:
    return not isinstance(value, str | bool)
