"""How the kinds of reference case that are about Rényi curves are put to hush; see reference.py."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import hush
from hush.curves.renyi import families, sampling
from hush.curves.renyi.concentrated import tcdp_sample
from hush.mechanisms.neighbours import REMOVED
from tests.truth.reference import DIRECTION, Answer, Case, named, number, of_renyi, sampled


def exactly_this(what: str, found: float, value: str | float) -> Answer:
    """A formula that was evaluated twice: alike to 1e-9, and not below by more than rounding."""
    truth = float(value)
    return Answer(what, found * (1 - 1e-9), found, truth, truth, truth, math.inf)


def skellam_divergence(case: Case) -> Iterator[Answer]:
    """By its own sum; the pair is cut, so its divergences are infinite."""
    mechanism = hush.Skellam(number(case["params"]["variance"]), int(case["params"]["sensitivity"]))
    for name, neighbours in DIRECTION.items():
        yield exactly_this(name, mechanism.evidence(neighbours).curve(number(case["params"]["alpha"])), case["value"])


def without_replacement_lower(case: Case) -> Iterator[Answer]:
    """The lower bound without replacement of Wang et al. 2019 is the exact divergence of a Poisson sample, remove."""
    params = case["params"]
    rate, order = number(params["gamma"]), number(params["alpha"])
    yield of_renyi(sampled(named(params["mechanism"]), rate), REMOVED, order, case["value"], "remove")
    found = sampling.without_replacement_lower(named(params["mechanism"]).renyi_curve(), rate)(order)
    truth = float(case["value"])
    yield Answer("lower bound", found, found * (1 + 1e-9), truth, truth, truth, math.inf)


def without_replacement_upper(case: Case) -> Iterator[Answer]:
    """Wang et al. 2019, Thm 9, or the unsampled curve where that is smaller."""
    params = case["params"]
    plain, order = named(params["mechanism"]).renyi_curve(), number(params["alpha"])
    found = sampling.without_replacement(plain, number(params["gamma"]))(order)
    yield exactly_this("curve", found, min(float(case["value"]), plain(order)))


def poisson_from_curve(case: Case) -> Iterator[Answer]:
    """Zhu, Wang 2019, Thm 5, or the unsampled curve where that is smaller."""
    params = case["params"]
    order = number(params["alpha"])
    plain = named(params["mechanism"]).renyi_curve()
    rate = number(params["gamma"])
    yield exactly_this("factor 3", sampling.poisson(plain, rate)(order), min(float(case["value"]), plain(order)))
    exact = min(float(case["without_factor3"]), plain(order))
    yield exactly_this("factor 1", sampling.poisson_mirrored(plain, rate)(order), exact)


def sampled_tcdp(case: Case) -> Iterator[Answer]:
    params = case["params"]
    found = tcdp_sample(number(params["rho"]), number(params["omega_required"]) * (1 + 1e-12), number(params["s"]))
    for name, mine, value in zip(("rho", "omega"), found, case["value"].split(","), strict=True):
        yield exactly_this(name, mine * (1 + 1e-15), value)


def beta_divergence(case: Case) -> Iterator[Answer]:
    a1, b1, a2, b2, order = (number(case["params"][name]) for name in ("a1", "b1", "a2", "b2", "alpha"))
    found = families.exponential_family(families.log_beta, [a1, b1], [a2, b2])(order)
    yield exactly_this("curve", found, case["value"])


def normal_mean(case: Case) -> Iterator[Answer]:
    params = case["params"]
    mechanism = hush.GaussianPosterior(
        int(params["n"]), number(params["prior_var"]), number(params["lik_var"]), number(params["data_range"])
    )
    yield exactly_this("curve", float(mechanism.renyi(orders=[number(params["alpha"])])[0]), case["value"])


CHECKED_CURVES: dict[str, Callable[[Case], Iterator[Answer]]] = {
    "wbk2019_wor_lower": without_replacement_lower,
    "wbk2019_wor_upper": without_replacement_upper,
    "tcdp_subsample": sampled_tcdp,
    "expfam_beta": beta_divergence,
    "expfam_gauss_mean": normal_mean,
    "rdp_skellam": skellam_divergence,
    "zhuwang2019_poisson_generic": poisson_from_curve,
}
