"""Tables of plain text."""

from __future__ import annotations

from collections.abc import Sequence


def aligned(rows: Sequence[Sequence[str]], *, left: int = 0) -> list[str]:
    """Each row as a line, columns as wide as their longest cell: the first `left` of them flush left, the rest right.

    >>> aligned([("times", "basic"), ("1", "0.1"), ("100", "10")])
    ['times  basic', '    1    0.1', '  100     10']
    >>> aligned([("Poisson", "0.95"), ("none", "5")], left=2)
    ['Poisson  0.95', 'none     5']
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(_padded(row, widths, left)).rstrip() for row in rows]


def _padded(row: Sequence[str], widths: list[int], left: int) -> list[str]:
    return [
        cell.ljust(width) if place < left else cell.rjust(width)
        for place, (cell, width) in enumerate(zip(row, widths, strict=True))
    ]
