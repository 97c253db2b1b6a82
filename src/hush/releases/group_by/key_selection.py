"""Which unknown keys are shown, where nothing but keys is asked for: the optimal rule."""

from __future__ import annotations

import math

import numpy as np

from hush.errors import InvalidParameter
from hush.randomness.draws import coins
from hush.randomness.source import Source

MOST = 1 << 20
"""Numbers of users up to which a key may be left out: where it takes more, delta is too small for this epsilon."""
ROUNDED_DOWN = 1 - 1e-12
"""Epsilon and delta are lowered by this much: more than all roundings of the recursion."""


def keep_probabilities(epsilon: float, delta: float) -> list[float]:
    """The chance that a key with 0, 1, 2, ... users is shown, until it is certain (Desfontaines et al. 2022, Thm 1).

    No rule that is (epsilon, delta)-private, for users with one key each, shows any key more often.

    >>> chances = keep_probabilities(1.0, 1e-5)
    >>> len(chances) - 1, chances[11]
    (23, 0.348447738453313...)
    """
    found, growth = [0.0], math.exp(epsilon)
    while found[-1] < 1:
        chance = found[-1]
        found.append(min(growth * chance + delta, 1 - (1 - chance - delta) / growth, 1.0))
        if len(found) > MOST:
            raise InvalidParameter("GroupBy", "an epsilon and a delta that show keys of a million users", delta=delta)
    return found


def shown_keys(counts: np.ndarray, epsilon: float, delta: float, source: Source) -> list[int]:
    """The places of the keys that are shown, of their numbers of users."""
    chances = np.array(keep_probabilities(epsilon * ROUNDED_DOWN, delta * ROUNDED_DOWN))
    return np.flatnonzero(coins(source, chances[np.minimum(counts, len(chances) - 1)])).tolist()
