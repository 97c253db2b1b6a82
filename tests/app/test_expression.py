"""Expressions on the command line against the same mechanisms in Python."""

from __future__ import annotations

import pytest

import hush
from hush import HushError, InvalidParameter, Mechanism, Relation
from hush.app.expression import ATOMS, LONGEST, PIPES, RELATIONS, parse
from hush.app.main import EXAMPLES

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
    "skellam 10 3": hush.Skellam(10.0, 3),
    "pure 0.5": hush.PureDP(0.5),
    "approx 0.5 1e-8": hush.ApproxDP(0.5, 1e-8),
    "gdp 1": hush.GaussianDP(1.0),
    "zcdp 0.1": hush.ZCDP(0.1),
    "local 1 | shuffled 1000": hush.LocalDP(1.0).shuffled(people=1000),
    "kary-response 1 5 | shuffled 1e6": hush.KaryResponse(epsilon=1.0, choices=5).shuffled(people=10**6),
    "unary-encoding 1 5": hush.UnaryEncoding(epsilon=1.0, choices=5),
    "laplace-report 2": hush.LaplaceReport(2.0),
    "gaussian-report 2": hush.GaussianReport(2.0),
    "tcdp 0.1 20": hush.TCDP(0.1, 20.0),
    "gaussian 1 | group 3": hush.Gaussian(1.0).group(3),
    "gaussian 1 | replace": hush.Gaussian(1.0).under(Relation.REPLACE),
    "gaussian 1 | without-replacement 5 100 | replace": hush.Gaussian(1.0)
    .on(hush.WithoutReplacement(5, 100))
    .under(Relation.REPLACE),
    "gaussian 1 relation=replace | with-replacement 5 100": hush.Gaussian(1.0, Relation.REPLACE).on(
        hush.WithReplacement(5, 100)
    ),
    "gaussian 1 | shuffled-batches 10 | repeat 2": hush.Gaussian(1.0).on(hush.ShuffledBatches(10)).repeat(2),
    "gaussian 1 | allocation 10": hush.Gaussian(1.0).on(hush.Allocation(10)),
    "gaussian 1 | allocation 10 2": hush.Gaussian(1.0).on(hush.Allocation(10, 2)),
    "gaussian 1 | repeat 3 | poisson 0.01": hush.Gaussian(1.0).repeat(3).on(hush.Poisson(rate=0.01)),
    "gaussian 1 | poisson 0.01 | repeat 5; laplace 2": STEP.repeat(5).then(hush.Laplace(2.0)),
    "laplace 2 then gaussian 1 | poisson 0.01 then laplace 2": hush.sequence(
        hush.Laplace(2.0), STEP, hush.Laplace(2.0)
    ),
}


@pytest.mark.parametrize("text", SAME)
def test_expression_is_the_mechanism(text: str) -> None:
    assert parse(text) == SAME[text]


def test_every_word_is_tried_and_in_the_help() -> None:
    said = " ".join(SAME)
    for word in (*ATOMS, *PIPES):
        assert word in said
        assert word in EXAMPLES


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "one of: gaussian"),
        ("gaussian 1;", "one of: gaussian"),
        ("gauss 1", "word='gauss'"),
        ("gaussian 1 | poison 2", "group, replace; got word='poison'"),
        ("gaussian 1 |", "one of: poisson, "),
        ("poisson 0.1", "word='poisson'"),
        ("gaussian", "the form `gaussian NOISE`"),
        ("gaussian 1 2", "the form `gaussian NOISE`"),
        ("discrete-gaussian 1 2 3", "the form `discrete-gaussian SIGMA [SENSITIVITY]`"),
        ("gaussian one", "gaussian needs a number; got word='one'"),
        ("gaussian 1 | repeat 2.5", "a whole number times"),
        ("gaussian 1 | poisson 2", "0 <= rate <= 1"),
        ("gaussian -1", "noise_multiplier=-1.0"),
        ("gaussian nan", "noise_multiplier=nan"),
        ("gaussian 1 relation=other", "relation=replace or relation=add_remove"),
        ("gaussian 1 relation=replace relation=replace", "relation=replace or relation=add_remove"),
        ("randomized-response 1", "its relation"),
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


@pytest.mark.parametrize("name", sorted(ATOMS))
@pytest.mark.parametrize("relation", ["relation=replace", "relation=add_remove"])
def test_every_word_takes_a_relation_or_refuses_it_by_name(name: str, relation: str) -> None:
    try:
        made = parse(" ".join([name, *("2" if k else "1" for k in range(len(ATOMS[name].numbers))), relation]))
    except HushError:
        return
    assert made.relation is RELATIONS[relation]
