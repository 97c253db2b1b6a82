"""Reference cases of order statistics."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from hush.releases.statistics.smooth_sensitivity import smooth_of_sorted
from tests.truth.reference import Answer, Case, number


def smooth_median(case: Case) -> Iterator[Answer]:
    params, value = case["params"], float(case["value"])
    x = np.array([number(v) for v in params["x"]])
    bounds = number(params["lo"]), number(params["hi"])
    found = smooth_of_sorted(x, rank=int(params["m_1based"]), beta=number(params["beta"]), bounds=bounds)
    yield Answer("smooth sensitivity", found, found, value, value, value, 0.0)


ORDER_STATISTICS: dict[str, Callable[[Case], Iterator[Answer]]] = {"smooth_sensitivity_median": smooth_median}
