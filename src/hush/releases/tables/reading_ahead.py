"""Work on what comes next, in other threads, while what came before is being used."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

Given = TypeVar("Given")
Made = TypeVar("Made")


def ahead(function: Callable[[Given], Made], parts: Iterable[Given], threads: int = 2) -> Iterator[Made]:
    """What a function makes of the parts, in their order, those that come next being worked on meanwhile.

    With one thread the parts are worked on one after the other, so the function may keep a state of its own.

    >>> list(ahead(lambda number: 2 * number, range(4)))
    [0, 2, 4, 6]
    """
    with ThreadPoolExecutor(threads) as pool:
        waiting: deque[Any] = deque()
        for part in parts:
            waiting.append(pool.submit(function, part))
            if len(waiting) > 1:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
