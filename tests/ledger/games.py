"""Games against a filter: an analyst picks every release after seeing the last answer; all outcomes are enumerated."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import hush
from hush.ledger import Filter

EPSILON, DELTA = 2.0, 1e-3


@dataclass(frozen=True)
class Move:
    """A release with two outcomes, of these probabilities with and without the record, and what it costs."""

    p: float
    q: float
    cost: tuple[int, ...]

    @property
    def outcomes(self) -> tuple[tuple[float, float], tuple[float, float]]:
        return (self.p, self.q), (1 - self.p, 1 - self.q)


def mechanism(p: float, q: float) -> hush.Mechanism:
    return hush.FromPair.of([p, 1 - p], [q, 1 - q])


def move(filter: Filter, p: float, q: float) -> Move:
    return Move(p, q, filter.cost(mechanism(p, q)))


def at_loss(filter: Filter, p: float, loss: float) -> Move:
    """Probability p at this loss, the rest at nearly none."""
    return move(filter, p, p * math.exp(-loss))


def costliest(filter: Filter, loss: float, part: float) -> Move:
    """The largest probability at a loss that still fits into a part of the limit."""
    low, high = 1e-9, 0.9
    for _ in range(25):
        middle = math.sqrt(low * high)
        cost = at_loss(filter, middle, loss).cost
        fits = filter.admits(tuple(math.ceil(units / part) for units in cost))
        low, high = (middle, high) if fits else (low, middle)
    return at_loss(filter, low, loss)


def library(filter: Filter, size: int, seed: int) -> list[Move]:
    """Moves of many sizes, some of them as bad as the filter lets them be."""
    drawn = random.Random(seed)
    sharp = [
        costliest(filter, EPSILON + extra, part) for extra in (-0.5, -0.2, 0.05, 0.2, 0.5) for part in (0.3, 0.6, 0.9)
    ]
    sizes = [math.exp(drawn.uniform(-7, -0.3)) for _ in range(size)]
    return sharp + [at_loss(filter, p, drawn.uniform(max(-1.5, math.log(p / 0.95)), 1.2)) for p in sizes]


Choose = Callable[[int, tuple[int, ...]], list[Move]]
"""From the number of moves so far, and what is spent, to the moves that the analyst tries, in their order."""


def leaves(filter: Filter, choose: Choose, depth: int) -> Iterator[tuple[float, float]]:
    """The probabilities of all transcripts with and without the record; a refused analyst stops."""
    waiting = [(0, filter.nothing, 1.0, 1.0)]
    while waiting:
        step, spent, p, q = waiting.pop()
        taken = None
        for wanted in choose(step, spent) if step < depth else ():
            if filter.admits(filter.sum(spent, wanted.cost)):
                taken = wanted
                break
        if taken is None:
            yield p, q
        else:
            after = filter.sum(spent, taken.cost)
            waiting += [(step + 1, after, p * a, q * b) for a, b in taken.outcomes]


def true_delta(transcripts: list[tuple[float, float]], epsilon: float) -> float:
    """The least delta at this epsilon of what was seen, in the worse direction."""
    factor = math.exp(epsilon)
    up = math.fsum(max(p - factor * q, 0.0) for p, q in transcripts)
    return max(up, math.fsum(max(q - factor * p, 0.0) for p, q in transcripts))


def random_play(filter: Filter, moves: list[Move], seed: int, depth: int) -> float:
    """True delta at EPSILON of one random adaptive strategy, greedy or not."""
    drawn = random.Random(seed)
    greedy = drawn.random() < 0.5

    def choose(step: int, spent: tuple[int, ...]) -> list[Move]:
        tried = drawn.sample(moves, 4)
        return sorted(tried, key=lambda found: found.cost, reverse=True) if greedy else tried

    return true_delta(list(leaves(filter, choose, depth)), EPSILON)


def scripted_play(filter: Filter, first: Move, after: tuple[list[Move], list[Move]]) -> tuple[float, int]:
    """A first move, then one of two lists by its outcome: the true delta, and how many of the branches went on."""
    transcripts, went_on = [], 0
    if not filter.admits(first.cost):
        return 0.0, 0
    for (p, q), moves in zip(first.outcomes, after, strict=True):
        spent = first.cost
        paths = [(p, q)]
        for wanted in moves:
            if not filter.admits(filter.sum(spent, wanted.cost)):
                break
            spent = filter.sum(spent, wanted.cost)
            paths = [(x * a, y * b) for x, y in paths for a, b in wanted.outcomes]
            went_on += 1
        transcripts += paths
    return true_delta(transcripts, EPSILON), went_on
