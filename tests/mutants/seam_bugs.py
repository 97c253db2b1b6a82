"""Privacy bugs at the seams of a training: what rows leave in a model, who is counted, charged and resumed."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

Patch = pytest.MonkeyPatch


def state_stays_within_a_step(patch: Patch) -> None:
    """What a row leaves in a model is put back after the step alone."""
    from hush.learning.model_state.undo import Restored

    patch.setattr(Restored, "put_back", lambda self: False)


def rows_of_a_pass_that_left_something_count(patch: Patch) -> None:
    """What a row leaves in a model is put back after its pass, in which it moved other rows."""
    from hush.learning.model_state.undo import Restored

    put_back = Restored.put_back
    patch.setattr(Restored, "put_back", lambda self: put_back(self) and False)


def norms_of_what_is_put_back(patch: Patch) -> None:
    """A norm is that of a buffer as a row left it, and what is added that of the buffer as it was."""
    from hush.learning.per_example.clipped_sum import CheckedModel

    measured, known = CheckedModel._squares, []

    def once(self: Any, parts: Any) -> Any:
        if not known or known[0] is not parts:
            known[:] = parts, measured(self, parts)
        return known[1]

    patch.setattr(CheckedModel, "_squares", once)


def rows_counted_again(patch: Patch) -> None:
    """Rows of a pass that does not count are counted, and once more when they run alone."""
    from hush.learning.per_example.clipped_sum import CheckedModel

    add, weighed = CheckedModel._add, CheckedModel._weighed

    def twice(self: Any, views: Any, batch: Any, count: int, *clipping: Any) -> None:
        if count > 1:
            weighed(self, *self._gradients(batch, count), count, *clipping)
        add(self, views, batch, count, *clipping)

    patch.setattr(CheckedModel, "_add", twice)


def copies_count(patch: Patch) -> None:
    """A norm that adapts counts what fills up a pass in low precision, once more for each copy of a row."""
    from hush.learning import PrivateGradient

    made = PrivateGradient.__init__

    def lowered(self: Any, *given: Any, autocast: Any = None, **named: Any) -> None:
        made(self, *given, **named)
        self.autocast = autocast

    patch.setattr(PrivateGradient, "__init__", lowered)


def rows_of_one_buffer(patch: Patch) -> None:
    """Rows are not copied: all that were written into one buffer are the last of them."""
    from hush.learning.dpsgd import data

    patch.setattr(data, "_read", lambda rows, place, device, collate: tuple(collate([rows[place]])))


def price_of_one_run(patch: Patch) -> None:
    """The winner of a search says what its own training cost, as if it alone had run."""
    from hush.learning import PrivateSearchCV

    searched = PrivateSearchCV.fit

    def fit(self: Any, X: Any, y: Any) -> Any:
        best: Any = searched(self, X, y).best_estimator_
        best.guarantee_ = best.planned(columns=X.shape[1], scores=1).mechanism
        return self

    patch.setattr(PrivateSearchCV, "fit", fit)


def every_run_counted(patch: Patch) -> None:
    """The fits that a process made tell how many runs a search had, which is what its price hides."""
    from hush.learning.tuning import private_search_cv

    patch.setattr(private_search_cv, "counted_as_one", nullcontext)


def every_row_a_user(patch: Patch) -> None:
    """Ids that compare by where they are in memory: no two rows have the same."""
    from hush.learning.dpsgd import user_rows

    patch.setattr(user_rows, "_key", lambda identity: identity)


def records_whatever_the_unit(patch: Patch) -> None:
    """Runs and their checkpoints do not say whom they protect: users are charged, and resumed, as records."""
    from hush.learning.dpsgd.checkpoint import Checkpoint

    made = Checkpoint.__init__

    def of_records(self: Any, *given: Any, **named: Any) -> None:
        made(self, *given, **named)
        object.__setattr__(self, "unit", "record")

    patch.setattr(Checkpoint, "__init__", of_records)


def in_a_new_folder(name: str) -> Any:
    """A test of the seams that writes files."""

    def run() -> None:
        from tests.learning.dpsgd import test_seams_of_training

        with TemporaryDirectory() as folder:
            getattr(test_seams_of_training, name)(Path(folder))

    run.__doc__ = f"tests.learning.dpsgd.test_seams_of_training:{name}"
    return run


def bound_of_an_earlier_plan(patch: Patch) -> None:
    """A plan whose fields were replaced keeps the epsilon that it had."""
    from hush.questions.planning.training.train_plan import TrainPlan

    derive = TrainPlan.__post_init__

    def kept(self: TrainPlan) -> None:
        derive(self)
        object.__setattr__(self, "bound", self.mechanism.epsilon(delta=1e-3))

    patch.setattr(TrainPlan, "__post_init__", kept)


def any_number_of_records(patch: Patch) -> None:
    """What is stated for a number of records is accepted on cyclic parts, whose number is random."""
    from hush.mechanisms.schemes.spaced import spaced_scheme

    patch.setattr(spaced_scheme, "require_any_number", lambda mechanism, where: None)


def any_number_in_one_of_two(patch: Patch) -> None:
    """The same in one of two releases, each of which gets a random part of the records."""
    from hush.mechanisms.combinators import either

    patch.setattr(either, "require_any_number", lambda mechanism, where: None)


def sample_around_a_composition(patch: Patch) -> None:
    """What ran beside something else forgets that no sample of its records is secret."""
    from hush.mechanisms.traits import Scope

    of_all = Scope.of_all
    patch.setattr(Scope, "of_all", lambda scopes: replace(of_all(scopes), no_secret_sample=""))


def listed_chances_are_attained(patch: Patch) -> None:
    """Upper bounds on chances to be drawn taken for the chances: a lower end that nobody attains."""
    from hush.mechanisms.schemes.capped_poisson import CappedPoisson

    patch.setattr(CappedPoisson, "listed_exactly", True)


def each_copy_a_user(patch: Patch) -> None:
    """A user who is drawn several times has a number of records of its own each time."""
    from hush.mechanisms.combinators.random_users import RandomContributions

    def thinned(self: Any, neighbours: Any) -> Any:
        return self.inner.evidence(neighbours.thin(lambda counts: self._records(counts)[0]))

    patch.setattr(RandomContributions, "knows", thinned)
