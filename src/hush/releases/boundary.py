"""The boundary to code that is not ours: what it says of a record stays behind it.

An exception, a message or a warning of a library, or of a user's function, may hold a value of a record, and that it
comes at all may depend on one. So all code of others that sees records runs in `sealed`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager
from threading import Lock
from typing import Any, TypeVar

import numpy as np

from hush.errors import HushError, InvalidParameter

Result = TypeVar("Result")


class _Silence(AbstractContextManager[None]):
    """No warnings while any thread is inside: threads would undo `warnings.catch_warnings` in the wrong order."""

    def __init__(self) -> None:
        self._lock, self._inside = Lock(), 0
        self._caught: warnings.catch_warnings | None = None

    def __enter__(self) -> None:
        with self._lock:
            if self._inside == 0:
                self._caught = warnings.catch_warnings()
                self._caught.__enter__()
                warnings.simplefilter("ignore")
            self._inside += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0 and self._caught is not None:
                self._caught.__exit__(None, None, None)


_SILENCE = _Silence()


def sealed(action: Callable[[], Result], *, who: str, rule: str, own: bool = True, **values: object) -> Result:
    """What the action returns; whatever it raises becomes InvalidParameter, with who, rule and values and no more.

    Our own errors pass (unless own=False), as they name parameters alone; what they were raised from is cut off. A
    KeyboardInterrupt passes too, without what it carried: a function may raise it itself, with a record in it.

    >>> sealed(lambda: 1 / 0, who="table", rule="data that can be read", source="list")
    Traceback (most recent call last):
    hush.errors.InvalidParameter: table needs data that can be read; got source='list'.
    """
    interrupted = False
    try:
        with _SILENCE, np.errstate(all="ignore"):
            return action()
    except KeyboardInterrupt:
        interrupted = True
    except HushError as error:
        if own:
            error.__cause__ = error.__context__ = None
            raise
    except BaseException:  # noqa: S110 - a panic of Rust is no Exception; nothing of it may be kept
        pass
    # outside of the handlers: an error raised in one would carry the other as its context
    if interrupted:
        raise KeyboardInterrupt
    raise InvalidParameter(who, rule, **values)


def attempted(action: Callable[[], Any], otherwise: Any) -> Any:
    """What the action returns, or the other value where it raises: for one cell, whose fate is then its own."""
    try:
        return action()
    except KeyboardInterrupt:
        pass
    except BaseException:
        return otherwise
    raise KeyboardInterrupt  # outside of the handler, as in `sealed`
