"""Record and replay: on neighbouring data with the same randomness only the totals differ, within what is declared."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import hush
from hush import releases
from hush.releases.noise.noisy_query import NoisyQuery
from tests.releases.replay import RecordingSource, ReplaySource, watched

REPLACE = hush.Relation.REPLACE
NOISES: list[dict] = [{"epsilon": 0.7}, {"noise_multiplier": 1.5}]
BOUNDS = [(0.0, 2000.0), (-1.0, 3.0), (-7.5, -2.5), (1e15, 1e15 + 8), (-1e308, 1e308), (0.0, 5e-324), (0.0, 1e-310)]
VALUES = st.one_of(
    st.floats(),
    st.sampled_from([0.0, -0.0, 2000.0, 1e15, 1e15 + 3, 1e308, -1e308, math.inf, -math.inf, math.nan, 5e-324]),
)


def queries() -> list[NoisyQuery]:
    found: list[NoisyQuery] = []
    for noise in NOISES:
        found.append(releases.Count(**noise))
        for bounds in BOUNDS if "epsilon" in noise else BOUNDS[:2]:
            for relation in (hush.Relation.ADD_REMOVE, hush.Relation.REPLACE):
                shared = {"bounds": bounds, "relation": relation} | noise
                found += [releases.Sum(**shared), releases.Mean(**shared), releases.Variance(**shared)]
            found.append(releases.Mean(bounds=bounds, size=10, **noise))
        for relation in (hush.Relation.ADD_REMOVE, hush.Relation.REPLACE):
            found.append(releases.Histogram(edges=(0, 1, 5, 2000), relation=relation, **noise))
            found.append(releases.Histogram(categories=(0.0, 2000.0), other=True, relation=relation, **noise))
    return found


def differing(query: NoisyQuery, first: list, second: list, monkeypatch: pytest.MonkeyPatch) -> float:
    """How far the totals are apart, as a share of what was declared; all else must be equal."""
    recording = RecordingSource(3)
    one, before = watched(monkeypatch, lambda: query.release(np.array(first, dtype=float), source=recording))
    replay = ReplaySource(recording.tape)
    other, after = watched(monkeypatch, lambda: query.release(np.array(second, dtype=float), source=replay))
    assert replay.finished and one.mechanism == other.mechanism
    assert len(before) == len(after) == 1
    a, b = before[0], after[0]
    assert (a.kind, a.sensitivity, a.scale, a.multiples.shape) == (b.kind, b.sensitivity, b.scale, b.multiples.shape)
    small = np.maximum(np.abs(a.values), np.abs(b.values)) < 2**53
    assert np.array_equal((a.values - a.multiples)[small], (b.values - b.multiples)[small])
    apart = [abs(int(x) - int(y)) for x, y in zip(a.multiples, b.multiples, strict=True)]
    distance = sum(apart) if a.kind == "laplace" else math.sqrt(sum(d * d for d in apart))
    return distance / a.sensitivity


@pytest.mark.parametrize("query", queries(), ids=str)
@settings(max_examples=6, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.lists(VALUES, min_size=1, max_size=6), other=VALUES, place=st.integers(0, 5))
def test_any_neighbours(
    query: NoisyQuery, data: list, other: float, place: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    place %= len(data)
    removed = data[:place] + data[place + 1 :]
    neighbour = [*removed, other] if query.relation is REPLACE else removed
    assert differing(query, data, neighbour, monkeypatch) <= 1


@pytest.mark.parametrize("query", queries(), ids=str)
def test_what_is_declared_is_reached(query: NoisyQuery, monkeypatch: pytest.MonkeyPatch) -> None:
    """Noise for more than the worst neighbours would be wasted: some reach 99.99% of it."""
    low, high = getattr(query, "bounds", (0.0, 2000.0))
    ends = [low, high]
    pairs = [([a], [b]) for a in ends for b in ends] if query.relation is REPLACE else [([a], []) for a in ends]
    shares = [differing(query, a, b, monkeypatch) for a, b in pairs]
    assert 0.9999 <= max(shares) <= 1


@pytest.mark.parametrize("rate", [0.02, 0.5])
def test_a_changed_record_changes_no_draw_of_the_sample(rate: float, monkeypatch: pytest.MonkeyPatch) -> None:
    data = np.linspace(0, 1, 500)
    for value in (-5.0, 0.3, math.nan):
        changed = data.copy()
        changed[250] = value
        query = releases.Mean(bounds=(0, 1), epsilon=1.0).on(hush.Poisson(rate=rate))
        recording = RecordingSource(5)
        _, before = watched(monkeypatch, lambda q=query, s=recording: q.release(data, source=s))
        replay = ReplaySource(recording.tape)
        _, after = watched(monkeypatch, lambda q=query, d=changed, s=replay: q.release(d, source=s))
        assert replay.finished
        assert np.abs(before[0].multiples - after[0].multiples).sum() <= 2 * before[0].sensitivity
