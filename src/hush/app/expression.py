"""Mechanisms in a line of text: `gaussian 1.0 | poisson 0.01 | repeat 10000; laplace 2`."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import hush
from hush.curves.relation import Relation
from hush.errors import InvalidParameter
from hush.mechanisms.mechanism import Mechanism

LONGEST = 10_000
"""Characters that an expression may have."""


def parse(text: str) -> Mechanism:
    """The mechanism that the expression describes.

    `;` or `then` stands between releases on the same data, `|` before what is done to one of them.

    >>> parse("gaussian 1.0 | poisson 0.01 | repeat 10000").epsilon(delta=1e-5).upper
    6.1877...
    >>> str(parse("laplace 2 then laplace 2"))
    'Laplace noise of scale 2, 2 times'
    """
    if len(text) > LONGEST:
        raise InvalidParameter("An expression", f"at most {LONGEST} characters", length=len(text))
    releases = [_release(part, text) for part in re.split(r";|\bthen\b", text)]
    return releases[0] if len(releases) == 1 else hush.sequence(*releases)


def _release(text: str, whole: str) -> Mechanism:
    atom, *pipes = text.split("|")
    mechanism = _atom(atom.split(), whole)
    for pipe in pipes:
        mechanism = _piped(mechanism, pipe.split(), whole)
    return mechanism


@dataclass(frozen=True)
class Word:
    """What may follow a word: the names of its numbers, how many may be left out, and what it makes."""

    numbers: tuple[str, ...]
    optional: int
    make: Callable[..., Mechanism]
    states_relation: bool = False
    """Whether the relation must be said."""
    takes_relation: bool = True
    """Whether there is a choice of relation; else only the one that it has may be said."""

    def usage(self, name: str) -> str:
        """How it is written.

        >>> PIPES["poisson"].usage("poisson")
        'poisson RATE'
        """
        required = len(self.numbers) - self.optional
        shown = [n if place < required else f"[{n}]" for place, n in enumerate(self.numbers)]
        return " ".join([name, *shown])


ATOMS: dict[str, Word] = {
    "gaussian": Word(("NOISE",), 0, hush.Gaussian),
    "laplace": Word(("SCALE",), 0, hush.Laplace),
    "discrete-gaussian": Word(("SIGMA", "SENSITIVITY"), 1, hush.DiscreteGaussian),
    "discrete-laplace": Word(("SCALE", "SENSITIVITY"), 1, hush.DiscreteLaplace),
    "randomized-response": Word(
        ("EPSILON", "CHOICES"),
        1,
        lambda epsilon, choices=2, **rest: hush.RandomizedResponse(epsilon=epsilon, choices=choices, **rest),
        states_relation=True,
    ),
    "exponential": Word(("EPSILON",), 0, hush.Exponential),
    "noisy-max": Word(("SCALE",), 0, hush.ReportNoisyMax),
    "skellam": Word(("VARIANCE", "SENSITIVITY"), 1, hush.Skellam),
    "pure": Word(("EPSILON",), 0, hush.PureDP),
    "approx": Word(("EPSILON", "DELTA"), 0, hush.ApproxDP),
    "gdp": Word(("MU",), 0, hush.GaussianDP),
    "local": Word(("EPSILON",), 0, hush.LocalDP, takes_relation=False),
    "kary-response": Word(
        ("EPSILON", "CHOICES"), 0, lambda e, k: hush.KaryResponse(epsilon=e, choices=k), takes_relation=False
    ),
    "unary-encoding": Word(
        ("EPSILON", "CHOICES"), 0, lambda e, k: hush.UnaryEncoding(epsilon=e, choices=k), takes_relation=False
    ),
    "laplace-report": Word(("SCALE",), 0, hush.LaplaceReport, takes_relation=False),
    "gaussian-report": Word(("DEVIATION",), 0, hush.GaussianReport, takes_relation=False),
    "zcdp": Word(("RHO",), 0, hush.ZCDP),
    "tcdp": Word(("RHO", "OMEGA"), 0, hush.TCDP),
}
"""What a release may begin with."""

PIPES: dict[str, Word] = {
    "poisson": Word(("RATE",), 0, lambda mechanism, rate: mechanism.on(hush.Poisson(rate=rate))),
    "shuffled": Word(("PEOPLE",), 0, hush.Shuffled),
    "without-replacement": Word(
        ("SIZE", "POPULATION"), 0, lambda mechanism, *sizes: mechanism.on(hush.WithoutReplacement(*sizes))
    ),
    "with-replacement": Word(
        ("SIZE", "POPULATION"), 0, lambda mechanism, *sizes: mechanism.on(hush.WithReplacement(*sizes))
    ),
    "shuffled-batches": Word(("STEPS",), 0, lambda mechanism, steps: mechanism.on(hush.ShuffledBatches(steps))),
    "allocation": Word(
        ("STEPS", "TIMES"), 1, lambda m, steps, times=1: m.on(hush.Allocation(steps=steps, times=times))
    ),
    "repeat": Word(("TIMES",), 0, lambda mechanism, times: mechanism.repeat(times)),
    "group": Word(("SIZE",), 0, lambda mechanism, size: mechanism.group(size)),
    "replace": Word((), 0, lambda mechanism: mechanism.under(Relation.REPLACE)),
}
"""What may be done to a release."""

RELATIONS = {"relation=replace": Relation.REPLACE, "relation=add_remove": Relation.ADD_REMOVE}


def _atom(words: list[str], whole: str) -> Mechanism:
    said = [word for word in words if word.startswith("relation=")]
    for word in said:
        if word not in RELATIONS or len(said) > 1:
            raise _unknown(word, " or ".join(RELATIONS), whole)
    rest = [word for word in words if word not in said]
    name, word = _known(rest, ATOMS, whole)
    numbers = _numbers(name, word, rest[1:])
    if word.states_relation and not said:
        raise InvalidParameter(name, f"its relation ({' or '.join(RELATIONS)})", expression=whole)
    if word.takes_relation:
        return word.make(*numbers, **({"relation": RELATIONS[said[0]]} if said else {}))
    made = word.make(*numbers)
    if said and RELATIONS[said[0]] is not made.relation:
        raise InvalidParameter(name, f"its only relation: {made.relation.words}", relation=said[0], expression=whole)
    return made


def _piped(mechanism: Mechanism, words: list[str], whole: str) -> Mechanism:
    name, word = _known(words, PIPES, whole)
    return word.make(mechanism, *_numbers(name, word, words[1:]))


def _known(words: list[str], allowed: dict[str, Word], whole: str) -> tuple[str, Word]:
    if not words or words[0] not in allowed:
        raise _unknown(words[0] if words else "", ", ".join(allowed), whole)
    return words[0], allowed[words[0]]


def _unknown(word: str, allowed: str, whole: str) -> InvalidParameter:
    return InvalidParameter("An expression", f"one of: {allowed}", word=word, expression=whole)


def _numbers(name: str, word: Word, given: list[str]) -> list[float]:
    if not len(word.numbers) - word.optional <= len(given) <= len(word.numbers):
        raise InvalidParameter(name, f"the form `{word.usage(name)}`", words=" ".join(given))
    return [_number(name, text) for text in given]


def _number(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InvalidParameter(name, "a number", word=text) from None
