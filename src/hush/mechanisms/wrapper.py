"""Mechanisms around one other, which is what runs on the data."""

from __future__ import annotations

from hush.mechanisms.mechanism import Mechanism


class Around(Mechanism):
    """What runs once, or several times, is another mechanism on all the data: what it runs on stays the same."""

    inner: Mechanism

    @property
    def children(self) -> tuple[Mechanism, ...]:
        return (self.inner,)

    @property
    def curve_beats_pair(self) -> bool:
        return self.inner.curve_beats_pair

    @property
    def populations(self) -> frozenset[int]:
        return self.inner.populations

    @property
    def together(self) -> frozenset[int]:
        return self.inner.together

    @property
    def no_secret_sample(self) -> str:
        return self.inner.no_secret_sample
