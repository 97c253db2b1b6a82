"""JSON: every mechanism comes back equal, and every surprise is refused by name."""

from __future__ import annotations

import inspect
import json
import math
import time
from dataclasses import dataclass, field, replace

import numpy as np
import pytest
from hypothesis import given

import hush
from hush import InvalidParameter, Mechanism, NotCovered, Relation, from_json, tabulated, to_json
from hush.curves.pairs.finite import FinitePair
from hush.curves.pairs.normal import NormalPair
from hush.mechanisms.description import public
from hush.mechanisms.scheme import Scheme
from hush.questions.json.codec import decode, encode
from hush.questions.json.strict import LONGEST
from tests.outside import Everyone, Hand, WobblyNoise
from tests.strategies import LAWS, any_expression

STEP = hush.Gaussian(1.0).on(hush.Poisson(rate=0.01))

LOSS = hush.ConvexLoss(smoothness=2.0, strong_convexity=0.1, sensitivity=1 / 3)
PASS = hush.OnePassGradientDescent(loss=LOSS, records=10**12, noise=0.1, step_size=1.0)

EACH: list[Mechanism] = [
    hush.Gaussian(0.1 + 0.2),
    hush.Laplace(math.pi, Relation.REPLACE),
    hush.DiscreteGaussian(1.5, 3),
    hush.DiscreteLaplace(1.5, 3),
    hush.RandomizedResponse(truth_probability=0.9, choices=7, relation=Relation.REPLACE),
    hush.Exponential(1 / 3),
    hush.ReportNoisyMax(1 / 3, monotone=True),
    hush.Skellam(7.3, 2, Relation.REPLACE),
    hush.BetaPosterior(10, 2.5, 3.5),
    hush.GaussianPosterior(10, 2.5, 3.5, 0.3),
    hush.PureDP(0.0),
    hush.ApproxDP(points=[(0.5, 1e-3), (1.0, 1e-300)]),
    hush.GaussianDP(1e-9),
    hush.ZCDP(5e-324),
    hush.TCDP(0.1, 20.0),
    hush.RenyiDP(points=[(1.5, 0.1), (math.inf, math.inf)]),
    hush.FromPair.of([0.7, 0.2, 0.1, 0.0], [0.2, 0.7, 0.0, 0.1]),
    hush.UnknownKeys(hush.Laplace(1 / 3).then(hush.Gaussian(2.0)), groups=3, shown=1e-300),
    hush.LocalDP(1 / 3),
    hush.KaryResponse(epsilon=0.1, choices=5),
    hush.UnaryEncoding(epsilon=0.1, choices=5, optimised=False),
    hush.LaplaceReport(1 / 3),
    hush.GaussianReport(0.3),
    hush.LaplaceReport(2.0).shuffled(people=10**9),
    STEP.repeat(10**15),
    STEP.repeat(3).then(hush.Laplace(2.0), STEP.then(hush.ZCDP(0.1)).repeat(2)),
    hush.Laplace(2.0).beside(hush.Laplace(2.0)),
    hush.Laplace(1.0).repeat(2).on(hush.Poisson(rate=0.0)),
    hush.Gaussian(1.0).on(hush.Allocation(steps=10, times=2)),
    hush.Gaussian(1.0).on(hush.CyclicPoisson(rate=1 / 3, parts=4)),
    STEP.repeat(5).group(4),
    STEP.repeat(5).under(Relation.REPLACE),
    hush.NoisyIteration(
        sensitivities=[0.1, 0.0, 1 / 3], deviations=2.0, contractions=[1.0, 0.0, 0.5], relation=Relation.REPLACE
    ),
    hush.NoisyGradientDescent(loss=LOSS, records=100, iterations=10**9, noise=0.1, step_size=1.0, diameter=math.inf),
    hush.CyclicGradientDescent(loss=LOSS, batches=7, batch_size=50, epochs=9, noise=0.1, step_size=0.25, diameter=3.0),
    hush.SampledGradientDescent(
        loss=hush.ConvexLoss(smoothness=1, strong_convexity=0, lipschitz=1 / 3),
        scheme=hush.CappedPoisson(rate=0.1, cap=20, population=100),
        batch_size=10.0,
        noise=0.1,
        step_size=0.5,
        iterations=10**6,
        diameter=3.0,
    ),
    PASS,
    PASS.stopped_at_random(),
    hush.Gaussian(1.0).best_of(runs=hush.GeometricRuns(0.1)),
    hush.Either(hush.Gaussian(1.0), hush.Laplace(2.0), chance=1 / 3),
    hush.RandomContributions(hush.Gaussian(1.0), [0.25, 0.75]),
]

EACH_SCHEME: list[Scheme] = [
    hush.Poisson(rate=0.1),
    hush.UnequalPoisson([0.1, 0.0, 1 / 3]),
    hush.WithoutReplacement(3, 10**15),
    hush.WithReplacement(3, 10**15),
    hush.ShuffledBatches(7),
    hush.Revealed(hush.UnequalPoisson([0.1])),
    hush.Allocation(steps=10, times=5),
    hush.CyclicPoisson(rate=0.1, parts=3),
    hush.CyclicAllocation(steps=10, parts=5),
    hush.BallsInBins(bins=10, epochs=3, bands=5),
    hush.CappedPoisson(rate=0.1, cap=20, population=100),
    hush.Clusters(0.1, [1, 3]),
    hush.TwoStage(0.1, [2], 0.5),
    hush.Stratified([1, 2], [10, 20]),
    hush.Systematic(5, 100),
]


def name(value: object) -> str:
    return type(value).__name__


@pytest.mark.parametrize("scheme", EACH_SCHEME, ids=name)
def test_each_scheme_comes_back_equal(scheme: Scheme) -> None:
    mechanism = hush.Gaussian(1.0).on(scheme)
    assert hush.from_json(hush.to_json(mechanism)) == mechanism
    assert f'{{"kind": "{name(scheme)}"' in hush.to_json(mechanism)


def final(base: type) -> list[type]:
    """Concrete classes of hush below the base."""
    children = [child for child in base.__subclasses__() if child.__module__.startswith("hush.")]
    below = [found for child in children for found in final(child)]
    return below if inspect.isabstract(base) or children else [base]


def test_every_mechanism_and_scheme_is_tried_and_public() -> None:
    """What is public is found by its name in a fresh process, too, whatever was imported before."""
    loaded = set(public())
    assert {type(mechanism) for mechanism in EACH} == set(final(Mechanism)) <= loaded
    assert {type(scheme) for scheme in EACH_SCHEME} == set(final(Scheme)) <= loaded


@pytest.mark.parametrize("mechanism", EACH, ids=name)
def test_each_kind_comes_back_equal(mechanism: Mechanism) -> None:
    again = from_json(to_json(mechanism))
    assert again == mechanism
    assert again.relation is mechanism.relation
    assert repr(again) == repr(mechanism)
    assert to_json(again) == to_json(mechanism)
    assert to_json(mechanism).startswith(f'{{"hush": 2, "mechanism": {{"kind": "{name(mechanism)}"')


@pytest.mark.parametrize(
    "mechanism",
    [
        hush.Repeat(hush.Repeat(STEP, 2), 1),
        hush.Sequence(((STEP, 1), (STEP, 2))),
        hush.Group(hush.Group(STEP, 2), 1),
        hush.Sampled(STEP, hush.Poisson(rate=1.0)),
        hush.Parallel((STEP, STEP)),
    ],
    ids=name,
)
def test_what_was_made_by_hand_comes_back_as_it_was_made(mechanism: Mechanism) -> None:
    assert from_json(to_json(mechanism)) == mechanism


@LAWS
@given(any_expression(3))
def test_round_trip(mechanism: Mechanism) -> None:
    assert from_json(to_json(mechanism)) == mechanism


def test_the_answer_survives() -> None:
    training = STEP.repeat(10_000)
    assert from_json(to_json(training)).epsilon(delta=1e-5) == training.epsilon(delta=1e-5)


def test_the_format_is_versioned_plain_json() -> None:
    assert json.loads(to_json(STEP.repeat(2))) == {
        "hush": 2,
        "mechanism": {
            "kind": "Repeat",
            "inner": {
                "kind": "Sampled",
                "inner": {"kind": "Gaussian", "noise_multiplier": 1.0, "relation": "add_remove"},
                "scheme": {"kind": "Poisson", "rate": 0.01},
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
    fields = {"kind": "Gaussian", "noise_multiplier": 1.0, "relation": "add_remove"} | changes
    return json.dumps({"hush": 2, "mechanism": fields})


NESTED = '{"kind":"Group","size":2,"inner":' * 100 + "1" + "}" * 100

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
    "duplicate key": (document().replace('"kind"', '"kind": "Laplace", "kind"'), "each key once"),
    "version 1": (document().replace('"hush": 2', '"hush": 1'), "version 2"),
    "version true": (document().replace('"hush": 2', '"hush": true'), "a whole number"),
    "version missing": ('{"mechanism": {}}', "exactly the fields"),
    "more at the top": (document()[:-1] + ', "x": 1}', "exactly the fields"),
    "unknown kind": (document(kind="pickle"), "a known kind"),
    "kind is a list": (document(kind=["Gaussian"]), "a known kind"),
    "no kind": ('{"hush": 2, "mechanism": 3}', "a known kind"),
    "unknown field": (document(__class__="os.system"), "exactly the fields"),
    "missing field": ('{"hush": 2, "mechanism": {"kind": "Gaussian"}}', "exactly the fields"),
    "text for a number": (document(noise_multiplier="1.0"), "a number"),
    "bool for a number": (document(noise_multiplier=True), "a number"),
    "null for a number": (document(noise_multiplier=None), "a number"),
    "list for a relation": (document(relation=[]), "a relation"),
    "the name of a relation": (document(relation="ADD_REMOVE"), "a relation"),
    "an abstract class": (document(kind="Mechanism"), "a known kind"),
    "a class that is not a mechanism": (document(kind="Bound"), "a known kind"),
    "a scheme": (document(kind="Poisson"), "a known kind of Mechanism"),
    "a module": (document(kind="releases"), "a known kind"),
    "a path": (document(kind="hush.mechanisms.leaves.gaussian.Gaussian"), "a known kind"),
    "an old name": (document(kind="gaussian"), "a known kind"),
    "out of range": (document(noise_multiplier=-1.0), "Gaussian needs"),
    "inf where it is not allowed": (document(noise_multiplier="inf"), "Gaussian needs"),
    "fraction for a count": (
        '{"hush": 2, "mechanism": {"kind": "Repeat", "times": 2.0, "inner": {}}}',
        "a known kind",
    ),
    "deep lists": ('{"hush": 2, "mechanism": ' + "[" * 100_000, "at most 64 levels"),
    "deep mechanisms": ('{"hush": 2, "mechanism": ' + NESTED + "}", "at most 64 levels"),
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
        ({"losses": 1.0}, "a list"),
        ({"lattice": None}, "a number"),
        ({"blur": -1e-3}, "rounding error"),
        ({"blur": "inf"}, "rounding error"),
        ({"blur": "nan"}, "a number"),
        ({"cut": 0}, "true or false"),
        ({"kind": "NormalPair"}, "a known kind of Pair"),
        ({"kind": "Gaussian"}, "a known kind of Pair"),
        ({"extra": 1}, "exactly the fields"),
    ],
    ids=str,
)
def test_a_pair_that_is_none_is_refused(change: dict[str, object], rule: str) -> None:
    """A table that does not sum to one, or a false lattice, would give answers below the truth."""
    pair = {"losses": [-1.0, 1.0], "mass": [1 / (1 + math.e), math.e / (1 + math.e)]}
    whole = {"kind": "FinitePair", **pair, "at_infinity": 0.0, "at_minus_infinity": 0.0, "lattice": 2.0}
    whole |= {"blur": 0.0, "cut": False}

    def text(remove: dict[str, object]) -> str:
        fields = {"kind": "FromPair", "remove": remove, "add": whole, "relation": "add_remove"}
        return json.dumps({"hush": 2, "mechanism": fields})

    assert from_json(text(whole)).epsilon(delta=0).upper == pytest.approx(1.0)
    with pytest.raises(InvalidParameter, match=rule):
        from_json(text(whole | change))


def test_a_long_table_is_refused_when_written() -> None:
    """What could not be read again is not written."""
    mass = [1 / 60_000] * 60_000
    with pytest.raises(InvalidParameter, match="to_json needs at most"):
        to_json(hush.FromPair.of(mass, mass))


TABLE = hush.FromPair.of([0.75, 0.25], [0.25, 0.75])
CUT = FinitePair(np.array([-0.5, 0.5]), np.array([0.25, 0.75]), 0.0, 0.0, blur=1e-13, cut=True)
NOT_CUT = replace(CUT, blur=0.0, cut=False)


def test_all_of_a_table_survives() -> None:
    """Its lattice, the rounding error of its losses, and that its end was cut off: answers depend on each."""
    again = from_json(to_json(TABLE))
    assert isinstance(again, hush.FromPair)
    assert isinstance(again.remove, FinitePair)
    assert again.remove.lattice == pytest.approx(2 * math.log(3))
    assert again.epsilon(delta=0.1) == TABLE.epsilon(delta=0.1)
    assert (decode(FinitePair, encode(CUT)).blur, decode(FinitePair, encode(CUT)).cut) == (1e-13, True)
    assert (decode(FinitePair, encode(NOT_CUT)).blur, decode(FinitePair, encode(NOT_CUT)).cut) == (0.0, False)
    assert "lattice" not in encode(CUT)


# -- classes that hush does not have -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "leaf",
    [
        WobblyNoise(2.0),
        WobblyNoise(2.0, 3, Hand.RIGHT, False, math.inf, '"}', (3, 4), STEP, relation=Relation.REPLACE),
    ],
)
def test_a_class_from_outside_comes_back_equal(leaf: WobblyNoise) -> None:
    whole = leaf.repeat(3).under(Relation.REPLACE) if leaf.relation is Relation.ADD_REMOVE else leaf
    assert from_json(to_json(whole)) == whole


def test_a_scheme_from_outside_comes_back_equal() -> None:
    assert decode(Scheme, encode(Everyone(3))) == Everyone(3)


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ({"hand": "UP"}, r"a hand \(left, right\)"),
        ({"sure": 1}, "true or false"),
        ({"name": 1}, "a string"),
        ({"places": [1.5]}, "a whole number"),
        ({"places": 3}, "a list"),
        ({"child": {"kind": "Poisson", "rate": 0.5}}, "a known kind of Mechanism"),
        ({"limit": None}, "a number"),
    ],
    ids=str,
)
def test_its_fields_are_read_as_strictly(change: dict[str, object], rule: str) -> None:
    document = {"hush": 2, "mechanism": encode(WobblyNoise(2.0)) | change}
    with pytest.raises(InvalidParameter, match=rule):
        from_json(json.dumps(document))


def test_a_class_under_a_public_name_is_not_written() -> None:
    """Read again, it would be another one."""
    other = dataclass(frozen=True)(type("Gaussian", (WobblyNoise,), {}))(1.0)
    with pytest.raises(NotCovered, match="a Gaussian has no JSON form"):
        to_json(other)


@dataclass(frozen=True)
class OfAKind(WobblyNoise):
    """A leaf with a field under the name that JSON needs for the class."""

    kind: str = "best"


def test_a_field_cannot_stand_for_the_class() -> None:
    with pytest.raises(NotCovered, match="an? OfAKind has no JSON form"):
        to_json(OfAKind(1.0))


@dataclass(frozen=True)
class Listed(WobblyNoise):
    """A leaf with a field of a type that has no JSON form."""

    extra: dict[str, float] = field(default_factory=dict, hash=False)


def test_fields_of_other_types_are_refused_both_ways() -> None:
    with pytest.raises(NotCovered, match="a dict has no JSON form"):
        to_json(Listed(1.0))
    with pytest.raises(NotCovered, match="a NoneType has no JSON form"):
        to_json(Listed(None))  # type: ignore[arg-type]
    text = {"hush": 2, "mechanism": encode(WobblyNoise(1.0)) | {"kind": "Listed", "extra": {}}}
    with pytest.raises(InvalidParameter, match="a field that has a JSON form"):
        from_json(json.dumps(text))


@pytest.mark.parametrize("text", ['"' + '\\"' * 300_000, "[" * 60 + '"' + '\\"' * 300_000, '"\\\n' * 100_000])
def test_strings_without_an_end_are_refused_at_once(text: str) -> None:
    """Each quote of the text looked for its end up to the end of the text: the square of its length."""
    start = time.process_time()
    with pytest.raises(InvalidParameter):
        from_json(text)
    assert time.process_time() - start < 5
