"""What gets noise, on two neighbouring tables with the same secret, moves by no more than the sensitivity that is charged."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import hush
from hush.releases import AtMost, Distinct, GroupBy, Rows, Stats, Users, ValueCounts
from hush.releases.group_by.noisy_parts import group_noise

ASK = {
    "n": Rows(),
    "d": Distinct("colour"),
    "v": ValueCounts("colour", of=("red", "blue")),
    "x": Stats("x", bounds=(-3, 5), sum=True, mean=True, variance=True, histogram=(0, 1, 2)),
    "y": Stats("x", bounds=(1e6, 1e6 + 7), sum=True, mean=True, variance=True),
}
MISSING = {"x": "drop", "y": 1e6 + 3}
LIMITS = [AtMost(1, 1), AtMost(2, 2), AtMost(3, 1, 2), AtMost(total=3)]


def people(seed: int) -> dict[str, Any]:
    random = np.random.default_rng(seed)
    x = random.choice([-1e9, -3.0, 0.5, 5.0, 1e6 + 3.3, 1e12, np.nan, np.inf], 60)
    return {
        "who": random.integers(0, 8, 60),
        "g": random.choice(np.array(["a", "b", "c", "d"], dtype=object), 60),
        "colour": random.choice(np.array(["red", "blue", "green", None], dtype=object), 60),
        "x": x,
    }


def noised(query: GroupBy, data: dict[str, Any], patch: pytest.MonkeyPatch) -> list[tuple[np.ndarray, float]]:
    """What each part hands to its noise, and the sensitivity it is charged with."""
    seen: list[tuple[np.ndarray, float]] = []
    name = "add_gaussian" if query.plan.levels[0].gaussian else "add_laplace"
    right = getattr(group_noise, name)

    def watched(values: np.ndarray, *, sensitivity: float, **rest: Any) -> Any:
        seen.append((values.copy(), sensitivity))
        return right(values, sensitivity=sensitivity, **rest)

    with patch.context() as inside:
        inside.setattr(group_noise, name, watched)
        query.release(data, source=hush.SeededSource(3))
    return seen


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize("most", [None, *LIMITS], ids=str)
@pytest.mark.parametrize("relation", [hush.Relation.ADD_REMOVE, hush.Relation.REPLACE])
def test_totals_move_by_no_more_than_is_charged(
    noise: str, most: AtMost | None, relation: hush.Relation, monkeypatch: pytest.MonkeyPatch
) -> None:
    users: dict[str, Any] = {} if most is None else {"unit": "who", "contributions": most}
    users |= {"delta": 1e-6} if noise == "gaussian" else {}
    ask = ASK if most is None else ASK | {"u": Users()}
    query = GroupBy(
        keys={"g": ("a", "b", "c", "d")},
        ask=ask,
        missing=MISSING,
        epsilon=9.0,
        noise=noise,
        relation=relation,
        **users,
    )
    order = 1 if noise == "laplace" else 2
    closest = 0.0
    for seed in range(6):
        data = people(seed)
        moved = data["who"] == 0 if most is not None else np.arange(60) == 7
        other = people(seed + 100)
        other["who"] = np.zeros(60, dtype=np.int64)
        fresh = slice(0, int(moved.sum()))
        without = {name: column[~moved] for name, column in data.items()}
        if relation is hush.Relation.REPLACE:
            without = {name: np.concatenate([column, other[name][fresh]]) for name, column in without.items()}
        for (one, sensitivity), (two, again) in zip(
            noised(query, data, monkeypatch), noised(query, without, monkeypatch), strict=True
        ):
            assert sensitivity == again
            apart = float(np.linalg.norm((one - two).astype(float).ravel(), order))
            assert apart <= sensitivity * (1 + 1e-12)
            closest = max(closest, apart / sensitivity)
    assert closest > 0.5
