"""A book pays for a training on several ranks: once, by the first rank, before anything is drawn."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from hush.ledger import Ledger
from tests.learning.distributed import scenarios
from tests.learning.distributed.scenarios import PLAN
from tests.learning.distributed.together import Failed, result_of, started, together

COINS = 4 * 2
"""Words that are thrown away where coins are compared: before the payment, and before the draws."""


def paid_once(folder: Path) -> None:
    for said, asked, entries, _, _ in together(scenarios.paid_fit, 2, folder, 20.0, None):
        assert said == ("done", str(PLAN.steps))
        assert entries == 1
        assert asked > 0


def test_the_first_rank_pays_once(tmp_path: Path) -> None:
    paid_once(tmp_path)


def test_what_the_book_refuses_is_the_same_error_on_all(tmp_path: Path) -> None:
    for (kind, said), asked, entries, _, _ in together(scenarios.paid_fit, 2, tmp_path, 0.01, None):
        assert kind == "BudgetExceeded" and "data" in said
        assert (entries, asked <= COINS) == (0, True)


def test_all_ranks_or_none_have_a_book(tmp_path: Path) -> None:
    for (kind, said), _, entries, _, _ in together(scenarios.paid_fit, 2, tmp_path, 20.0, None, "first"):
        assert kind == "InvalidParameter" and "the same ledger on every rank" in said
        assert entries == 0


@pytest.mark.parametrize("again", ["goes on", "begins anew"])
def test_a_rank_that_dies_is_paid_for(again: str, tmp_path: Path) -> None:
    """The spend stays. Who goes on from the checkpoint that the book knows of pays nothing; nobody else may."""
    with started(scenarios.paid_fit, 2, tmp_path, 20.0, "run", "all", 2) as ranks:
        ranks[0].join(200)
        if ranks[0].is_alive():
            raise Failed("rank 0 hangs")
    (kind, _), _, entries, shown, _ = result_of(tmp_path, 0)
    assert (kind, entries, shown) == ("RankLost", 1, [2])
    (tmp_path / "meeting").unlink()
    found = together(scenarios.paid_fit, 2, tmp_path, 20.0, "run", "all", 0, again == "goes on")
    assert Ledger.open(tmp_path / "budget.db").standing().spent[0] > 0
    if again == "goes on":
        assert [said for said, *_ in found] == [("done", str(PLAN.steps))] * 2
        assert [shown for *_, shown, _ in found] == [[4], [4]]  # of the fifth step nothing was asked to be shown
        assert torch.equal(found[0][-1], found[1][-1])
    else:
        assert {said[0] for said, *_ in found} == {"AlreadySpent"}
    assert [entries for _, _, entries, _, _ in found] == [1, 1]


# As the mutants ask for it.


def paid_in_a_new_folder() -> None:
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder:
        paid_once(Path(folder))
