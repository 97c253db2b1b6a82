"""An ensemble whose members are trained on secret samples."""

from __future__ import annotations

import copy
import json
from typing import Any, Self

import numpy as np

from hush.account import Account, Charge, Reserved, checked_account, paid
from hush.arrays import Array
from hush.checks import count, number, positive
from hush.curves.relation import Relation
from hush.errors import InvalidParameter
from hush.learning.fits_made import refuse_weights
from hush.learning.kept_weights import read_texts
from hush.learning.linear.checked_arrays import checked_data, checked_rows
from hush.learning.linear.estimators import PrivateClassifier, highest
from hush.learning.linear.method import gaussian_multiplier
from hush.learning.linear.scikit_learn import ClassifierMixin, PrivateEstimator, Table, check_is_fitted, clone
from hush.mechanisms.mechanism import Mechanism
from hush.mechanisms.schemes.one_sample import OneSample
from hush.questions.calibrate import calibrate
from hush.questions.planning.training.central_limit import like_samples
from hush.randomness.source import Source, source_or_secure

MOST_OF_A_MEMBER = 100.0
"""A member's own epsilon is sought up to this."""


class BaggingClassifier(ClassifierMixin, PrivateEstimator):
    """Members trained on a fresh secret sample each, all of them released; their scores are added up.

    `estimator` is a classifier of this package: its own epsilon is replaced by the one that makes
    `member.on(scheme).repeat(members)` meet the budget, and its `examples`, where given, are those of a sample.
    A `ledger` pays for all members together.
    `relation` restates the members' guarantee before sampling: WithoutReplacement needs hush.Relation.REPLACE.

    >>> import hush
    >>> rows, labels = np.repeat([[1.0, 0.1], [0.1, 1.0]], 500, axis=0), np.repeat([0, 1], 500)
    >>> member = hush.learning.LogisticRegression(data_norm=1.5, classes=[0, 1], examples=200)
    >>> forest = BaggingClassifier(member, members=3, scheme=hush.Poisson(rate=0.2), epsilon=2.0, delta=1e-6)
    >>> forest.fit(rows, labels).score(rows, labels)
    1.0
    >>> forest.guarantee_.epsilon(delta=1e-6).upper <= 2
    True
    """

    guarantee_: Mechanism
    """All members on their samples."""
    estimators_: list[PrivateClassifier]
    private_: bool
    """Whether the weights may be published."""

    def __init__(
        self,
        estimator: PrivateClassifier | None = None,
        *,
        members: int = 10,
        scheme: OneSample | None = None,
        epsilon: float = 1.0,
        delta: float = 1e-5,
        relation: Relation | None = None,
        source: Source | None = None,
        ledger: Account | None = None,
    ) -> None:
        self.estimator = estimator
        self.members = members
        self.scheme = scheme
        self.epsilon = epsilon
        self.delta = delta
        self.relation = relation
        self.source = source
        self.ledger = ledger

    def fit(self, X: Table, y: Table, **refused: object) -> Self:
        """Calibrate without the data, then draw one sample per member and train on it."""
        refuse_weights("BaggingClassifier", refused)
        base, members, scheme = self._checked()
        table, labels = checked_data(self, X, y)
        source = source_or_secure(self.source)
        if not source.private:
            source = copy.deepcopy(source)
        self.classes_ = base.public_classes(labels)
        base = _copied(base, classes=self.classes_)
        self.guarantee_, share = self._calibrated(base, members, scheme, table.shape[1])
        member = _copied(base, epsilon=share, delta=self.delta, source=_Once(source))

        def trained() -> list[str]:
            kept = [_Kept() for _ in range(members)]
            self.estimators_ = []
            for one in kept:
                (places,) = scheme.batches(len(table), source)
                self.estimators_.append(one.fitted(member, table[places], labels[places]))
            return [one.answer or "" for one in kept]

        def read(text: str) -> list[str]:
            found = read_texts(text)
            self.estimators_ = [_Kept(one).fitted(member, table[:0], labels[:0]) for one in found]
            return found

        what = f"{members} members on {scheme}, {self.relation}: {base.asked(table.shape[1])}"
        charge = Charge(what, self.guarantee_, private=source.private)
        paid(self.ledger, charge, trained, write=json.dumps, read=read)
        self.private_ = source.private
        return self

    def _checked(self) -> tuple[PrivateClassifier, int, OneSample]:
        base, who = self.estimator, "BaggingClassifier"
        if not isinstance(base, PrivateClassifier) or not base.private:
            raise InvalidParameter(who, "a classifier of hush.learning with private=True", estimator=base)
        if base.chosen_method().public_size:
            raise InvalidParameter(who, "a method whose number of records is not public", method=base.method)
        if not (isinstance(self.scheme, OneSample) and self.scheme.one_sample and self.scheme.secret):
            raise InvalidParameter(who, "a scheme= of secret samples, as hush.Poisson(rate=0.2)", scheme=self.scheme)
        if base.ledger is not None:
            raise InvalidParameter(
                who, "its own ledger=, and none of its estimator: all are paid together", ledger=True
            )
        checked_account(who, self.ledger)
        _check_relation(who, self.relation)
        return base, count(who, 1, members=self.members), self.scheme

    def _calibrated(
        self, base: PrivateClassifier, members: int, scheme: OneSample, columns: int
    ) -> tuple[Mechanism, float]:
        """What all members are together, and the epsilon of one."""
        target = positive("BaggingClassifier", epsilon=self.epsilon)
        delta = number("BaggingClassifier", "0 < delta < 1", 0.0, 1.0, low_open=True, high_open=True, delta=self.delta)
        scores = 1 if len(self.classes_) == 2 else len(self.classes_)

        def build(share: float) -> Mechanism:
            trial = _copied(base, epsilon=share, delta=delta)
            mechanism = trial.planned(columns=columns, scores=scores).mechanism
            sampled = mechanism.on(scheme)
            return (sampled if self.relation is None else sampled.under(self.relation)).repeat(members)

        def like(share: float) -> Mechanism:
            noise, rate = gaussian_multiplier(share, delta), 1 - scheme.takes(1)[0]
            return like_samples([(noise, members)], rate=rate, replaced=self.relation is Relation.REPLACE)

        over = (1e-4, MOST_OF_A_MEMBER)
        found = calibrate(build, over=over, epsilon=target, delta=delta, tolerance=1e-3, like=[like])
        return found.mechanism, float(found.value)

    def decision_function(self, X: Table) -> Array:
        """The mean of the members' scores."""
        check_is_fitted(self)
        table = checked_rows(self, X, reset=False)
        return np.mean([member.decision_function(table) for member in self.estimators_], axis=0)

    def predict(self, X: Table) -> Array:
        """The class with the highest mean score."""
        return highest(self.decision_function(X), self.classes_)


def _check_relation(who: str, relation: object) -> None:
    if not isinstance(relation, Relation | None):
        raise InvalidParameter(who, "a hush.Relation", relation=relation)


def _copied(base: PrivateClassifier, **changed: Any) -> PrivateClassifier:
    """An untrained copy with other parameters."""
    copied: Any = clone(base)
    return copied.set_params(**changed)


class _Kept(Account, Reserved):
    """What a member pays with: nothing, as all members are paid together. Its weights are kept, or were kept before."""

    def __init__(self, answer: str | None = None) -> None:
        self.answer = answer

    def fitted(self, member: PrivateClassifier, rows: Array, labels: Array) -> PrivateClassifier:
        """A copy of the member with weights from these records, or those that were kept."""
        fitted: Any = _copied(member, ledger=self).fit(rows, labels)
        return fitted.set_params(ledger=None)

    def reserve(self, charge: Charge, *, resumed: int | None = None) -> Reserved:  # noqa: ARG002
        return self

    def note(self, step: int, answer: str = "") -> None:
        raise NotImplementedError

    def finish(self, answer: str) -> None:
        self.answer = answer


class _Once(Source):
    """Another source that a member may not copy: no word is given out twice."""

    def __init__(self, inner: Source) -> None:
        self.inner, self.private = inner, inner.private

    def words(self, count: int) -> Array:
        return self.inner.words(count)

    def __deepcopy__(self, memo: dict[int, Any]) -> _Once:
        return self
