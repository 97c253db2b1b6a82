"""Spark DataFrames: every partition is worked on where it lies, by the same code as here; the parts are added up.

A task that Spark tries again, or runs twice, tosses the same coins: they depend on the run's secret and the number of
the partition alone. Each partition must answer exactly once. The secret travels to the executors with the task: turn on
Spark's encryption (spark.network.crypto.enabled, spark.io.encryption.enabled) where the network is not trusted.
"""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from hush.errors import InvalidParameter, NotCovered
from hush.mechanisms.scheme import Scheme
from hush.randomness.source import Source
from hush.releases.boundary import sealed
from hush.releases.row_wise.row_expressions import ColumnOf, Expression
from hush.releases.tables.engines.arrow_engine import ArrowEngine, Work, as_bytes, as_table, rechunked, unique
from hush.releases.tables.reader import BATCH, READABLE, Reader, needs, require_different
from hush.releases.tables.tally import Tallied, Tally
from hush.releases.tables.tallying.merged import merged
from hush.releases.tables.tallying.streaming import columns_of, streamed

Found = TypeVar("Found")
ANSWER = "part long, value binary"
"""What a task returns: the number of its partition, and one value."""
FIXED = re.compile(r"(Batch)?Scan (parquet|orc|csv|json|text|avro)\b|LocalTableScan|Range")
"""Where records come from in the same order each time."""
ONCE = "partitions that each answer once"


class SparkFrame(ArrowEngine):
    """A DataFrame of Spark 4, worked on by its executors."""

    spread = True

    def __init__(self, frame: Any) -> None:
        needs("pyarrow", "spark")
        needs("pyspark", "spark")
        self._frame = frame
        self.names = require_different(frame.columns)
        self.schema = frame.limit(0).toArrow().schema

    def _chosen(self, names: tuple[str, ...]) -> Any:
        """These columns under plain names c0, c1, ...: mapInArrow stumbles over dots and quotes in others."""
        from pyspark.sql import functions

        return self._frame.select([functions.col(_quoted(name)).alias(f"c{k}") for k, name in enumerate(names)])

    def parts(self, names: tuple[str, ...], work: Work[Found]) -> list[Found]:
        return _answers(self._chosen(names), names, work)

    def pieces(self, names: tuple[str, ...]) -> Iterator[Any]:
        """Partition by partition, through this process: for what cannot be done where the records lie."""
        rows = self._chosen(names).mapInArrow(_as_blobs, "value binary").toLocalIterator(prefetchPartitions=True)
        for row in rows:
            yield as_table(bytes(row.value)).rename_columns(list(names))

    def sampled(self, scheme: Scheme, source: Source) -> Reader:
        self._require_fixed_order()
        return super().sampled(scheme, source)

    def _require_fixed_order(self) -> None:
        """Raise where a second try of a task could meet its records in another order: then other coins were theirs."""
        plan = getattr(self._frame, "_jdf", None)
        if plan is None:
            raise NotCovered(
                "a sample of a frame of Spark Connect: its plan cannot be seen. Covered: a classic session"
            )
        execution = plan.queryExecution()
        leaves, run = execution.executedPlan().collectLeaves(), execution.executedPlan().toString()
        names = [leaves.apply(place).nodeName() for place in range(leaves.length())]
        fixed = all(FIXED.match(name) for name in names) and "Exchange" not in run
        if not (fixed and execution.analyzed().deterministic()):
            raise NotCovered(
                "a sample of a Spark frame after a shuffle, with random columns, or from elsewhere than files: a task "
                "that is tried again could meet its records in another order. Write it to files first, and sample those"
            )

    def tally(self, tally: Tally) -> Tallied:
        unit = () if tally.limits is None else tally.limits.unit.columns
        names, schema = unique((*columns_of(tally), *unit)) or self.names[:1], self.schema
        frame, apart = self._chosen(names), self._kept_together(tally)
        if apart is not None:
            frame = frame.repartition(f"c{names.index(apart)}")
        work = lambda _, pieces: streamed(PartOfFrame(schema, pieces), tally)  # noqa: E731
        return merged(_answers(frame, names, work), tally)

    def _kept_together(self, tally: Tally) -> str | None:
        """The column whose equal values must be in one partition: the user's id, or what is counted once."""
        once: list[Expression] = [tally.limits.unit] if tally.limits is not None else []
        once += tally.distinct
        if not once:
            return None
        name = once[0].name if len(once) == 1 and isinstance(once[0], ColumnOf) else None
        if name is None or not (self.whole(name) or self.kind(name) == "words"):
            raise NotCovered(
                "on Spark: more than one of users and counts of distinct values, or one that is not a column of texts "
                "or whole numbers. Ask for each by itself"
            )
        return name


class PartOfFrame(ArrowEngine):
    """The records of one partition, which can be read once."""

    def __init__(self, schema: Any, pieces: Iterator[Any]) -> None:
        self.schema, self._pieces = schema, pieces
        self.names = tuple(schema.names)

    def pieces(self, names: tuple[str, ...]) -> Iterator[Any]:
        return (piece.select(list(names)) for piece in self._pieces)


def _quoted(name: str) -> str:
    """A name as Spark writes it: a dot in it is no field of a struct."""
    return "`" + name.replace("`", "``") + "`"


def _answers(frame: Any, names: tuple[str, ...], work: Work[Found]) -> list[Found]:
    """What work makes of each partition, its columns named so, in the order of the partitions."""
    rows = frame.mapInArrow(_task(names, work), ANSWER).collect()
    numbers = sorted(row.part for row in rows)
    if numbers != list(range(len(numbers))):
        raise InvalidParameter("table", ONCE, parts=len(numbers))
    return [pickle.loads(bytes(row.value)) for row in sorted(rows, key=lambda row: row.part)]  # noqa: S301 - our own


def _task(names: tuple[str, ...], work: Work[Found]) -> Callable[[Iterator[Any]], Iterator[Any]]:
    def run(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow
        from pyspark import TaskContext

        context = TaskContext.get()
        number = 0 if context is None else context.partitionId()
        tables = (table.rename_columns(list(names)) for table in rechunked(batches, BATCH))
        # what is raised here would stand in the logs of the executor
        value = sealed(lambda: pickle.dumps(work(number, tables)), who="table", rule=READABLE, source="DataFrame")
        yield pyarrow.RecordBatch.from_arrays(
            [pyarrow.array([number], pyarrow.int64()), pyarrow.array([value], pyarrow.binary())], ["part", "value"]
        )

    return run


def _as_blobs(batches: Iterator[Any]) -> Iterator[Any]:
    import pyarrow

    for table in rechunked(batches, BATCH):
        yield pyarrow.RecordBatch.from_arrays([pyarrow.array([as_bytes(table)], pyarrow.binary())], ["value"])
