"""Rules of fields: what is kept, what is refused, and that the classes stay plain dataclasses."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

import hush
from hush.mechanisms.fields import Checked, above, between, instance, truth, whole


@dataclass(frozen=True)
class Ruled(Checked):
    """A field for each rule."""

    share: float = field(default=0.5, metadata=between(1e-6, 1e12))
    width: float = field(default=2.0, metadata=above(1))
    times: int = field(default=3, metadata=whole(1, 10))
    sure: bool = field(default=False, metadata=truth())
    step: hush.Mechanism = field(default=hush.Gaussian(1.0), metadata=instance(hush.Mechanism, "a mechanism"))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"share": 0}, "Ruled needs 1e-6 <= share <= 1e12; got share=0."),
        ({"share": math.nan}, "Ruled needs 1e-6 <= share <= 1e12; got share=nan."),
        ({"width": 1}, "Ruled needs 1 < width < infinity; got width=1."),
        ({"width": math.inf}, "Ruled needs 1 < width < infinity; got width=inf."),
        ({"times": 2.5}, "Ruled needs a whole number times from 1 to 10^15; got times=2.5."),
        ({"times": 11}, "Ruled needs times <= 10; got times=11."),
        ({"sure": 1}, "Ruled needs sure to be True or False; got sure=1."),
        ({"step": 1}, "Ruled needs a mechanism; got step=1."),
    ],
)
def test_what_is_refused(given: dict[str, object], message: str) -> None:
    with pytest.raises(hush.InvalidParameter) as caught:
        Ruled(**given)  # type: ignore[arg-type]
    assert str(caught.value) == message


def test_what_is_kept() -> None:
    made = Ruled(share=1, times=4.0)  # type: ignore[arg-type]
    assert (made.share, made.times) == (1.0, 4) and type(made.share) is float and type(made.times) is int


@pytest.mark.parametrize(
    "made",
    [
        hush.Gaussian(2.0),
        hush.PureDP(1.0),
        hush.Poisson(rate=0.1),
        hush.Gaussian(1.0).on(hush.Poisson(rate=0.1)).repeat(3),
    ],
)
def test_plain_dataclasses(made: Any) -> None:
    same = replace(made)
    assert same == made and hash(same) == hash(made) and repr(same) == repr(made) and copy.deepcopy(made) == made


def test_a_replaced_field_is_checked() -> None:
    with pytest.raises(hush.InvalidParameter, match="1e-6 <= noise_multiplier <= 1e9"):
        replace(hush.Gaussian(1.0), noise_multiplier=0.0)
    with pytest.raises(hush.InvalidParameter, match="a hush.Relation"):
        hush.Gaussian(1.0, "replace")  # type: ignore[arg-type]
