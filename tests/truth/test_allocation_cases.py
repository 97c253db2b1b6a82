"""Every reference value of random allocation lies in hush's interval, and the interval is narrow."""

from __future__ import annotations

import math

import pytest

import hush
from tests.truth.reference import DIRECTION, Case, enclosure, load, log_of, number

CASES = [case for case in load("amplification.json") if case["kind"].startswith("alloc_")]
TRUSTED = 0.5
"""A reference value is right to half a unit of its last trusted digit."""


def mechanism(params: Case) -> hush.Mechanism:
    scheme = hush.Allocation(steps=int(params["t"]), times=int(params.get("k", "1")))
    return hush.Gaussian(number(params["sigma"])).on(scheme).repeat(int(params.get("epochs", "1")))


def slack(case: Case) -> float:
    return TRUSTED * 10.0 ** (1 - int(case["digits_trusted"]))


@pytest.mark.parametrize("case", [c for c in CASES if c["kind"] == "alloc_delta"], ids=lambda c: c["id"])
def test_delta(case: Case) -> None:
    low, high = (
        mechanism(case["params"])
        .evidence(DIRECTION[case["params"]["direction"]])
        .pair.log_delta(number(case["params"]["eps"]))
    )
    truth = log_of(case["value"])
    assert low - slack(case) <= truth <= high + slack(case)
    assert high - low < 1e-8


@pytest.mark.parametrize("case", [c for c in CASES if c["kind"].startswith("alloc_eps")], ids=lambda c: c["id"])
def test_epsilon(case: Case) -> None:
    params = case["params"]
    pair = mechanism(params).evidence(DIRECTION[params["direction"]]).pair
    low, high = pair.epsilon(math.log(number(params["delta"])), 1e-9)
    least, most = (float(end) for end in enclosure(case))
    assert low <= most * (1 + slack(case)) and high >= least * (1 - slack(case))
    assert high - low < (1e-8 if params["epochs"] == "1" else 1e-4) * high


@pytest.mark.parametrize("case", [c for c in CASES if c["kind"] == "alloc_renyi"], ids=lambda c: c["id"])
def test_renyi(case: Case) -> None:
    params = case["params"]
    low, high = mechanism(params).evidence(DIRECTION[params["direction"]]).pair.renyi(number(params["alpha"]))
    assert low - 1e-12 <= float(case["value"]) <= high + 1e-12
    assert high - low < 1e-10
