"""Records that a benchmark makes up, a million at a time."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

PIECE = 1_000_000


def pieces(records: int, columns: Callable[[np.random.Generator, int], Mapping[str, Any]]) -> Iterator[Any]:
    """Arrow tables of what `columns` draws for so many records, always the same."""
    import pyarrow

    random = np.random.default_rng(1)
    for start in range(0, records, PIECE):
        yield pyarrow.table(dict(columns(random, min(PIECE, records - start))))
