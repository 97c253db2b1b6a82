"""A bar for training, with the epsilon of the whole plan and the loss on public rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from hush.errors import NotInstalled
from hush.questions.planning.train_plan import TrainPlan


@contextmanager
def bar(plan: TrainPlan, console: Any = None) -> Iterator[Callable[[Any], None]]:
    """Inside the block, a function for `on_step` of hush.learning.fit that moves the bar.

    >>> import hush
    >>> plan = hush.train_plan(examples=100, batch_size=10, epochs=1, noise_multiplier=2.0, delta=1e-3)
    >>> with bar(plan) as show:
    ...     print(callable(show))
    True
    epsilon = 0.441... at delta 0.001 (whole plan)...
    """
    try:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
    except ImportError:
        raise NotInstalled("A progress bar", "rich", "app") from None
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    words = f"epsilon {plan.bound.reported(4)} at delta {plan.delta:g} (whole plan)"
    with Progress(*columns, console=console) as shown:
        task = shown.add_task(words, total=plan.steps)

        def show(progress: Any) -> None:
            loss = "" if progress.loss is None else f"  public loss {progress.loss:.4g}"
            shown.update(task, completed=progress.step, description=words + loss)

        yield show
