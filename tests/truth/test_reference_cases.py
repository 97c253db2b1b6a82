"""Every reference case of a covered kind: the truth lies in the certified interval, which is narrow."""

from __future__ import annotations

import time
from functools import cache

import pytest

from tests.truth.reference import CHECKED, Answer, Case, load

CASES: dict[str, Case] = {case["id"]: case for name in ("cases.json", "amplification.json") for case in load(name)}
COVERED = [name for name, case in CASES.items() if case["kind"] in CHECKED]

NOT_BUILT = {
    "rdp_skellam": "Skellam noise",
    "wbk2019_wor_upper": "sampling without replacement",
    "tcdp_subsample": "sampling of tCDP by its own theorem",
    "alloc_delta": "allocation",
    "alloc_eps": "allocation",
    "alloc_eps_epochs": "allocation",
    "alloc_renyi": "allocation",
    "shuffle_2rr_eps": "shuffling",
    "shuffle_2rr_exact": "shuffling",
    "shuffle_blanket_hoeffding": "shuffling",
    "shuffle_blanket_krr": "shuffling",
    "shuffle_clone_delta": "shuffling",
    "shuffle_clone_eps": "shuffling",
    "shuffle_krr_exact": "shuffling",
    "altschuler_talwar_fullbatch": "noisy iteration",
    "cni_optimal_rdp": "noisy iteration",
    "fmtt2018_pnsgd": "noisy iteration",
    "noisycgd_strongly_convex_mu": "noisy iteration",
    "noisygd_projected_mu": "noisy iteration",
    "noisygd_projected_mu_paper": "noisy iteration",
    "pnsgd_random_stop_weak": "noisy iteration",
    "pnsgd_rdp": "noisy iteration",
    "expfam_beta": "posterior sampling",
    "expfam_gauss_mean": "posterior sampling",
    "smooth_sensitivity_median": "smooth sensitivity",
}


@cache
def answers(name: str) -> tuple[tuple[Answer, ...], float]:
    """All answers to one case, and the CPU seconds that each took on average."""
    case = CASES[name]
    start = time.process_time()
    found = tuple(CHECKED[case["kind"]](case))
    return found, (time.process_time() - start) / len(found)


def test_every_kind_is_checked_or_named_as_not_built() -> None:
    kinds = {case["kind"] for case in CASES.values()}
    assert kinds == CHECKED.keys() | NOT_BUILT.keys()
    assert not CHECKED.keys() & NOT_BUILT.keys()


@pytest.mark.parametrize("name", COVERED)
def test_truth_in_interval(name: str) -> None:
    for answer in answers(name)[0]:
        assert answer.lower <= answer.upper, answer
        assert answer.sound, (CASES[name]["params"], answer)


@pytest.mark.parametrize("name", COVERED)
def test_interval_is_narrow_and_quick(name: str) -> None:
    found, seconds = answers(name)
    for answer in found:
        assert answer.tight, (CASES[name]["params"], answer)
    # Most take milliseconds; this only tells a hang from an answer, on a slow machine.
    assert seconds < 60
