"""Finite pairs above any pair: what has no analytic law is composed through a table."""

from __future__ import annotations

from hush.curves.pairs.finite import FinitePair
from hush.curves.pairs.pair import Pair


def tabulate(pair: Pair) -> FinitePair:
    """A finite pair above any pair: upper bounds on its profile at many epsilons, joined by lines.

    >>> from hush.curves.pairs.segment import SegmentPair
    >>> table = tabulate(SegmentPair.laplace(1.0))
    >>> bool(table.log_delta(0.5)[1] >= SegmentPair.laplace(1.0).log_delta(0.5)[0])
    True
    """
    return FinitePair.from_profile(*pair.profile_points())
