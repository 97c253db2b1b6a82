"""Ways to turn outputs of a mechanism into one score; each is fitted on samples that the bound never sees."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from hush.arrays import Array

Score: TypeAlias = Callable[[Array], Array]
"""Gives one number per run: an attacker guesses 'present' where it is large, or where it is small."""

FEW = 256
"""Up to so many different values are told apart one by one; more are put into cells."""
CELLS = 64
"""Cells of a histogram, each of about as many outputs."""
COORDINATES = 4
"""So many coordinates of a vector are also tried alone: those where the worlds differ most."""


def fitted_scores(present: Array, absent: Array, bits: bool) -> dict[str, Score]:
    """Named scores for outputs like these: one number or one row per run; `bits` adds their last bits."""
    if present.ndim == 1:
        return _of_numbers(present, absent, bits)
    scores: dict[str, Score] = {}
    if present.shape[1] == 0:
        return scores
    for place in _most_different(present, absent):
        for name, score in _of_numbers(present[:, place], absent[:, place], bits).items():
            scores[f"{name} of coordinate {place}"] = lambda x, place=place, score=score: score(x[:, place])
    direction = _discriminant(present, absent)
    scores["largest coordinate"] = lambda x: x.max(axis=1)
    scores["smallest coordinate"] = lambda x: x.min(axis=1)
    scores["linear discriminant"] = lambda x: x @ direction
    scores["likelihood ratio of all coordinates"] = _naive_bayes(present, absent)
    key = _row_key(present.shape[1])
    if len(np.unique(np.concatenate([present[:1000], absent[:1000]]) @ key)) <= FEW:
        of_rows = _ratio(present @ key, absent @ key)
        scores["likelihood ratio of rows"] = lambda x: of_rows(x @ key)
    return scores


def _of_numbers(present: Array, absent: Array, bits: bool) -> dict[str, Score]:
    middle = float(np.median(np.concatenate([present, absent])))
    scores: dict[str, Score] = {
        "threshold": lambda x: x,
        "distance from the middle": lambda x: np.abs(x - middle),
        "histogram": _ratio(present, absent),
    }
    if bits:
        scores["lowest bit"] = lowest_bit
    return scores


def lowest_bit(values: Array) -> Array:
    """Exponent of the last bit that is set: noise of floats leaves traces there (Mironov 2012).

    >>> lowest_bit(np.array([1.0, 0.75, 3.0, 0.0]))
    array([    0.,    -2.,     0., -1100.])
    """
    mantissa, exponent = np.frexp(np.asarray(values, dtype=float))
    whole = np.abs(mantissa * 2.0**53).astype(np.int64)
    # x & -x keeps the last bit alone, a power of two
    _, last = np.frexp((whole & -whole).astype(float))
    return np.where(whole == 0, -1100.0, exponent + last - 54.0)


def _ratio(present: Array, absent: Array) -> Score:
    """log of the ratio of the two masses of the cell that a value falls into; cells that were not seen are neutral."""
    both = np.concatenate([present, absent])
    sampled = np.unique(both[:: max(1, len(both) // 20_000)])
    if len(sampled) <= FEW:
        edges = np.unique(both)
        edges = edges if len(edges) <= FEW else sampled
    else:
        edges = np.unique(np.quantile(both, np.linspace(0, 1, CELLS + 1)[1:-1]))
    masses = [np.bincount(np.searchsorted(edges, x), minlength=len(edges) + 1) for x in (present, absent)]
    # one more in each cell: small counts then say little
    ratio = np.log((masses[0] + 1) / (len(present) + 2)) - np.log((masses[1] + 1) / (len(absent) + 2))
    seen = masses[0] + masses[1] > 0
    table = np.where(seen, ratio, 0.0)
    return lambda x: table[np.searchsorted(edges, x)]


def _most_different(present: Array, absent: Array) -> list[int]:
    spread = np.sqrt(np.var(present, axis=0) + np.var(absent, axis=0)) + 1e-300
    gap = np.abs(present.mean(axis=0) - absent.mean(axis=0)) / spread
    return sorted(np.argsort(-gap, kind="stable")[:COORDINATES].tolist())


def _discriminant(present: Array, absent: Array) -> Array:
    """Fisher's direction, with a little of the identity so that it always exists."""
    gap = present.mean(axis=0) - absent.mean(axis=0)
    width = present.shape[1]
    if width > 500:  # too wide to invert: each coordinate by its own variance
        return gap / (present.var(axis=0) + absent.var(axis=0) + 1e-12)
    spread = np.atleast_2d(np.cov(present, rowvar=False) + np.cov(absent, rowvar=False))
    ridge = 1e-6 * max(float(np.trace(spread)) / width, 1e-12)
    return np.linalg.solve(spread + ridge * np.eye(width), gap)


def _naive_bayes(present: Array, absent: Array) -> Score:
    places = range(min(present.shape[1], 64))
    parts = [_ratio(present[:, place], absent[:, place]) for place in places]
    return lambda x: sum((part(x[:, place]) for place, part in enumerate(parts)), start=np.zeros(len(x)))


def _row_key(width: int) -> Array:
    """A direction on which different rows of small whole numbers fall on different places."""
    return np.array([math.sqrt(2 + 3 * place) * (1 + place / 7) for place in range(width)])
