"""The shuffling kinds of amplification.json: one theorem or one choice of data each, and then the mechanism's own interval."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

import hush
from hush.curves.theorems.shuffling.multiset import (
    BinaryResponses,
    Multiset,
    Profile,
    binary_laws,
    blanket_of_response,
    clone,
    one_bit,
    others_agree,
    stronger_clone,
)
from hush.curves.theorems.shuffling.shuffled import HoeffdingBlanket
from tests.truth.reference import Answer, Case, enclosure, log_of, number, of_log_delta, of_number

RESPONSE = 1e-8
"""Width that exact kinds must have, relative to epsilon or to the log of delta."""


def reported(case: Case) -> tuple[float, int]:
    return number(case["params"]["eps0"]), int(case["params"]["n"])


def table_of_response(epsilon0: float) -> np.ndarray:
    low = 1 / (math.exp(epsilon0) + 1)
    return np.array([[1 - low, low], [low, 1 - low]])


def general_or_stronger(case: Case) -> Multiset:
    epsilon0, people = reported(case)
    text = str(case["params"].get("variant", case["params"].get("clone")))
    if "restricted" in text or "fmt23" in text:
        return stronger_clone(epsilon0, people, table_of_response(epsilon0))
    return clone(epsilon0, people)


def solved(bound: Profile, case: Case) -> Answer:
    """Epsilon of one profile at the case's delta, to ten digits."""
    pair = hush.LocalDP(reported(case)[0]).shuffled(people=2).pairs()["replace"]
    found = pair.epsilon_by(bound, log_of(case["params"]["delta"]), 1e-9)  # type: ignore[attr-defined]
    return of_number(found, enclosure(case), RESPONSE)


def clone_epsilon(case: Case) -> Iterator[Answer]:
    yield solved(general_or_stronger(case), case)
    epsilon0, people = reported(case)
    if "all eps0-LDP" in case["params"]["variant"]:
        bound = hush.LocalDP(epsilon0).shuffled(people=people).epsilon(delta=number(case["params"]["delta"]))
        low, high = enclosure(case)
        yield Answer("mechanism", bound.lower, bound.upper, float(low), float(high), float(high), math.inf)


def clone_delta(case: Case) -> Iterator[Answer]:
    found = general_or_stronger(case).log_delta(number(case["params"]["eps"]))
    yield of_log_delta(found, enclosure(case), RESPONSE)


def binary_epsilon(case: Case) -> Iterator[Answer]:
    epsilon0, people = reported(case)
    low = 1 / (math.exp(epsilon0) + 1)
    agree = "user holds 0" in case["params"]["variant"]
    yield solved(others_agree(epsilon0, 1 - low, low, people) if agree else one_bit(people, low, 1 - low), case)
    # one choice of data is no more than the worst
    bound = hush.KaryResponse(epsilon=epsilon0).shuffled(people=people).epsilon(delta=number(case["params"]["delta"]))
    least = float(enclosure(case)[0])
    yield Answer("worst", -math.inf, bound.upper, least, least, least, math.inf)


def binary_delta(case: Case) -> Iterator[Answer]:
    epsilon0, people = reported(case)
    ones, reverse = int(case["params"]["others_holding_1"]), case["params"]["direction"] == "1|0"
    exact = BinaryResponses(epsilon0, people)
    laws = binary_laws(epsilon0, people)  # so many of the others hold 1; P's record holds 0 and Q's 1, or the reverse
    first, second = laws[ones : ones + 1], laws[ones + 1 : ones + 2]
    found = exact.worst(*((second, first) if reverse else (first, second)), number(case["params"]["eps"]))
    yield of_log_delta(found, enclosure(case), RESPONSE)
    worst = exact.log_delta(number(case["params"]["eps"]))
    yield Answer("worst", -math.inf, worst[1], found[0], found[0], 1.0, math.inf)


def kary_delta(case: Case) -> Iterator[Answer]:
    """One choice of data lies below what is promised; what is said to be attained is the worst of such."""
    epsilon0, people = reported(case)
    mechanism = hush.KaryResponse(epsilon=epsilon0, choices=int(case["params"]["k"])).shuffled(people=people)
    bound, truth = mechanism.log_delta(epsilon=number(case["params"]["eps"])), log_of(case["value"])
    yield Answer("log delta", -math.inf, bound.upper, truth, truth, 1.0, math.inf)
    yield Answer("within a tenth", truth - 0.1, truth + 0.1, bound.upper, bound.upper, 1.0, math.inf)


def blanket_of_kary(case: Case) -> Iterator[Answer]:
    epsilon0, people = reported(case)
    found = blanket_of_response(epsilon0, int(case["params"]["k"]), people).log_delta(number(case["params"]["eps"]))
    yield of_log_delta(found, enclosure(case), RESPONSE)


def blanket_by_hoeffding(case: Case) -> Iterator[Answer]:
    epsilon0, people = reported(case)
    mass = None if "generic" in case["params"]["variant"] else 2 / (math.exp(epsilon0) + 1)
    found = HoeffdingBlanket(epsilon0, people, mass).log_delta(number(case["params"]["eps"]))[1]
    truth = log_of(case["value"])
    # from above, and close: the sum is rounded up by 1e-11
    yield Answer("log delta", found - 1e-9, found, truth, truth, abs(truth), math.inf)


SHUFFLING: dict[str, Callable[[Case], Iterator[Answer]]] = {
    "shuffle_clone_eps": clone_epsilon,
    "shuffle_clone_delta": clone_delta,
    "shuffle_2rr_eps": binary_epsilon,
    "shuffle_2rr_exact": binary_delta,
    "shuffle_krr_exact": kary_delta,
    "shuffle_blanket_krr": blanket_of_kary,
    "shuffle_blanket_hoeffding": blanket_by_hoeffding,
}
