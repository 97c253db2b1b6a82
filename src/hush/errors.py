"""What can go wrong, by name.

HushError
|-- InvalidParameter   a value breaks a stated rule: the message has field, rule and value
|-- NotCovered         no theorem is known for this; the message says which one is missing, and what is covered
|-- NotInstalled       an optional package is missing; the message says how to get it
|-- BudgetExceeded     a release does not fit into what is left of a budget: nothing ran, nothing was spent
|-- AlreadySpent       the key of a charge is in the book already, with another request or without an answer
|-- RankLost           a process of a training on several is gone or late; the step that it was in was not applied
|-- LedgerError        a budget book cannot be read, written or trusted
`-- Contradiction      two certificates exclude each other, or one is no number: a fault in hush, which gives no answer

"""

from __future__ import annotations

LONGEST = 20
"""Lists of more are not written out in a message."""


class HushError(Exception):
    """Base of every error that hush raises on purpose."""


class InvalidParameter(HushError, ValueError):
    """A parameter breaks a rule.

    >>> raise InvalidParameter("Poisson", "0 <= rate <= 1", rate=1.5)
    Traceback (most recent call last):
    hush.errors.InvalidParameter: Poisson needs 0 <= rate <= 1; got rate=1.5.
    """

    def __init__(self, who: str, rule: str, **values: object) -> None:
        got = ", ".join(f"{name}={_shown(value)}" for name, value in values.items())
        super().__init__(f"{who} needs {rule}; got {got}.")
        self.field = next(iter(values), "")


def _shown(value: object) -> str:
    """A parameter as it is written; of what may be data, given in the wrong place, no more than the type.

    >>> _shown((0, "a")), _shown({"name": "Ann"}), _shown([0.0] * 1000)
    ("(0, 'a')", '<dict>', '<list>')
    """
    if isinstance(value, list | tuple) and len(value) <= LONGEST:
        inner = ", ".join(map(_shown, value))
        return f"[{inner}]" if isinstance(value, list) else f"({inner},)" if len(value) == 1 else f"({inner})"
    if isinstance(value, dict) and not value:
        return "{}"
    package, sized = type(value).__module__.split(".")[0], hasattr(value, "__len__")
    if isinstance(value, str | bytes | type) or package in ("hush", "fractions", "decimal", "enum", "pathlib"):
        return repr(value)
    return repr(value) if package in ("builtins", "numpy") and not sized else f"<{type(value).__name__}>"


class NotCovered(HushError):
    """No theorem that hush knows covers what was asked."""


class NotInstalled(HushError):
    """An optional package is missing.

    >>> raise NotInstalled("Drawing", "altair", "app")
    Traceback (most recent call last):
    hush.errors.NotInstalled: Drawing needs the package altair: pip install 'hush-dp[app]'
    """

    def __init__(self, who: str, package: str, extra: str) -> None:
        super().__init__(f"{who} needs the package {package}: pip install 'hush-dp[{extra}]'")


class Contradiction(HushError):
    """A lower bound is above an upper one by more than rounding, or is no number: neither is returned.

    >>> raise Contradiction(2.0, 1.0)
    Traceback (most recent call last):
    hush.errors.Contradiction: A lower bound of 2 contradicts an upper bound of 1: please report this.
    """

    def __init__(self, lower: float, upper: float) -> None:
        super().__init__(f"A lower bound of {lower:g} contradicts an upper bound of {upper:g}: please report this.")


class RankLost(HushError):
    """A process of a training on several is gone or late: the step was not applied, no sum without noise is left.

    >>> raise RankLost([1], 0)
    Traceback (most recent call last):
    hush.errors.RankLost: Rank 1 is lost or late, as rank 0 sees it: the step was not applied. Go on by resume_from.
    """

    def __init__(self, lost: list[int], seen_by: int) -> None:
        named = "Rank " + str(lost[0]) if len(lost) == 1 else "Ranks " + ", ".join(map(str, lost))
        told = f"{named} {'is' if len(lost) == 1 else 'are'} lost or late, as rank {seen_by} sees it"
        super().__init__(f"{told}: the step was not applied. Go on by resume_from.")
        self.ranks = tuple(lost)


class BudgetExceeded(HushError):
    """A release does not fit into what is left of a budget: nothing ran, and nothing was spent."""


class AlreadySpent(HushError):
    """The key of a charge is in the book already, with another request or without an answer: nothing ran again."""


class LedgerError(HushError):
    """A budget book cannot be read, written or trusted; nothing of a database's own message is told."""
