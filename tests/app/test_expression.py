"""Expressions on the command line against the same mechanisms in Python."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import ClassVar

import pytest

import hush
from hush import HushError, InvalidParameter, Mechanism, Relation
from hush.app.expression import LONGEST, VERBS, Form, atoms, parse, pipes, words
from hush.app.main import EXAMPLES, main
from hush.mechanisms.description import public, word_of
from tests.outside import Everyone, Hand, WobblyNoise

STEP = hush.Gaussian(1.0).on(hush.Poisson(rate=0.01))

SAME: dict[str, Mechanism] = {
    "gaussian 1.0 | poisson 0.01 | repeat 10000": STEP.repeat(10_000),
    "gaussian 1|poisson .01|repeat 1e4": STEP.repeat(10_000),
    "  laplace   2  ": hush.Laplace(2.0),
    "laplace 2 relation=replace": hush.Laplace(2.0, Relation.REPLACE),
    "relation=replace laplace 2": hush.Laplace(2.0, Relation.REPLACE),
    "laplace 2 relation=add_remove": hush.Laplace(2.0),
    "discrete-gaussian 1.5": hush.DiscreteGaussian(1.5),
    "discrete-gaussian 1.5 3": hush.DiscreteGaussian(1.5, 3),
    "discrete-laplace 1.5 3": hush.DiscreteLaplace(1.5, 3),
    "randomized-response 1 relation=replace": hush.RandomizedResponse(epsilon=1.0, relation=Relation.REPLACE),
    "randomized-response 1 5 relation=add_remove": hush.RandomizedResponse(
        epsilon=1.0, choices=5, relation=Relation.ADD_REMOVE
    ),
    "exponential 0.5": hush.Exponential(0.5),
    "noisy-max 2": hush.ReportNoisyMax(2.0),
    "noisy-max monotone=true 2": hush.ReportNoisyMax(2.0, monotone=True),
    "skellam 10 3": hush.Skellam(10.0, 3),
    "pure 0.5": hush.PureDP(0.5),
    "laplace 1 | systematic 5 100 | replace": hush.Laplace(1.0).on(hush.Systematic(5, 100)).under(Relation.REPLACE),
    "approx 0.5 1e-8": hush.ApproxDP(0.5, 1e-8),
    "approx 0.5 1e-8 relation=replace": hush.ApproxDP(0.5, 1e-8, relation=Relation.REPLACE),
    "approx 0.5 1e-3 1 1e-8": hush.ApproxDP(points=[(0.5, 1e-3), (1.0, 1e-8)]),
    "renyi 2 0.1 8 0.5": hush.RenyiDP(points=[(2, 0.1), (8, 0.5)]),
    "renyi 2 0.1 inf 0.5 relation=replace": hush.RenyiDP(points=[(2, 0.1), (math.inf, 0.5)], relation=Relation.REPLACE),
    "beta-posterior 100 10": hush.BetaPosterior(100, 10.0),
    "gaussian-posterior 5 10 3 1": hush.GaussianPosterior(5, 10.0, 3.0, 1.0),
    "gdp 1": hush.GaussianDP(1.0),
    "zcdp 0.1": hush.ZCDP(0.1),
    "local 1 | shuffled 1000": hush.LocalDP(1.0).shuffled(people=1000),
    "kary-response 1 5 | shuffled 1e6": hush.KaryResponse(epsilon=1.0, choices=5).shuffled(people=10**6),
    "kary-response 1": hush.KaryResponse(epsilon=1.0),
    "unary-encoding 1 5": hush.UnaryEncoding(epsilon=1.0, choices=5),
    "unary-encoding 1 5 optimised=false": hush.UnaryEncoding(epsilon=1.0, choices=5, optimised=False),
    "laplace-report 2": hush.LaplaceReport(2.0),
    "gaussian-report 2": hush.GaussianReport(2.0),
    "tcdp 0.1 20": hush.TCDP(0.1, 20.0),
    "gaussian 1 | group 3": hush.Gaussian(1.0).group(3),
    "gaussian 1 | replace": hush.Gaussian(1.0).under(Relation.REPLACE),
    "gaussian 1 | zero-out": hush.Gaussian(1.0).under(Relation.ZERO_OUT),
    "gaussian 1 | capped-poisson 0.1 20 100": hush.Gaussian(1.0).on(hush.CappedPoisson(0.1, 20, 100)),
    "gaussian 1 | capped-poisson 0.1 20": hush.Gaussian(1.0).on(hush.CappedPoisson(0.1, 20)),
    "gaussian 1 | without-replacement 5 100 | replace": hush.Gaussian(1.0)
    .on(hush.WithoutReplacement(5, 100))
    .under(Relation.REPLACE),
    "gaussian 1 relation=replace | with-replacement 5 100": hush.Gaussian(1.0, Relation.REPLACE).on(
        hush.WithReplacement(5, 100)
    ),
    "gaussian 1 | shuffled-batches 10 | repeat 2": hush.Gaussian(1.0).on(hush.ShuffledBatches(10)).repeat(2),
    "gaussian 1 | unequal-poisson 0.1 0.2 0.3": hush.Gaussian(1.0).on(hush.UnequalPoisson([0.1, 0.2, 0.3])),
    "gaussian noise_multiplier=1 | allocation times=2 steps=10": hush.Gaussian(1.0).on(hush.Allocation(10, 2)),
    "gaussian 2 | cyclic-poisson 0.1 4 | repeat 3": hush.Gaussian(2.0)
    .on(hush.CyclicPoisson(rate=0.1, parts=4))
    .repeat(3),
    "gaussian 2 | cyclic-allocation 12 4": hush.Gaussian(2.0).on(hush.CyclicAllocation(steps=12, parts=4)),
    "gaussian 2 | balls-in-bins 12 3 4": hush.Gaussian(2.0).on(hush.BallsInBins(bins=12, epochs=3, bands=4)),
    "gaussian 2 | clusters 0.1 3x50 7": hush.Gaussian(2.0).on(hush.Clusters(0.1, [50, 50, 50, 7])),
    "gaussian 2 | two-stage 0.2 0.5 4x50": hush.Gaussian(2.0).on(hush.TwoStage(0.2, [50] * 4, inside=0.5)),
    "gaussian 2 | two-stage rate=0.2 4x50 inside=0.5": hush.Gaussian(2.0).on(hush.TwoStage(0.2, [50] * 4, 0.5)),
    "gaussian 2 relation=replace | stratified 50 1500 20 500": hush.Gaussian(2.0, Relation.REPLACE).on(
        hush.Stratified([50, 20], [1500, 500])
    ),
    "gaussian 2 | best-of-geometric 0.1 | repeat 2": hush.Gaussian(2.0).best_of(runs=hush.GeometricRuns(0.1)).repeat(2),
    "gaussian 2 | best-of-negative-binomial 0.1 0": hush.Gaussian(2.0).best_of(
        runs=hush.NegativeBinomialRuns(0.1, 0.0)
    ),
    "gaussian 2 | poisson 0.1 | best-of-poisson 10": hush.Gaussian(2.0)
    .on(hush.Poisson(rate=0.1))
    .best_of(runs=hush.PoissonRuns(10.0)),
    "discrete-laplace sensitivity=3 1.5": hush.DiscreteLaplace(1.5, 3),
    "gaussian 1 | repeat 2 | repeat 3": hush.Gaussian(1.0).repeat(6),
    "gaussian 1 | group 2 | group 3": hush.Gaussian(1.0).group(6),
    "gaussian 10 | unknown-keys 5 1e-9": hush.UnknownKeys(hush.Gaussian(10.0), 5, 1e-9),
    "gaussian 1 | allocation 10": hush.Gaussian(1.0).on(hush.Allocation(10)),
    "gaussian 1 | allocation 10 2": hush.Gaussian(1.0).on(hush.Allocation(10, 2)),
    "gaussian 1 | repeat 3 | poisson 0.01": hush.Gaussian(1.0).repeat(3).on(hush.Poisson(rate=0.01)),
    "gaussian 1 | poisson 0.01 | repeat 5; laplace 2": STEP.repeat(5).then(hush.Laplace(2.0)),
    "laplace 2 then gaussian 1 | poisson 0.01 then laplace 2": hush.sequence(
        hush.Laplace(2.0), STEP, hush.Laplace(2.0)
    ),
}

OURS = {word_of(kind) for kind in public()} | {form.word for form in VERBS}
"""Words that are not those of classes in tests."""


@pytest.mark.parametrize("text", SAME)
def test_expression_is_the_mechanism(text: str) -> None:
    assert parse(text) == SAME[text]


def test_every_word_is_tried_and_in_the_help() -> None:
    tried = {word for text in SAME for word in text.replace("|", " ").split()}
    for form in (*atoms(), *pipes()):
        assert form.word in tried or form.word not in OURS
        assert form.usage in words()


def test_the_help_without_arithmetic_has_expressions_that_parse(capsys: pytest.CaptureFixture[str]) -> None:
    lines = EXAMPLES[EXAMPLES.index("a release, then") : EXAMPLES.index("  `hush words`")].splitlines()
    said = [text for line in lines for text in line.split(":  ")[1].split("  or  ")]
    assert [parse(text).relation for text in said] == [*[Relation.ADD_REMOVE] * 3, Relation.REPLACE]
    assert main(["words"]) == 0
    assert capsys.readouterr().out.strip() == words()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "one of: approx, "),
        ("gaussian 1;", "one of: approx, "),
        ("noisy-iteration 1", "word='noisy-iteration'"),
        ("gaussian 1 | stratified 50 1500 20", "the form `stratified SIZES POPULATIONS ...`"),
        ("gaussian 1 | clusters 0.1", "the form `clusters RATE SIZES ...`"),
        ("gaussian 1 | clusters 0.1 1x", "word='1x'"),
        ("gaussian 1 | clusters 0.1 99999x1 2x1", "at most 100000 numbers"),
        ("gaussian 1 | clusters 0.1 999999999999999x1", "at most 100000 numbers"),
        ("gaussian 1 | clusters 0.1 2x2.5", "a whole number sizes"),
        ("from-pair 1", "word='from-pair'"),
        ("gaussian 1 | revealed 1", "word='revealed'"),
        ("gaussian 1 | random-stop", "word='random-stop'"),
        ("gauss 1", "word='gauss'"),
        ("gaussian 1 | poison 2", "; got word='poison'"),
        ("gaussian 1 |", "one of: all"),
        ("poisson 0.1", "word='poisson'"),
        ("gaussian", "the form `gaussian NOISE_MULTIPLIER`"),
        ("gaussian 1 2", "the form `gaussian NOISE_MULTIPLIER`"),
        ("gaussian 1 noise_multiplier=1", "the form `gaussian NOISE_MULTIPLIER`"),
        ("gaussian sigma=1", "the form `gaussian NOISE_MULTIPLIER`"),
        ("gaussian noise_multiplier=1 noise_multiplier=1", "each name once"),
        ("gaussian noise_multiplier=one", "gaussian needs a number; got word='one'"),
        ("pure 1 reason=mine", "the form `pure EPSILON`"),
        ("approx 1", "the form `approx EPSILON DELTA ...`"),
        ("approx 1 2 3", "the form `approx EPSILON DELTA ...`"),
        ("approx points=1", "the form `approx EPSILON DELTA ...`"),
        ("noisy-max 1 monotone=1", "monotone=true or monotone=false"),
        ("gaussian 1 | poisson 0.1 relation=replace", "the form `poisson RATE`"),
        ("gaussian 1 | unequal-poisson", "the form `unequal-poisson RATES ...`"),
        ("discrete-gaussian 1 2 3", "the form `discrete-gaussian SIGMA [SENSITIVITY]`"),
        ("gaussian one", "gaussian needs a number; got word='one'"),
        ("gaussian 1_0", "gaussian needs a number; got word='1_0'"),
        ("gaussian 1.0 | repeat times=1_000", "repeat needs a number; got word='1_000'"),
        ("laplace \u0661", "laplace needs a number; got word='\u0661'"),
        ("gaussian 1 | repeat 2.5", "a whole number times"),
        ("gaussian 1 | poisson 2", "0 <= rate <= 1"),
        ("gaussian -1", "noise_multiplier=-1.0"),
        ("gaussian nan", "noise_multiplier=nan"),
        ("gaussian 1 relation=other", "relation=add_remove or relation=replace"),
        ("gaussian 1 relation=replace relation=replace", "each name once"),
        ("randomized-response 1", "relation=add_remove/replace`"),
        ("gaussian 1; gaussian 2 relation=replace", "mechanisms of one relation"),
        ("gaussian 1" + " " * LONGEST, "at most 10000 characters"),
    ],
)
def test_errors_name_the_word_and_what_is_allowed(text: str, message: str) -> None:
    with pytest.raises(InvalidParameter) as caught:
        parse(text)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "atom", ["local 1", "kary-response 1 3", "unary-encoding 1 3", "laplace-report 1", "gaussian-report 1"]
)
def test_local_reports_have_one_relation(atom: str) -> None:
    assert parse(f"{atom} relation=replace") == parse(atom)
    with pytest.raises(InvalidParameter, match="its only relation: replace one record"):
        parse(f"{atom} relation=add_remove")


@pytest.mark.parametrize("form", [form for form in atoms() if form.word in OURS], ids=lambda form: form.word)
@pytest.mark.parametrize("relation", Relation)
def test_every_word_takes_a_relation_or_refuses_it_by_name(form: Form, relation: Relation) -> None:
    numbers = re.sub(r"\[.*|relation=.*|\.\.\.", "", form.usage).split()[1:]
    said = ["2" if place else "1" for place in range(len(numbers))]
    try:
        made = parse(" ".join([form.word, *said, f"relation={relation.name.lower()}"]))
    except HushError:
        return
    assert made.relation is relation


# -- classes that hush does not have -----------------------------------------------------------------------------


def test_classes_from_outside_have_words() -> None:
    assert parse("wobbly-noise 2") == WobblyNoise(2.0)
    made = parse("wobbly-noise 2 3 limit=4 hand=right relation=replace")
    assert made == WobblyNoise(2.0, 3, Hand.RIGHT, limit=4.0, relation=Relation.REPLACE)
    assert isinstance(made, WobblyNoise)
    assert type(made.units) is int
    assert parse("wobbly-noise 2 3 limit=1 7 8") == WobblyNoise(2.0, 3, limit=1.0, places=(7, 8))
    made = parse("wobbly-noise 2 | poisson 0.1 | all-records 10")
    assert made == WobblyNoise(2.0).on(hush.Poisson(rate=0.1)).on(Everyone(10))
    assert hush.from_json(hush.to_json(made)) == made
    assert made.epsilon(delta=1e-5) == hush.Gaussian(2.0).on(hush.Poisson(rate=0.1)).repeat(10).epsilon(delta=1e-5)
    assert "  wobbly-noise NOISE [UNITS] [hand=left/right] [sure=true/false] [LIMIT] [PLACES ...]\n" in words()
    assert "  | all-records TIMES\n" in words()
    with pytest.raises(InvalidParameter, match="hand=left or hand=right"):
        parse("wobbly-noise 2 hand=up")


@dataclass(frozen=True)
class Impostor(WobblyNoise):
    """It would like to be the Gaussian mechanism."""

    word: ClassVar[str] = "gaussian"


def test_a_word_of_hush_stays_its_own() -> None:
    assert parse("gaussian 1") == hush.Gaussian(1.0)
