"""The epsilon that a class states: a number like any other, and still the question that every mechanism answers."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError, asdict, fields, replace

import pytest

import hush
from hush import InvalidParameter, Mechanism, Relation
from hush.mechanisms.stated_epsilon import StatedEpsilon

EACH: list[Mechanism] = [
    hush.PureDP(1.0),
    hush.RandomizedResponse(epsilon=1.0, relation=Relation.REPLACE),
    hush.Exponential(1.0),
    hush.LocalDP(1.0),
    hush.KaryResponse(epsilon=1.0, choices=3),
    hush.UnaryEncoding(epsilon=1.0, choices=3),
]
COPIES: list[Callable[[Mechanism], Mechanism]] = [
    copy.copy,
    copy.deepcopy,
    lambda mechanism: pickle.loads(pickle.dumps(mechanism)),
    replace,  # type: ignore[list-item]
]


def test_every_class_with_the_field_is_here() -> None:
    found = {type(m) for m in EACH}
    public = [getattr(hush, name) for name in hush.__all__]
    stated = {c for c in public if isinstance(c, type) and "epsilon" in {f.name for f in _fields(c)}}
    assert found == {c for c in stated if issubclass(c, Mechanism)}


def _fields(kind: type) -> tuple:
    return fields(kind) if hasattr(kind, "__dataclass_fields__") else ()


@pytest.mark.parametrize("mechanism", EACH, ids=str)
def test_it_is_a_number_and_a_question(mechanism: Mechanism) -> None:
    stated = mechanism.epsilon
    assert isinstance(stated, StatedEpsilon)
    assert stated == 1.0
    assert hash(stated) == hash(1.0)
    assert (f"{stated:g}", repr(stated), str(stated)) == ("1", "1.0", "1.0")
    assert type(stated / 2) is float
    assert stated(delta=1e-3) == Mechanism.epsilon(mechanism, delta=1e-3)
    assert mechanism.epsilon(delta=0, tolerance=1e-3).upper == pytest.approx(1.0)


@pytest.mark.parametrize("mechanism", EACH, ids=str)
def test_its_name_has_no_underscore(mechanism: Mechanism) -> None:
    assert f"{type(mechanism).__name__}(epsilon=1.0, " in repr(mechanism)
    assert asdict(mechanism)["epsilon"] == 1.0  # type: ignore[call-overload]


@pytest.mark.parametrize("mechanism", EACH, ids=str)
@pytest.mark.parametrize("copied", COPIES)
def test_a_copy_is_equal_and_answers_for_itself(mechanism: Mechanism, copied: Callable[[Mechanism], Mechanism]) -> None:
    again = copied(mechanism)
    assert again == mechanism
    assert hash(again) == hash(mechanism)
    assert again.epsilon.mechanism is again  # type: ignore[attr-defined]
    assert again.epsilon(delta=1e-3) == mechanism.epsilon(delta=1e-3)


@pytest.mark.parametrize("mechanism", EACH, ids=str)
def test_a_replaced_one_answers_for_its_own_number(mechanism: Mechanism) -> None:
    other = replace(mechanism, epsilon=2.0)  # type: ignore[type-var]
    assert other != mechanism
    assert other.epsilon(delta=0).upper == pytest.approx(2.0)
    assert mechanism.epsilon(delta=0).upper == pytest.approx(1.0)


def test_the_number_alone_can_be_kept() -> None:
    stated = hush.PureDP(1.0).epsilon
    for again in (copy.copy(stated), copy.deepcopy(stated), pickle.loads(pickle.dumps(stated))):
        assert again == 1.0
        assert again(delta=0.1) == stated(delta=0.1)


def test_it_is_required_checked_and_frozen() -> None:
    with pytest.raises(TypeError, match="epsilon"):
        hush.PureDP()  # type: ignore[call-arg]
    with pytest.raises(InvalidParameter, match=r"^PureDP needs 0 <= epsilon <= 500; got epsilon=-1\.$"):
        hush.PureDP(-1)
    with pytest.raises(InvalidParameter, match="Exponential needs 0 < epsilon <= 500"):
        replace(hush.Exponential(1.0), epsilon=0.0)
    with pytest.raises(FrozenInstanceError):
        hush.PureDP(1.0).epsilon = 2.0  # type: ignore[misc]
