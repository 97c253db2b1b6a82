"""Histories of Opacus as mechanisms, and the bridges where the other libraries are not installed."""

from __future__ import annotations

import math
from importlib.util import find_spec

import pytest

import hush
from hush.interop import from_dp_event, from_opacus

RATE = 256 / 60_000


def step(noise: float, rate: float = RATE) -> hush.Mechanism:
    return hush.Gaussian(noise).on(hush.Poisson(rate=rate))


def test_phases_add_up() -> None:
    history = [(1.1, RATE, 2000), (1.5, RATE, 1000), (1.1, RATE, 500)]
    assert from_opacus(history) == hush.sequence(step(1.1).repeat(2500), step(1.5).repeat(1000))
    assert from_opacus([(1.1, 1.0, 3)]) == hush.Gaussian(1.1).repeat(3)


def test_shuffled_loaders_are_told() -> None:
    """One pass without amplification: each record is used once per epoch."""
    epochs = from_opacus([(1.1, 1 / 235, 15 * 235)], scheme=hush.ShuffledBatches)
    assert epochs == hush.Gaussian(1.1).on(hush.ShuffledBatches(steps=235)).repeat(15)
    assert epochs.epsilon(delta=1e-5).upper > from_opacus([(1.1, 1 / 235, 15 * 235)]).epsilon(delta=1e-5).upper
    for history in ([(1.1, 1 / 235, 100)], [(1.1, 0.3, 3)]):
        with pytest.raises(hush.InvalidParameter, match="whole epochs"):
            from_opacus(history, scheme=hush.ShuffledBatches)
    with pytest.raises(hush.NotCovered, match="WithReplacement"):
        from_opacus([(1.1, 0.5, 2)], scheme=hush.WithReplacement)


def test_what_reveals_nothing_or_everything() -> None:
    for history in ([], [(1.1, RATE, 0)], [(1.1, 0.0, 10)], [(0.0, 0.0, 10)]):
        assert from_opacus(history).epsilon(delta=0).upper == 0
    assert from_opacus([(1.1, RATE, 10), (0.0, RATE, 1)]).epsilon(delta=1e-5).upper == math.inf


@pytest.mark.parametrize(
    "history",
    [
        None,
        3,
        [(1.1, RATE)],
        [1.1, RATE, 10],
        [(-1.0, RATE, 1)],
        [(1.1, 1.5, 1)],
        [(1.1, RATE, 1.5)],
        [("a", RATE, 1)],
        [(math.nan, RATE, 1)],
    ],
)
def test_bad_histories_are_refused(history: object) -> None:
    with pytest.raises(hush.InvalidParameter, match="from_opacus"):
        from_opacus(history)  # type: ignore[arg-type]


def test_what_is_no_event_is_refused_without_their_package() -> None:
    with pytest.raises(hush.InvalidParameter, match="an event of dp_accounting"):
        from_dp_event(hush.Gaussian(1.0))


@pytest.mark.skipif(find_spec("opacus") is not None, reason="Opacus is installed here")
def test_a_missing_package_is_named_with_its_extra() -> None:
    for name in ("to_dp_event", "DpEventAccountant", "OpacusAccountant", "register_with_opacus"):
        with pytest.raises(hush.NotInstalled, match=r"hush-dp\[interop\]"):
            getattr(hush.interop, name)
