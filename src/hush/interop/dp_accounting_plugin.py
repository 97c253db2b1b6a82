"""hush as an accountant of dp_accounting: for TF-privacy, jax_privacy, and all who speak its events."""

from __future__ import annotations

from dp_accounting import privacy_accountant  # pyright: ignore[reportMissingImports]

from hush.curves.relation import Relation
from hush.errors import InvalidParameter, NotCovered
from hush.interop.events_read import from_dp_event
from hush.mechanisms.combinators.one_after_another import Sequence
from hush.mechanisms.mechanism import Mechanism

NEIGHBOURS = privacy_accountant.NeighboringRelation
RELATIONS = {
    NEIGHBOURS.ADD_OR_REMOVE_ONE: Relation.ADD_REMOVE,
    NEIGHBOURS.REPLACE_ONE: Relation.REPLACE,
    NEIGHBOURS.REPLACE_SPECIAL: Relation.ZERO_OUT,
}


class DpEventAccountant(privacy_accountant.PrivacyAccountant):
    """A PrivacyAccountant whose numbers are certified: `get_epsilon` and `get_delta` never lie below the truth.

    Under REPLACE_ONE, `replaced` says what a sensitivity means: "stated" as RdpAccountant reads it, or "doubled" as
    PLDAccountant does. REPLACE_SPECIAL is Relation.ZERO_OUT. `mechanism` is all that was composed, for every other
    question.

    >>> from dp_accounting import GaussianDpEvent, PoissonSampledDpEvent
    >>> step = PoissonSampledDpEvent(0.01, GaussianDpEvent(1.0))
    >>> DpEventAccountant().compose(step, 10_000).get_epsilon(1e-5)
    6.18771...
    """

    def __init__(
        self,
        neighboring_relation: privacy_accountant.NeighboringRelation = NEIGHBOURS.ADD_OR_REMOVE_ONE,
        *,
        replaced: str | None = None,
    ) -> None:
        if neighboring_relation not in RELATIONS:
            raise NotCovered(f"the neighbouring relation {neighboring_relation} of dp_accounting")
        super().__init__(neighboring_relation)
        self._relation, self._replaced = RELATIONS[neighboring_relation], replaced
        self._nothing = self._read(privacy_accountant.dp_event.NoOpDpEvent())  # a wrong `replaced` is told at once
        self._composed: dict[Mechanism, int] = {}

    @property
    def mechanism(self) -> Mechanism:
        """All that was composed so far."""
        return Sequence.of([one.repeat(times) for one, times in self._composed.items()] or [self._nothing])

    def _read(self, event: privacy_accountant.dp_event.DpEvent) -> Mechanism:
        return from_dp_event(event, relation=self._relation, replaced=self._replaced)

    def _maybe_compose(
        self, event: privacy_accountant.dp_event.DpEvent, count: int, do_compose: bool
    ) -> privacy_accountant.PrivacyAccountant.CompositionErrorDetails | None:
        try:
            mechanism = self._read(event)
            for _, neighbours in mechanism.directions():
                mechanism.evidence(neighbours).require()
            mechanism.repeat(count)  # so that a wrong count is told
        except (NotCovered, InvalidParameter) as reason:
            return self.CompositionErrorDetails(invalid_event=event, error_message=str(reason))
        if do_compose:
            self._composed[mechanism] = self._composed.get(mechanism, 0) + count
        return None

    def get_epsilon(self, target_delta: float) -> float:
        """The upper end of the certified interval."""
        return self.mechanism.epsilon(delta=target_delta).upper

    def get_delta(self, target_epsilon: float) -> float:
        """The upper end of the certified interval."""
        return self.mechanism.delta(epsilon=target_epsilon).upper
