"""How much one record can move a quantile: over all data, on these data, at a distance from them, and smoothed.

Local and smooth sensitivities are facts about the data, and so NOT private: look at them on public or simulated data
alone. All are for replacing one record among a fixed number, within public bounds.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction

import numpy as np

from hush.arrays import Array
from hush.checks import count, number
from hush.errors import InvalidParameter
from hush.questions.charts.drawing import Axis, Chart, ChartLine, Stroke
from hush.releases.noise.exact_sums import checked_bounds
from hush.releases.statistics.smooth_sensitivity import len_left, len_right, smooth_of_sorted, values_at


def rank_of(size: int, p: float) -> int:
    """The rank (from 1) of the p-quantile among so many: the least rank with at least a share p up to it.

    >>> rank_of(5, 0.5), rank_of(4, 0.5), rank_of(3, 0.0), rank_of(0, 0.5), rank_of(1000, 0.001)
    (3, 2, 1, 1, 1)
    """
    meant = Fraction(p).limit_denominator(10**12)  # 0.001 is a bit more than 1/1000 as a float
    return min(max(math.ceil(meant * size), 1), max(size, 1))


def global_sensitivity(*, bounds: tuple[float, float]) -> float:
    """The most that one record moves a quantile of any data within the bounds: their whole range.

    >>> global_sensitivity(bounds=(0, 2000))
    2000.0
    """
    low, high = checked_bounds("global_sensitivity", bounds)
    return high - low


def local_sensitivity(values: Array, *, bounds: tuple[float, float], p: float = 0.5) -> float:
    """The most that replacing one of these records moves their p-quantile. NOT private.

    >>> local_sensitivity([4, 5, 7], bounds=(0, 10))
    2.0
    """
    return float(sensitivity_at_distance(values, distances=[0], bounds=bounds, p=p)[0])


def sensitivity_at_distance(
    values: Array, *, distances: Iterable[int], bounds: tuple[float, float], p: float = 0.5
) -> Array:
    """The largest local sensitivity of any data that differ in so many records, for each distance. NOT private.

    >>> sensitivity_at_distance([4, 5, 7], distances=[0, 1, 2], bounds=(0, 10)).tolist()
    [2.0, 5.0, 7.0]
    """
    who = "sensitivity_at_distance"
    ends = checked_bounds(who, bounds)
    ordered = _ordered(who, values, ends)
    rank = rank_of(len(ordered), _share(who, p))
    found = []
    for distance in distances:
        k = count(who, 0, distances=distance)
        up = np.arange(max(0, k + 1 - len_left(ordered, rank)), min(k + 1, len_right(ordered, rank)) + 1)
        if len(up):
            found.append(np.max(values_at(ordered, rank + up, ends) - values_at(ordered, rank + up - k - 1, ends)))
        else:  # every record may be replaced, and more
            found.append(ends[1] - ends[0])
    return np.array(found, dtype=float)


def smooth_sensitivity(values: Array, *, beta: float, bounds: tuple[float, float], p: float = 0.5) -> float:
    """max over k of exp(-beta k) times the sensitivity at distance k (Nissim, Raskhodnikova, Smith 2007). NOT private.

    >>> smooth_sensitivity([4, 5, 7], beta=0.5, bounds=(0, 10))
    3.0326...
    """
    who = "smooth_sensitivity"
    ends = checked_bounds(who, bounds)
    rate = number(who, "1e-8 <= beta <= 100", 1e-8, 100.0, beta=beta)
    ordered = _ordered(who, values, ends)
    return smooth_of_sorted(ordered, rank=rank_of(len(ordered), _share(who, p)), beta=rate, bounds=ends)


def sensitivity_chart(
    values: Array, *, betas: Iterable[float] = (), bounds: tuple[float, float], p: float = 0.5
) -> Chart:
    """Sensitivity at distance k against k, the global one, and for each beta the terms whose largest is the smooth one.

    >>> sensitivity_chart([4, 5, 7], betas=[0.5], bounds=(0, 10)).line("at distance k").y
    (2.0, 5.0, 7.0, 10.0, 10.0)
    """
    size = int(np.size(values))
    steps = np.unique(np.concatenate([np.arange(min(size, 64)), np.geomspace(1, size + 1, 65)]).astype(int))
    at = sensitivity_at_distance(values, distances=steps.tolist(), bounds=bounds, p=p)
    x = tuple(float(k) for k in steps)
    lines = [ChartLine("at distance k", x, tuple(at.tolist()))]
    lines += [
        ChartLine(f"times exp(-{beta:g} k)", x, tuple((at * np.exp(-beta * steps)).tolist()), stroke=Stroke.DASHED)
        for beta in betas
    ]
    most = global_sensitivity(bounds=bounds)
    lines.append(ChartLine("global", (x[0], x[-1]), (most, most), stroke=Stroke.DOTTED))
    subtitle = f"{size} records, quantile {p:g}, bounds {bounds[0]:g} to {bounds[1]:g}"
    return Chart(
        "Sensitivity against distance",
        subtitle,
        Axis("records replaced, k"),
        Axis("sensitivity", log=True),
        tuple(lines),
    )


def _share(who: str, p: object) -> float:
    return number(who, "0 <= p <= 1", 0.0, 1.0, p=p)


def _ordered(who: str, values: Array, bounds: tuple[float, float]) -> Array:
    array = np.asarray(values, dtype=float)
    if array.ndim != 1:
        raise InvalidParameter(who, "one column of numbers", values=array.shape)
    return np.sort(np.clip(np.where(np.isnan(array), bounds[0], array), *bounds))
