"""What may be spent, on whom, and by which filter: chosen before the first release, and never changed."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, fields
from typing import Any

from hush.account import RECORD
from hush.checks import delta_in_range
from hush.curves.relation import Relation, any_relation
from hush.errors import InvalidParameter
from hush.ledger.filters.concentrated_filters import ApproximateZCDPFilter, ZCDPFilter
from hush.ledger.filters.filter import Filter
from hush.ledger.filters.fixed_order import RenyiFilter
from hush.ledger.filters.gaussian_filter import GDPFilter
from hush.ledger.filters.menu_filter import MenuFilter
from hush.ledger.filters.mixture_filter import MixtureFilter
from hush.ledger.filters.pure_filter import PureFilter
from hush.ledger.texts import checked_text
from hush.mechanisms.mechanism import Mechanism, require
from hush.numerics.decimals import rounded_up
from hush.questions.json.codec import decode, encode
from hush.questions.json.strict import as_text, members, parse, refuse

FILTERS = {
    kind.__name__: kind
    for kind in (
        RenyiFilter,
        ZCDPFilter,
        GDPFilter,
        PureFilter,
        ApproximateZCDPFilter,
        MixtureFilter,
        MenuFilter,
    )
}
RULE = "one of epsilon (with or without delta), rho (with or without delta), mu, or a filter of hush.ledger"


@dataclass(frozen=True)
class Budget:
    """How much everything that is released from a dataset may give away, and about whom.

    Give epsilon and delta, epsilon alone (pure), rho (zCDP), rho and delta (approximate zCDP), mu (Gaussian DP), or a
    filter of your own choice. The filter, with its order, is chosen here. `relation` says which datasets are
    neighbours, `unit` whom a guarantee protects: a record, or all records with one value in the column of this name.

    >>> Budget(epsilon=1.0, delta=1e-6).filter
    RenyiFilter(epsilon=1.0, delta=1e-06, order=22.0)
    >>> Budget(rho=0.5, unit="patient")
    Budget(filter=ZCDPFilter(rho=0.5), relation=<Relation.ADD_REMOVE: 'add_remove'>, unit='patient')
    """

    epsilon: float | None = field(default=None, repr=False, compare=False)
    delta: float | None = field(default=None, repr=False, compare=False)
    rho: float | None = field(default=None, repr=False, compare=False)
    mu: float | None = field(default=None, repr=False, compare=False)
    filter: Filter = None  # type: ignore[assignment]
    relation: Relation = Relation.ADD_REMOVE
    unit: str = RECORD

    def __post_init__(self) -> None:
        any_relation("Budget", self.relation)
        checked_text("Budget", unit=self.unit)
        numbers = {n: v for n in ("epsilon", "rho", "mu", "delta") if (v := getattr(self, n)) is not None}
        if self.filter is None:
            object.__setattr__(self, "filter", _chosen(numbers))
        elif numbers or type(self.filter) not in FILTERS.values():
            raise InvalidParameter("Budget", RULE, filter=self.filter, **numbers)

    def cost(self, mechanism: Mechanism, unit: str = RECORD) -> tuple[int, ...]:
        """What a release costs, in units of 2^-60, rounded up; an error where it protects others than the budget does.

        >>> import hush
        >>> Budget(epsilon=1.0).cost(hush.Laplace(2.0))[0] / 2**60
        0.5
        """
        relation = require("A charge", mechanism).relation
        if relation is not self.relation:
            rule = f"a mechanism for the budget's neighbours ({self.relation.words}); .under(...) restates one"
            raise InvalidParameter("A charge", rule, relation=relation.words)
        if unit != self.unit:
            raise InvalidParameter("A charge", f"a guarantee for the unit of the budget ({self.unit})", unit=unit)
        together = mechanism.scope.together
        if unit == RECORD and together != {1}:
            raise InvalidParameter("A charge", "a guarantee for single records", records=sorted(together))
        return self._whole(self.filter.cost(mechanism))

    def _whole(self, cost: tuple[int, ...]) -> tuple[int, ...]:
        """The cost, if it is whole units from 0 up: nothing else gets into a book, whatever is wrong with a filter."""
        if len(cost) != len(self.filter.limits) or not all(type(part) is int and part >= 0 for part in cost):
            raise InvalidParameter("A filter", "costs in whole units from 0 up, as many as limits", cost=cost)
        return cost

    def __str__(self) -> str:
        return f"{self.filter.theorem}; {self.relation.words.replace(RECORD, self.unit)}"

    def promise(self, delta: float | None = None) -> str:
        """What everything together gives away at most, in words.

        >>> Budget(epsilon=1.0, delta=1e-6).promise()
        'epsilon = 1 at delta = 1e-06'
        """
        at = self.filter.told_at if delta is None else delta_in_range("promise", delta)
        return f"epsilon = {rounded_up(self.filter.promised(at), 6)} at delta = {at:g}"

    def to_json(self) -> str:
        """The budget as JSON text, the order of its filter included.

        >>> Budget(mu=1.0).to_json()
        '{"filter": {"kind": "GDPFilter", "mu": 1.0}, "relation": "add_remove", "unit": "record"}'
        """
        said = {"kind": type(self.filter).__name__}
        said |= {part.name: _written(getattr(self.filter, part.name)) for part in fields(self.filter)}  # type: ignore[arg-type]
        return json.dumps({"filter": said, "relation": self.relation.value, "unit": self.unit})

    @classmethod
    def from_json(cls, text: str) -> Budget:
        """The budget in a text that `to_json` made; any other text raises InvalidParameter.

        >>> Budget.from_json(Budget(mu=1.0).to_json()) == Budget(mu=1.0)
        True
        """
        given = members(parse(text), {"filter", "relation", "unit"})
        said = given["filter"] if isinstance(given["filter"], dict) else refuse("a filter", filter=given["filter"])
        kind = FILTERS.get(as_text(said.get("kind"))) or refuse("a known filter", kind=said.get("kind"))
        names = {part.name for part in fields(kind)}
        found = {name: _read(value) for name, value in members(said, {"kind", *names}).items() if name != "kind"}
        relations = {relation.value: relation for relation in Relation}
        relation = relations.get(as_text(given["relation"])) or refuse("a relation", relation=given["relation"])
        return cls(filter=kind(**found), relation=relation, unit=as_text(given["unit"]))


def _chosen(numbers: dict[str, float]) -> Filter:
    kinds: dict[tuple[str, ...], type[Filter]] = {
        ("epsilon", "delta"): RenyiFilter,
        ("epsilon",): PureFilter,
        ("rho",): ZCDPFilter,
        ("rho", "delta"): ApproximateZCDPFilter,
        ("mu",): GDPFilter,
    }
    if tuple(numbers) not in kinds:
        raise InvalidParameter("Budget", RULE, **(numbers or {"epsilon": None}))
    if numbers.get("delta") == 0:
        return _chosen({name: value for name, value in numbers.items() if name != "delta"})
    return kinds[tuple(numbers)](**numbers)


def _written(value: object) -> object:
    if isinstance(value, tuple):
        return [_written(part) for part in value]
    return encode(value) if isinstance(value, Mechanism) else value


def _read(value: object) -> Any:
    if isinstance(value, list):
        return tuple(_read(part) for part in value)
    return decode(Mechanism, value) if isinstance(value, dict) else value
