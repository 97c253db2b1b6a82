"""One bar for all long work: on a terminal only, on the error stream, and only once it takes more than a second."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import Timer
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from hush.questions.planning.training.train_plan import TrainPlan

PATIENCE = 1.0
"""Seconds before a bar appears."""


class Show(Protocol):
    """Moves a bar: how much is done, of how much, and what is being done."""

    def __call__(self, done: float, total: float | None = None, words: str | None = None) -> None: ...


@contextmanager
def bar(words: str, total: float | None = None, console: Any = None) -> Iterator[Show]:
    """Inside the block, a function that moves the bar; it does nothing without a terminal, or without rich.

    >>> with bar("reading", total=2) as show:
    ...     show(1)
    """
    drawn = _rich_bar(console)
    if drawn is None:
        yield _unseen
        return
    task = drawn.add_task(words, total=total)
    start = Timer(PATIENCE, drawn.start)
    start.start()
    try:
        yield lambda done, total=None, words=None: drawn.update(task, completed=done, total=total, description=words)
    finally:
        start.cancel()
        start.join()
        drawn.stop()


def _unseen(*_: object, **__: object) -> None:
    """Moves nothing."""


def _rich_bar(console: Any) -> Any:
    """A bar that is not drawn yet; None where there is nobody to see it."""
    if console is None and not (sys.stderr is not None and sys.stderr.isatty()):
        return None
    try:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
    except ImportError:
        return None
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    return Progress(*columns, console=console or Console(stderr=True), transient=True)


def each(names: Sequence[str]) -> Iterator[str]:
    """Every name in turn; the bar says which one is worked on.

    >>> list(each(["a", "b"]))
    ['a', 'b']
    """
    with bar("", total=len(names)) as show:
        for done, name in enumerate(names):
            show(done, words=name)
            yield name


@contextmanager
def training_bar(plan: TrainPlan, console: Any = None) -> Iterator[Callable[[Any], None]]:
    """Inside the block, a function for `on_step` of hush.learning.fit: epsilon, the public loss, and the way.

    >>> import hush
    >>> plan = hush.train_plan(examples=100, batch_size=10, epochs=1, noise_multiplier=2.0, delta=1e-3)
    >>> with training_bar(plan) as show:
    ...     print(callable(show))
    True
    """
    words = f"epsilon {plan.bound.reported(4)} at delta {plan.delta:g} (whole plan)"
    with bar(words, plan.steps, console) as show:

        def on_step(progress: Any) -> None:
            loss = "" if progress.loss is None else f"  public loss {progress.loss:.4g}"
            metrics = "".join(f"  {name} {value:.4g}" for name, value in progress.metrics.items())
            show(progress.step, words=f"{words}{loss}{metrics}\n{progress.way}")

        yield on_step
