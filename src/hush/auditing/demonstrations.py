"""Why noise is needed: attacks on data made on the spot, with and without protection."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from hush.checks import count, number
from hush.markup import Shown
from hush.randomness.draws import coins, integers, order
from hush.randomness.float_noise import laplace, normal, uniform
from hush.randomness.source import Source, source_or_secure


@dataclass(frozen=True)
class Demonstration(Shown):
    """What an attack recovered, without protection and with it, as shares of what there was to recover."""

    title: str
    bare: float
    protected: float
    guessing: float
    """What somebody would get right who sees nothing."""
    words: str

    def __str__(self) -> str:
        return (
            f"{self.title}: {self.bare:.1%} recovered; {self.protected:.1%} with protection "
            f"({self.guessing:.1%} by guessing). {self.words}"
        )


def from_sums(
    *, people: int = 200, queries: int = 800, epsilon: float = 1.0, source: Source | None = None
) -> Demonstration:
    """Secret bits from sums over random subsets, by least squares (Dinur, Nissim 2003; Dwork, McSherry, Talwar 2007).

    Every answer is off by a few at most, and yet nearly all bits are found. With Laplace noise that makes all answers
    together epsilon-DP, guesses are hardly better than a coin.

    >>> import hush
    >>> shown = from_sums(people=60, queries=240, source=hush.SeededSource(1))
    >>> shown.bare > 0.95 > 0.75 > shown.protected
    True
    """
    bits = source_or_secure(source)
    people, queries = count("from_sums", 2, people=people), count("from_sums", 1, queries=queries)
    epsilon = number("from_sums", "0 < epsilon < 1e6", 0.0, 1e6, low_open=True, epsilon=epsilon)
    secret = coins(bits, np.full(people, 0.5)).astype(float)
    subsets = coins(bits, np.full(queries * people, 0.5)).reshape(queries, people).astype(float)
    answers = subsets @ secret
    small = 0.2 * math.sqrt(people) * (2 * uniform(bits, queries) - 1)
    large = queries / epsilon * laplace(bits, queries)
    found = []
    for noise in (small, large):
        guess = np.linalg.lstsq(subsets, answers + noise, rcond=None)[0] > 0.5
        found.append(float(np.mean(guess == secret)))
    words = (
        f"{queries} sums over {people} people, each off by at most {0.2 * math.sqrt(people):.1f}; then {epsilon:g}-DP."
    )
    return Demonstration("Reconstruction from sums", found[0], found[1], 0.5, words)


def from_gradients(
    *, width: int = 64, batch: int = 1, noise: float = 1.0, source: Source | None = None
) -> Demonstration:
    """A training record from the gradient of a linear layer with a bias (Zhu, Liu, Han 2019; Geiping et al. 2020).

    The gradient of the weights is the record times that of the bias, so their ratio is the record itself; clipped and
    with Gaussian noise of this multiplier it is not. A guess within a tenth of a coordinate has recovered it.

    >>> import hush
    >>> shown = from_gradients(source=hush.SeededSource(1))
    >>> shown.bare, shown.protected < 0.3
    (1.0, True)
    """
    bits = source_or_secure(source)
    width, batch = count("from_gradients", 1, width=width), count("from_gradients", 1, batch=batch)
    noise = number("from_gradients", "0 < noise < 1e6", 0.0, 1e6, low_open=True, noise=noise)
    records = uniform(bits, batch, width)
    errors = normal(bits, batch)
    gradient = np.append(errors @ records, errors.sum()) / batch
    each = np.column_stack([errors[:, None] * records, errors])
    clipped = each / np.maximum(1.0, np.linalg.norm(each, axis=1))[:, None]
    private = (clipped.sum(axis=0) + noise * normal(bits, width + 1)) / batch
    shares = []
    for seen in (gradient, private):
        guess = seen[:-1] / seen[-1] if seen[-1] else np.zeros(width)
        shares.append(max(float(np.mean(np.abs(guess - record) < 0.1)) for record in records))
    words = f"A batch of {batch}, {width} coordinates in [0, 1]; protection: clipping and noise {noise:g}."
    return Demonstration("Reconstruction from gradients", shares[0], shares[1], 0.2, words)


def linkage(
    *, people: int = 1000, titles: int = 500, rated: int = 40, known: int = 4, source: Source | None = None
) -> Demonstration:
    """Names in an anonymised table of ratings, from a few public ratings of each person (Narayanan, Shmatikov 2008).

    The rows have no names, and some public ratings are off by one. Yet the row that fits best, rare titles counting
    more, is the person's. If only noisy counts of each title are published, there are no rows to find.

    >>> import hush
    >>> linkage(people=300, source=hush.SeededSource(1)).bare > 0.9
    True
    """
    bits = source_or_secure(source)
    people, titles = count("linkage", 2, people=people), count("linkage", 2, titles=titles)
    rated, known = count("linkage", 1, rated=rated), count("linkage", 1, known=known)
    # popular titles are rated by more people
    chance = np.minimum(0.9, rated / titles * 1.6 * (1 - np.arange(titles) / titles) + 1 / people)
    table = coins(bits, np.tile(chance, people)).reshape(people, titles) * (
        1 + integers(bits, 5, people * titles)
    ).reshape(people, titles)
    rarity = 1 / np.log(2 + np.count_nonzero(table, axis=0))
    hidden = order(bits, people)  # the published table has its rows in this order
    published = table[hidden]
    right = 0
    for person in range(people):
        mine = np.flatnonzero(table[person])
        chosen = mine[order(bits, len(mine))[:known]]
        said = table[person, chosen] + (integers(bits, 3, len(chosen)) - 1)  # off by one now and then
        close = (published[:, chosen] > 0) & (np.abs(published[:, chosen] - said) <= 1)
        right += int(hidden[np.argmax(close @ rarity[chosen])] == person)
    words = f"{people} people, {known} public ratings each; protection: counts of each title, without rows."
    return Demonstration("Linkage of an anonymised table", right / people, 1 / people, 1 / people, words)
