"""The explanation: theorems and papers, every route, the answer; it never fails."""

from __future__ import annotations

import math
import re

import pytest

import hush
from hush import Mechanism, Relation, explain
from hush.questions.routes_compared import compare, why

TRAINING = hush.Gaussian(1.0).on(hush.Poisson(rate=0.01)).repeat(10_000)

MECHANISMS: dict[str, Mechanism] = {
    "training": TRAINING,
    "one Gaussian": hush.Gaussian(1.0),
    "Laplace and Gaussian": hush.Laplace(1.0).then(hush.Gaussian(2.0)),
    "discrete": hush.DiscreteLaplace(2.0).repeat(20),
    "stated": hush.ApproxDP(0.5, 1e-8).repeat(30),
    "mass at infinity beyond delta": hush.ApproxDP(0.5, 1e-3).repeat(30),
    "curve": hush.ZCDP(0.1).repeat(3),
    "curve without a theorem": hush.RenyiDP(points=[(2, 0.1)]).group(3),
    "no theorem": hush.Laplace(1.0, Relation.REPLACE).on(hush.Poisson(rate=0.1)),
    "one sample": hush.Gaussian(1.0).repeat(3).on(hush.Poisson(rate=0.1)),
    "nothing": hush.Gaussian(1.0).repeat(0),
    "never drawn": hush.Gaussian(1.0).on(hush.Poisson(rate=0.0)),
    "side by side": hush.Laplace(1.0).beside(hush.Gaussian(2.0)),
    "replace": hush.Gaussian(2.0).on(hush.Poisson(rate=0.1)).under(Relation.REPLACE),
    "group": hush.Gaussian(2.0).on(hush.Poisson(rate=0.1)).group(2),
    "table": hush.FromPair.of([0.75, 0.25], [0.25, 0.75]).repeat(5),
    "choice": hush.RandomizedResponse(epsilon=1.0, relation=Relation.REPLACE).repeat(10),
}


@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.parametrize("delta", [1e-5, 0.0])
def test_it_never_fails(name: str, delta: float) -> None:
    text = explain(MECHANISMS[name], delta=delta)
    assert "failed" not in text
    assert text.splitlines()[-1].startswith("Answer: ")
    assert f"Relation: {MECHANISMS[name].compared}" in text


def test_the_tree_has_every_step_with_its_theorem() -> None:
    lines = explain(TRAINING, delta=1e-5).splitlines()
    tree = lines[1 : lines.index("")]
    assert [line.strip(" |`-") for line in tree[::2]] == [
        "repeated 10000 times",
        "on a sample: Poisson sampling at rate 0.01",
        "Gaussian noise of multiplier 1",
    ]
    assert all("by: " in line and re.search(r"(19|20)\d\d", line) for line in tree[1::2])


def test_branches_of_a_sequence_are_drawn_apart() -> None:
    text = explain(MECHANISMS["Laplace and Gaussian"], delta=1e-5)
    assert "\n  |- Gaussian noise of multiplier 2\n" in text
    assert "\n  `- Laplace noise of scale 1\n" in text


def test_assumptions_are_listed_once() -> None:
    twice = hush.Gaussian(1.0).then(hush.Gaussian(2.0))
    assert explain(twice, delta=1e-5).count("  - L2 sensitivity 1 when you add or remove one record") == 1


def numbers(text: str) -> list[float]:
    return [float(word) for word in re.findall(r"\d+\.\d+", text)]


def test_routes_agree_on_the_training_run() -> None:
    """Contour inside grid below Rényi, around the certified 6.18771239; the CLT is below the truth."""
    rows = {(row.direction, row.route): row.answer for row in compare(TRAINING, math.log(1e-5))}
    assert {route for _, route in rows} == {"contour", "grid", "Rényi", "CLT"}
    low, high = numbers(rows["remove", "contour"])
    grid_low, grid_high = numbers(rows["remove", "grid"])
    assert grid_low <= low <= 6.18771239 <= high <= grid_high
    assert numbers(rows["remove", "Rényi"])[0] > high
    assert numbers(rows["remove", "CLT"])[0] < low
    assert rows["remove", "CLT"].endswith("(approximation, not a bound)")
    assert numbers(rows["add", "contour"])[1] < low


def test_closed_form_and_clt_agree_on_a_gaussian() -> None:
    """The loss of Gaussian noise is normal, so here the limit is exact."""
    rows = {row.route: row.answer for row in compare(hush.Gaussian(1.0), math.log(1e-5))}
    assert set(rows) == {"closed form", "Rényi", "CLT"}
    assert numbers(rows["CLT"])[0] == pytest.approx(numbers(rows["closed form"])[1], rel=1e-5)


def test_every_route_says_why_it_differs() -> None:
    text = explain(TRAINING, delta=1e-5)
    for route in ("contour", "grid", "Rényi", "CLT"):
        assert f"  {route}: {why(route)}" in text


def test_a_route_that_does_not_apply_says_why() -> None:
    text = explain(MECHANISMS["side by side"], delta=1e-5)
    assert "does not apply: Largest has no analytic law" in text
    assert "no finite epsilon: the loss is infinite with probability 0.0295" in explain(
        MECHANISMS["mass at infinity beyond delta"], delta=1e-5
    )


def test_the_answer_is_the_mechanisms_own() -> None:
    bound = TRAINING.epsilon(delta=1e-5)
    last = explain(TRAINING, delta=1e-5).splitlines()[-1]
    upper, lower, _ = numbers(last)
    assert upper >= bound.upper > upper - 1e-8
    assert lower <= bound.lower < lower + 1e-8


def test_no_answer_is_said() -> None:
    assert "Answer: none. " in explain(MECHANISMS["curve without a theorem"], delta=1e-5)
    assert "Answer: no finite epsilon at delta 0" in explain(hush.Gaussian(1.0), delta=0)


def test_the_method_and_the_function_agree() -> None:
    assert hush.Laplace(1.0).explain(delta=1e-5) == explain(hush.Laplace(1.0), delta=1e-5)


@pytest.mark.parametrize("delta", [-0.1, 1.0, math.nan, "1e-5"])
def test_bad_delta_is_refused(delta: float) -> None:
    with pytest.raises(hush.InvalidParameter):
        explain(hush.Laplace(1.0), delta=delta)


def test_a_bound_that_is_not_attained_is_not_called_exact() -> None:
    """Shuffled batches: what is known from below has a row of its own, and the pair above is a bound only."""
    text = explain(hush.Gaussian(1.0).on(hush.ShuffledBatches(steps=10)).repeat(2), delta=1e-5)
    assert "attained (from below)  at least 6.34" in text
    assert "dominating pair        at most 6.5729" in text
    assert "exact" not in text
    text = explain(hush.Gaussian(1.0).on(hush.Poisson(rate=0.1)), delta=1e-5)
    assert "attained" not in text
    assert "exact but for rounding" in text


def test_groups_are_named() -> None:
    assert "Relation: replace up to 6 records at once" in explain(
        hush.Gaussian(1.0, hush.Relation.REPLACE).group(2).repeat(3).group(3), delta=1e-5
    )
