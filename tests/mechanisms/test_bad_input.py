"""Every bad parameter raises a named error with its field and value, or has a documented legal answer."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable

import numpy as np
import pytest

import hush
from hush import InvalidParameter, NotCovered, Poisson, Relation

NAN, INF = math.nan, math.inf
NO_NUMBER = ["1", "", b"1", None, True, np.True_, 1 + 0j, [1.0], {}, Ellipsis]
SUBNORMAL = 5e-324

GAUSS = hush.Gaussian(noise_multiplier=1.0)
REPLACE = hush.Gaussian(noise_multiplier=1.0, relation=Relation.REPLACE)
TRAINING = GAUSS.on(Poisson(rate=0.01)).repeat(100)


def refuses(make: Callable[[object], object], field: str, value: object) -> None:
    with pytest.raises(InvalidParameter) as caught:
        make(value)
    message = str(caught.value)
    assert f"{field}={value!r}" in message
    assert " needs " in message
    assert isinstance(caught.value, ValueError)
    assert isinstance(caught.value, hush.HushError)


# -- parameters of mechanisms ------------------------------------------------------------------------------------

NOISE: dict[str, tuple[str, Callable[[object], object]]] = {
    "Gaussian": ("noise_multiplier", lambda v: hush.Gaussian(noise_multiplier=v)),
    "Laplace": ("scale", lambda v: hush.Laplace(scale=v)),
    "DiscreteGaussian": ("sigma", lambda v: hush.DiscreteGaussian(sigma=v)),
    "DiscreteLaplace": ("scale", lambda v: hush.DiscreteLaplace(scale=v)),
    "GaussianDP": ("mu", lambda v: hush.GaussianDP(mu=v)),
    "Skellam": ("variance", lambda v: hush.Skellam(variance=v)),
    "ReportNoisyMax": ("scale", lambda v: hush.ReportNoisyMax(scale=v)),
    "BetaPosterior": ("heads", lambda v: hush.BetaPosterior(10, heads=v)),
    "GaussianPosterior": ("data_range", lambda v: hush.GaussianPosterior(10, 1.0, 1.0, data_range=v)),
    "ZCDP": ("rho", lambda v: hush.ZCDP(rho=v)),
    "TCDP": ("rho", lambda v: hush.TCDP(rho=v, omega=10)),
}


@pytest.mark.parametrize("value", [0, 0.0, -1.0, NAN, INF, -INF, *NO_NUMBER], ids=repr)
@pytest.mark.parametrize("name", NOISE)
def test_noise(name: str, value: object) -> None:
    field, make = NOISE[name]
    refuses(make, field, value)


@pytest.mark.parametrize("value", [SUBNORMAL, 1e300, 10**400], ids=["subnormal", "1e300", "10^400"])
@pytest.mark.parametrize("name", ["Gaussian", "Laplace", "DiscreteGaussian", "DiscreteLaplace", "GaussianDP"])
def test_noise_beyond_what_is_computed(name: str, value: object) -> None:
    field, make = NOISE[name]
    refuses(make, field, value)


STATED: dict[str, Callable[[object], object]] = {
    "PureDP": lambda v: hush.PureDP(epsilon=v),
    "ApproxDP": lambda v: hush.ApproxDP(epsilon=v, delta=1e-6),
    "ApproxDP, points": lambda v: hush.ApproxDP(points=[(0.5, 1e-3), (v, 1e-6)]),
    "RandomizedResponse": lambda v: hush.RandomizedResponse(epsilon=v, relation=Relation.REPLACE),
    "Exponential": lambda v: hush.Exponential(epsilon=v),
}


@pytest.mark.parametrize("value", [NAN, INF, -INF, -1.0, -SUBNORMAL, 701.0, 1e308, *NO_NUMBER], ids=repr)
@pytest.mark.parametrize("name", STATED)
def test_stated_epsilon(name: str, value: object) -> None:
    if name == "RandomizedResponse" and value is None:
        with pytest.raises(InvalidParameter, match="epsilon"):
            STATED[name](value)
        return
    refuses(STATED[name], "epsilon", value)


@pytest.mark.parametrize("name", ["PureDP", "ApproxDP", "RandomizedResponse", "Exponential"])
def test_stated_epsilon_that_is_subnormal_is_never_lost(name: str) -> None:
    """It rounds up: the answer is not 0."""
    mechanism = STATED[name](SUBNORMAL)
    assert isinstance(mechanism, hush.Mechanism)
    bound = mechanism.epsilon(delta=1e-6 if name == "ApproxDP" else 0.0)
    assert 0 < bound.upper < 1e-15
    assert mechanism.repeat(10).epsilon(delta=0.0).upper > 0


@pytest.mark.parametrize("name", ["PureDP", "ApproxDP"])
def test_stated_epsilon_zero_is_legal(name: str) -> None:
    mechanism = STATED[name](0.0)
    assert isinstance(mechanism, hush.Mechanism)
    assert mechanism.epsilon(delta=1e-6).upper == 0.0
    assert mechanism.repeat(1000).epsilon(delta=1e-2).upper == 0.0


@pytest.mark.parametrize("name", ["RandomizedResponse", "Exponential"])
def test_epsilon_zero_where_nothing_would_be_released(name: str) -> None:
    refuses(STATED[name], "epsilon", 0.0)


@pytest.mark.parametrize("value", [-1e-9, 1 + 1e-15, 1.5, NAN, INF, *NO_NUMBER], ids=repr)
def test_stated_delta(value: object) -> None:
    refuses(lambda v: hush.ApproxDP(epsilon=1.0, delta=v), "delta", value)
    refuses(lambda v: hush.ApproxDP(points=[(1.0, v)]), "delta", value)


def test_stated_delta_at_its_ends() -> None:
    assert hush.ApproxDP(epsilon=1.0, delta=0.0).epsilon(delta=0.0).upper == 1.0
    tiny = hush.ApproxDP(epsilon=1.0, delta=1e-300)
    assert tiny.epsilon(delta=0.0).upper == INF
    assert tiny.epsilon(delta=1e-300).upper == pytest.approx(1.0)


@pytest.mark.parametrize("value", [0.5, 0.4, 0.0, 1.0, 1.1, NAN, "0.7", True], ids=repr)
def test_truth_probability(value: object) -> None:
    refuses(
        lambda v: hush.RandomizedResponse(truth_probability=v, relation=Relation.REPLACE), "truth_probability", value
    )


@pytest.mark.parametrize("value", [1, 0, -2, 2.5, NAN, "3", True], ids=repr)
def test_choices(value: object) -> None:
    refuses(lambda v: hush.RandomizedResponse(epsilon=1.0, choices=v, relation=Relation.REPLACE), "choices", value)


@pytest.mark.parametrize("value", [0, -1, 1.5, NAN, INF, "1", True], ids=repr)
@pytest.mark.parametrize("kind", [hush.DiscreteGaussian, hush.DiscreteLaplace])
def test_sensitivity(kind: Callable[..., object], value: object) -> None:
    refuses(lambda v: kind(2.0, sensitivity=v), "sensitivity", value)


@pytest.mark.parametrize("value", [1.0, 0.5, -3, NAN, INF, "2", True], ids=repr)
def test_tcdp_order(value: object) -> None:
    refuses(lambda v: hush.TCDP(rho=0.1, omega=v), "omega", value)


@pytest.mark.parametrize("value", [1.0, 0.5, 0, -2, NAN, "2", True], ids=repr)
def test_stated_order(value: object) -> None:
    refuses(lambda v: hush.RenyiDP(points=[(2.0, 0.1), (v, 0.2)]), "order", value)


@pytest.mark.parametrize("value", [-0.1, NAN, "2", True], ids=repr)
def test_stated_divergence(value: object) -> None:
    refuses(lambda v: hush.RenyiDP(points=[(2.0, v)]), "divergence", value)


def test_stated_curve_needs_exactly_one_form() -> None:
    with pytest.raises(InvalidParameter, match="points"):
        hush.RenyiDP()
    with pytest.raises(InvalidParameter, match="function"):
        hush.RenyiDP(points=[(2.0, 0.1)], function=lambda order: order)
    with pytest.raises(InvalidParameter, match="points"):
        hush.ApproxDP(points=[])
    with pytest.raises(InvalidParameter, match="points"):
        hush.ApproxDP(1.0, 0.1, points=[(1.0, 0.1)])
    with pytest.raises(InvalidParameter, match="truth_probability"):
        hush.RandomizedResponse(epsilon=1.0, truth_probability=0.9, relation=Relation.REPLACE)


@pytest.mark.parametrize(
    ("p", "q"),
    [
        ([0.5, 0.6], [0.5, 0.5]),
        ([1.5, -0.5], [0.5, 0.5]),
        ([NAN, 1.0], [0.5, 0.5]),
        ([], []),
        ([0.5, 0.5], [1.0]),
        (["a", "b"], [0.5, 0.5]),
        ([[0.5, 0.5]], [[0.5, 0.5]]),
    ],
    ids=repr,
)
def test_supplied_probabilities(p: list, q: list) -> None:
    with pytest.raises(InvalidParameter, match="FromPair needs"):
        hush.FromPair.of(p, q)


@pytest.mark.parametrize(
    "kind", [hush.Gaussian, hush.Laplace, hush.DiscreteGaussian, hush.DiscreteLaplace, hush.PureDP]
)
def test_relation_must_be_a_relation(kind: Callable[..., object]) -> None:
    refuses(lambda v: kind(1.0, relation=v), "relation", "replace")


# -- sampling ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [1.0000001, 2, -1e-9, -1, NAN, INF, *NO_NUMBER], ids=repr)
def test_rate(value: object) -> None:
    refuses(lambda v: Poisson(rate=v), "rate", value)


def test_rate_zero_costs_nothing() -> None:
    for mechanism in (GAUSS.on(Poisson(rate=0)), TRAINING.on(Poisson(rate=0)), hush.ZCDP(1.0).on(Poisson(rate=0))):
        assert mechanism.epsilon(delta=0.0).upper == 0.0
        assert mechanism.delta(epsilon=0.0).upper == 0.0
        assert mechanism.renyi(orders=[2, 64]).tolist() == [0.0, 0.0]


def test_rate_one_is_exactly_unsampled() -> None:
    assert GAUSS.on(Poisson(rate=1)) == GAUSS
    assert TRAINING.on(Poisson(rate=1.0)) == TRAINING
    near = GAUSS.on(Poisson(rate=1 - 1e-12)).epsilon(delta=1e-5)
    assert near.upper == pytest.approx(GAUSS.epsilon(delta=1e-5).upper, rel=1e-9)


def test_tiny_rates_are_neither_lost_nor_negative() -> None:
    for rate in (1e-300, SUBNORMAL, 1e-17):
        bound = GAUSS.on(Poisson(rate=rate)).delta(epsilon=0.0)
        assert 0 < bound.upper <= rate


@pytest.mark.parametrize("value", [0.5, "poisson", None, Poisson], ids=repr)
def test_scheme_must_be_a_scheme(value: object) -> None:
    with pytest.raises((InvalidParameter, NotCovered)):
        GAUSS.on(value)  # type: ignore[arg-type]


# -- composition -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [-1, 2.5, NAN, INF, 1e16, 10**400, *NO_NUMBER], ids=repr)
def test_times(value: object) -> None:
    refuses(GAUSS.repeat, "times", value)


def test_times_zero_is_the_identity() -> None:
    assert GAUSS.repeat(0).epsilon(delta=0.0).upper == 0.0
    assert TRAINING.repeat(0).delta(epsilon=0.0).upper == 0.0
    both = GAUSS.repeat(0).then(GAUSS)
    assert both.epsilon(delta=1e-5).upper == GAUSS.epsilon(delta=1e-5).upper


@pytest.mark.parametrize("value", [3.0, np.int64(3), np.float64(3.0)], ids=repr)
def test_whole_numbers_of_any_type_count(value: object) -> None:
    assert GAUSS.repeat(value) == GAUSS.repeat(3)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "mechanism",
    [
        hush.Gaussian(1000.0),
        hush.Gaussian(1.0).on(Poisson(rate=1e-7)),
        hush.Laplace(1e6),
        hush.RandomizedResponse(epsilon=1e-6, relation=Relation.REPLACE),
        hush.PureDP(1e-6),
        hush.ZCDP(1e-12),
    ],
    ids=str,
)
def test_a_trillion_times_in_bounded_time(mechanism: hush.Mechanism) -> None:
    start = time.process_time()
    bound = mechanism.repeat(10**12).epsilon(delta=1e-5)
    assert 0 <= bound.lower <= bound.upper
    assert time.process_time() - start < 10


def test_mixing_relations() -> None:
    for build in (lambda: GAUSS.then(REPLACE), lambda: REPLACE.then(GAUSS), lambda: GAUSS.beside(REPLACE)):
        with pytest.raises(InvalidParameter, match="ADD_REMOVE.*REPLACE"):
            build()


def test_restating_repairs_it() -> None:
    assert GAUSS.under(Relation.REPLACE).then(REPLACE).relation is Relation.REPLACE


def test_side_by_side_under_replace_is_not_covered() -> None:
    with pytest.raises(NotCovered, match="move between parts"):
        REPLACE.beside(REPLACE)
    # the documented way round: state the parts under ADD_REMOVE and restate the whole
    whole = GAUSS.beside(GAUSS).under(Relation.REPLACE).epsilon(delta=1e-5)
    assert whole.upper >= GAUSS.under(Relation.REPLACE).epsilon(delta=1e-5).lower


@pytest.mark.parametrize("value", [None, 1, "gaussian", hush.Gaussian], ids=repr)
def test_parts_must_be_mechanisms(value: object) -> None:
    for build in (GAUSS.then, GAUSS.beside):
        # the type alone is told: what stands in the place of a mechanism may be data
        with pytest.raises(InvalidParameter, match=f"a mechanism; got mechanism={re.escape(str(type(value)))}"):
            build(value)
    with pytest.raises(InvalidParameter, match="at least one"):
        hush.sequence()


def test_replace_says_nothing_about_removal() -> None:
    with pytest.raises(NotCovered, match="ADD_REMOVE"):
        REPLACE.under(Relation.ADD_REMOVE)
    refuses(GAUSS.under, "relation", "replace")


@pytest.mark.parametrize("value", [0, -1, 1.5, NAN, INF, 10**9, *NO_NUMBER], ids=repr)
def test_group(value: object) -> None:
    refuses(GAUSS.group, "size", value)


def test_groups_without_a_theorem() -> None:
    for mechanism in (
        hush.TCDP(rho=0.1, omega=10),
        hush.RenyiDP(points=[(2, 0.1)]),
        hush.FromPair.of([0.6, 0.4], [0.4, 0.6]),
        TRAINING.on(Poisson(rate=0.5)),
    ):
        with pytest.raises(NotCovered, match=r"\w+ \w+ \w+"):
            mechanism.group(2).epsilon(delta=1e-5)


def test_ranges_that_grow_past_what_is_computed() -> None:
    """An epsilon of more than 500 for one release says nothing; composed epsilons may be any size."""
    for mechanism in (hush.PureDP(400.0), hush.Laplace(0.0025)):
        with pytest.raises(NotCovered, match="500"):
            mechanism.group(2).epsilon(delta=1e-5)
    assert hush.ApproxDP(400.0, 1e-9).group(2).epsilon(delta=1e-5).lower == math.inf  # two records are lost for sure
    assert hush.PureDP(400.0).repeat(3).epsilon(delta=0.0).upper == pytest.approx(1200.0)


# -- questions ---------------------------------------------------------------------------------------------------

ASKED = {"Gaussian": GAUSS, "training": TRAINING, "zCDP": hush.ZCDP(0.1), "Laplace": hush.Laplace(1.0)}


@pytest.mark.parametrize("value", [-1e-300, -1, 1 + 1e-15, 2.0, NAN, INF, *NO_NUMBER], ids=repr)
@pytest.mark.parametrize("name", ASKED)
def test_delta_asked(name: str, value: object) -> None:
    refuses(lambda v: ASKED[name].epsilon(delta=v), "delta", value)  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [-1e-300, -1, NAN, INF, -INF, *NO_NUMBER], ids=repr)
@pytest.mark.parametrize("name", ASKED)
def test_epsilon_asked(name: str, value: object) -> None:
    refuses(lambda v: ASKED[name].delta(epsilon=v), "epsilon", value)  # type: ignore[arg-type]


def test_delta_zero_with_gaussian_noise_is_infinite() -> None:
    for mechanism in (GAUSS, TRAINING, hush.GaussianDP(1.0), hush.DiscreteGaussian(1.0), hush.ZCDP(0.1)):
        assert mechanism.epsilon(delta=0.0).upper == INF
    assert hush.Laplace(0.5).epsilon(delta=0.0).upper == pytest.approx(2.0)


@pytest.mark.parametrize("delta", [1e-300, 2.3e-308, SUBNORMAL])
def test_delta_too_small_for_most(delta: float) -> None:
    for mechanism in (GAUSS, GAUSS.repeat(10), TRAINING, hush.Laplace(1.0).repeat(10), hush.ZCDP(0.1)):
        bound = mechanism.epsilon(delta=delta)
        assert 0 < bound.upper < INF
        assert bound.lower <= bound.upper


@pytest.mark.parametrize("epsilon", [0.0, SUBNORMAL, 1e-300, 1e-9, 700.0, 710.0, 5000.0, 1e6])
def test_epsilon_of_any_size(epsilon: float) -> None:
    """Past 700 e^epsilon overflows: delta is still a number, and positive where the loss is unbounded."""
    for mechanism in (GAUSS, TRAINING, hush.Laplace(1.0).repeat(3), hush.PureDP(1.0), hush.ZCDP(0.1)):
        bound = mechanism.log_delta(epsilon=epsilon)
        assert bound.lower <= bound.upper <= 0
        shown = mechanism.delta(epsilon=epsilon)
        assert 0 <= shown.lower <= shown.upper <= 1
        # delta that underflows is rounded up, never lost
        assert shown.upper > 0 or bound.upper == -INF


@pytest.mark.parametrize("value", [0.999, 0, -1, NAN, "2", None, True], ids=repr)
def test_order_asked(value: object) -> None:
    refuses(lambda v: GAUSS.renyi(orders=[2.0, v]), "order", value)  # type: ignore[list-item]


def test_order_one_and_infinity_are_legal() -> None:
    """Kullback-Leibler and the largest loss."""
    assert GAUSS.renyi(orders=[1, INF]).tolist() == pytest.approx([0.5, INF])
    assert hush.Laplace(0.5).renyi(orders=[INF])[0] == pytest.approx(2.0)
    assert GAUSS.renyi(orders=[]).tolist() == []


@pytest.mark.parametrize("value", [-0.1, 1.1, NAN, "0.5", True], ids=repr)
def test_false_positive_rate(value: object) -> None:
    refuses(lambda v: GAUSS.tradeoff(false_positive_rate=v), "false_positive_rate", value)  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [0, -1e-6, 1e-13, 0.5, NAN, "1e-6", True], ids=repr)
def test_tolerance(value: object) -> None:
    refuses(lambda v: GAUSS.epsilon(delta=1e-5, tolerance=v), "tolerance", value)  # type: ignore[arg-type]
    refuses(lambda v: GAUSS.delta(epsilon=1.0, tolerance=v), "tolerance", value)  # type: ignore[arg-type]


def test_questions_take_names_only() -> None:
    for ask in (GAUSS.epsilon, GAUSS.delta, GAUSS.renyi, GAUSS.tradeoff):
        with pytest.raises(TypeError):
            ask(1e-5)  # type: ignore[misc, call-arg]


def test_mechanisms_are_immutable_and_equal_by_structure() -> None:
    with pytest.raises(AttributeError):
        GAUSS.noise_multiplier = 0.1  # type: ignore[misc]
    assert hush.Gaussian(1) == hush.Gaussian(1.0)
    assert hash(hush.Gaussian(1)) == hash(hush.Gaussian(1.0))
    assert hush.Gaussian(1.0) != hush.Gaussian(1.0, Relation.REPLACE)


@pytest.mark.parametrize(
    "make",
    [
        lambda: hush.from_profile([0, 1], [1]),
        lambda: hush.from_profile(None, None),  # type: ignore[arg-type]
        lambda: hush.from_profile(1.0, 1e-5),  # type: ignore[arg-type]
        lambda: hush.ApproxDP(points=[(1,)]),  # type: ignore[list-item]
        lambda: hush.ApproxDP(points=[1.0]),  # type: ignore[list-item]
        lambda: hush.ApproxDP(points=5),  # type: ignore[arg-type]
        lambda: hush.RenyiDP(points=[(2,)]),  # type: ignore[list-item]
        lambda: hush.RenyiDP(points=5),  # type: ignore[arg-type]
        lambda: hush.Gaussian(1.0).renyi(orders=5),  # type: ignore[arg-type]
        lambda: hush.Gaussian(1.0).renyi(orders=None),  # type: ignore[arg-type]
    ],
)
def test_lists_that_are_none_are_refused_by_name(make: Callable[[], object]) -> None:
    with pytest.raises(InvalidParameter, match="needs"):
        make()
