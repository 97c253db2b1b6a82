"""Numbers as text, rounded to the safe side."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal


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
