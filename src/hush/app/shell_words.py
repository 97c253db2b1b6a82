"""Errors in the words of the shell: options as they are typed, and the words of an expression."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection

TYPED_AS = {
    "noise_multiplier": "--noise",
    "times": "--steps",
    "iterations": "--steps",
    "false_positive_rate": "--fpr",
}
"""Parameters that an option of another name stands for."""
IN_EXPRESSIONS = (
    (re.compile(r"\.under\((?:hush\.)?(?:Relation\.REPLACE|\.\.\.)\)|\.under\b"), "| replace"),
    (re.compile(r"\b(?:hush\.)?(?:Relation\.)?(ADD_REMOVE|REPLACE)\b"), lambda found: f"relation={found[1].lower()}"),
    (re.compile(r"\bLedger\.(create|record|verify|export)\b"), r"hush ledger \1"),
)
"""What Python writes, and what the shell or an expression has for it."""
CLASS = re.compile(r"hush\.([A-Z]\w*)(?:\((?:\w+=)?([^()]*)\))?")
ASKED = re.compile(r"(?<![\w-])([a-z_]+)=(?=[\s)])")
GIVEN = re.compile(r"(?<![\w-])([a-z_]+)=(?=\S)")
LISTED = re.compile(r"\b(missing|both|given|without|too_many)=\[([^\]]*)\]")


def in_the_shell(message: str, typed: Collection[str], word: Callable[[str], str]) -> str:
    """The message with options for parameters, `| replace` for .under, and words for classes.

    `typed` are the options of the command that was called, `word` gives the word of a class.

    >>> in_the_shell("Poisson needs 0 <= rate <= 1; got rate=1.5.", {"--rate"}, str.lower)
    'Poisson needs 0 <= rate <= 1; got --rate 1.5.'
    >>> in_the_shell("write .under(hush.Relation.REPLACE), or hush.Poisson(rate=0.1)", (), str.lower)
    'write | replace, or poisson 0.1'
    >>> in_the_shell("hush needs more; got missing=['--rate', '--steps'].", (), str.lower)
    'hush needs more; missing: --rate, --steps.'
    >>> in_the_shell("An audit needs delta= for a claim that states none; got delta=None.", (), str.lower)
    'An audit needs --delta for a claim that states none; got delta=None.'
    >>> in_the_shell("There is no book at this place: Ledger.create makes one.", (), str.lower)
    'There is no book at this place: hush ledger create makes one.'
    """
    for python, shell in IN_EXPRESSIONS:
        message = python.sub(shell, message)
    message = CLASS.sub(lambda found: " ".join(filter(None, (word(found[1]), found[2]))), message)
    message = LISTED.sub(lambda found: f"{found[1].replace('_', ' ')}: {found[2].replace(chr(39), '')}", message)
    for listed, said in (("got given: .", "got none of them."), ("got missing:", "missing:"), ("got too", "too")):
        message = message.replace(f"; {listed}", f"; {said}")
    rule, got, values = message.partition("; got ")
    rule = ASKED.sub(lambda found: f"--{found[1].replace('_', '-')}", rule)
    for name, option in TYPED_AS.items():
        if option in typed and f"{name}=" in values:
            rule = re.sub(rf"\b{name}\b", option, rule)
    return rule + got + GIVEN.sub(lambda found: _typed(found[1], typed) or found[0], values)


def _typed(name: str, typed: Collection[str]) -> str:
    """The option that a parameter was given by, and a blank; nothing where it was not given by one."""
    for option in (f"--{name.replace('_', '-')}", TYPED_AS.get(name, "")):
        if option in typed:
            return f"{option} "
    return ""
