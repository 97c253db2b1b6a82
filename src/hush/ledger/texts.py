"""Names, keys and purposes: short texts of people, which any database can hold and any terminal can show."""

from __future__ import annotations

from hush.errors import InvalidParameter

LONGEST = 200
"""Characters of a name, a key or a unit."""
LONGEST_PURPOSE = 2000


def checked_text(who: str, *, longest: int = LONGEST, empty: bool = False, **field: object) -> str:
    """The one keyword, if it is a text of printable characters, and neither empty nor too long.

    >>> checked_text("Ledger", dataset="census-2026")
    'census-2026'
    """
    ((name, value),) = field.items()
    if not isinstance(value, str) or not value.isprintable() or not (value.strip() or empty) or len(value) > longest:
        rule = f"{name} a text of 1 to {longest} printable characters"
        shown = type(value) if not isinstance(value, str) else value if len(value) <= longest else f"{len(value)} long"
        raise InvalidParameter(who, rule, **{name: shown})
    return value


def printable(text: str, longest: int = LONGEST_PURPOSE) -> str:
    """The text with what cannot be printed written out, cut to a readable length.

    >>> printable("a\\nb")
    'a\\\\nb'
    """
    shown = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return shown if len(shown) <= longest else f"{shown[: longest - 3]}..."
