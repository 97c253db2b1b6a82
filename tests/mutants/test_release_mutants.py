"""Known privacy bugs of releases, re-introduced one at a time: the checks of the suite must see each."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import hush
from hush import releases
from hush.mechanisms.combinators.one_after_another import Sequence
from hush.releases.noise.exact_sums import SumGrid
from hush.releases.noise.noisy_query import NoisyQuery
from hush.releases.sample import Sample
from hush.releases.statistics.sums import Count
from tests.releases.replay import RecordingSource, ReplaySource
from tests.releases.test_replay_on_neighbours import differing

SUM = releases.Sum(bounds=(0, 10), epsilon=1.0)
MEAN = releases.Mean(bounds=(0, 10), epsilon=1.0)


def test_nothing_is_wrong_without_a_mutation(monkeypatch: pytest.MonkeyPatch) -> None:
    for query in (SUM, MEAN):
        for value in (10.0, 1e9, math.nan, math.inf):
            assert differing(query, [5.0, value], [5.0], monkeypatch) <= 1


def test_half_the_sensitivity(monkeypatch: pytest.MonkeyPatch) -> None:
    right = NoisyQuery.noised

    def wrong(self: NoisyQuery, totals: Any, *, l1: int, l2: float, source: hush.Source) -> Any:
        return right(self, totals, l1=l1 // 2, l2=l2 / 2, source=source)

    monkeypatch.setattr(NoisyQuery, "noised", wrong)
    for query in (SUM, MEAN):
        assert differing(query, [5.0, 10.0], [5.0], monkeypatch) > 1.5


def test_numbers_are_not_clamped(monkeypatch: pytest.MonkeyPatch) -> None:
    right = SumGrid._steps
    monkeypatch.setattr(SumGrid, "_steps", lambda self, v, room, low, high: right(self, v, room, -math.inf, 1e4))
    assert differing(SUM, [5.0, 1e9], [5.0], monkeypatch) > 10


def test_missing_values_stay_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(np, "fmax", np.maximum)
    monkeypatch.setattr(np, "fmin", np.minimum)
    assert differing(SUM, [5.0, math.nan], [5.0], monkeypatch) > 1.5


def test_a_draw_that_depends_on_the_data(monkeypatch: pytest.MonkeyPatch) -> None:
    right = Count.answer

    def wrong(self: Count, run: Any) -> Any:
        if run.table.rows() > 2:
            run.source.words(1)
        return right(self, run)

    monkeypatch.setattr(Count, "answer", wrong)
    recording = RecordingSource(1)
    releases.Count(epsilon=1.0).release([1, 2, 3], source=recording)
    with pytest.raises(AssertionError, match="randomness"):
        releases.Count(epsilon=1.0).release([1, 2], source=ReplaySource(recording.tape))


def test_one_sample_amplified_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = lambda self, uses: Sequence.of([use.on(self.scheme) for use in uses])  # noqa: E731
    scheme, right = hush.Poisson(rate=0.1), Sample._accounted

    def claimed() -> float:
        sample = releases.sample(np.arange(10.0), scheme)
        sample.release(SUM)
        return sample.release(SUM).mechanism.epsilon(delta=0).upper

    truth = hush.sequence(SUM.mechanism, SUM.mechanism).on(scheme).epsilon(delta=0).lower
    monkeypatch.setattr(Sample, "_accounted", wrong)
    assert claimed() < 0.9 * truth
    monkeypatch.setattr(Sample, "_accounted", right)
    assert claimed() >= truth


def test_a_user_counted_as_one_record(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same user's rows removed move a sum further than a record may: the group's mechanism says so."""
    rows = {"x": [10.0] * 3 + [1.0], "who": [1, 1, 1, 2]}
    table = releases.table(rows, column="x", unit="who", max_contributions=3)
    assert SUM.release(table).mechanism.epsilon(delta=0).upper == pytest.approx(3)
    assert differing(SUM, rows["x"], rows["x"][3:], monkeypatch) == pytest.approx(3, rel=1e-4)
