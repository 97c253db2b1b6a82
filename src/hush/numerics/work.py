"""How much one question may cost: a budget of counted operations, never a clock, so that all machines answer alike.

A question opens a budget. Whatever sums, convolves or lays out arrays says first how many numbers it will touch. Each
way to an answer gets a share of what is left; one that runs out of it, or of the range of floats, has no answer, and
another, cheaper way is asked. So the worst that can happen is an interval that is wide.

>>> with question():
...     attempt(lambda: spend(1e12), "too much")
'too much'
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import wraps
from typing import Any, TypeVar

import numpy as np

from hush.errors import NotCovered

QUESTION = 8e8
"""Numbers that one question may touch, as most of them take about five nanoseconds: two to four seconds."""
CALL = 10_000
"""What a step costs besides the numbers it touches: a Python function with a few arrays takes 50 microseconds."""
MOST = 0.85
"""Share of what is left that one way may use: enough for the best way, and enough left for a simple one after it."""
LARGEST = 1 << 22
"""Numbers in one array: 32 MB of floats, so that a dozen of them, some complex, stay below half a gigabyte."""

UNLIMITED = 1e15
"""Where no question is open nothing is refused, but counted."""

T = TypeVar("T")


class Exhausted(NotCovered):
    """The way that was tried takes more work than it may."""

    def __init__(self) -> None:
        super().__init__("this takes more work than hush puts into one question")


Trace = list[Any]
"""Charges in their order; (key, trace) where what was charged is remembered itself."""


@dataclass
class Allowance:
    """What is left of the work that may be done."""

    left: float
    paid: set[object] = field(default_factory=set)
    """What is remembered and was charged in this question."""
    trace: Trace | None = None
    """Where charges are written down."""


_open: ContextVar[Allowance | None] = ContextVar("budget", default=None)


def spend(numbers: float) -> None:
    """Charge one step that touches so many numbers, before it is made."""
    budget = _open.get()
    if budget is not None:
        enough = numbers + CALL <= budget.left
        budget.left -= numbers + CALL if enough else CALL
        if not enough:
            raise Exhausted
        if budget.trace is not None:
            budget.trace.append(numbers)


def room(numbers: float, passes: float = 1) -> None:
    """Charge an array of so many numbers and so many passes over it, before it is made."""
    if not numbers <= LARGEST:
        raise Exhausted
    spend(numbers * passes)


@contextmanager
def part(share: float) -> Iterator[None]:
    """Of what is left, at most this share for what is done inside."""
    budget = _open.get()
    if budget is None:
        yield
    else:
        with _limited(budget.left * share):
            yield


@contextmanager
def _limited(left: float, *, charged: bool = True) -> Iterator[None]:
    outer = _open.get()
    budget = Allowance(left, outer.paid, outer.trace) if outer else Allowance(left)
    token = _open.set(budget)
    try:
        yield
    finally:
        _open.reset(token)
        if outer is not None and charged:
            outer.left -= left - budget.left


@contextmanager
def question() -> Iterator[None]:
    """A budget for all that is done inside, unless one is open already; arithmetic that leaves the floats is an error.

    An overflow or a NaN must end the way that met it: a comparison with NaN decides nothing, but does not say so.
    """
    if _open.get() is not None:
        yield
        return
    with np.errstate(over="raise", divide="raise", invalid="raise"), _limited(QUESTION):
        try:
            yield
        except ArithmeticError:
            raise NotCovered("the numbers that this needs are beyond floats") from None


asked = question()
"""The same as a decorator: of a function that is a question."""


def attempt(way: Callable[[], T], otherwise: T) -> T:
    """What the way gives with most of the work that is left; the other value where work or floats do not suffice.

    To attempt is work itself: ways inside ways inside ways, each of them without means, would else never end.
    """
    budget = _open.get()
    if budget is not None:
        if budget.left < CALL:
            return otherwise
        budget.left -= CALL / 2
    with part(MOST):
        try:
            return way()
        except (Exhausted, ArithmeticError):
            return otherwise


def remembered(size: int) -> Callable[[Callable[..., T]], Callable[..., T]]:
    """Keep the last values of a function for later questions, with what they cost.

    A value from an earlier question is charged just as if it were made anew, step by step; one that this question made
    is free. So no answer depends on the questions before it. The function must not attempt anything: what it
    costs is to depend on its arguments alone.
    """

    def decorate(function: Callable[..., T]) -> Callable[..., T]:
        known: dict[tuple[object, ...], tuple[T, Trace]] = {}

        @wraps(function)
        def inside(*args: object) -> T:
            key = (function, args)
            if args not in known:
                trace: Trace = []
                budget = _open.get()
                free = budget is None or key in budget.paid
                with _limited(UNLIMITED, charged=False) if free else part(1.0), _traced(trace):
                    value = function(*args)
                if len(known) >= size:
                    known.pop(next(iter(known)))
                known[args] = value, trace
                _paid(key, trace)
            else:
                value, trace = known[args]
                _replay(key, trace)
            return value

        return inside

    return decorate


def kept(size: int, most: float) -> Callable[[Callable[..., T]], Callable[..., T]]:
    """Keep the last values of a function that may attempt things, in a budget of its own: so much and no more.

    The budget is always the same, so the value, or that there is none, depends on the arguments alone. What it used is
    charged to each question that asks for it, once. Arguments that have no hash are not kept.
    """

    def decorate(function: Callable[..., T]) -> Callable[..., T]:
        known: dict[tuple[object, ...], tuple[tuple[T] | None, Trace]] = {}

        def made(args: tuple[object, ...]) -> tuple[tuple[T] | None, Trace]:
            """The value, if the work sufficed for it, and what it used."""
            budget = Allowance(most)
            token = _open.set(budget)
            try:
                with np.errstate(over="raise", divide="raise", invalid="raise"):
                    return (function(*args),), [most - budget.left]
            except Exhausted:
                return None, [most]
            finally:
                _open.reset(token)

        @wraps(function)
        def inside(*args: object) -> T:
            try:
                found = known.get(args)
            except TypeError:  # no hash
                value, trace = made(args)
                spend(trace[0])
            else:
                if found is None:
                    found = made(args)
                    if len(known) >= size:
                        known.pop(next(iter(known)))
                    known[args] = found
                value, trace = found
                _replay((function, args), trace)
            if value is None:
                raise Exhausted
            return value[0]

        return inside

    return decorate


@contextmanager
def _traced(trace: Trace) -> Iterator[None]:
    """Write down what is charged inside."""
    budget = _open.get() or Allowance(0.0)
    outer, budget.trace = budget.trace, trace
    try:
        yield
    finally:
        budget.trace = outer


def _paid(key: object, trace: Trace) -> None:
    """Note that this question has the value, and what it cost."""
    budget = _open.get()
    if budget is not None:
        budget.paid.add(key)
        if budget.trace is not None:
            budget.trace.append((key, trace))


def _replay(key: object, trace: Trace) -> None:
    """Charge what is remembered, unless this question has paid for it."""
    budget = _open.get()
    if budget is not None and key not in budget.paid:
        with _traced([]):
            for step in trace:
                _replay(*step) if isinstance(step, tuple) else spend(step)
    _paid(key, trace)
