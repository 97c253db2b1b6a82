"""The boundary at which other people's code sees private rows: none of its errors and warnings pass."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

Result = TypeVar("Result")

WITHHELD = "a step that failed on private rows: what failed is withheld, as it may tell of them"


@contextmanager
def quiet() -> Iterator[None]:
    """No warning passes: which row it is about, and that there is such a row, would be told."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def attempt(run: Callable[[], Result]) -> Result | None:
    """What the code returns, or None if it raised anything at all.

    Requests to stop pass, without what they carried. They are raised anew, outside of the handler: an error that is
    raised inside of one takes the other along as its context.

    >>> attempt(lambda: 1 / 0) is None
    True
    """
    stop: type[BaseException] | None = None
    try:
        return run()
    except (KeyboardInterrupt, SystemExit) as request:
        stop = KeyboardInterrupt if isinstance(request, KeyboardInterrupt) else SystemExit
    except BaseException:  # of any kind: a model may assert what it likes about its rows
        return None
    raise stop(1)
