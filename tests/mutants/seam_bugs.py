"""Privacy bugs at the seams of a training: what rows leave in a model, who is counted, charged and resumed."""

from __future__ import annotations

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


def rows_counted_again(patch: Patch) -> None:
    """Rows of a pass that does not count are counted, and once more when they run alone."""
    from hush.learning.per_example.clipped_sum import CheckedModel

    add, weighed = CheckedModel._add, CheckedModel._weighed

    def twice(self: Any, views: Any, batch: Any, count: int, *clipping: Any) -> None:
        if count > 1:
            weighed(self, *self._gradients(batch, count), count, *clipping)
        add(self, views, batch, count, *clipping)

    patch.setattr(CheckedModel, "_add", twice)


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
