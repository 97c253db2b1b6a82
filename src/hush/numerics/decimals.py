"""Numbers as text, rounded to the safe side."""

from __future__ import annotations

import math
import re
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal

SPEC = re.compile(r"(?:\.(\d+))?([eEfFgG%]?)$")
"""The end of a format: how many digits, and of which kind."""
MOST_DIGITS = 17
"""More than that a float does not have: beyond, nothing is rounded."""


def rounded_up(value: float, digits: int) -> str:
    """The value in so many significant digits, never below it.

    >>> rounded_up(6.18771239, 4), rounded_up(123456.0, 4), rounded_up(0.2, 4), rounded_up(1.23456e-30, 4)
    ('6.188', '123500', '0.2', '1.235e-30')
    """
    return _text(value, Context(prec=digits, rounding=ROUND_CEILING))


def rounded_down(value: float, digits: int) -> str:
    """The value in so many significant digits, never above it.

    >>> rounded_down(6.18771239, 4), rounded_down(float("inf"), 4)
    ('6.187', 'inf')
    """
    return _text(value, Context(prec=digits, rounding=ROUND_FLOOR))


def formatted_safely(value: float, spec: str, *, up: bool) -> str:
    """The value as `format(value, spec)` writes it, but rounded up or down and never to the nearest.

    >>> formatted_safely(6.1812, ".2f", up=True), formatted_safely(6.1892, ">8.3g", up=False)
    ('6.19', '    6.18')
    >>> formatted_safely(0.1, ".4f", up=True), formatted_safely(0.12341, ".1%", up=True)
    ('0.1000', '12.4%')
    """
    precision, kind = SPEC.search(spec).groups()  # type: ignore[union-attr]  (an empty end matches too)
    if math.isinf(value) or math.isnan(value) or value == 0 or (precision is None and not kind):
        return format(value, spec)
    digits = 6 if precision is None else int(precision)
    written = Decimal(repr(float(value)))  # the digits that the float itself is written with
    if kind in ("f", "F", "%"):
        digits += written.adjusted() + 1 + (2 if kind == "%" else 0)
    elif kind in ("e", "E"):
        digits += 1
    rounding = ROUND_CEILING if up else ROUND_FLOOR
    if digits < 1:  # all of its digits are behind the last one that is shown
        places = int(precision or 6) + (2 if kind == "%" else 0)
        away = (value > 0) == up
        return format(math.copysign(10.0**-places if away else 0.0, value), spec)
    if digits >= MOST_DIGITS:
        return format(value, spec)
    return format(float(Context(prec=digits, rounding=rounding).create_decimal(written)), spec)


def _text(value: float, context: Context) -> str:
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    rounded = context.create_decimal(Decimal(value))
    nearest = Context(prec=context.prec).create_decimal(Decimal(value))
    if float(nearest) == value:  # the digits that the float itself is written with
        rounded = nearest
    if rounded == 0 or 1e-4 <= abs(rounded) < 1e10:
        text = f"{rounded:f}"
        return text.rstrip("0").rstrip(".") if "." in text else text
    head, power = f"{rounded:e}".split("e")
    return f"{head.rstrip('0').rstrip('.') if '.' in head else head}e{int(power):+03d}"
