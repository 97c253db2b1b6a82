"""Which of the drawn records a rank works on: its part of one draw, or those that it drew of its own shard."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from hush.errors import NotCovered
from hush.learning.distributed.ranks import Ranks
from hush.questions.planning.training.train_plan import TrainPlan
from hush.randomness.keyed_source import KEY, KeyedSource
from hush.randomness.source import Source, source_or_secure


def check_scheme(plan: TrainPlan, ranks: Ranks) -> None:
    """A shard can be drawn by itself only where each record has a coin of its own; otherwise one draw is split."""
    if ranks.sharded and not plan.scheme.streams:
        raise NotCovered(
            f"{plan.scheme} on shards: it needs one draw from all records. Covered are hush.Poisson, or "
            "Ranks(sharded=False) with the whole data on every rank"
        )


def check_users(ranks: Ranks | None) -> None:
    """A user whose rows were with two ranks would count twice: only one draw from the whole data keeps her together."""
    if ranks is not None and ranks.sharded:
        raise NotCovered(
            "users on shards: nothing shows that all rows of a user are with one rank. Covered is Ranks(sharded=False) "
            "with the whole data on every rank, such as a Dataset that reads a row when it is asked for"
        )


def rank_batches(
    plan: TrainPlan, population: int, source: Source | None, *, start: int, ranks: Ranks | None
) -> Iterator[np.ndarray]:
    """The records of each step that this rank works on: all ranks together have what the plan's scheme drew.

    Of a shard each rank draws for itself, with coins of its own. Of the whole data all ranks draw the same records,
    from a secret key of the first, and each takes every so-manyth of them.
    """
    if ranks is None or ranks.sharded:
        return plan.batches(population, source, start=start)
    return _parts(plan, population, _common(source_or_secure(source), ranks), start, ranks)


def _common(source: Source, ranks: Ranks) -> Source:
    """A source that all ranks share: of a key that the first one draws, new for every run."""
    key = ranks.shared(source.words(KEY // 8).tobytes())
    return KeyedSource(key, private=source.private)


def _parts(plan: TrainPlan, population: int, source: Source, start: int, ranks: Ranks) -> Iterator[np.ndarray]:
    for places in plan.batches(population, source, start=start):
        yield places[ranks.rank :: ranks.size]
