"""Rényi divergences from the law of a finite loss."""

from __future__ import annotations

from hush.curves.interval import Interval
from hush.numerics.engines.saddle import LARGEST_ORDER
from hush.numerics.laws.law import Law
from hush.numerics.rounding import UNIT

MOST_NODES = 2_000_000
"""A moment that takes more nodes is not summed: the max divergence stands in, as divergences grow with the order."""
ACCURACY = 60.0
"""Moments are asked to e^-60, relatively: far below rounding, which is what the slack then charges."""
MEAN_ERROR = 1e-12
"""Relative error of a mean: that of its nodes, a thousand roundings at the most."""


def law_to_renyi(law: Law, order: float, max_loss: float) -> Interval:
    """Bounds on the divergence of finite order >= 1 (1: Kullback-Leibler) of a loss that is at most max_loss."""
    if order == 1:
        tilt = law.tilt(0.0)
        slack = MEAN_ERROR * (abs(tilt.mean) + tilt.deviation)
        return max(tilt.mean - slack, 0.0), tilt.mean + slack
    c = order - 1
    if c > LARGEST_ORDER or law.cost(c, 0.0, ACCURACY) > MOST_NODES:
        return 0.0, max_loss
    tilt = law.tilt(c, accuracy=ACCURACY)
    slack = tilt.log_moment_error + 4 * UNIT * abs(tilt.log_moment)
    return max((tilt.log_moment - slack) / c, 0.0), max((tilt.log_moment + slack) / c, 0.0)
