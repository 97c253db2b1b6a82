"""How each kind of reference case is put to hush: one question, the certified answer and the truth, side by side.

The cases were computed from the definitions in ball arithmetic (`method` says how). Parameters are exact decimals
in strings; some values of delta are far below 1e-300, so deltas are compared in logs.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

import hush
from hush.curves.renyi import convert
from hush.curves.theorems import last_iterate
from hush.curves.theorems.shuffled_batches import LoudestNormals
from hush.mechanisms.neighbours import ADDED, REMOVED, REPLACED, Neighbours
from hush.numerics.minimum import minimum
from tests.formulas import projected_mu_closed_form, random_stop_weak

HERE = Path(__file__).parent
Case = dict
DIRECTION = {"remove": REMOVED, "add": ADDED}


@dataclass(frozen=True)
class Answer:
    """What hush says (lower, upper) about what is true (between least and most), and how wide it may be."""

    what: str
    lower: float
    upper: float
    least: float
    most: float
    absolute: float
    """Size that tolerances are relative to: the value itself, or for logs of delta at least 1."""
    widest: float = 1e-4
    """Largest (upper - lower) / absolute that still counts as tight."""

    @property
    def sound(self) -> bool:
        """Whether truth and answer overlap, up to the rounding of decimal parameters to floats."""
        slack = 1e-12 * self.absolute
        return self.lower <= self.most + slack and self.upper >= self.least - slack

    @property
    def tight(self) -> bool:
        """Whether the interval is as narrow as is asked (an upper end of log 0 is exact)."""
        return self.upper == -math.inf or self.upper - self.lower <= self.widest * self.absolute


def load(name: str) -> list[Case]:
    return json.loads((HERE / name).read_text())


def number(text: object) -> float:
    return float(str(text))


def log_of(text: str) -> float:
    value = Decimal(text)
    return float(value.ln()) if value > 0 else -math.inf


def enclosure(case: Case) -> tuple[str, str]:
    if "value" in case:
        return case["value"], case["value"]
    low, high = case["enclosure"]
    return low, high


# -- three kinds of quantity -------------------------------------------------------------------------------------


def of_log_delta(
    found: tuple[float, float], truth: tuple[str, str], widest: float = 1e-4, what: str = "log delta"
) -> Answer:
    least, most = log_of(truth[0]), log_of(truth[1])
    size = max(1.0, abs(most)) if most > -math.inf else 1.0
    return Answer(what, *found, least, most, size, widest)


def of_number(
    found: tuple[float, float], truth: tuple[str, str], widest: float = 1e-4, what: str = "epsilon"
) -> Answer:
    least, most = float(truth[0]), float(truth[1])
    return Answer(what, *found, least, most, abs(most), widest)


def of_renyi(mechanism: hush.Mechanism, neighbours: Neighbours, order: float, truth: str, what: str) -> Answer:
    """The pair's interval; the public curve may know a closed form that the pair does not, and must hold too."""
    low, high = mechanism.evidence(neighbours).pair.renyi(order)
    value = float(truth)
    # log E e^{(order-1)L} is near 0 where little is revealed: one rounding of the moment, 1 plus little, is 2e-16.
    floor = 1e-14 * (1 + 1 / max(order - 1, 1e-3)) if order < math.inf else 0.0
    return Answer(
        what, low, min(high, mechanism.evidence(neighbours).curve(order)), value, value, value, 1e-9 + floor / value
    )


# -- mechanisms --------------------------------------------------------------------------------------------------


def randomized_response(params: Case) -> hush.Mechanism:
    return hush.RandomizedResponse(epsilon=number(params["eps0"]), relation=hush.Relation.ADD_REMOVE)


def gaussian(params: Case) -> hush.Mechanism:
    return hush.Gaussian(noise_multiplier=number(params["sigma"]))


def laplace(params: Case) -> hush.Mechanism:
    return hush.Laplace(scale=number(params["b"]))


def named(text: str) -> hush.Mechanism:
    """'gaussian sigma=5' or 'laplace b=2'."""
    family, _, value = text.replace("=", " ").split()
    return hush.Gaussian(float(value)) if family == "gaussian" else hush.Laplace(float(value))


def sampled(base: hush.Mechanism, rate: object) -> hush.Mechanism:
    return base.on(hush.Poisson(rate=number(rate)))


BASE: dict[str, Callable[[Case], hush.Mechanism]] = {
    "gaussian": gaussian,
    "laplace": laplace,
    "rr": randomized_response,
    "randomized_response": randomized_response,
    "discrete_gaussian": lambda p: hush.DiscreteGaussian(number(p["sigma"]), sensitivity=int(p["sensitivity"])),
    "discrete_laplace": lambda p: hush.DiscreteLaplace(number(p["b"]), sensitivity=int(p["sensitivity"])),
    "bounded_range": lambda p: hush.Exponential(epsilon=number(p["eta"])),
}


# -- kinds of case -----------------------------------------------------------------------------------------------


def renyi_plain(case: Case) -> Iterator[Answer]:
    mechanism = BASE[case["kind"].removeprefix("rdp_")](case["params"])
    order = number(case["params"]["alpha"])
    for name, neighbours in DIRECTION.items():
        yield of_renyi(mechanism, neighbours, order, case["value"], name)


def renyi_bounded_range(case: Case) -> Iterator[Answer]:
    """The curve is a supremum over pairs; the pair that hush composes is their envelope, so it may lie above."""
    params = case["params"]
    mechanism, order = hush.Exponential(epsilon=number(params["eta"])), number(params["alpha"])
    curve = mechanism.evidence(REMOVED).curve(order)
    yield Answer("curve", -math.inf, curve, *2 * (float(case["value"]),), float(case["value"]), math.inf)
    yield Answer("close", curve * (1 - 1e-9), curve, *2 * (float(case["value"]),), float(case["value"]), math.inf)
    envelope = mechanism.evidence(REMOVED).pair.renyi(order)[1]
    yield Answer("envelope", -math.inf, envelope, *2 * (float(case["value"]),), float(case["value"]), math.inf)


def renyi_sampled(case: Case) -> Iterator[Answer]:
    params = case["params"]
    mechanism = sampled(BASE[case["kind"].removeprefix("rdp_poisson_")](params), params["q"])
    order = number(params["alpha"])
    yield of_renyi(mechanism, REMOVED, order, case["value"]["remove_mix_vs_base"], "remove")
    yield of_renyi(mechanism, ADDED, order, case["value"]["add_base_vs_mix"], "add")


def renyi_limits(case: Case) -> Iterator[Answer]:
    mechanism = sampled(laplace(case["params"]), case["params"]["q"])
    yield of_renyi(mechanism, REMOVED, math.inf, case["value"]["remove_mix_vs_base"], "remove")
    yield of_renyi(mechanism, ADDED, math.inf, case["value"]["add_base_vs_mix"], "add")


def hockey_stick(case: Case) -> Iterator[Answer]:
    params = case["params"]
    family = case["kind"].removeprefix("hs_").removeprefix("poisson_")
    mechanism = BASE[family](params)
    if "q" in params:
        mechanism = sampled(mechanism, params["q"])
    directions = [params["direction"]] if "direction" in params else list(DIRECTION)
    for name in directions:
        found = mechanism.evidence(DIRECTION[name]).pair.log_delta(number(params["eps"]))
        yield of_log_delta(found, enclosure(case), 1e-9, what=name)


def composed(case: Case) -> hush.Mechanism:
    params, kind = case["params"], case["kind"]
    if kind.startswith("poisson_gaussian_comp"):
        return sampled(gaussian(params), params["q"]).repeat(int(number(params["T"])))
    family = kind.split("_kfold")[0]
    return BASE[family](params).repeat(int(number(params["k"])))


def width_of(case: Case) -> float:
    """What the engines promise: 1e-4 for discrete losses, up to ten steps, or enough steps that take part."""
    params = case["params"]
    if not case["kind"].startswith("poisson_gaussian_comp"):
        return 1e-4
    times, rate = number(params["T"]), number(params["q"])
    # Few participations in many steps: the loss has a near-atom at 0, which neither engine resolves well.
    return 1e-4 if times * rate >= 20 or times <= 10 else 1e-2


def composed_delta(case: Case) -> Iterator[Answer]:
    params = case["params"]
    mechanism = composed(case)
    names = [params["direction"]] if "direction" in params else list(DIRECTION)
    for name in names:
        found = mechanism.evidence(DIRECTION[name]).pair.log_delta(number(params["eps"]), 1e-6)
        yield of_log_delta(found, enclosure(case), width_of(case), what=name)


def composed_epsilon(case: Case) -> Iterator[Answer]:
    params = case["params"]
    mechanism = composed(case)
    log_delta = log_of(params["delta"])
    names = [params["direction"]] if "direction" in params else list(DIRECTION)
    for name in names:
        found = mechanism.evidence(DIRECTION[name]).pair.epsilon(log_delta, 1e-6)
        yield of_number(found, enclosure(case), width_of(case), what=name)


def optimal_composition(case: Case) -> Iterator[Answer]:
    params = case["params"]
    mechanism = hush.ApproxDP(number(params["eps"]), number(params["delta"])).repeat(int(params["k"]))
    bound = mechanism.log_delta(epsilon=number(params["eps_total"]))
    yield of_log_delta((bound.lower, bound.upper), enclosure(case))


def advanced_composition(case: Case) -> Iterator[Answer]:
    params, value = case["params"], case["value"]
    epsilon, delta = convert.advanced_composition(
        number(params["eps"]), number(params["delta"]), int(params["k"]), number(params["delta_prime"])
    )
    yield of_number((epsilon, epsilon), (value["dwork_roth"],) * 2)
    yield of_number((delta, delta), (value["delta_total"],) * 2, what="delta")
    # and the certified answer at the same total delta is better than either closed form
    exact = hush.ApproxDP(number(params["eps"]), number(params["delta"])).repeat(int(params["k"])).epsilon(delta=delta)
    yield Answer("exact", -math.inf, float(value["kov_tanh"]), exact.upper, exact.upper, exact.upper, math.inf)


def sampled_guarantee(case: Case) -> Iterator[Answer]:
    params, value = case["params"], case["value"]
    epsilon, delta = convert.amplify(number(params["eps"]), number(params["delta"]), number(params["gamma"]))
    yield of_number((epsilon, epsilon), (value["eps"],) * 2)
    yield of_number((delta, delta), (value["delta"],) * 2, what="delta")
    mechanism = sampled(hush.ApproxDP(number(params["eps"]), number(params["delta"])), params["gamma"])
    bound = mechanism.log_delta(epsilon=number(value["eps"]))
    # The amplified epsilon is itself rounded, and delta falls steeply with it: 1e-16/q of a unit.
    slack = 1e-14 / number(params["gamma"])
    log_delta = log_of(value["delta"])
    yield Answer("log delta", bound.lower, bound.upper, log_delta - slack, log_delta + slack, abs(log_delta), 1e-4)


def sampled_guarantee_inverse(case: Case) -> Iterator[Answer]:
    params = case["params"]
    epsilon, _ = convert.amplify_inverse(number(params["eps_target"]), 0.0, number(params["gamma"]))
    yield of_number((epsilon, epsilon), enclosure(case))


def steinke_ratio(case: Case) -> Iterator[Answer]:
    rate = number(case["params"]["p"])
    target = number(case["params"]["c"]) * rate
    ratio = rate * convert.amplify_inverse(target, 0.0, rate)[0] / target
    yield of_number((ratio, ratio), enclosure(case), what="ratio")


def renyi_to_epsilon(case: Case) -> Iterator[Answer]:
    params, value = case["params"], case["value"]
    order, divergence, log_delta = number(params["alpha"]), number(params["rdp"]), log_of(params["delta"])
    for name, convert_ in (
        ("improved", convert.renyi_to_epsilon),
        ("mironov2017", convert.renyi_to_epsilon_mironov),
    ):
        found = convert_(order, divergence, log_delta)
        yield of_number((found, found), (value[name],) * 2, what=name)


def renyi_to_delta(case: Case) -> Iterator[Answer]:
    params = case["params"]
    found = convert.renyi_to_log_delta(number(params["alpha"]), number(params["rdp"]), number(params["eps"]))
    yield of_log_delta((found, found), enclosure(case))


def zcdp_to_epsilon(case: Case) -> Iterator[Answer]:
    params, value = case["params"], case["value"]
    bound = hush.ZCDP(rho=number(params["rho"])).epsilon(delta=number(params["delta"]))
    improved = float(value["improved"])
    # The minimum over real orders is found by golden section: flat at the bottom, so to 1e-9 and from above.
    yield Answer("improved", bound.upper * (1 - 1e-9), bound.upper, improved, improved, improved, math.inf)
    # Gaussian noise is rho-zCDP, so what is attained is no higher and what is promised no lower than its epsilon.
    yield of_number((bound.lower, bound.upper), (value["gaussian_truth"],) * 2, math.inf, what="gaussian")


def renyi_accountant(case: Case) -> Iterator[Answer]:
    params, value = case["params"], case["value"]
    mechanism = sampled(gaussian(params), params["q"]).repeat(int(params["T"]))
    curve, log_delta = mechanism.evidence(DIRECTION[params["direction"]]).curve, log_of(params["delta"])
    improved = curve.epsilon_at(log_delta)
    mironov = minimum(lambda c: convert.renyi_to_epsilon_mironov(1 + c, curve(1 + c), log_delta))[1]
    for name, found in (("improved", improved), ("mironov", mironov)):
        # 10 digits are trusted in this case
        yield Answer(name, found * (1 - 1e-9), found * (1 + 1e-9), *2 * (float(value[name]),), found, math.inf)


# -- kinds of amplification.json ---------------------------------------------------------------------------------


def substitution(case: Case) -> hush.Mechanism:
    """Poisson sampling, one record replaced: (1-q) N(0) + q N(1) against (1-q) N(0) + q N(-1)."""
    return sampled(gaussian(case["params"]), case["params"]["q"]).under(hush.Relation.REPLACE)


def substitution_delta(case: Case) -> Iterator[Answer]:
    bound = substitution(case).log_delta(epsilon=number(case["params"]["eps"]))
    yield of_log_delta((bound.lower, bound.upper), enclosure(case), 1e-9)


def substitution_looser(case: Case) -> Iterator[Answer]:
    """The closed form from joint convexity is an upper bound, so what is attained lies below."""
    bound = substitution(case).log_delta(epsilon=number(case["params"]["eps"]))
    looser = log_of(case["value"])
    yield Answer("log delta", bound.lower, math.inf, looser, looser, 1.0, math.inf)
    # The exact profile's upper end must not be worse than the loose theorem, at the same epsilon.
    yield Answer("better", -math.inf, looser, bound.upper, bound.upper, 1.0, math.inf)


def substitution_renyi(case: Case) -> Iterator[Answer]:
    pair = REPLACED
    yield of_renyi(substitution(case), pair, number(case["params"]["alpha"]), case["value"], "replace")


def tcdp_to_epsilon(case: Case) -> Iterator[Answer]:
    """The lemma's closed form is the older conversion; ours is at most that."""
    params = case["params"]
    bound = hush.TCDP(rho=number(params["rho"]), omega=number(params["omega"])).epsilon(delta=number(params["delta"]))
    yield Answer("better", -math.inf, float(case["value"]), bound.upper, bound.upper, bound.upper, math.inf)


# -- noisy iteration ---------------------------------------------------------------------------------------------


def convex(params: Case) -> hush.ConvexLoss:
    """A convex loss with the case's Lipschitz constant; the step size of these cases has no say."""
    return hush.ConvexLoss(smoothness=1.0, strong_convexity=0.0, lipschitz=number(params["L"]))


def one_pass(case: Case) -> Iterator[Answer]:
    params = case["params"]
    run = hush.OnePassGradientDescent(
        loss=convex(params), records=int(params["n"]), noise=number(params["sigma"]), step_size=1.0
    )
    mu = run.record_mu(int(params.get("t", params.get("i"))))[1]
    value = number(params["alpha"]) * mu * mu / 2
    yield of_number((value, value), enclosure(case), 1e-12, "divergence of one record")


def random_stop(case: Case) -> Iterator[Answer]:
    """The weak closed form itself; and what hush says is at most that."""
    params = case["params"]
    order, noise, records = number(params["alpha"]), number(params["sigma"]), int(params["n"])
    weak = random_stop_weak(order, records, number(params["L"]), noise)
    yield of_number((weak, weak), enclosure(case), 1e-12, "weak closed form")
    run = hush.OnePassGradientDescent(loss=convex(params), records=records, noise=noise, step_size=1.0)
    found = float(run.stopped_at_random().renyi(orders=[order])[0])
    yield Answer("better", -math.inf, float(case["value"]), found, found, found, math.inf)


def contractive_iteration(case: Case) -> Iterator[Answer]:
    params = case["params"]
    schedule = [float(s) for s in str(params["s"]).split(",")]
    deviations = [float(s) for s in str(params["sigma"]).split(",")]
    run = hush.NoisyIteration(
        sensitivities=schedule, deviations=deviations if len(deviations) > 1 else deviations[0], contractions=1
    )
    order = number(params["alpha"])
    ends = [order * mu * mu / 2 for mu in run.mu()]
    yield of_number((ends[0], ends[1]), enclosure(case), 1e-11, "divergence")


def projected_descent(case: Case) -> Iterator[Answer]:
    params = case["params"]
    order, records, steps = number(params["alpha"]), int(params["n"]), int(params["T"])
    noise, step = number(params["sigma"]), number(params["eta"])
    loss = hush.ConvexLoss(smoothness=2 / step, strong_convexity=0.0, lipschitz=number(params["L"]))
    run = hush.NoisyGradientDescent(
        loss=loss, records=records, iterations=steps, noise=noise, step_size=step, diameter=number(params["D"])
    )
    for name, found in (
        ("min", float(run.renyi(orders=[order])[0])),
        ("composition", order * run.composed_mu() ** 2 / 2),
    ):
        truth = case["value"][name]
        yield of_number((found, found), (truth, truth), 1e-12, name)


def projected_distance(case: Case) -> Iterator[Answer]:
    params = case["params"]
    step, noise, ratio = number(params["eta"]), number(params["sigma"]), number(params["L_over_n"])
    shift, wide = ratio / noise, number(params["D"]) / (step * noise)
    gap = 1 - number(params.get("c", "1"))
    if case["kind"].endswith("paper"):
        found = projected_mu_closed_form(int(params["t"]), shift, wide)
        best = last_iterate.projected_mu(gap, int(params["t"]), shift, wide)
        yield Answer("better", -math.inf, found * (1 + 1e-12), best, best, best, math.inf)
    else:
        found = last_iterate.projected_mu(gap, int(params["t"]), shift, wide)
    yield of_number((found, found), enclosure(case), 1e-12, "mu")


def cyclic_distance(case: Case) -> Iterator[Answer]:
    params = case["params"]
    gap = float(1 - Decimal(params["c"]))
    found = last_iterate.cyclic_mu(gap, int(params["l"]), int(params["E"]), number(params["L_over_b_sigma"]))
    yield of_number((found, found), enclosure(case), 1e-12, "mu")


# -- sampling schemes ----

REPLACE = hush.Relation.REPLACE


def without_replacement(case: Case) -> Iterator[Answer]:
    """Both ends are theorems: the interval of hush must be theirs, to the digits that the case trusts."""
    params = case["params"]
    scheme = hush.WithoutReplacement(size=round(1e6 * number(params["gamma"])), population=1_000_000)
    mechanism = gaussian(params).on(scheme).under(REPLACE).repeat(int(params["T"]))
    bound = mechanism.epsilon(delta=number(params["delta"]))
    low, high = (float(end) for end in enclosure(case))
    yield Answer("inside", bound.lower, bound.upper, low, high, high, math.inf)
    for name, found, end in (("lower", bound.lower, low), ("upper", bound.upper, high)):
        yield Answer(name, found * (1 - 1e-7), found * (1 + 1e-7), end, end, end, math.inf)


def with_replacement(case: Case) -> Iterator[Answer]:
    params, quantity = case["params"], case["quantity"]
    n, m, base = int(params["n"]), int(params["m"]), number(params["eps_base"])
    hit = -math.expm1(m * math.log1p(-1 / n))
    epsilon = math.log1p(hit * math.expm1(base))
    if quantity == "eps_prime":
        yield of_number((epsilon * (1 - 1e-12), epsilon * (1 + 1e-12)), enclosure(case), 1e-9)
        return
    make = hush.Laplace if params["mechanism"] == "laplace" else hush.Gaussian
    mechanism = make(number(params["noise_scale"]), REPLACE).on(hush.WithReplacement(size=m, population=n))
    bound = mechanism.log_delta(epsilon=epsilon)
    # the theorem is the upper end, the half-line test of one dataset the lower; epsilon itself is rounded
    end = bound.lower if case["kind"].endswith("lower") else bound.upper
    slack = 1e-14 / hit + 1e-11
    yield of_log_delta((end - slack, end + slack), enclosure(case), 1e-6)


def not_secret(case: Case) -> Iterator[Answer]:
    params = case["params"]
    base = hush.Gaussian(number(params["sigma"]), REPLACE)
    bound = base.on(hush.Revealed(hush.Poisson(rate=number(params["q"])))).log_delta(epsilon=number(params["eps"]))
    yield of_log_delta((bound.lower, bound.upper), enclosure(case), 1e-9)


def unequal_rates(case: Case) -> Iterator[Answer]:
    params = case["params"]
    rates = [float(rate) for rate in params["rates"].split(",")]
    epsilon, delta = (float(x) for x in case["value"].split(","))
    found = convert.amplify(number(params["eps_base"]), 0.0, max(rates))[0]
    yield of_number((found, found), (case["value"].split(",")[0],) * 2)
    bound = gaussian(params).on(hush.UnequalPoisson(rates)).log_delta(epsilon=epsilon)
    slack = 1e-14
    yield Answer("log delta", bound.lower - slack, bound.upper + slack, *2 * (math.log(delta),), 1.0, 1e-9)


def loudest_step(case: Case) -> Iterator[Answer]:
    """The attack on shuffled batches (2 against 1), and on allocation (1 against 0)."""
    params = case["params"]
    unit, steps = 1 / number(params["sigma"]), int(params["T"])
    loud, quiet = (2 * unit, unit) if case["kind"].startswith("ablq") else (unit, 0.0)
    epsilon = number(params["eps"])
    found = LoudestNormals(loud, quiet, steps).log_delta(epsilon)
    yield of_log_delta(found, enclosure(case), 1e-8)
    # and shuffled batches are no better than either attack
    bound = gaussian(params).on(hush.ShuffledBatches(steps=steps)).log_delta(epsilon=epsilon)
    yield Answer("attack", log_of(case["value"]) - 1e-8, 0.0, bound.lower, bound.upper, 1.0, math.inf)


CHECKED: dict[str, Callable[[Case], Iterator[Answer]]] = {
    "rdp_gaussian": renyi_plain,
    "rdp_laplace": renyi_plain,
    "rdp_randomized_response": renyi_plain,
    "rdp_discrete_gaussian": renyi_plain,
    "rdp_discrete_laplace": renyi_plain,
    "rdp_bounded_range": renyi_bounded_range,
    "rdp_poisson_gaussian": renyi_sampled,
    "rdp_poisson_laplace": renyi_sampled,
    "rdp_poisson_rr": renyi_sampled,
    "rdp_inf_limits": renyi_limits,
    "hs_gaussian": hockey_stick,
    "hs_laplace": hockey_stick,
    "hs_rr": hockey_stick,
    "hs_poisson_gaussian": hockey_stick,
    "hs_poisson_laplace": hockey_stick,
    "hs_poisson_rr": hockey_stick,
    "bbg_inverse": sampled_guarantee_inverse,
    "bbg_amplification": sampled_guarantee,
    "steinke_ratio": steinke_ratio,
    "advanced_composition": advanced_composition,
    "kov_optimal_homogeneous": optimal_composition,
    "rr_kfold": composed_delta,
    "rr_kfold_eps": composed_epsilon,
    "laplace_kfold": composed_delta,
    "gaussian_kfold": composed_delta,
    "gaussian_kfold_eps": composed_epsilon,
    "poisson_gaussian_comp_delta": composed_delta,
    "poisson_gaussian_comp_T2_delta": composed_delta,
    "poisson_gaussian_comp_eps": composed_epsilon,
    "rdp_to_dp": renyi_to_epsilon,
    "rdp_to_delta": renyi_to_delta,
    "zcdp_to_dp": zcdp_to_epsilon,
    "rdp_accountant_best_eps": renyi_accountant,
    "poisson_substitution_delta": substitution_delta,
    "poisson_substitution_bbg_upper": substitution_looser,
    "poisson_substitution_renyi": substitution_renyi,
    "tcdp_to_dp": tcdp_to_epsilon,
    "fmtt2018_pnsgd": one_pass,
    "pnsgd_rdp": one_pass,
    "pnsgd_random_stop_weak": random_stop,
    "cni_optimal_rdp": contractive_iteration,
    "altschuler_talwar_fullbatch": projected_descent,
    "noisygd_projected_mu": projected_distance,
    "noisygd_projected_mu_paper": projected_distance,
    "noisycgd_strongly_convex_mu": cyclic_distance,
    "wor_gaussian_replace_one": without_replacement,
    "with_replacement": with_replacement,
    "with_replacement_lower": with_replacement,
    "nonsecret_delta": not_secret,
    "nonuniform_rate": unequal_rates,
    "ablq_shuffle_lower": loudest_step,
    "bnb_max_event_lower": loudest_step,
}
