"""JSON: every mechanism comes back equal, and every surprise is refused by name."""

from __future__ import annotations

import inspect
import json
import math

import pytest
from hypothesis import given

import hush
from hush import InvalidParameter, Mechanism, NotCovered, Relation, from_json, to_json
from hush.curves.pairs.finite import FinitePair
from hush.curves.pairs.normal import NormalPair
from hush.mechanisms.schemes.scheme import Scheme
from hush.questions.json.mechanisms import KINDS, SCHEMES, tabulated
from hush.questions.json.strict import LONGEST
from tests.strategies import LAWS, any_expression

STEP = hush.Gaussian(1.0).on(hush.Poisson(rate=0.01))

LOSS = hush.ConvexLoss(smoothness=2.0, strong_convexity=0.1, sensitivity=1 / 3)
PASS = hush.OnePassGradientDescent(loss=LOSS, records=10**12, noise=0.1, step_size=1.0)

EACH: dict[str, Mechanism] = {
    "gaussian": hush.Gaussian(0.1 + 0.2),
    "laplace": hush.Laplace(math.pi, Relation.REPLACE),
    "discrete_gaussian": hush.DiscreteGaussian(1.5, 3),
    "discrete_laplace": hush.DiscreteLaplace(1.5, 3),
    "randomized_response": hush.RandomizedResponse(truth_probability=0.9, choices=7, relation=Relation.REPLACE),
    "exponential": hush.Exponential(1 / 3),
    "report_noisy_max": hush.ReportNoisyMax(1 / 3, monotone=True),
    "skellam": hush.Skellam(7.3, 2, Relation.REPLACE),
    "beta_posterior": hush.BetaPosterior(10, 2.5, 3.5),
    "gaussian_posterior": hush.GaussianPosterior(10, 2.5, 3.5, 0.3),
    "pure_dp": hush.PureDP(0.0),
    "approx_dp": hush.ApproxDP(points=[(0.5, 1e-3), (1.0, 1e-300)]),
    "gaussian_dp": hush.GaussianDP(1e-9),
    "zcdp": hush.ZCDP(5e-324),
    "tcdp": hush.TCDP(0.1, 20.0),
    "renyi_dp": hush.RenyiDP(points=[(1.5, 0.1), (math.inf, math.inf)]),
    "from_pair": hush.FromPair.of([0.7, 0.2, 0.1, 0.0], [0.2, 0.7, 0.0, 0.1]),
    "local_dp": hush.LocalDP(1 / 3),
    "kary_response": hush.KaryResponse(epsilon=0.1, choices=5),
    "unary_encoding": hush.UnaryEncoding(epsilon=0.1, choices=5, optimised=False),
    "laplace_report": hush.LaplaceReport(1 / 3),
    "gaussian_report": hush.GaussianReport(0.3),
    "shuffled": hush.LaplaceReport(2.0).shuffled(people=10**9),
    "repeat": STEP.repeat(10**15),
    "sequence": STEP.repeat(3).then(hush.Laplace(2.0), STEP.then(hush.ZCDP(0.1)).repeat(2)),
    "parallel": hush.Laplace(2.0).beside(hush.Laplace(2.0)),
    "sampled": hush.Laplace(1.0).repeat(2).on(hush.Poisson(rate=0.0)),
    "allocated": hush.Gaussian(1.0).on(hush.Allocation(steps=10, times=2)),
    "group": STEP.repeat(5).group(4),
    "under": STEP.repeat(5).under(Relation.REPLACE),
    "noisy_iteration": hush.NoisyIteration(
        sensitivities=[0.1, 0.0, 1 / 3], deviations=2.0, contractions=[1.0, 0.0, 0.5], relation=Relation.REPLACE
    ),
    "noisy_gradient_descent": hush.NoisyGradientDescent(
        loss=LOSS, records=100, iterations=10**9, noise=0.1, step_size=1.0, diameter=math.inf
    ),
    "cyclic_gradient_descent": hush.CyclicGradientDescent(
        loss=LOSS, batches=7, batch_size=50, epochs=9, noise=0.1, step_size=0.25, diameter=3.0
    ),
    "one_pass_gradient_descent": PASS,
    "random_stop": PASS.stopped_at_random(),
}


EACH_SCHEME: dict[str, Scheme] = {
    "poisson": hush.Poisson(rate=0.1),
    "unequal_poisson": hush.UnequalPoisson([0.1, 0.0, 1 / 3]),
    "without_replacement": hush.WithoutReplacement(3, 10**15),
    "with_replacement": hush.WithReplacement(3, 10**15),
    "shuffled_batches": hush.ShuffledBatches(7),
    "revealed": hush.Revealed(hush.UnequalPoisson([0.1])),
    "allocation": hush.Allocation(steps=10, times=5),
}


@pytest.mark.parametrize("kind", SCHEMES)
def test_each_scheme_comes_back_equal(kind: str) -> None:
    mechanism = hush.Gaussian(1.0).on(EACH_SCHEME[kind])
    assert hush.from_json(hush.to_json(mechanism)) == mechanism
    assert f'"kind": "{kind}"' in hush.to_json(mechanism)


def final(base: type) -> list[type]:
    """Concrete classes of hush below the base."""
    below = [found for child in base.__subclasses__() for found in final(child)]
    here = [] if inspect.isabstract(base) or base.__subclasses__() else [base]
    return [c for c in here + below if c.__module__.startswith("hush.")]


def test_every_mechanism_and_scheme_is_registered() -> None:
    assert {kind.type for kind in KINDS.values()} == set(final(Mechanism))
    assert {kind.type for kind in SCHEMES.values()} == set(final(Scheme))


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_comes_back_equal(kind: str) -> None:
    mechanism = EACH[kind]
    assert type(mechanism) is KINDS[kind].type
    again = from_json(to_json(mechanism))
    assert again == mechanism
    assert again.relation is mechanism.relation
    assert to_json(again) == to_json(mechanism)


@LAWS
@given(any_expression(3))
def test_round_trip(mechanism: Mechanism) -> None:
    assert from_json(to_json(mechanism)) == mechanism


def test_the_answer_survives() -> None:
    training = STEP.repeat(10_000)
    assert from_json(to_json(training)).epsilon(delta=1e-5) == training.epsilon(delta=1e-5)


def test_the_format_is_versioned_plain_json() -> None:
    assert json.loads(to_json(STEP.repeat(2))) == {
        "hush": 1,
        "mechanism": {
            "kind": "repeat",
            "inner": {
                "kind": "sampled",
                "inner": {"kind": "gaussian", "noise_multiplier": 1.0, "relation": "add_remove"},
                "scheme": {"kind": "poisson", "rate": 0.01},
            },
            "times": 2,
        },
    }


def test_what_has_no_json_form_says_what_to_do() -> None:
    curve = hush.RenyiDP(function=lambda order: order / 2)
    with pytest.raises(NotCovered, match="tabulated"):
        to_json(curve.repeat(3))
    pair = NormalPair.shifted(1.0)
    with pytest.raises(NotCovered, match="tabulate"):
        to_json(hush.FromPair(pair, pair.swap()))
    with pytest.raises(InvalidParameter, match="a mechanism"):
        to_json("gaussian")  # type: ignore[arg-type]


def test_tabulated_keeps_the_divergences_and_the_relation() -> None:
    kept = tabulated(hush.ZCDP(0.5, Relation.REPLACE), orders=[2, 8])
    assert kept == hush.RenyiDP(points=[(2, 1.0), (8, 4.0)], relation=Relation.REPLACE)
    assert from_json(to_json(kept)) == kept


def document(**changes: object) -> str:
    fields = {"kind": "gaussian", "noise_multiplier": 1.0, "relation": "add_remove"} | changes
    return json.dumps({"hush": 1, "mechanism": fields})


NESTED = '{"kind":"group","size":2,"inner":' * 100 + "1" + "}" * 100

HOSTILE: dict[str, tuple[object, str]] = {
    "no text": (b"{}", "a str"),
    "no JSON": ("{'hush': 1}", "JSON"),
    "empty": ("", "JSON"),
    "trailing": (document() + "x", "JSON"),
    "a list": ("[]", "an object with hush, mechanism"),
    "NaN": (document().replace("1.0", "NaN"), "finite numbers"),
    "Infinity": (document().replace("1.0", "-Infinity"), "finite numbers"),
    "overflow": (document().replace("1.0", "1e999"), "finite numbers"),
    "long int": (document().replace("1.0", "1" * 5000), "at most 20 digits"),
    "duplicate key": (document().replace('"kind"', '"kind": "laplace", "kind"'), "each key once"),
    "version 2": (document().replace('"hush": 1', '"hush": 2'), "version 1"),
    "version true": (document().replace('"hush": 1', '"hush": true'), "a whole number"),
    "version missing": ('{"mechanism": {}}', "exactly the fields"),
    "more at the top": (document()[:-1] + ', "x": 1}', "exactly the fields"),
    "unknown kind": (document(kind="pickle"), "a known kind"),
    "kind is a list": (document(kind=["gaussian"]), "a known kind"),
    "no kind": ('{"hush": 1, "mechanism": 3}', "a known kind"),
    "unknown field": (document(__class__="os.system"), "exactly the fields"),
    "missing field": ('{"hush": 1, "mechanism": {"kind": "gaussian"}}', "exactly the fields"),
    "text for a number": (document(noise_multiplier="1.0"), "a number"),
    "bool for a number": (document(noise_multiplier=True), "a number"),
    "null for a number": (document(noise_multiplier=None), "a number"),
    "list for a relation": (document(relation=[]), "a relation"),
    "out of range": (document(noise_multiplier=-1.0), "Gaussian needs"),
    "inf where it is not allowed": (document(noise_multiplier="inf"), "Gaussian needs"),
    "fraction for a count": (
        '{"hush": 1, "mechanism": {"kind": "repeat", "times": 2.0, "inner": {}}}',
        "a known kind",
    ),
    "deep lists": ('{"hush": 1, "mechanism": ' + "[" * 100_000, "at most 64 levels"),
    "deep mechanisms": ('{"hush": 1, "mechanism": ' + NESTED + "}", "at most 64 levels"),
    "long": (" " * (LONGEST + 1), "at most 1000000 characters"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_is_refused_in_one_line(name: str) -> None:
    text, rule = HOSTILE[name]
    with pytest.raises(InvalidParameter) as caught:
        from_json(text)  # type: ignore[arg-type]
    assert rule in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 700


def test_brackets_inside_strings_are_no_nesting() -> None:
    with pytest.raises(InvalidParameter, match="a known kind"):
        from_json(document(kind="[" * 100))


def test_times_must_be_whole() -> None:
    with pytest.raises(InvalidParameter, match="a whole number"):
        from_json(to_json(STEP.repeat(2)).replace('"times": 2', '"times": 2.5'))
    with pytest.raises(InvalidParameter, match="repeat needs"):
        from_json(to_json(STEP.repeat(2)).replace('"times": 2', '"times": -2'))


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ({"losses": [1.0, -1.0]}, "increasing order"),
        ({"losses": [-1.0]}, "each with its mass"),
        ({"losses": ["inf", "inf"]}, "finite losses"),
        ({"mass": [0.5, 0.5]}, "sum to 1 under Q"),
        ({"mass": [1.5, -0.5]}, "masses above 0"),
        ({"at_infinity": 0.1}, "sum to 1 under P"),
        ({"at_minus_infinity": -0.1}, "masses above 0"),
        ({"lattice": 0.7}, "on the lattice"),
        ({"lattice": 0.0}, "on the lattice"),
        ({"lattice": 1e-12}, "on the lattice"),
        ({"mass": [(1 - 9e-7) / (1 + math.e), (1 - 9e-7) * math.e / (1 + math.e)]}, "sum to 1 under P"),
        ({"losses": {}}, "a list"),
        ({"extra": 1}, "exactly the fields"),
    ],
    ids=str,
)
def test_a_pair_that_is_none_is_refused(change: dict[str, object], rule: str) -> None:
    """A table that does not sum to one, or a false lattice, would give answers below the truth."""
    pair = {"losses": [-1.0, 1.0], "mass": [1 / (1 + math.e), math.e / (1 + math.e)]}
    whole = {**pair, "at_infinity": 0.0, "at_minus_infinity": 0.0, "lattice": 2.0}

    def text(remove: dict[str, object]) -> str:
        fields = {"kind": "from_pair", "remove": remove, "add": whole, "relation": "add_remove"}
        return json.dumps({"hush": 1, "mechanism": fields})

    assert from_json(text(whole)).epsilon(delta=0).upper == pytest.approx(1.0)
    with pytest.raises(InvalidParameter, match=rule):
        from_json(text(whole | change))


def test_a_long_table_is_refused_when_written() -> None:
    """What could not be read again is not written."""
    mass = [1 / 60_000] * 60_000
    with pytest.raises(InvalidParameter, match="to_json needs at most"):
        to_json(hush.FromPair.of(mass, mass))


def test_lattice_survives() -> None:
    mechanism = hush.FromPair.of([0.75, 0.25], [0.25, 0.75])
    again = from_json(to_json(mechanism))
    assert isinstance(again, hush.FromPair)
    assert isinstance(again.remove, FinitePair)
    assert again.remove.lattice == pytest.approx(2 * math.log(3))
