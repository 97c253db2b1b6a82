"""Numbers from data: counts, sums, means and quantiles with secure noise, on all records or on a secret sample."""

from hush.releases.exponential import Median, Quantile
from hush.releases.found_bounds import Bounds
from hush.releases.histogram import Histogram
from hush.releases.many import Quantiles
from hush.releases.noise_of_smooth import SmoothLaplace, SmoothNoise, SmoothStudent, smooth_noise
from hush.releases.quantile_interval import QuantileInterval
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
from hush.releases.short_order import (
    median,
    median_interval,
    private_bounds,
    quantile,
    quantiles,
    smooth_median,
    smooth_quantile,
)
from hush.releases.smoothed import SmoothMedian, SmoothQuantile
from hush.releases.sums import Count, Mean, Sum
from hush.releases.tables import Table, table
from hush.releases.variance import Variance

__all__ = [
    "Answer",
    "Bounds",
    "Count",
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
