"""What a book must keep, on SQLite and on PostgreSQL: charges, answers, keys, budgets above each other, hand entries."""

from __future__ import annotations

import csv
import json
import math
import threading
import time
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest

import hush
from hush import releases
from hush.account import Charge
from hush.ledger import Budget, Ledger, MenuFilter, MixtureFilter, PureFilter
from hush.releases.kept_release import read_release, write_release
from tests.ledger.databases import KINDS, place

COUNT = releases.Count(epsilon=0.1)
DATA = list(range(1000))


@pytest.fixture(params=KINDS)
def book(request: pytest.FixtureRequest, tmp_path: Path) -> Ledger:
    found = Ledger.create(place(request.param, tmp_path))
    found.add("census", Budget(epsilon=1.0, delta=1e-6))
    found.add("ann", Budget(epsilon=0.5, delta=1e-6), within="census")
    found.add("bob", Budget(rho=0.01), within="census")
    return found


@pytest.fixture
def plain(tmp_path: Path) -> Ledger:
    found = Ledger.create(tmp_path / "plain.db")
    found.add("census", Budget(epsilon=1.0))
    return found


def spent(book: Ledger, name: str = "census") -> int:
    return book.standing(name).spent[0]


# -- spending ----------------------------------------------------------------------------------------------------


def test_a_charge_goes_to_its_budget_and_all_above(book: Ledger) -> None:
    found = book.spend(COUNT, DATA, dataset="ann", purpose="how many")
    assert found.private and abs(found.value - 1000) < 500
    laplace = COUNT.mechanism
    assert spent(book) == book.node("census").budget.cost(laplace)[0] > 0
    assert spent(book, "ann") == book.node("ann").budget.cost(laplace)[0]
    assert spent(book, "bob") == 0
    book.spend(COUNT, DATA, dataset="bob")
    assert spent(book) == 2 * book.node("census").budget.cost(laplace)[0]
    assert spent(book, "bob") == math.ceil(laplace.renyi_curve().to_zcdp() * 2**60)


def test_the_dataset_stops_an_analyst_who_has_budget_left(book: Ledger) -> None:
    for _ in range(7):
        book.spend(COUNT, DATA, dataset="census")
    before = book.anchor()
    with pytest.raises(hush.BudgetExceeded, match="'census' does not allow"):
        book.spend(COUNT, DATA, dataset="bob")
    assert book.anchor() == before
    assert book.standing("bob").share == 0


def test_same_key_same_request_is_the_stored_answer(book: Ledger) -> None:
    first = book.spend(COUNT, DATA, dataset="ann", key="people")
    before = book.anchor()
    for _ in range(3):
        again = book.spend(COUNT, DATA, dataset="ann", key="people")
        assert (again.value, again.noise_interval, again.total_interval, again.mechanism) == (
            first.value,
            first.noise_interval,
            first.total_interval,
            first.mechanism,
        )
    assert book.anchor() == before


@pytest.mark.parametrize(
    "other",
    [
        lambda book: book.spend(releases.Count(epsilon=0.2), DATA, dataset="ann", key="people"),
        lambda book: book.spend(COUNT, DATA, dataset="census", key="people"),
        lambda book: book.spend(COUNT, DATA, dataset="ann", key="people", confidence=0.9),
        lambda book: book.spend(COUNT, {"a": DATA}, dataset="ann", key="people", column="a"),
        lambda book: book.record(COUNT, dataset="ann", key="people"),
    ],
)
def test_same_key_other_request_is_refused(book: Ledger, other: object) -> None:
    book.spend(COUNT, DATA, dataset="ann", key="people")
    before = book.anchor()
    with pytest.raises(hush.AlreadySpent, match="another request"):
        other(book)  # type: ignore[operator]
    assert book.anchor() == before


@pytest.mark.parametrize("times", [200, pytest.param(100_000, marks=pytest.mark.slow)])
def test_many_requests_with_one_key_change_nothing(plain: Ledger, times: int) -> None:
    first = plain.spend(COUNT, DATA, key="people").value
    before = plain.anchor()
    assert {plain.spend(COUNT, DATA, key="people").value for _ in range(times)} == {first}
    assert plain.anchor() == before


def test_reserved_before_the_draw_and_spent_if_it_fails(book: Ledger) -> None:
    """What fails after the charge stays spent, and its key gives no second draw."""
    cost = book.node("census").budget.cost(COUNT.mechanism)[0]

    class Broken(hush.Source):
        private = True

        def words(self, count: int) -> np.ndarray:
            assert spent(book) == cost  # it is in the book already
            raise OSError("no bits")

    with pytest.raises(OSError, match="no bits"):
        COUNT.release(DATA, ledger=book.account("census", key="people"), source=Broken())
    assert spent(book) == cost
    with pytest.raises(hush.AlreadySpent, match="outcome is unknown"):
        book.spend(COUNT, DATA, dataset="census", key="people")
    assert spent(book) == cost
    assert book.verify().unfinished == 1


def test_the_answer_is_kept_before_it_is_shown(book: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it cannot be kept it is not shown."""
    from hush.ledger import spending

    def full(self: object, answer: str) -> None:
        raise hush.LedgerError("The book cannot be written (SQLITE_FULL).")

    with monkeypatch.context() as patch:
        patch.setattr(spending.BookReserved, "finish", full)
        with pytest.raises(hush.LedgerError, match="SQLITE_FULL"):
            book.spend(COUNT, DATA, dataset="census", key="people")
    assert book.verify().unfinished == 1
    with pytest.raises(hush.AlreadySpent):
        book.spend(COUNT, DATA, dataset="census", key="people")


@pytest.mark.parametrize(
    "fault",
    [
        lambda book: book.spend(COUNT, DATA, dataset="census", source=hush.SeededSource(1)),
        lambda book: book.spend(COUNT, DATA, dataset="nobody"),
        lambda book: book.spend(COUNT, DATA),
        lambda book: book.spend(
            releases.Mean(bounds=(0, 1), epsilon=0.1, relation=hush.Relation.REPLACE), DATA, dataset="ann"
        ),
        lambda book: book.spend(
            COUNT, releases.table({"x": DATA, "who": DATA}, column="x", unit="who", max_contributions=1), dataset="ann"
        ),
        lambda book: book.spend(COUNT, DATA, dataset="ann", confidence=2.0),
        lambda book: book.spend(releases.Mean(bounds=(0, 1), epsilon=0.1), {"x": [b"a"]}, dataset="ann", column="y"),
        lambda book: book.spend(3, DATA, dataset="ann"),
        lambda book: book.record(hush.Gaussian(100.0).group(2), dataset="ann"),
        lambda book: book.record("gaussian 1", dataset="ann"),
        lambda book: book.account("ann", key=""),
        lambda book: book.account("ann", key="a\nb"),
        lambda book: book.account("ann", key="\ud800"),
        lambda book: book.account("ann", purpose="x" * 3000),
        lambda book: book.add("census", Budget(epsilon=1.0)),
        lambda book: book.add("new", Budget(epsilon=1.0), within="nobody"),
        lambda book: book.add("new", Budget(epsilon=1.0, unit="who"), within="census"),
        lambda book: book.add("new", Budget(epsilon=1.0, relation=hush.Relation.REPLACE), within="census"),
        lambda book: book.add("", Budget(epsilon=1.0)),
        lambda book: book.add("x", 1.0),
        lambda book: releases.count(DATA, epsilon=0.1, ledger="budget.db"),
        lambda book: book.verify("12"),
        lambda book: book.largest(lambda value: hush.Gaussian(1 / value), dataset="ann"),
    ],
)
def test_bad_requests_have_named_errors_and_cost_nothing(book: Ledger, fault: object) -> None:
    before = book.anchor()
    with pytest.raises((hush.InvalidParameter, hush.NotCovered)):
        fault(book)  # type: ignore[operator]
    assert book.anchor() == before


@pytest.mark.parametrize(
    "cost",
    [lambda m: (math.nan,), lambda m: (-1,), lambda m: (1, 1), lambda m: (1.5,)],
    ids=["nan", "negative", "two", "half"],
)
def test_costs_that_are_no_units_are_refused(plain: Ledger, cost: object, monkeypatch: pytest.MonkeyPatch) -> None:
    """A filter of one's own, or a broken one, cannot write nonsense into the book."""
    monkeypatch.setattr(PureFilter, "cost", lambda self, mechanism: cost(mechanism))  # type: ignore[operator]
    before = plain.anchor()
    with pytest.raises(hush.InvalidParameter, match="whole units"):
        plain.spend(COUNT, DATA)
    assert plain.anchor() == before


def test_negative_and_nan_divergences_are_refused() -> None:
    from hush.ledger.filters.whole_units import charged

    for value in (math.nan, -1.0, -5e-324):
        with pytest.raises(hush.Contradiction):
            charged(value, "epsilon")
    with pytest.raises(hush.NotCovered):
        charged(math.inf, "epsilon")


def test_names_of_any_kind_are_kept_as_they_are(book: Ledger, tmp_path: Path) -> None:
    name = "=1+1'; DROP TABLE hush_entries; -- <b>ü"
    book.add(name, Budget(epsilon=0.1, delta=1e-6), within="census")
    book.spend(releases.Count(epsilon=0.01), DATA, dataset=name, purpose="=HYPERLINK(1)")
    assert book.verify().charges == 1
    with book.export(tmp_path / "book.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert rows[-1]["budget"] == f"'{name}"
    assert rows[-2]["purpose"] == "'=HYPERLINK(1)"
    assert json.loads(book.export(tmp_path / "book.json").read_text())["entries"][-1]["budget"] == name


def test_users_are_charged_to_a_budget_of_users(book: Ledger) -> None:
    book.add("users", Budget(epsilon=2.0, delta=1e-6, unit="who"))
    table = releases.table({"x": [1.0, 2.0, 3.0], "who": [1, 1, 2]}, column="x", unit="who", max_contributions=2)
    found = releases.sum(table, bounds=(0, 3), epsilon=0.1, ledger=book.account("users"))
    assert found.mechanism.scope.together == {2}
    assert spent(book, "users") == book.node("users").budget.cost(found.mechanism, "who")[0]
    with pytest.raises(hush.InvalidParameter, match="unit of the budget"):
        releases.sum([1.0], bounds=(0, 3), epsilon=0.1, ledger=book.account("users"))


# -- what is kept ------------------------------------------------------------------------------------------------


QUERIES = [
    lambda **o: releases.count(DATA, epsilon=0.01, **o),
    lambda **o: releases.mean(DATA, bounds=(0, 1000), epsilon=0.01, **o),
    lambda **o: releases.sum(DATA, bounds=(0, 1000), epsilon=0.01, **o),
    lambda **o: releases.variance(DATA, bounds=(0, 1000), epsilon=0.01, **o),
    lambda **o: releases.histogram(DATA, edges=(0, 500, 1000), other=True, epsilon=0.01, **o),
    lambda **o: releases.histogram(["a", "b"], categories=["a", "b"], epsilon=0.01, **o),
    lambda **o: releases.median(DATA, bounds=(0, 1000), epsilon=0.01, **o),
    lambda **o: releases.quantile(DATA, 0.9, bounds=(0, 1000), epsilon=0.01, **o),
    lambda **o: releases.quantiles(DATA, (0.2, 0.8), bounds=(0, 1000), epsilon=0.01, **o),
    lambda **o: releases.median_interval(DATA, bounds=(0, 1000), epsilon=0.1, size=1000, **o),
    lambda **o: releases.private_bounds(DATA, epsilon=0.01, **o),
    lambda **o: releases.Count(epsilon=0.1).on(hush.Poisson(rate=0.1)).release(DATA, **o),
    lambda **o: releases.sample(DATA, hush.Poisson(rate=0.1), **o).apply(lambda rows: 42, guarantee=hush.PureDP(0.1)),
]


@pytest.mark.parametrize("query", QUERIES)
def test_every_release_takes_a_ledger_and_is_given_again(plain: Ledger, query: object) -> None:
    first = query(ledger=plain.account(key="a"))  # type: ignore[operator]
    cost = spent(plain)
    assert cost > 0 and plain.verify().unfinished == 0
    again = query(ledger=plain.account(key="a"))  # type: ignore[operator]
    assert (again.value, again.noise_interval, again.total_interval) == (
        first.value,
        first.noise_interval,
        first.total_interval,
    )
    assert again.mechanism == first.mechanism and again.of_sample == first.of_sample
    assert spent(plain) == cost


def test_smooth_quantiles_pay_under_replacement(tmp_path: Path) -> None:
    book = Ledger.create(tmp_path / "b.db")
    book.add("d", Budget(epsilon=2.0, delta=1e-6, relation=hush.Relation.REPLACE))
    for pay in (releases.smooth_median, lambda data, **o: releases.smooth_quantile(data, 0.3, **o)):
        pay(range(1001), bounds=(0, 1000), epsilon=0.1, ledger=book)
    assert book.verify().charges == 2


def test_odd_values_are_read_as_they_were_written() -> None:
    mechanism = hush.Laplace(1.0)
    for value in (
        1,
        0.1,
        -0.0,
        math.inf,
        (1.0, (2, "a")),
        {("a", 1): 2.5, Decimal("0.10"): 1},
        None,
        True,
        [1, [2]],
        np.float64(2.5),
        np.int64(3),
    ):
        text = write_release(releases.Release(value, mechanism, None, releases.Interval(0.0, math.inf, 0.9), True))
        again = read_release(text, mechanism)
        assert again.value == value and again.total_interval.high == math.inf  # type: ignore[union-attr]
    assert math.isnan(
        read_release(write_release(releases.Release(math.nan, mechanism, None, None, True)), mechanism).value
    )
    assert write_release(releases.Release(object(), mechanism, None, None, True)) == ""


def test_an_answer_without_a_form_is_spent_and_not_given_again(plain: Ledger) -> None:
    def run() -> object:
        sample = releases.sample(DATA, hush.Poisson(rate=0.1), ledger=plain.account(key="a"))
        return sample.apply(lambda rows: object(), guarantee=hush.PureDP(0.1)).value

    assert run() is not None
    with pytest.raises(hush.AlreadySpent, match="not kept"):
        run()


def test_a_sample_is_one_charge_for_the_uses_that_were_declared(plain: Ledger) -> None:
    uses = [releases.Count(epsilon=0.1), releases.Mean(bounds=(0, 1000), epsilon=0.2)]
    sample = releases.sample(DATA, hush.Poisson(rate=0.1), ledger=plain.account(), uses=uses)
    first = sample.release(uses[0])
    whole = hush.sequence(*(use.mechanism for use in uses)).on(hush.Poisson(rate=0.1))
    assert spent(plain) == plain.node().budget.cost(whole)[0]
    with pytest.raises(hush.NotCovered, match="declared in advance"):
        sample.release(uses[0])
    second = sample.release(uses[1])
    assert spent(plain) == plain.node().budget.cost(whole)[0]
    with pytest.raises(hush.NotCovered, match="use 3"):
        sample.release(uses[1])
    assert (first.of_sample, second.mechanism) == (True, whole)
    assert plain.verify().unfinished == 0


def test_a_sample_without_declared_uses_has_one(plain: Ledger) -> None:
    sample = releases.sample(DATA, hush.Poisson(rate=0.1), ledger=plain.account())
    sample.release(COUNT)
    with pytest.raises(hush.NotCovered):
        COUNT.release(sample)
    with pytest.raises(hush.InvalidParameter, match="no ledger of its own"):
        COUNT.release(sample, ledger=plain)
    with pytest.raises(hush.InvalidParameter, match="ledger="):
        releases.sample(DATA, hush.Poisson(rate=0.1), uses=[COUNT])


def test_a_sample_that_was_refused_may_be_asked_less(plain: Ledger) -> None:
    sample = releases.sample(DATA, hush.Poisson(rate=0.5), ledger=plain.account())
    with pytest.raises(hush.BudgetExceeded):
        sample.release(releases.Count(epsilon=5.0))
    assert sample.release(COUNT).private and spent(plain) > 0


def test_a_filter_of_ones_own_is_no_budget() -> None:
    class Lax(PureFilter):
        def admits(self, spent: tuple[int, ...]) -> bool:
            return True

    with pytest.raises(hush.InvalidParameter, match="a filter of hush.ledger"):
        Budget(filter=Lax(1.0))


# -- entries by hand ---------------------------------------------------------------------------------------------


def test_hand_entries_are_marked_and_may_exceed_only_when_told(book: Ledger) -> None:
    number = book.record(hush.Gaussian(20.0), dataset="census", purpose="last year's table", key="old")
    assert book.record(hush.Gaussian(20.0), dataset="census", purpose="last year's table", key="old") == number
    assert book.verify().by_hand == 1 and "entered by hand" in book.statement()
    with pytest.raises(hush.BudgetExceeded):
        book.record(hush.Gaussian(1.0), dataset="census")
    assert not book.standing("census").exceeded
    book.record(hush.Gaussian(1.0), dataset="census", beyond=True)
    assert book.standing("census").exceeded and "EXCEEDED" in book.statement()
    with pytest.raises(hush.BudgetExceeded):
        book.spend(releases.Count(epsilon=1e-6), DATA, dataset="ann")
    assert book.verify().by_hand == 2


# -- reading -----------------------------------------------------------------------------------------------------


def test_would_cost_is_what_it_costs(book: Ledger) -> None:
    price = book.would_cost(COUNT, dataset="ann")
    assert price.fits and [line.standing.name for line in price.lines] == ["ann", "census"]
    before = book.anchor()
    assert "fits" in str(price) and book.anchor() == before
    book.spend(COUNT, DATA, dataset="ann")
    assert [book.standing(line.standing.name).spent for line in price.lines] == [line.after for line in price.lines]
    assert not book.would_cost(releases.Count(epsilon=3.0), dataset="ann").fits
    plan = hush.train_plan(examples=1000, batch_size=10, epochs=1, epsilon=0.3, delta=1e-6)
    assert book.would_cost(plan, dataset="census").mechanism == plan.mechanism


@pytest.mark.parametrize(
    "query",
    [
        releases.Count(epsilon=0.1),
        releases.Mean(bounds=(0, 1), noise_multiplier=30.0),
        releases.Sum(bounds=(0, 1), rho=1e-4),
        releases.Median(bounds=(0, 1), epsilon=0.1),
        releases.Count(epsilon=0.1).on(hush.Poisson(rate=0.1)),
        hush.Gaussian(50.0),
        hush.Laplace(50.0),
    ],
    ids=str,
)
def test_the_largest_query_fits_and_a_little_more_does_not(book: Ledger, query: object) -> None:
    book.spend(COUNT, DATA, dataset="census")
    best = book.largest(query, dataset="census")
    assert type(best) is type(query)
    assert book.would_cost(best, dataset="census").fits
    (line,) = book.would_cost(best, dataset="census").lines
    assert line.standing.budget.filter.share(line.after) > 0.999999
    built = book.largest(lambda value: hush.Gaussian(1 / value), over=(1e-3, 1e3), dataset="census")
    assert book.would_cost(built, dataset="census").fits


def test_nothing_fits_into_an_exhausted_budget(plain: Ledger) -> None:
    plain.record(hush.PureDP(1.0))
    with pytest.raises(hush.BudgetExceeded, match="Nothing of this kind fits"):
        plain.largest(COUNT)


def test_the_odometer_has_two_columns(book: Ledger) -> None:
    for _ in range(3):
        book.spend(COUNT, DATA, dataset="ann")
    book.record(hush.Gaussian(50.0), dataset="census")
    census, ann, _ = book.odometer().readings
    assert (census.charges, ann.charges) == (4, 3)
    assert ann.planned_epsilon == pytest.approx(COUNT.mechanism.repeat(3).epsilon(delta=1e-6).upper)
    whole = COUNT.mechanism.repeat(3).then(hush.Gaussian(50.0))
    assert census.planned_epsilon == pytest.approx(whole.epsilon(delta=1e-6).upper)
    assert census.standing.share == pytest.approx(spent(book) / book.standing("census").limits[0])
    text = str(book.odometer())
    assert "no guarantee" in text and "spent of the filter" in text


def test_a_mechanism_without_a_json_form_is_charged(plain: Ledger) -> None:
    book = plain
    book.add("renyi", Budget(epsilon=1.0, delta=1e-6))
    book.record(hush.RenyiDP(function=lambda order: order / 1000), dataset="renyi")
    assert spent(book, "renyi") > 0
    assert next(r for r in book.odometer().readings if r.standing.name == "renyi").planned_epsilon is None


def test_the_statement_and_the_chart(book: Ledger) -> None:
    book.spend(COUNT, DATA, dataset="ann")
    book.spend(COUNT, DATA, dataset="ann")
    said = book.statement()
    assert "epsilon = 1 at delta = 1e-06" in said and "ann (a part of census)" in said and "every single record" in said
    line = book.chart().line("census")
    assert len(line.x) == 3 and list(line.y) == sorted(line.y) and line.y[-1] == book.standing("census").share
    assert Ledger.create.__doc__


def test_clocks_may_jump(book: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    for now in (10**18, 5, -(10**15), 4 * 10**18, 10**18):
        monkeypatch.setattr(time, "time_ns", lambda now=now: now)
        book.spend(releases.Count(epsilon=0.01), DATA, dataset="census")
    assert book.verify().charges == 5
    line = book.chart().line("census")
    assert list(line.x) == sorted(line.x) and list(line.y) == sorted(line.y)


def test_threads_share_one_book(book: Ledger) -> None:
    faults: list[BaseException] = []

    def run() -> None:
        try:
            for _ in range(5):
                book.spend(releases.Count(epsilon=0.001), DATA, dataset="bob")
        except BaseException as fault:
            faults.append(fault)

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not faults and book.verify().charges == 20


def test_a_budget_that_another_process_opened_is_found(book: Ledger, tmp_path: Path) -> None:
    path = tmp_path / "shared.db"
    one = Ledger.create(path)
    other = Ledger.open(path)
    one.add("late", Budget(epsilon=1.0, filter=None))
    assert other.standing("late").share == 0


def test_vectors_of_costs_are_kept(tmp_path: Path) -> None:
    book = Ledger.create(tmp_path / "b.db")
    book.add("mixed", Budget(filter=MixtureFilter(2.0, 1e-6)))
    for _ in range(15):
        book.spend(releases.Count(noise_multiplier=10.0), DATA)
    with pytest.raises(hush.BudgetExceeded):
        for _ in range(3):
            book.spend(releases.Count(noise_multiplier=10.0), DATA)
    assert book.verify().charges <= 17
    assert 0.8 < Ledger.open(tmp_path / "b.db").standing().share <= 1.2


def test_a_query_says_what_is_kept_of_its_value_and_whom_it_protects(plain: Ledger) -> None:
    """As a table of groups does: a value of its own kind, and users that the query itself bounds."""
    from dataclasses import dataclass

    class Whole:
        def __init__(self, count: float) -> None:
            self.count = count

    @dataclass(frozen=True, kw_only=True)
    class Boxed(releases.Count):
        unit: str | None = None

        def answer(self, run: releases.Run) -> releases.Answer:
            found = super().answer(run)
            return releases.Answer(Whole(found.value), None, None)

        def kept(self, value: Whole) -> dict[str, float]:
            return {"count": value.count}

        def given_again(self, plain: dict[str, float]) -> Whole:
            return Whole(plain["count"])

    plain.add("users", Budget(epsilon=1.0, unit="who"))
    for ask in (
        lambda: plain.spend(Boxed(epsilon=0.1, unit="who"), DATA, dataset="users", key="a"),
        lambda: plain.spend(Boxed(epsilon=0.1, unit="who").on(hush.Poisson(rate=0.5)), DATA, dataset="users", key="b"),
    ):
        first, again = ask(), ask()
        assert isinstance(again.value, Whole) and again.value.count == first.value.count
    with pytest.raises(hush.InvalidParameter, match="unit of the budget"):
        plain.spend(Boxed(epsilon=0.1), DATA, dataset="users")


def test_a_menu_is_read_again_and_counted(tmp_path: Path) -> None:
    choices = [releases.Count(noise_multiplier=10.0), releases.Count(epsilon=0.1)]
    book = Ledger.create(tmp_path / "b.db")
    book.add("menu", Budget(filter=MenuFilter([query.mechanism for query in choices], times=3)))
    book = Ledger.open(tmp_path / "b.db")
    for query in (*choices, choices[0]):
        book.spend(query, DATA)
    with pytest.raises(hush.BudgetExceeded):
        book.spend(choices[1], DATA)
    with pytest.raises(hush.NotCovered, match="not on the menu"):
        book.spend(COUNT.__class__(epsilon=0.2), DATA)
    assert book.verify().charges == 3 and book.standing().spent == (3,)


@pytest.mark.parametrize(
    "numbers",
    [
        {},
        {"epsilon": math.nan},
        {"epsilon": -1.0},
        {"epsilon": 0.0},
        {"epsilon": math.inf},
        {"epsilon": 701.0},
        {"epsilon": True},
        {"epsilon": "1"},
        {"epsilon": 1.0, "delta": 1.0},
        {"epsilon": 1.0, "delta": -0.1},
        {"epsilon": 1.0, "delta": math.nan},
        {"epsilon": 1.0, "rho": 1.0},
        {"delta": 0.1},
        {"rho": 0.0},
        {"mu": -1.0},
        {"mu": 1.0, "delta": 1e-6},
        {"epsilon": 1.0, "filter": PureFilter(1.0)},
        {"filter": "pure"},
        {"epsilon": 1.0, "unit": ""},
        {"epsilon": 1.0, "unit": 3},
        {"epsilon": 1.0, "relation": "replace"},
    ],
    ids=str,
)
def test_budgets_that_make_no_sense(numbers: dict[str, object]) -> None:
    with pytest.raises(hush.InvalidParameter):
        Budget(**numbers)  # type: ignore[arg-type]


def test_a_query_of_ones_own_can_be_spent(plain: Ledger) -> None:
    """Whatever has a mechanism and a release that pays."""
    from hush.account import Account, paid

    class Coin:
        mechanism = hush.PureDP(0.25)

        def release(self, data: object, *, ledger: Account | None = None) -> int:
            return paid(ledger, Charge("a coin", self.mechanism), lambda: 1, write=str, read=int)

    assert [plain.spend(Coin(), None) for _ in range(4)] == [1] * 4
    with pytest.raises(hush.BudgetExceeded):
        plain.spend(Coin(), None)


def test_mechanisms_of_the_same_words_are_told_apart_by_their_cost(book: Ledger) -> None:
    cheap, dear = (hush.RenyiDP(function=lambda order, rho=rho: rho * order) for rho in (0.001, 0.01))
    assert str(cheap) == str(dear)
    first = book.record(cheap, key="k", dataset="census")
    assert book.record(cheap, key="k", dataset="census") == first
    before = spent(book)
    with pytest.raises(hush.AlreadySpent, match="another request"):
        book.record(dear, key="k", dataset="census")
    account = book.account("census", key="run")
    account.reserve(Charge("a run", cheap)).finish("7")
    assert account.reserve(Charge("a run", cheap)).answer == "7"
    with pytest.raises(hush.AlreadySpent, match="another request"):
        account.reserve(Charge("a run", dear))
    assert before < spent(book)


class Free:
    """A query that pays nothing, whatever ledger it is given."""

    mechanism = hush.Laplace(10.0)

    def release(self, data: object, **_: object) -> float:
        return 123456.789


def test_an_answer_that_nothing_was_paid_for_is_not_shown(book: Ledger) -> None:
    before = book.anchor()
    with pytest.raises(hush.InvalidParameter, match="nothing was paid") as error:
        book.spend(Free(), DATA, dataset="ann")
    assert "123456" not in str(error.value)
    assert book.anchor() == before


PRIVATE = [123456.789, 234567.891]
WRONG = {
    "query": lambda book: book.spend(PRIVATE, COUNT, dataset="ann"),
    "a number as query": lambda book: book.spend(PRIVATE[0], COUNT, dataset="ann"),
    "would_cost": lambda book: book.would_cost(PRIVATE, dataset="ann"),
    "largest": lambda book: book.largest(PRIVATE, dataset="ann"),
    "record": lambda book: book.record(PRIVATE, dataset="ann"),
    "key": lambda book: book.account("ann", key=PRIVATE),
    "purpose": lambda book: book.account("ann", purpose=PRIVATE),
    "dataset": lambda book: book.account(PRIVATE),
    "budget": lambda book: book.add("new", PRIVATE),
    "ledger": lambda book: releases.count(DATA, epsilon=0.1, ledger=PRIVATE),
    "a query of a sample": lambda book: releases.sample(DATA, hush.Poisson(rate=0.5)).release(PRIVATE),
    "uses": lambda book: releases.sample(DATA, hush.Poisson(rate=0.5), uses=PRIVATE),
    "uses with a ledger": lambda book: releases.sample(DATA, hush.Poisson(rate=0.5), ledger=book, uses=PRIVATE),
    "a number as uses": lambda book: releases.sample(DATA, hush.Poisson(rate=0.5), ledger=book, uses=PRIVATE[0]),
    "mechanism": lambda book: hush.sequence(PRIVATE),
}


@pytest.mark.parametrize("what", WRONG)
def test_data_in_the_wrong_place_are_not_in_the_message(plain: Ledger, what: str) -> None:
    plain.add("ann", Budget(epsilon=0.5), within="census")
    with pytest.raises(hush.InvalidParameter) as error:
        WRONG[what](plain)
    assert "123456" not in str(error.value) and "234567" not in str(error.value)


def test_a_sample_gives_its_kept_answer_to_its_own_request_alone(plain: Ledger) -> None:
    scheme, account = hush.Poisson(rate=0.5), plain.account(key="sample")
    total = releases.Sum(bounds=(0, 1), epsilon=0.1)
    assert total.mechanism == COUNT.mechanism
    first = releases.sample(DATA, scheme, ledger=account).release(COUNT)
    again = releases.sample(DATA, scheme, ledger=account)
    assert again.release(COUNT).value == first.value == again.release(COUNT).value
    with pytest.raises(hush.AlreadySpent, match="another request"):
        again.release(total)
    with pytest.raises(hush.AlreadySpent, match="another request"):
        again.release(COUNT, confidence=0.5)
    with pytest.raises(hush.AlreadySpent, match="another request"):
        releases.sample(DATA, scheme, ledger=account).release(total)


def test_a_mixture_has_as_many_orders_as_a_book_has_room_for(plain: Ledger) -> None:
    orders = tuple(1.5 + number for number in range(65))
    with pytest.raises(hush.InvalidParameter, match="at most 64"):
        MixtureFilter(epsilon=1.0, delta=1e-6, orders=orders)
    plain.add("wide", Budget(filter=MixtureFilter(epsilon=50.0, delta=1e-6, orders=orders[:64])))
    for _ in range(3):
        plain.spend(COUNT, DATA, dataset="wide")
    plain.record(hush.Gaussian(1e-3), dataset="wide", beyond=True)
    assert plain.standing("wide").exceeded and plain.verify().charges == 4
    plain.record(hush.PureDP(500.0), dataset="census", beyond=True)
    assert plain.standing("census").exceeded and plain.verify().charges == 5
