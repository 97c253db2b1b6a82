"""Numbers from data: counts, sums, means and quantiles with secure noise, on all records or on a secret sample."""

from hush.releases.answer import Answer, Run
from hush.releases.functions import count, histogram, mean, sum, variance  # noqa: A004 - in its room it is the sum
from hush.releases.group_by.asked import Distinct, Rows, Stats, Top, Users, ValueCounts
from hush.releases.group_by.contributions import AtMost
from hush.releases.group_by.group_table import GroupRelease, GroupTable
from hush.releases.group_by.grouped_query import GroupBy, GroupByOnSample
from hush.releases.group_by.query_checks import Unknown
from hush.releases.noise.smooth_noise import SmoothLaplace, SmoothNoise, SmoothStudent, smooth_noise
from hush.releases.order_functions import (
    median,
    median_interval,
    private_bounds,
    quantile,
    quantiles,
    smooth_median,
    smooth_quantile,
)
from hush.releases.query import OnSample, Query
from hush.releases.release import Interval, Release
from hush.releases.sample import Sample, sample
from hush.releases.statistics.histograms import Histogram
from hush.releases.statistics.many_quantiles import Quantiles
from hush.releases.statistics.private_bounds import Bounds
from hush.releases.statistics.quantile import Median, Quantile
from hush.releases.statistics.quantile_interval import QuantileInterval
from hush.releases.statistics.sensitivity import (
    global_sensitivity,
    local_sensitivity,
    sensitivity_at_distance,
    sensitivity_chart,
    smooth_sensitivity,
)
from hush.releases.statistics.smooth_quantile import SmoothMedian, SmoothQuantile
from hush.releases.statistics.sums import Count, Mean, Sum
from hush.releases.statistics.variances import Variance
from hush.releases.tables.table import Table, table

__all__ = [
    "Answer",
    "AtMost",
    "Bounds",
    "Count",
    "Distinct",
    "GroupBy",
    "GroupByOnSample",
    "GroupRelease",
    "GroupTable",
    "Histogram",
    "Interval",
    "Mean",
    "Median",
    "OnSample",
    "Quantile",
    "QuantileInterval",
    "Quantiles",
    "Query",
    "Release",
    "Rows",
    "Run",
    "Sample",
    "SmoothLaplace",
    "SmoothMedian",
    "SmoothNoise",
    "SmoothQuantile",
    "SmoothStudent",
    "Stats",
    "Sum",
    "Table",
    "Top",
    "Unknown",
    "Users",
    "ValueCounts",
    "Variance",
    "count",
    "global_sensitivity",
    "histogram",
    "local_sensitivity",
    "mean",
    "median",
    "median_interval",
    "private_bounds",
    "quantile",
    "quantiles",
    "sample",
    "sensitivity_at_distance",
    "sensitivity_chart",
    "smooth_median",
    "smooth_noise",
    "smooth_quantile",
    "smooth_sensitivity",
    "sum",
    "table",
    "variance",
]
