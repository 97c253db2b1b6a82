"""Numbers from data: counts, sums, means and quantiles with secure noise, on all records or on a secret sample."""

from hush.releases.exponential import Median, Quantile
from hush.releases.histogram import Histogram
from hush.releases.query import Answer, OnSample, Query, Run
from hush.releases.release import Interval, Release
from hush.releases.sample import Sample, sample
from hush.releases.sensitivity import (
    global_sensitivity,
    local_sensitivity,
    sensitivity_at_distance,
    sensitivity_chart,
    smooth_sensitivity,
)
from hush.releases.short import count, histogram, mean, sum, variance
from hush.releases.short_order import median, quantile, smooth_median, smooth_quantile
from hush.releases.smooth_noise import SmoothLaplace, SmoothNoise, SmoothStudent
from hush.releases.smoothed import SmoothMedian, SmoothQuantile
from hush.releases.sums import Count, Mean, Sum
from hush.releases.tables import Table, table
from hush.releases.variance import Variance

__all__ = [
    "Answer",
    "Count",
    "Histogram",
    "Interval",
    "Mean",
    "Median",
    "OnSample",
    "Quantile",
    "Query",
    "Release",
    "Run",
    "Sample",
    "SmoothLaplace",
    "SmoothMedian",
    "SmoothNoise",
    "SmoothQuantile",
    "SmoothStudent",
    "Sum",
    "Table",
    "Variance",
    "count",
    "global_sensitivity",
    "histogram",
    "local_sensitivity",
    "mean",
    "median",
    "quantile",
    "sample",
    "sensitivity_at_distance",
    "sensitivity_chart",
    "smooth_median",
    "smooth_quantile",
    "smooth_sensitivity",
    "sum",
    "table",
    "variance",
]
