"""Other libraries on the questions of grouped.py, each in an environment of its own: `python table_peers.py PEER ...`.

`python table_peers.py PEER speed QUESTION FILE` answers once, and says seconds and memory; `python table_peers.py PEER
accuracy FILE RELEASES SECONDS` answers as often as told, or as time allows: for each release the people, mean and
median income of every region.
"""

import json
import os
import resource
import sys
import time
from collections.abc import Callable
from typing import Any

BOUNDS = (0, 2000)
REGIONS = ("N", "S", "E", "W")
GROUPS = 1000
CONTRIBUTIONS = 5
COPIES = 250
"""Releases that OpenDP is asked for at once."""

Asked = Callable[[], Any]


def timed(ask: Asked) -> dict[str, Any]:
    """Seconds by the clock, CPU seconds of this process, and its largest memory."""
    start, spent = time.perf_counter(), time.process_time()
    ask()
    seconds, spent = time.perf_counter() - start, time.process_time() - spent
    return {"seconds": seconds, "cpu": spent, "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024}


def repeated(ask: Asked, releases: int, limit: float) -> list[Any]:
    """So many answers, or as many as fit into so many seconds by the clock."""
    start, found = time.perf_counter(), []
    while len(found) < releases and time.perf_counter() - start < limit:
        found.append(ask())
    return found


def duckdb_speed(question: str, file: str) -> Asked:
    """Its own group-by of doubles: neither exact nor private."""
    import duckdb

    key = "many" if question == "many groups" else "g"
    return lambda: duckdb.from_parquet(file).aggregate(f"{key}, count(*), sum(x)").fetchnumpy()


def opendp_speed(question: str, file: str) -> Asked:
    """Count and sum by a thousand given groups: of all records, or of users as they are limited."""
    import opendp.prelude as dp
    import polars

    dp.enable_features("contrib", "honest-but-curious")
    frame = polars.scan_parquet(file).with_columns(x=polars.col("x").cast(polars.Int64))
    users = question != "groups"
    keys = polars.LazyFrame({"g": list(range(GROUPS))}, schema={"g": polars.Int32})
    unit = dp.unit_of(contributions=CONTRIBUTIONS, identifier="who") if users else dp.unit_of(contributions=1)
    context = dp.Context.compositor(
        data=frame,
        privacy_unit=unit,
        privacy_loss=dp.loss_of(epsilon=1.0),
        split_evenly_over=1,
        margins=[dp.polars.Margin(max_length=200_000_000)],
    )
    query = context.query()
    if question == "records of a user":
        query = query.truncate_per_group(CONTRIBUTIONS)
    elif question == "groups of a user":
        # the first groups: its sample of them fails here (two fields of one name)
        query = query.truncate_num_groups(CONTRIBUTIONS, by=["g"], keep="first").truncate_per_group(2, by=["g"])
    made = query.group_by("g").agg(dp.len(), polars.col("x").dp.sum(BOUNDS)).with_keys(keys)
    return lambda: made.release().collect()


def pipelinedp_speed(question: str, file: str) -> Asked:
    """Count and sum by group, with the limits as its parameters."""
    import pipeline_dp
    from pyarrow import parquet

    rows = parquet.read_table(file, columns=["g", "who", "x"]).to_pylist()
    every = CONTRIBUTIONS if question == "records of a user" else 1
    metrics = [pipeline_dp.Metrics.COUNT, pipeline_dp.Metrics.SUM]
    return lambda: list(_pipeline(rows, metrics, list(range(GROUPS)), ("who", "g", "x"), every))


def _pipeline(rows: Any, metrics: Any, keys: list[Any], names: tuple[str, str, str], most: int = 1) -> Any:
    import pipeline_dp

    budget = pipeline_dp.NaiveBudgetAccountant(total_epsilon=1.0, total_delta=0)
    engine = pipeline_dp.DPEngine(budget, pipeline_dp.LocalBackend())
    parameters = pipeline_dp.AggregateParams(
        metrics=metrics,
        noise_kind=pipeline_dp.NoiseKind.LAPLACE,
        max_partitions_contributed=most,
        max_contributions_per_partition=1,
        min_value=BOUNDS[0],
        max_value=BOUNDS[1],
    )
    read = pipeline_dp.DataExtractors(
        privacy_id_extractor=lambda row: row[names[0]],
        partition_extractor=lambda row: row[names[1]],
        value_extractor=lambda row: row[names[2]],
    )
    found = engine.aggregate(rows, parameters, read, public_partitions=keys)
    budget.compute_budgets()
    return found


def opendp_accuracy(file: str) -> Asked:
    """One query of three statistics; the mean is the noisy sum over the noisy count.

    A query takes long to be made ready, so each is asked of many copies of the people at once, every copy with regions
    of its own: a person is still in one group, and the noise of a group is what it is without the copies.
    """
    import opendp.prelude as dp
    import polars

    dp.enable_features("contrib")
    frame, income = polars.read_parquet(file), polars.col("income")
    own = [[f"{region}{copy}" for region in REGIONS] for copy in range(COPIES)]
    copies = [frame.with_columns(region=polars.col("region") + str(copy)) for copy in range(COPIES)]
    everybody = polars.concat(copies).lazy()
    keys = polars.LazyFrame({"region": [region for regions in own for region in regions]})
    ready: list[list[list[float]]] = []

    def batch() -> None:
        context = dp.Context.compositor(
            data=everybody,
            privacy_unit=dp.unit_of(contributions=1),
            privacy_loss=dp.loss_of(epsilon=1.0),
            split_evenly_over=1,
            margins=[dp.polars.Margin(max_length=100_000_000)],
        )
        every = [
            dp.len().alias("n"),
            income.dp.sum(BOUNDS).alias("sum"),
            income.dp.median(list(range(2001))).alias("middle"),
        ]
        found = context.query().group_by("region").agg(every).with_keys(keys).release().collect()
        rows = {row["region"]: row for row in found.to_dicts()}
        for regions in own:
            of = [rows[region] for region in regions]
            ready.append([[row["n"], min(max(row["sum"] / max(row["n"], 1), 0), 2000), row["middle"]] for row in of])

    def ask() -> list[list[float]]:
        if not ready:
            batch()
        return ready.pop()

    return ask


def pipelinedp_accuracy(file: str) -> Asked:
    """Count, mean and percentile in one aggregation."""
    import pipeline_dp
    from pyarrow import parquet

    rows = [{"who": number, **row} for number, row in enumerate(parquet.read_table(file).to_pylist())]
    metrics = [pipeline_dp.Metrics.COUNT, pipeline_dp.Metrics.MEAN, pipeline_dp.Metrics.PERCENTILE(50)]

    def ask() -> list[list[float]]:
        found = dict(_pipeline(rows, metrics, list(REGIONS), ("who", "region", "income")))
        return [[found[r].count, found[r].mean, found[r].percentile_50] for r in REGIONS]

    return ask


def tumult_accuracy(file: str) -> Asked:
    """Three queries with a third of the budget each, by a key set."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    from pyspark.sql import SparkSession
    from tmlt.analytics import AddOneRow, KeySet, PureDPBudget, QueryBuilder, Session

    made = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").config("spark.log.level", "OFF")
    spark = made.config("spark.sql.shuffle.partitions", "1").getOrCreate()
    frame, keys = spark.read.parquet(file), KeySet.from_dict({"region": list(REGIONS)})

    def ask() -> list[list[float]]:
        session = Session.from_dataframe(PureDPBudget(1), "people", frame, protected_change=AddOneRow())
        by = QueryBuilder("people").groupby(keys)
        every = [by.count(name="v"), by.average("income", *BOUNDS, name="v"), by.median("income", *BOUNDS, name="v")]
        answers = []
        for query in every:
            rows = session.evaluate(
                query, PureDPBudget(session.remaining_privacy_budget.value / (3 - len(answers)))
            ).collect()
            answers.append({row["region"]: float(row["v"]) for row in rows})
        return [[answer[region] for answer in answers] for region in REGIONS]

    return ask


SPEED = {"DuckDB, inexact and not private": duckdb_speed, "OpenDP": opendp_speed, "PipelineDP": pipelinedp_speed}
ACCURACY = {"OpenDP": opendp_accuracy, "PipelineDP": pipelinedp_accuracy, "Tumult": tumult_accuracy}


if __name__ == "__main__":
    peer, what, *rest = sys.argv[1:]
    if what == "speed":
        print(json.dumps(timed(SPEED[peer](*rest))))
    else:
        print(json.dumps(repeated(ACCURACY[peer](rest[0]), int(rest[1]), float(rest[2]))))
