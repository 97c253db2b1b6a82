"""Numbers from data: counts, sums, means and quantiles with secure noise, on all records or on a secret sample."""

from hush.releases.query import Answer, OnSample, Query, Run
from hush.releases.release import Interval, Release
from hush.releases.sample import Sample, sample
from hush.releases.short import count, mean, sum
from hush.releases.sums import Count, Mean, Sum
from hush.releases.tables import Table, table

__all__ = [
    "Answer",
    "Count",
    "Interval",
    "Mean",
    "OnSample",
    "Query",
    "Release",
    "Run",
    "Sample",
    "Sum",
    "Table",
    "count",
    "mean",
    "sample",
    "sum",
    "table",
]
