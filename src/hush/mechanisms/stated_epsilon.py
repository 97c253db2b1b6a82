"""The epsilon that a class states of itself: a number, and, as on every mechanism, a question."""

from __future__ import annotations

from hush.checks import number
from hush.curves.bound import Bound
from hush.mechanisms.mechanism import Mechanism


class StatedEpsilon(float):
    """A number that was stated; called with a delta, it answers as `Mechanism.epsilon` does.

    >>> import hush
    >>> stated = hush.PureDP(1.0).epsilon
    >>> stated, stated(delta=0.1).upper
    (1.0, 0.8529...)
    """

    mechanism: Mechanism

    def __call__(self, *, delta: float, tolerance: float = 1e-6) -> Bound:
        """The least epsilon of the mechanism at this delta."""
        return Mechanism.epsilon(self.mechanism, delta=delta, tolerance=tolerance)


class EpsilonField:
    """A dataclass field `epsilon` between two bounds, which are checked whenever it is set.

    The mechanism keeps a plain float. Each look at it is a `StatedEpsilon` of the mechanism that was looked at, so a
    copy or a replacement answers for itself.
    """

    def __init__(self, low: float, high: float, *, low_open: bool = False) -> None:
        self.rule = f"{low:g} {'<' if low_open else '<='} epsilon <= {high:g}"
        self.low, self.high, self.low_open = low, high, low_open

    def checked(self, who: str, value: object) -> float:
        """The value, if it is a number between the bounds."""
        return number(who, self.rule, self.low, self.high, low_open=self.low_open, epsilon=value)

    def __get__(self, mechanism: Mechanism | None, owner: type) -> StatedEpsilon:
        if mechanism is None:
            raise AttributeError(f"{owner.__name__}.epsilon has no default")  # so dataclasses makes it required
        stated = StatedEpsilon(vars(mechanism)["epsilon"])
        stated.mechanism = mechanism
        return stated

    def __set__(self, mechanism: Mechanism, value: float) -> None:
        vars(mechanism)["epsilon"] = self.checked(type(mechanism).__name__, value)
