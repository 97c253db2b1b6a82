"""Numbers from data: counts, sums, means and quantiles with secure noise, on all records or on a secret sample."""

from hush.releases.histogram import Histogram
from hush.releases.query import Answer, OnSample, Query, Run
from hush.releases.release import Interval, Release
from hush.releases.sample import Sample, sample
from hush.releases.short import count, histogram, mean, sum, variance
from hush.releases.sums import Count, Mean, Sum
from hush.releases.tables import Table, table
from hush.releases.variance import Variance

__all__ = [
    "Answer",
    "Count",
    "Histogram",
    "Interval",
    "Mean",
    "OnSample",
    "Query",
    "Release",
    "Run",
    "Sample",
    "Sum",
    "Table",
    "Variance",
    "count",
    "histogram",
    "mean",
    "sample",
    "sum",
    "table",
    "variance",
]
