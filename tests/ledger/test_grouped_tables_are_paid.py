"""A grouped table is one charge: paid before any draw, kept, given again under its key, and of the budget's unit."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hush
from hush import releases
from hush.app.main import main

pytest.importorskip("sqlalchemy")
from hush.ledger import Budget, Ledger

ASK = {"people": releases.Rows(), "pay": releases.Stats("pay", bounds=(0, 10), mean=True, median=True)}
QUERY = releases.GroupBy(keys={"region": ("N", "S", None)}, ask=ASK, epsilon=0.5)
USERS = replace(QUERY, unit="who", contributions=releases.AtMost(groups=2, each=3))
DATA = {
    "region": ["N", "S", None, "N"] * 50,
    "pay": [float(k % 11) for k in range(200)],
    "who": [k // 2 for k in range(200)],
}
HALF = hush.Poisson(rate=0.5)
FORMS = {"records": QUERY, "users": USERS, "sampled records": QUERY.on(HALF), "sampled users": USERS.on(HALF)}


class Untouched(hush.Source):
    """Secret bits, as far as a book knows, of which none may be drawn."""

    private = True

    def words(self, count: int) -> np.ndarray:
        raise AssertionError("something was drawn")


@pytest.fixture
def book(tmp_path: Path) -> Ledger:
    found = Ledger.create(tmp_path / "budget.db")
    found.add("records", Budget(epsilon=1.0))
    found.add("users", Budget(epsilon=1.0, unit="who"))
    return found


def budget_of(form: str) -> str:
    return form.split()[-1]


@pytest.mark.parametrize("form", FORMS)
def test_paid_once_and_given_again(form: str, book: Ledger) -> None:
    query, dataset = FORMS[form], budget_of(form)
    first = book.spend(query, DATA, dataset=dataset, key="table", purpose="by region", together=True)
    budget = book.node(dataset).budget
    assert book.standing(dataset).spent == budget.cost(query.mechanism, budget.unit)
    assert book.verify().charges == 1 and book.verify().unfinished == 0
    before = book.anchor()
    again = query.release(DATA, together=True, source=Untouched(), ledger=book.account(dataset, key="table"))
    assert book.anchor() == before
    assert again.to_dict() == first.to_dict() and again.value.groups == (("N",), ("S",), (None,))
    assert (again.mechanism, again.private, again.of_sample) == (first.mechanism, True, first.of_sample)
    assert (again.statement(), str(again)) == (first.statement(), str(first))


@pytest.mark.parametrize("form", FORMS)
def test_too_dear_draws_and_spends_nothing(form: str, book: Ledger) -> None:
    dataset = budget_of(form)
    book.record(hush.PureDP(0.9), dataset=dataset, unit=book.node(dataset).budget.unit)
    before = book.anchor()
    with pytest.raises(hush.BudgetExceeded):
        FORMS[form].release(DATA, source=Untouched(), ledger=book.account(dataset))
    assert book.anchor() == before


@pytest.mark.parametrize("form", FORMS)
def test_refusals_cost_nothing(form: str, book: Ledger) -> None:
    query, dataset = FORMS[form], budget_of(form)
    other = {"records": "users", "users": "records"}[dataset]
    before = book.anchor()
    with pytest.raises(hush.InvalidParameter, match="unit of the budget"):
        query.release(DATA, source=Untouched(), ledger=book.account(other))
    with pytest.raises(hush.InvalidParameter, match="secure source"):
        query.release(DATA, source=hush.SeededSource(1), ledger=book.account(dataset))
    with pytest.raises(hush.InvalidParameter):
        query.release({"region": ["N"], "who": [1]}, ledger=book.account(dataset))
    with pytest.raises(hush.InvalidParameter, match="ledger="):
        query.release(DATA, source=Untouched(), ledger="budget.db")  # type: ignore[arg-type]
    assert book.anchor() == before


def test_the_relation_of_the_budget(book: Ledger) -> None:
    with pytest.raises(hush.HushError):
        replaced = replace(QUERY, relation=hush.Relation.REPLACE)
        replaced.release(DATA, source=Untouched(), ledger=book.account("records"))
    assert book.verify().charges == 0


def test_users_in_a_column_called_record_are_not_records(book: Ledger) -> None:
    query = replace(USERS, unit="record")
    with pytest.raises(hush.InvalidParameter, match="unit of the budget"):
        query.release({**DATA, "record": DATA["who"]}, source=Untouched(), ledger=book.account("records"))


PAY = ASK["pay"]
OTHERS: dict[str, dict[str, Any]] = {
    "keys": {"keys": {"region": ("N", "E", None)}},
    "their order": {"keys": {"region": ("S", "N", None)}},
    "bounds": {"ask": ASK | {"pay": releases.Stats("pay", bounds=(0, 9), mean=True, median=True)}},
    "level": {"ask": ASK | {"pay": releases.Stats("pay", bounds=(0, 10), mean=True, quantiles=[0.4])}},
    "name": {"ask": {"number": ASK["people"], "pay": PAY}},
    "where": {"where": hush.col("pay") > 3},
    "missing": {"missing": {"pay": "drop"}},
    "derived": {"derived": {"pay": "who / 10"}},
    "public table": {"derived": {"region": hush.col("region").looked_up({"N": "S", "S": "N"})}},
    "other public table": {"derived": {"region": hush.col("region").looked_up({"N": "N", "S": "S"})}},
    "weights": {"weights": {"pay_median": 2.0}},
    "epsilon": {"epsilon": 0.25},
}


def test_every_part_of_a_query_tells_it_from_others() -> None:
    requests = [QUERY.request, *(replace(QUERY, **other).request for other in OTHERS.values())]
    assert len(set(requests)) == len(requests)
    assert replace(QUERY).request == QUERY.request
    assert replace(QUERY, keys={"region": np.array(["N", "S", None], dtype=object).tolist()}).request == QUERY.request


def test_no_address_is_in_a_request() -> None:
    """It would be another one in another process."""
    every = {
        "sum": releases.Stats("pay", bounds=(0, 1), sum=True, variance=True, histogram=[0, 1]),
        "values": releases.ValueCounts("a", of=("x", "y")),
        "different": releases.Distinct("a"),
        "top": releases.Top("a", of=("x", "y")),
        "users": releases.Users(),
    }
    query = replace(USERS, ask=ASK | every, where="pay > 1 and a in ('x', 'y') or not (b is null)")
    assert " at 0x" not in repr((query.parts, query.condition))


@pytest.mark.parametrize("other", ["where", "bounds", "keys"])
def test_another_table_under_the_same_key(other: str, book: Ledger) -> None:
    book.spend(QUERY, DATA, dataset="records", key="table")
    with pytest.raises(hush.AlreadySpent, match="another request"):
        book.spend(replace(QUERY, **OTHERS[other]), DATA, dataset="records", key="table")
    with pytest.raises(hush.AlreadySpent, match="another request"):
        book.spend(QUERY, DATA, dataset="records", key="table", confidence=0.9)
    assert book.verify().charges == 1


def test_unknown_keys_and_a_sample_of_one_s_own(book: Ledger) -> None:
    book.add("both", Budget(rho=2.0, delta=1e-6))
    unknown = releases.GroupBy(keys=releases.Unknown("region"), ask={"n": releases.Rows()}, epsilon=1.0, delta=1e-7)
    first = book.spend(unknown, DATA, dataset="both", key="unknown")
    assert book.spend(unknown, DATA, dataset="both", key="unknown").to_dict() == first.to_dict()
    sample = releases.sample(DATA, HALF, ledger=book.account("records", key="sample"))
    first = QUERY.release(sample)
    again = QUERY.release(releases.sample(DATA, HALF, ledger=book.account("records", key="sample")))
    assert again.to_dict() == first.to_dict() and again.of_sample
    with pytest.raises(hush.InvalidParameter, match="no ledger of its own"):
        QUERY.release(sample, ledger=book.account("records"))
    assert book.verify().charges == 2


# -- on the command line -----------------------------------------------------------------------------------------


def said(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> str:
    capsys.readouterr()
    assert main(list(words)) == code
    found = capsys.readouterr()
    return found.err if code else found.out


@pytest.mark.parametrize("more", [(), ("--sample", "0.5")])
@pytest.mark.parametrize("dataset", ["records", "users"])
def test_the_command(
    dataset: str,
    more: tuple[str, ...],
    book: Ledger,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = zip(*(DATA[name] for name in ("region", "pay", "who")), strict=True)
    lines = [",".join("" if cell is None else str(cell) for cell in row) for row in rows]
    Path("data.csv").write_text("region,pay,who\n" + "\n".join(lines) + "\n")
    users = ["--unit", "who", "--max-groups", "2", "--max-per-group", "3"]
    words = ["--by", "region=N,S", "--count", *(users if dataset == "users" else []), *more]
    paying = ["--ledger", "budget.db", "--dataset", dataset]
    asked = ["release", "table", "data.csv", *words, "--epsilon", "0.5"]
    before = book.anchor()
    dry = said(capsys, "release", "table", "no such file", *asked[3:], *paying, "--dry-run")
    assert f"{dataset}: " in dry and "fits" in dry and "nothing was read" in dry
    planned = json.loads(said(capsys, *asked, *paying, "--dry-run", "--json"))
    assert planned["fits"] is True and planned["budgets"][0]["budget"] == dataset and "expected_error" in planned
    assert book.anchor() == before
    first = said(capsys, *asked, *paying, "--key", "table", "--purpose", "by region")
    assert said(capsys, *asked, *paying, "--key", "table") == first
    assert book.verify().charges == 1
    assert "does not allow" in said(capsys, *asked[:-1], "3", *paying, code=6)
    assert "another request" in said(capsys, *asked, "--where", "pay > 3", *paying, "--key", "table", code=6)
    other = {"records": "users", "users": "records"}[dataset]
    assert "unit of the budget" in said(capsys, *asked, *paying[:-1], other, code=2)
    assert "--ledger" in said(capsys, *asked, "--key", "table", code=2)
