"""Mechanisms in a line of text: `gaussian 1.0 | poisson 0.01 | repeat 10000; laplace 2`.

The words follow from the classes, and a class that your program defines has one too: a leaf begins a release, a scheme
is put behind it, and so is the law of a secret number of runs, of which the best is released. Numbers come in the order
of the fields, lists last, or by name.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from enum import Enum
from itertools import chain
from typing import Any

import hush
from hush.curves.relation import Relation
from hush.errors import InvalidParameter
from hush.mechanisms.description import Parameter, choices, class_said, defined, parameters, public, word_of
from hush.mechanisms.leaf import Leaf
from hush.mechanisms.mechanism import Mechanism
from hush.mechanisms.runs import Runs
from hush.mechanisms.scheme import Scheme
from hush.mechanisms.stated_epsilon import EpsilonField

LONGEST = 10_000
"""Characters that an expression may have."""

NUMBERS = (float, int, EpsilonField)
LISTS = {tuple[float, ...]: 1, tuple[int, ...]: 1, tuple[tuple[float, float], ...]: 2}
"""Fields that take all the numbers that are left, and how many belong together. Several lists of whole numbers
take them in turn."""
TIMES = re.compile(r"([1-9][0-9]*)x(.+)")
"""So many times the same number in a list: 200x50."""
MOST_NUMBERS = 100_000
"""Numbers that a list may have: a short text must not fill the memory."""
SWITCHES = {"true": True, "false": False}
HOLE = "?"
"""Stands for a number that is sought."""


class Sought(InvalidParameter):
    """A number is a hole: only a search knows what to do with it."""

    def __init__(self, word: str, parameter: str) -> None:
        super().__init__(word, "a number (a ? is for hush calibrate)", **{parameter: HOLE})
        self.parameter = parameter


def parse(text: str) -> Mechanism:
    """The mechanism that the expression describes.

    `;` or `then` stands between releases on the same data, `|` before what is done to one of them.

    >>> parse("gaussian 1.0 | poisson 0.01 | repeat 10000").epsilon(delta=1e-5).upper
    6.1877...
    >>> str(parse("laplace 2 then laplace scale=2"))
    'Laplace noise of scale 2, 2 times'
    """
    return made(read(text))


def read(text: str) -> list[list[Said]]:
    """The releases of an expression, each as the words that were said, before anything is made of them."""
    if len(text) > LONGEST:
        raise InvalidParameter("An expression", f"at most {LONGEST} characters", length=len(text))
    return [_release(part, text) for part in re.split(r";|\bthen\b", text)]


def made(releases: list[list[Said]]) -> Mechanism:
    """The mechanism that these words make."""
    found = [_chained(release) for release in releases]
    return found[0] if len(found) == 1 else hush.sequence(*found)


def scheme(text: str) -> Scheme:
    """The way to draw a sample that these words describe, by itself.

    >>> scheme("two-stage 0.2 0.5 200x50")
    TwoStage(rate=0.2, sizes=(50, 50, ...), inside=0.5)
    """
    words = text.split()
    kind = class_said(words[0], Scheme) if words else None
    form = _form(kind) if kind else None
    if kind is None or form is None:
        allowed = ", ".join(sorted({word_of(kind) for kind in public() if issubclass(kind, Scheme) and _form(kind)}))
        raise InvalidParameter("A design", f"one of: {allowed}", words=text)
    return kind(**form[1].values(words[1:]))


def as_python(text: str) -> str:
    """The same mechanism as an expression of Python.

    >>> as_python("gaussian 1.0 | poisson 0.01 | repeat 10000")
    'hush.Gaussian(noise_multiplier=1.0).on(hush.Poisson(rate=0.01)).repeat(times=10000)'
    >>> as_python("laplace 2; laplace 1")
    'hush.sequence(\\n    hush.Laplace(scale=2.0),\\n    hush.Laplace(scale=1.0),\\n)'
    """
    lines = []
    for release in read(text):
        code = ""
        for said in release:
            code = said.python(code)
        lines.append(code)
    if len(lines) == 1:
        return lines[0]
    return "\n".join(["hush.sequence(", *(f"    {line}," for line in lines), ")"])


def with_hole(text: str) -> tuple[str, Callable[[float], Mechanism]]:
    """The name of the one number that is a `?`, and the mechanism with a value in its place.

    >>> name, build = with_hole("laplace ? | repeat 10")
    >>> name, str(build(2.0))
    ('scale', 'Laplace noise of scale 2, 10 times')
    """
    if text.count(HOLE) != 1:
        rule = "one ? in place of the number that is sought"
        raise InvalidParameter("An expression to calibrate", rule, expression=text)
    try:
        parse(text)
    except Sought as hole:
        return hole.parameter, lambda value: parse(text.replace(HOLE, repr(value)))
    raise InvalidParameter("An expression to calibrate", "a ? that stands for a number", expression=text)


def words() -> str:
    """Every word with what may follow it, as a text of lines."""
    return "\n".join(
        [
            "a release begins with one of:",
            *(f"  {form.usage}" for form in atoms()),
            "then any of:",
            *(f"  | {form.usage}" for form in pipes()),
            "between releases on the same data:  ;  or  then",
            "numbers may be given by name, after the others: discrete-laplace 2 sensitivity=3",
            "a number may be a fraction: poisson 256/60000; in hush calibrate, one of them is a ?",
            "in a list, 200x50 is 50, two hundred times: clusters 0.1 200x50; strata have a size and a population each",
            "relation=replace after the numbers of a release: its noise is set for replacing a record",
        ]
    )


# -- forms ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Form:
    """A word, what may follow it, and what they make."""

    word: str
    parameters: tuple[Parameter, ...]
    make: Callable[..., Mechanism]
    code: str
    """The same in Python: {inner} is what stands before it, {given} what follows its word."""
    unsaid: tuple[str, ...] = ()
    """What Python has no name for, as it can have one value only."""

    @property
    def usage(self) -> str:
        """The word with the names of what may follow it.

        >>> [form.usage for form in pipes() if form.word in ("poisson", "allocation")]
        ['allocation STEPS [TIMES]', 'poisson RATE']
        """
        lists = [parameter for parameter in self.parameters if parameter.present in LISTS]
        shown = (_shown(parameter) for parameter in self.parameters if parameter not in lists)
        rest = " ".join([*(parameter.words or parameter.name.upper() for parameter in lists), "..."] if lists else [])
        needed = any(parameter.required or parameter.words for parameter in lists)
        return " ".join(filter(None, [self.word, *shown, rest if needed or not lists else f"[{rest}]"]))

    def values(self, given: list[str]) -> dict[str, object]:
        """What the words after this one say: numbers in order, then by name."""
        named = [word.split("=", 1) for word in given if "=" in word]
        if len(dict(named)) < len(named):
            raise InvalidParameter(self.word, "each name once", words=" ".join(given))
        known = {parameter.name: parameter for parameter in self.parameters}
        rest = [word for word in given if "=" not in word]
        lists = [parameter for parameter in self.parameters if parameter.present in LISTS]
        found: dict[str, object] = {}
        for name, text in named:
            if name not in known or known[name].present in LISTS:
                raise self._misformed(given)
            found[name] = self._value(known[name], text)
        for parameter in (p for p in self.parameters if p.name not in found and p not in lists):
            if rest and parameter.present in NUMBERS:
                found[parameter.name] = self._value(parameter, rest.pop(0))
            elif parameter.required:
                raise self._misformed(given)
        if lists and (rest or any(parameter.required for parameter in lists)):
            numbers = self._numbers(rest)
            each = sum(LISTS[parameter.present] for parameter in lists)
            if not numbers or len(numbers) % each:
                raise self._misformed(given)
            for place, parameter in enumerate(lists):
                kind = parameter.present
                found[parameter.name] = (
                    list(zip(*[iter(numbers)] * each, strict=True))
                    if LISTS[kind] > 1
                    else tuple(_whole(number, kind) for number in numbers[place::each])
                )
            rest = []
        if rest:
            raise self._misformed(given)
        return found

    def _value(self, parameter: Parameter, text: str) -> object:
        kind = parameter.present
        if text == HOLE and kind in NUMBERS:
            raise Sought(self.word, parameter.name)
        if kind in NUMBERS:
            return _whole(self._number(text), kind)
        options = _options(kind)
        if text not in options:
            rule = " or ".join(f"{parameter.name}={option}" for option in options)
            raise InvalidParameter(self.word, rule, word=f"{parameter.name}={text}")
        return options[text]

    def _numbers(self, words: list[str]) -> list[float]:
        """The numbers of a list; one may stand for many."""
        found: list[float] = []
        for word in words:
            many = TIMES.fullmatch(word)
            times = int(many[1][:9]) if many else 1
            if len(found) + times > MOST_NUMBERS:
                raise InvalidParameter(self.word, f"at most {MOST_NUMBERS} numbers", word=word)
            found += [self._number(many[2] if many else word)] * times
        return found

    def _number(self, text: str) -> float:
        """The number, or fraction, as it is written: float() would also take 1_0 for 10, and other digits."""
        try:
            if "_" in text or not text.isascii():
                raise ValueError
            above, slash, below = text.partition("/")
            return float(above) / float(below) if slash else float(above)
        except (ValueError, ZeroDivisionError):
            raise InvalidParameter(self.word, "a number", word=text) from None

    def _misformed(self, given: list[str]) -> InvalidParameter:
        return InvalidParameter(self.word, f"the form `{self.usage}`", words=" ".join(given))


def _whole(number: float, kind: Any) -> float:
    """The number as an int, where whole ones are asked for."""
    return int(number) if kind in (int, tuple[int, ...]) and number.is_integer() else number


@dataclass(frozen=True)
class Said:
    """A form with the values that were given to it."""

    form: Form
    values: dict[str, object]

    def python(self, inner: str) -> str:
        """How Python writes it, around what stands before it."""
        given = [f"{name}={_literal(value)}" for name, value in self.values.items() if name not in self.form.unsaid]
        return self.form.code.format(inner=inner, given=", ".join(given))


def _literal(value: object) -> str:
    """A value as Python reads it: enumerations of hush by their names, numbers as they are."""
    if isinstance(value, list | tuple) and len(value) > 3 and len(set(value)) == 1:
        return f"[{value[0]!r}] * {len(value)}"
    if isinstance(value, Enum):
        return f"hush.{type(value).__name__}.{value.name}"
    return f'float("{value}")' if isinstance(value, float) and not math.isfinite(value) else repr(value)


def _options(kind: type) -> dict[str, Any]:
    """What a parameter may be, by its word; noise is never set for blanked records, which are a verb of their own."""
    if kind is bool:
        return SWITCHES
    return {word: member for word, member in choices(kind).items() if member is not Relation.ZERO_OUT}


def _shown(parameter: Parameter) -> str:
    kind, name = parameter.present, parameter.name
    if kind is Relation and not parameter.required:
        return ""  # it is said once for all
    shown = name.upper() if kind in NUMBERS else f"{name}={'/'.join(_options(kind))}"
    return shown if parameter.required else f"[{shown}]"


def _form(kind: type) -> tuple[Parameter | None, Form] | None:
    """The mechanism that the class is put around, if any, and its form; None where an expression cannot say it."""
    given = parameters(kind)
    inner = given[0] if given and _is(given[0].present, Mechanism) else None
    rest = given[1:] if inner else given
    said = tuple(p for p in rest if p.required or _sayable(p))
    lists = [p for p in said if p.present in LISTS]
    in_turn = len(lists) < 2 or all(p.present == tuple[int, ...] for p in lists)
    if not word_of(kind) or not all(map(_sayable, said)) or not in_turn:
        return None
    said = (*(p for p in said if p not in lists), *lists)  # numbers that are left come last
    return inner, Form(word_of(kind), said, kind, f"hush.{kind.__name__}({{given}})")


def _is(hint: Any, root: type) -> bool:
    return isinstance(hint, type) and issubclass(hint, root)


def _sayable(parameter: Parameter) -> bool:
    kind = parameter.present
    return kind in NUMBERS or kind in LISTS or kind is bool or _is(kind, Enum)


def _atom(kind: type) -> Form | None:
    """The form of a leaf that stands for itself."""
    inner, form = _form(kind) or (None, None)
    if form is None or inner is not None or not issubclass(kind, Leaf):
        return None
    if any(parameter.name == "relation" for parameter in form.parameters):
        return form

    def make(relation: Relation | None = None, **given: Any) -> Mechanism:
        made = form.make(**given)
        if relation is not None and relation is not made.relation:
            rule = f"its only relation: {made.relation.words}"
            raise InvalidParameter(form.word, rule, relation=relation.name.lower())
        return made

    given = (*form.parameters, Parameter("relation", Relation, required=False))
    return replace(form, parameters=given, make=make, unsaid=("relation",))


def _pipe(kind: type) -> Form | None:
    """The form of a scheme, or of a leaf that is made of another."""
    inner, form = _form(kind) or (None, None)
    if form is None:
        return None
    if issubclass(kind, Runs):
        code = f"{{inner}}.best_of(runs={form.code})"
        return replace(form, make=lambda mechanism, **given: mechanism.best_of(runs=kind(**given)), code=code)
    if issubclass(kind, Scheme):
        code = f"{{inner}}.on({form.code})"
        return replace(form, make=lambda mechanism, **given: mechanism.on(kind(**given)), code=code)
    if inner is None or not issubclass(kind, Leaf):
        return None
    code = f"hush.{kind.__name__}({inner.name}={{inner}}, {{given}})"
    return replace(form, make=lambda mechanism, **given: kind(**{inner.name: mechanism}, **given), code=code)


VERBS = (
    Form("repeat", (Parameter("times", int),), Mechanism.repeat, "{inner}.repeat({given})"),
    Form("group", (Parameter("size", int),), Mechanism.group, "{inner}.group({given})"),
    Form(
        "replace",
        (),
        lambda mechanism: mechanism.under(Relation.REPLACE),
        "{inner}.under(hush.Relation.REPLACE)",
    ),
    Form(
        "zero-out",
        (),
        lambda mechanism: mechanism.under(Relation.ZERO_OUT),
        "{inner}.under(hush.Relation.ZERO_OUT)",
    ),
)
"""What any release may be followed by."""


def atoms() -> list[Form]:
    """What a release may begin with."""
    return _each(filter(None, map(_atom, chain(public(), defined()))))


def pipes() -> list[Form]:
    """What may be done to a release."""
    return _each(chain(VERBS, filter(None, map(_pipe, chain(public(), defined())))))


def _each(forms: Iterable[Form]) -> list[Form]:
    """The first form of each word, in order of the words."""
    found: dict[str, Form] = {}
    for form in forms:
        found.setdefault(form.word, form)
    return [found[word] for word in sorted(found)]


# -- reading -------------------------------------------------------------------------------------------------


def _release(text: str, whole: str) -> list[Said]:
    first, *others = (part.split() for part in text.split("|"))
    form, rest = _known(first, lambda word: _said(word, _atom, Leaf), atoms, whole)
    found = [Said(form, form.values(rest))]
    for part in others:
        form, rest = _known(part, _pipe_said, pipes, whole)
        found.append(Said(form, form.values(rest)))
    return found


def _chained(release: list[Said]) -> Mechanism:
    first, *others = release
    mechanism = first.form.make(**first.values)
    for said in others:
        mechanism = said.form.make(mechanism, **said.values)
    return mechanism


def _pipe_said(word: str) -> Form | None:
    verb = next((verb for verb in VERBS if verb.word == word), None)
    return verb or next(filter(None, (_said(word, _pipe, root) for root in (Scheme, Runs, Leaf))), None)


def _said(word: str, form: Callable[[type], Form | None], root: type) -> Form | None:
    kind = class_said(word, root)
    return form(kind) if kind else None


def _known(
    said: list[str], find: Callable[[str], Form | None], every: Callable[[], list[Form]], whole: str
) -> tuple[Form, list[str]]:
    """The form of the first word that names nothing, and the other words."""
    word = next((word for word in said if "=" not in word), "")
    form = find(word) if word else None
    if form is None:
        allowed = ", ".join(form.word for form in every())
        raise InvalidParameter("An expression", f"one of: {allowed}", word=word, expression=whole)
    rest = list(said)
    rest.remove(word)
    return form, rest
