"""Calibration: on the safe side of the target, close to it, and in few evaluations."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

import hush
from hush import InvalidParameter, Mechanism, calibrate
from hush.questions.search import LOOKS, Scale, Search, Value

TRUE_NOISE = 2.127375434714
"""Noise of DP-SGD at epsilon 2, delta 1e-5, rate 0.01, 10000 steps: certified in ball arithmetic."""


def training(noise: float = 1.0, rate: float = 0.01, steps: int = 10_000) -> Mechanism:
    return hush.Gaussian(noise).on(hush.Poisson(rate=rate)).repeat(steps)


def test_noise_of_training_vs_certified_value() -> None:
    found = calibrate(lambda noise: training(noise), over=(0.1, 100), epsilon=2, delta=1e-5)
    assert TRUE_NOISE <= found.value <= TRUE_NOISE * (1 + 1e-6)
    assert found.mechanism == training(found.value)
    assert found.bound == found.mechanism.epsilon(delta=1e-5)
    assert found.bound.upper <= 2


def test_a_narrower_tolerance_comes_closer() -> None:
    found = calibrate(lambda noise: training(noise), over=(0.1, 100), epsilon=2, delta=1e-5, tolerance=1e-9)
    assert TRUE_NOISE <= found.value <= TRUE_NOISE * (1 + 1e-9)


def test_few_evaluations(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every evaluation costs some ten milliseconds: both ends, the search, and the last word."""
    asked: list[str] = []
    for name in ("epsilon", "log_delta"):
        question: Callable[..., hush.Bound] = getattr(Mechanism, name)

        def counted(
            self: Mechanism,
            *,
            name: str = name,
            question: Callable[..., hush.Bound] = question,
            **rest: float,
        ) -> hush.Bound:
            asked.append(name)
            return question(self, **rest)

        monkeypatch.setattr(Mechanism, name, counted)
    calibrate(lambda noise: training(noise), over=(0.1, 100), epsilon=2, delta=1e-5)
    assert len(asked) <= 10


CASES: dict[str, tuple[Callable[[float], Mechanism], tuple[float, float], float]] = {
    "noise": (lambda x: hush.Gaussian(x), (0.1, 100.0), -1),
    "scale": (lambda x: hush.Laplace(x), (0.01, 100.0), -1),
    "rate": (lambda x: training(2.0, x, 1000), (0.001, 1.0), 1),
    "rate from 0": (lambda x: hush.Gaussian(1.0).on(hush.Poisson(rate=x)), (0.0, 1.0), 1),
    "stated epsilon": (lambda x: hush.PureDP(x).repeat(100), (0.001, 1.0), 1),
    "zCDP, no pair": (lambda x: hush.ZCDP(x), (1e-4, 10.0), 1),
    "one sample of two releases": (
        lambda x: hush.Gaussian(x).repeat(2).on(hush.Poisson(rate=0.1)),
        (0.5, 9.0),
        -1,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_value_is_safe_and_the_next_is_not(name: str) -> None:
    build, over, towards = CASES[name]
    found = calibrate(build, over=over, epsilon=1.0, delta=1e-6)
    assert build(found.value).epsilon(delta=1e-6).upper <= 1.0
    beyond = build(found.value * (1 + towards * 1e-5))
    assert beyond.epsilon(delta=1e-6).upper > 1.0


def test_whole_number_of_steps() -> None:
    found = calibrate(lambda steps: training(2.0, 0.01, steps), over=(1, 1_000_000), epsilon=1.0, delta=1e-6)
    assert isinstance(found.value, int)
    assert training(2.0, 0.01, found.value).epsilon(delta=1e-6).upper <= 1.0
    assert training(2.0, 0.01, found.value + 1).epsilon(delta=1e-6).upper > 1.0


def test_whole_number_whose_cost_falls() -> None:
    """More noise in whole units: rounded up, not down."""
    found = calibrate(lambda noise: hush.Gaussian(noise), over=(1, 1000), epsilon=1.0, delta=1e-6)
    assert found.value == math.ceil(calibrate(hush.Gaussian, over=(1.0, 1000.0), epsilon=1.0, delta=1e-6).value)


def test_advantage_is_a_target() -> None:
    found = calibrate(lambda noise: hush.Gaussian(noise), over=(0.1, 100.0), advantage=0.1)
    # The advantage of two normals at distance m is erf(m / sqrt 8).
    assert math.erf(1 / found.value / math.sqrt(8)) == pytest.approx(0.1, rel=2e-7)
    assert found.bound.upper <= 0.1
    assert found.bound.quantity == "advantage"


@pytest.mark.parametrize(
    ("build", "over", "best"),
    [
        (lambda x: hush.Gaussian(x), (5.0, 50.0), 5.0),
        (lambda x: hush.Gaussian(5.0).on(hush.Poisson(rate=x)), (0.1, 0.9), 0.9),
        (lambda x: hush.Gaussian(50.0).repeat(x), (1, 7), 7),
    ],
    ids=["least noise", "highest rate", "most times"],
)
def test_target_met_everywhere_gives_the_most_useful_end(
    build: Callable[[float], Mechanism], over: tuple[float, float], best: float
) -> None:
    assert calibrate(build, over=over, epsilon=1.0, delta=1e-6).value == best


def test_delta_1_is_met_by_all() -> None:
    assert calibrate(hush.Gaussian, over=(0.1, 10.0), epsilon=0.0, delta=1.0).value == 0.1
    assert calibrate(lambda rate: training(1.0, rate), over=(0.001, 0.9), epsilon=1.0, delta=1.0).value == 0.9


@pytest.mark.parametrize("delta", [0.3, 1e-3, 1e-9])
def test_epsilon_0_at_a_delta_is_an_advantage(delta: float) -> None:
    """Two normals at distance m have delta(0) = erf(m / sqrt 8)."""
    found = calibrate(hush.Gaussian, over=(1e-3, 1e12), epsilon=0.0, delta=delta)
    assert found.bound.upper == 0
    assert math.erf(1 / found.value / math.sqrt(8)) == pytest.approx(delta, rel=2e-6)
    assert math.erf(1 / found.value / math.sqrt(8)) <= delta


def test_epsilon_0_and_delta_0_is_met_by_nothing_but_silence() -> None:
    assert (
        calibrate(lambda rate: hush.Laplace(1.0).on(hush.Poisson(rate)), over=(0.0, 1.0), epsilon=0, delta=0).value == 0
    )
    with pytest.raises(InvalidParameter, match="met somewhere"):
        calibrate(hush.Laplace, over=(0.1, 10.0), epsilon=0, delta=0)


@pytest.mark.parametrize("name", [name for name in CASES if "zCDP" not in name])
def test_what_fails_is_near_where_intervals_are_narrow(name: str) -> None:
    build, over, _ = CASES[name]
    found = calibrate(build, over=over, epsilon=1.0, delta=1e-6)
    assert found.fails_at is not None
    assert found.fails_at == pytest.approx(found.value, rel=1e-4)
    assert build(found.fails_at).delta(epsilon=1.0).lower > 1e-6


def test_where_no_lower_end_is_known_nothing_is_said_to_fail() -> None:
    assert calibrate(lambda x: hush.ZCDP(x), over=(1e-4, 10.0), epsilon=1.0, delta=1e-6).fails_at is None


def test_upper_ends_that_jump_are_not_blamed_on_the_user() -> None:
    """A Rényi bound has no lower end: that it falls proves nothing of the cost. What is returned is safe."""

    def build(x: float) -> Mechanism:
        return hush.ZCDP(x * (1.0 if math.sin(40 * x) > 0 else 3.0))

    found = calibrate(build, over=(1e-4, 10.0), epsilon=1.0, delta=1e-6)
    assert build(found.value).epsilon(delta=1e-6).upper <= 1.0


def test_a_target_that_hush_cannot_certify_names_its_own_interval() -> None:
    with pytest.raises(hush.NotCovered, match=r"hush cannot tell.* its interval at 1.0 is 0 to"):
        calibrate(lambda x: hush.ZCDP(x), over=(1.0, 10.0), epsilon=1.0, delta=1e-6)


def test_target_met_nowhere_names_range_and_best_value() -> None:
    with pytest.raises(InvalidParameter, match=r"over=\(0.1, 1.0\), target=1.0, reached=4.88.*, at=1.0"):
        calibrate(hush.Gaussian, over=(0.1, 1.0), epsilon=1.0, delta=1e-6)


def test_a_cost_that_turns_is_refused() -> None:
    """From 1 to 10 the noise grows, but it drops between, where the search must pass."""

    def build(x: float) -> Mechanism:
        return hush.Gaussian(4.0 if x < 4 else 1.0 if x < 6 else x)

    with pytest.raises(InvalidParameter, match=r"only rises or only falls.*turns_near="):
        calibrate(build, over=(1.0, 10.0), epsilon=1.0, delta=1e-6)


def test_a_parameter_without_effect_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="a cost that changes over the range"):
        calibrate(lambda x: hush.Gaussian(9.0), over=(1.0, 2.0), epsilon=1.0, delta=1e-6)


@pytest.mark.parametrize(
    "wrong",
    [
        {"over": (2.0, 1.0)},
        {"over": (1.0, 1.0)},
        {"over": (0.1, math.inf)},
        {"over": (math.nan, 1.0)},
        {"over": 3.0},
        {"over": (1.0, 2.0, 3.0)},
        {"over": ("1", "2")},
        {"epsilon": 0.0},
        {"epsilon": math.inf},
        {"epsilon": None},
        {"delta": 0.0},
        {"delta": 1.1},
        {"epsilon": -1.0},
        {"delta": None},
        {"advantage": 0.5},
        {"epsilon": None, "delta": None, "advantage": 1.0},
        {"epsilon": None, "delta": None},
        {"tolerance": 0.0},
        {"tolerance": 1.0},
    ],
    ids=str,
)
def test_bad_arguments_are_refused(wrong: dict[str, object]) -> None:
    arguments: dict[str, object] = {"over": (0.1, 10.0), "epsilon": 1.0, "delta": 1e-6}
    with pytest.raises(InvalidParameter, match="calibrate needs"):
        calibrate(hush.Gaussian, **(arguments | wrong))  # type: ignore[arg-type]


def test_build_must_return_a_mechanism() -> None:
    with pytest.raises(InvalidParameter, match="a mechanism"):
        calibrate(lambda x: x, over=(0.1, 10.0), epsilon=1.0, delta=1e-6)  # type: ignore[arg-type, return-value]


def test_repr_is_short_and_frozen() -> None:
    found = calibrate(hush.Gaussian, over=(0.1, 100.0), epsilon=1.0, delta=1e-6)
    assert repr(found).startswith("Calibration(value=4.2246")
    assert len(repr(found)) < 180
    with pytest.raises(AttributeError):
        found.value = 1.0  # type: ignore[misc]


def test_search_survives_a_jump() -> None:
    """No slope to follow: halving takes over, and the safe side of the jump is returned."""
    search = Search(lambda x, _: math.inf if x > 7.5 else -math.inf, Scale(0.1, 100.0, rising=True), goal=1e-9)
    search.run(start=0.0)
    assert search.safe is not None
    assert 7.5 * (1 - 1e-8) <= search.safe.value <= 7.5
    assert search.looks < LOOKS / 2


def test_search_on_negative_values() -> None:
    search = Search(lambda x, _: x + 3.0, Scale(-10.0, 10.0, rising=True), goal=1e-9)
    search.run(start=0.0)
    assert search.safe is not None
    assert search.safe.value == pytest.approx(-3.0, rel=1e-7)
    assert search.safe.value <= -3.0


def test_search_says_where_the_cost_falls() -> None:
    told: list[tuple[Value, Value]] = []
    scale = Scale(1.0, 4.0, rising=True)
    search = Search(lambda x, _: -1.0 if x < 2 else 5.0 - x, scale, 1e-9, doubt=lambda *both: told.append(both))
    search.run(start=math.log(3.9))
    search.run(start=math.log(2.1))
    assert told
    assert all(cheap < dear for cheap, dear in told)


def test_search_finds_the_dearest_safe_place_that_it_saw() -> None:
    """Upper bounds that are blurred: a cheaper value that seems unsafe does not hide a dearer one that is safe."""
    search = Search(lambda x, _: 1.0 if 2 < x < 3 or x > 7 else -1.0, Scale(1.0, 10.0, rising=True), goal=1e-9)
    search.run(start=math.log(2.5))
    search.run(start=math.log(5.0))
    assert search.safe is not None
    assert search.safe.value == pytest.approx(7.0)


def test_search_on_a_line_takes_four_looks() -> None:
    """Two for the slope, one at the boundary, one across it."""
    search = Search(lambda x, _: 3 * math.log(x) - 1, Scale(0.1, 100.0, rising=True), goal=1e-9)
    search.run(start=0.0)
    assert search.looks == 4


@pytest.mark.parametrize("factor", [0.2, 1.0, 5.0])
def test_a_guide_saves_looks_and_decides_nothing(factor: float) -> None:
    """Where the search begins, even at a wrong place, changes the answer by no more than the tolerance."""
    looks = []

    def build(noise: float) -> Mechanism:
        looks.append(noise)
        return hush.Gaussian(noise).on(hush.Poisson(rate=0.01)).repeat(1000)

    target = {"over": (0.3, 100.0), "epsilon": 1.0, "delta": 1e-6}
    plain = calibrate(build, **target)
    alone = len(looks)
    guided = calibrate(build, **target, like=[lambda noise: hush.GaussianDP(factor * 0.4 / noise)])
    assert guided.bound.upper <= 1
    assert guided.value == pytest.approx(plain.value, rel=2e-6)
    assert factor != 1 or len(looks) - alone < alone


def test_a_guide_that_cannot_be_asked_is_left_out() -> None:
    def refuses(noise: float) -> Mechanism:
        raise InvalidParameter("guide", "nothing", noise=noise)

    target = {"over": (0.1, 100.0), "epsilon": 1.0, "delta": 1e-6}
    never = [refuses, lambda noise: hush.GaussianDP(1000 / noise)]
    assert calibrate(hush.Gaussian, **target, like=never) == calibrate(hush.Gaussian, **target)
