"""An ensemble on secret samples: accounted for as it was drawn."""

from __future__ import annotations

import numpy as np
import pytest

import hush
from hush import learning

MEMBER = learning.LogisticRegression(
    data_norm=1.5, classes=[0, 1], examples=60, method=learning.FullBatchGradient(steps=20)
)


def blobs():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 300)
    return rng.normal(size=(300, 2)) * 0.2 + np.where(labels[:, None] == 1, 0.5, -0.5), labels


def test_guarantee_is_that_of_the_samples(monkeypatch) -> None:
    drawn = []
    original = hush.Poisson.draw
    monkeypatch.setattr(
        hush.Poisson, "draw", lambda self, n, source=None: drawn.append((self, n)) or original(self, n, source)
    )
    scheme = hush.Poisson(rate=0.2)
    forest = learning.BaggingClassifier(MEMBER, members=3, scheme=scheme, epsilon=3.0, delta=1e-5).fit(*blobs())
    assert drawn == [(scheme, 300)] * 3
    member = forest.estimators_[0].guarantee_
    assert all(m.guarantee_ == member for m in forest.estimators_)
    assert forest.guarantee_ == member.on(scheme).repeat(3)
    assert 2.9 < forest.guarantee_.epsilon(delta=1e-5).upper <= 3
    assert forest.estimators_[0].epsilon > 1  # amplified: more than a third of the budget
    assert forest.score(*blobs()) > 0.9
    assert forest.private_


def test_members_share_no_noise() -> None:
    whole = hush.Poisson(rate=1.0)
    forest = learning.BaggingClassifier(
        MEMBER, members=2, scheme=whole, epsilon=3.0, delta=1e-5, source=hush.SeededSource(1)
    ).fit(*blobs())
    first, second = (member.coef_ for member in forest.estimators_)
    assert not np.array_equal(first, second)
    assert not forest.private_


def test_samples_of_fixed_size_are_for_replacement() -> None:
    scheme = hush.WithoutReplacement(size=60, population=300)
    settings = {"members": 1, "scheme": scheme, "epsilon": 1.0, "delta": 1e-5}
    forest = learning.BaggingClassifier(MEMBER, relation=hush.Relation.REPLACE, **settings).fit(*blobs())
    assert forest.guarantee_.relation is hush.Relation.REPLACE
    assert forest.guarantee_.epsilon(delta=1e-5).upper <= 1
    with pytest.raises(hush.NotCovered):
        learning.BaggingClassifier(MEMBER, **settings).fit(*blobs())


def test_observed_classes_are_those_of_all_records() -> None:
    """A class that no sample holds is still one of the classes of every member."""
    table, labels = blobs()
    labels = labels.copy()
    labels[0] = 2
    member = learning.LogisticRegression(data_norm=1.5, classes="observed", examples=60, method=MEMBER.method)
    forest = learning.BaggingClassifier(member, members=2, scheme=hush.Poisson(rate=0.05), epsilon=3.0, delta=1e-5)
    forest.fit(table, labels)
    assert all(m.classes_.tolist() == [0, 1, 2] for m in forest.estimators_)


def test_stated_curves_are_calibrated_on_samples_of_fixed_size() -> None:
    """The search does not ask about shares of the budget so large that no theorem covers a pair of records."""
    member = learning.LogisticRegression(data_norm=1.5, classes=[0, 1], examples=60, method="objective")
    scheme = hush.WithoutReplacement(size=60, population=300)
    settings = {"members": 2, "scheme": scheme, "epsilon": 2.0, "delta": 1e-5, "relation": hush.Relation.REPLACE}
    forest = learning.BaggingClassifier(member, **settings).fit(*blobs())
    assert 1.99 < forest.guarantee_.epsilon(delta=1e-5).upper <= 2


@pytest.mark.parametrize(
    "wrong",
    [
        {"estimator": None},
        {"estimator": learning.LogisticRegression(data_norm=1.0)},
        {"estimator": learning.LogisticRegression(data_norm=1.0, classes=[0, 1], private=False)},
        {"estimator": learning.LogisticRegression(data_norm=1.0, classes=[0, 1], method="iterate")},
        {"scheme": None},
        {"scheme": hush.Allocation(steps=3)},
        {"scheme": hush.ShuffledBatches(steps=3)},
        {"members": 0},
        {"relation": "replace"},
        {"epsilon": 0.0},
        {"delta": 0.0},
    ],
    ids=str,
)
def test_bad_parameters(wrong) -> None:
    settings = {"estimator": MEMBER, "members": 2, "scheme": hush.Poisson(rate=0.2), **wrong}
    with pytest.raises(hush.InvalidParameter):
        learning.BaggingClassifier(**settings).fit(*blobs())
