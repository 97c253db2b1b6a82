"""A training is one charge: for its whole plan, resumable, never drawn twice for what was shown."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

import hush
from hush.account import Charge
from hush.ledger import Budget, Ledger
from hush.ledger.spending import BookReserved

torch = pytest.importorskip("torch")
from safetensors.torch import load_file  # noqa: E402
from torch import nn  # noqa: E402

PLAN = hush.train_plan(examples=200, batch_size=50, epochs=2, epsilon=2.0, delta=1e-4)
ROWS = np.repeat([[1.0, 0.1], [0.1, 1.0]], 200, axis=0)
LABELS = np.repeat([0, 1], 200)


@pytest.fixture
def book(tmp_path: Path) -> Ledger:
    found = Ledger.create(tmp_path / "budget.db")
    found.add("data", Budget(epsilon=8.0, delta=1e-4))
    return found


def fit(ledger: object, **options: object) -> hush.learning.Trained:
    torch.manual_seed(1)
    data = torch.randn(200, 3), torch.zeros(200, dtype=torch.long)
    options = {"loss": nn.functional.cross_entropy, "max_norm": 1.0, "ledger": ledger} | options
    return hush.learning.fit(options.pop("model", None) or nn.Linear(3, 2), data, options.pop("plan", PLAN), **options)


def cost(book: Ledger) -> int:
    return book.node().budget.cost(PLAN.mechanism)[0]


def spent(book: Ledger) -> int:
    return book.standing().spent[0]


class Stop(Exception):
    pass


def stopping(at: int, seen: list[int]) -> object:
    def stop(progress: hush.learning.Progress) -> None:
        seen.append(progress.step)
        if progress.step >= at:
            raise Stop

    return stop


def test_a_training_is_one_entry_for_the_whole_plan(book: Ledger) -> None:
    seen: list[int] = []
    trained = fit(book, on_step=lambda progress: seen.append(progress.step))
    assert (trained.steps, seen) == (8, list(range(1, 9)))
    assert spent(book) == cost(book)
    assert book.verify().charges == 1 and book.verify().unfinished == 0


def test_paid_before_the_first_step(book: Ledger) -> None:
    book.record(hush.Gaussian(1.0))
    with pytest.raises(hush.BudgetExceeded):
        fit(book, plan=hush.train_plan(examples=200, batch_size=50, epochs=2, epsilon=9.0, delta=1e-4), on_step=print)


@pytest.mark.parametrize(
    "fault",
    [
        {"noise": hush.learning.FastNoise()},
        {"source": hush.SeededSource(1)},
        {"model": nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3), nn.Linear(3, 2))},
        {"model": nn.Linear(4, 2)},
        {"ledger": "budget.db"},
        {"save_every": 3},
        {"max_norm": -1.0},
    ],
)
def test_what_cannot_run_costs_nothing(book: Ledger, fault: dict[str, object]) -> None:
    with pytest.raises(hush.HushError):
        fit(fault.pop("ledger", book), **fault)
    assert spent(book) == 0


def test_a_stopped_run_goes_on_and_is_not_paid_twice(book: Ledger, tmp_path: Path) -> None:
    path, seen = tmp_path / "run.safetensors", []
    with pytest.raises(Stop):
        fit(book.account(key="fit"), save_to=path, save_every=2, on_step=stopping(4, seen))
    assert seen == [2, 4]  # what is shown is in a checkpoint
    assert spent(book) == cost(book)
    trained = fit(book.account(key="fit"), save_to=path, save_every=2, resume_from=path)
    assert trained.steps == 8 and trained.private
    assert spent(book) == cost(book) and book.verify().unfinished == 0
    # and once it is finished its last checkpoint is the answer
    again = fit(book.account(key="fit"), resume_from=path)
    assert again.steps == 8 and spent(book) == cost(book)
    for new, old in zip(again.model.parameters(), trained.model.parameters(), strict=True):
        assert torch.equal(new, old)


def test_no_second_run_under_the_same_key(book: Ledger, tmp_path: Path) -> None:
    path = tmp_path / "run.safetensors"
    with pytest.raises(Stop):
        fit(book.account(key="fit"), save_to=path, save_every=2, on_step=stopping(2, []))
    with pytest.raises(hush.AlreadySpent, match="outcome is unknown"):
        fit(book.account(key="fit"))
    with pytest.raises(hush.AlreadySpent, match="another request"):
        fit(book.account(key="fit"), max_norm=2.0, resume_from=None)
    fit(book.account(key="fit"), save_to=path, resume_from=path)
    with pytest.raises(hush.AlreadySpent, match="resume_from"):
        fit(book.account(key="fit"))


def test_an_older_checkpoint_is_refused(book: Ledger, tmp_path: Path) -> None:
    """Steps that were shown must not be drawn again."""
    path, old = tmp_path / "run.safetensors", tmp_path / "old.safetensors"

    def keep(progress: hush.learning.Progress) -> None:
        if progress.step == 2:
            old.write_bytes(path.read_bytes())
        if progress.step == 4:
            raise Stop

    with pytest.raises(Stop):
        fit(book.account(key="fit"), save_to=path, save_every=2, on_step=keep)
    with pytest.raises(hush.InvalidParameter, match="step 4"):
        fit(book.account(key="fit"), save_to=path, resume_from=old)
    fit(book.account(key="fit"), save_to=path, resume_from=path)
    with pytest.raises(hush.HushError):
        fit(book.account(key="fit"), save_to=path, resume_from=old)
    assert spent(book) == cost(book)


def test_a_run_that_saves_nothing_cannot_go_on(book: Ledger, tmp_path: Path) -> None:
    """It shows every step; a checkpoint from elsewhere does not give them a second draw."""
    path = tmp_path / "start.safetensors"
    with pytest.raises(Stop):
        fit(None, save_to=path, save_every=1, on_step=stopping(1, []))
    with pytest.raises(Stop):
        fit(book.account(key="fit"), on_step=stopping(5, []))
    with pytest.raises(hush.InvalidParameter, match="step 8"):
        fit(book.account(key="fit"), resume_from=path)


def test_a_model_shows_no_step_that_may_be_drawn_again(book: Ledger, tmp_path: Path) -> None:
    """Whatever ends the run takes the model back to the checkpoint."""
    path, model = tmp_path / "run.safetensors", nn.Linear(3, 2)
    kept: list[torch.Tensor] = []

    class Dies(hush.Source):
        private = True
        calls = 0

        def words(self, count: int) -> np.ndarray:
            Dies.calls += 1
            if Dies.calls > 4:
                raise KeyboardInterrupt
            return hush.SecureSource().words(count)

    def keep(progress: hush.learning.Progress) -> None:
        kept[:] = [p.detach().clone() for p in model.parameters()]

    with pytest.raises(KeyboardInterrupt):
        fit(book.account(key="fit"), model=model, save_to=path, save_every=2, on_step=keep, source=Dies())
    assert kept and all(torch.equal(a, b) for a, b in zip(kept, model.parameters(), strict=True))
    assert all(p.grad is None or not p.grad.any() for p in model.parameters())


def test_a_checkpoint_without_a_ledger_is_paid_in_full(book: Ledger, tmp_path: Path) -> None:
    path = tmp_path / "run.safetensors"
    with pytest.raises(Stop):
        fit(None, save_to=path, save_every=2, on_step=stopping(4, []))
    fit(book.account(key="fit"), resume_from=path)
    assert spent(book) == cost(book)


def test_two_processes_cannot_show_the_same_steps(book: Ledger) -> None:
    """Both go on from one checkpoint; one of them gets to a later one, and the other is stopped before it shows any."""
    charge, account = Charge("a fit", PLAN.mechanism), book.account(key="fit")
    account.reserve(charge).note(2)
    one, other = (account.reserve(charge, resumed=2) for _ in range(2))
    one.note(4)
    for act in (lambda: other.note(3), lambda: other.note(4), lambda: other.note(6), lambda: other.finish("done")):
        with pytest.raises(hush.LedgerError, match="another process"):
            act()
    one.finish("done")
    for act in (lambda: other.note(6), lambda: other.finish("done")):
        with pytest.raises(hush.LedgerError, match="another process"):
            act()
    assert spent(book) == cost(book)


def weights(model: nn.Module) -> list[torch.Tensor]:
    return [p.detach().clone() for p in model.parameters()]


def same(one: list[torch.Tensor], other: list[torch.Tensor]) -> bool:
    return all(torch.equal(a, b) for a, b in zip(one, other, strict=True))


def saved(path: Path) -> list[torch.Tensor]:
    """The weights in a checkpoint of a linear layer."""
    found = load_file(path)
    return [found["model.weight"], found["model.bias"]]


@pytest.mark.parametrize("every", [2, 3, None])
def test_a_run_that_was_overtaken_shows_nothing_more(book: Ledger, tmp_path: Path, every: int | None) -> None:
    """Another run goes on from its checkpoint meanwhile, and finishes or gets a step further."""
    path, copy, model = tmp_path / "run.safetensors", tmp_path / "copy.safetensors", nn.Linear(3, 2)
    at_four: list[torch.Tensor] = []

    def overtaken(progress: hush.learning.Progress) -> None:
        if progress.step == 4:
            at_four[:] = weights(model)
            copy.write_bytes(path.read_bytes())
            stop = None if every is None else stopping(4 + every - 1, [])
            try:
                fit(book.account(key="fit"), save_to=copy, save_every=every, resume_from=copy, on_step=stop)
            except Stop:
                pass

    with pytest.raises(hush.LedgerError, match="another process"):
        fit(book.account(key="fit"), model=model, save_to=path, save_every=4, on_step=overtaken)
    assert at_four and same(weights(model), at_four)
    assert same(saved(path), at_four)
    assert sorted(p.name for p in tmp_path.glob("*.safetensors*")) == [copy.name, path.name]
    assert spent(book) == cost(book)


@pytest.mark.parametrize("act", ["finish", "note"])
def test_what_the_book_cannot_take_is_not_shown(
    book: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, act: str
) -> None:
    """However often a run goes on from its start, nothing of it is seen before the book has it."""
    path, model = tmp_path / "run.safetensors", nn.Linear(3, 2)
    right = getattr(BookReserved, act)

    def full(self: BookReserved, *given: object) -> None:
        if given != (0,):
            raise hush.LedgerError("The book cannot be written.")
        right(self, *given)

    start = weights(model)
    with monkeypatch.context() as patch:
        patch.setattr(BookReserved, act, full)
        for resume_from in (None, path, path):
            with pytest.raises(hush.LedgerError, match="cannot be written"):
                every = 8 if act == "note" else None
                account = book.account(key="fit")
                fit(account, model=model, save_to=path, save_every=every, resume_from=resume_from)
            assert same(weights(model), start) and same(saved(path), start)
            assert [p.name for p in tmp_path.glob("*.safetensors*")] == [path.name]
    trained = fit(book.account(key="fit"), model=model, save_to=path, resume_from=path)
    assert trained.steps == 8 and not same(weights(model), start)
    assert spent(book) == cost(book)


def test_a_file_that_cannot_take_its_place_is_what_the_book_knows(
    book: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The book has step 2, the file did not follow: the run goes on from the file beside it, and from no other."""
    path, model = tmp_path / "run.safetensors", nn.Linear(3, 2)
    moved: list[object] = []

    def stuck(*given: object) -> None:
        moved.append(given)
        if len(moved) > 1:
            raise OSError("no room")
        right(*given)

    right = os.replace
    with monkeypatch.context() as patch, pytest.raises(OSError, match="no room"):
        patch.setattr(os, "replace", stuck)
        fit(book.account(key="fit"), model=model, save_to=path, save_every=2)
    with pytest.raises(hush.InvalidParameter, match="step 2"):
        fit(book.account(key="fit"), save_to=path, resume_from=path)
    (beside,) = tmp_path.glob("*.part")
    known, again = weights(model), nn.Linear(3, 2)
    with pytest.raises(Stop):
        fit(
            book.account(key="fit"),
            model=again,
            save_to=path,
            save_every=2,
            resume_from=beside,
            on_step=stopping(3, []),
        )
    assert not same(weights(again), known)
    assert same(saved(beside), known)


def test_a_foreign_checkpoint_does_not_go_on_with_a_paid_run(book: Ledger, tmp_path: Path) -> None:
    """A later step of a run without the book: its steps before that were drawn apart."""
    path, other = tmp_path / "run.safetensors", tmp_path / "other.safetensors"
    for ledger, file, at in ((book.account(key="fit"), path, 2), (None, other, 4)):
        with pytest.raises(Stop):
            fit(ledger, save_to=file, save_every=2, on_step=stopping(at, []))
    with pytest.raises(hush.InvalidParameter, match="step 2"):
        fit(book.account(key="fit"), save_to=path, resume_from=other)


def test_a_last_checkpoint_whose_answer_is_missing_is_finished(book: Ledger, tmp_path: Path) -> None:
    path = tmp_path / "run.safetensors"
    with pytest.raises(Stop):
        fit(book.account(key="fit"), save_to=path, save_every=2, on_step=stopping(8, []))
    assert book.verify().unfinished == 1
    assert fit(book.account(key="fit"), resume_from=path).steps == 8
    assert book.verify().unfinished == 0


# -- estimators --------------------------------------------------------------------------------------------------


def models(ledger: object) -> list[object]:
    pytest.importorskip("sklearn")
    member = hush.learning.LogisticRegression(data_norm=1.5, classes=[0, 1], examples=200)
    options = {"data_norm": 1.5, "epsilon": 1.0, "delta": 1e-5, "ledger": ledger}
    return [
        hush.learning.LogisticRegression(classes=[0, 1], **options),
        hush.learning.LogisticRegression(
            classes=[0, 1, 2], method="objective", examples=400, **options | {"delta": 0.0}
        ),
        hush.learning.LinearSVC(classes=[0, 1], **options),
        hush.learning.LinearRegression(target_bounds=(0, 1), examples=400, **options),
        hush.learning.BaggingClassifier(
            member, members=2, scheme=hush.Poisson(rate=0.2), epsilon=2.0, delta=1e-5, ledger=ledger
        ),
    ]


@pytest.mark.parametrize("place", range(5))
def test_a_fit_is_one_entry_and_given_again(book: Ledger, place: int) -> None:
    from sklearn.base import clone

    model = models(book.account(key="model"))[place]
    first = model.fit(ROWS, LABELS)
    assert spent(book) == book.node().budget.cost(first.guarantee_)[0] > 0
    again = clone(model).fit(ROWS, LABELS)
    assert np.array_equal(first.predict(ROWS), again.predict(ROWS)) and again.private_
    if hasattr(first, "coef_"):
        assert np.array_equal(first.coef_, again.coef_) and np.array_equal(first.intercept_, again.intercept_)
    found = book.verify()
    assert (found.charges, found.unfinished) == (1, 0)
    with pytest.raises(hush.AlreadySpent):
        model.set_params(epsilon=0.5).fit(ROWS, LABELS)


@pytest.mark.parametrize(
    "changes", [{"source": hush.SeededSource(1)}, {"private": False}, {"epsilon": 100.0}, {"data_norm": None}]
)
def test_an_estimator_that_cannot_pay_costs_nothing(book: Ledger, changes: dict[str, object]) -> None:
    model = models(book)[0].set_params(**changes)
    with pytest.raises(hush.HushError):
        model.fit(ROWS, LABELS)
    assert spent(book) == 0
