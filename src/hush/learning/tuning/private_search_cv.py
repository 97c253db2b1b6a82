"""A hyperparameter search in scikit-learn's style that costs one epsilon, whatever it tries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Self

import numpy as np

from hush.arrays import Array
from hush.checks import number
from hush.errors import InvalidParameter, NotCovered
from hush.learning.fits_made import counted_as_one, fit_made
from hush.learning.linear.checked_arrays import checked_data
from hush.learning.linear.estimators import PrivateClassifier
from hush.learning.linear.scikit_learn import ClassifierMixin, PrivateEstimator, Table, clone
from hush.learning.tuning.secret_runs import search
from hush.mechanisms.leaves.laplace import DiscreteLaplace
from hush.mechanisms.mechanism import Mechanism
from hush.mechanisms.runs import GeometricRuns, Runs
from hush.randomness.draws import tosses
from hush.randomness.integer_noise import discrete_laplace
from hush.randomness.source import Source, source_or_secure

MOST_CANDIDATES = 10_000


class PrivateSearchCV(ClassifierMixin, PrivateEstimator):
    """The best of a secret number of private fits, each with parameters drawn at random from a grid.

    A coin per record decides whether it is trained on or (with chance `holdout`) scored on, so no record does both.
    Each run fits the estimator on the one part and counts its right answers on the other, with noise of
    `score_epsilon`. Only the best run is kept: there is no `cv_results_`, and nobody learns how many runs there were.

    >>> import hush
    >>> rows, labels = np.repeat([[1.0, 0.1], [0.1, 1.0]], 500, axis=0), np.repeat([0, 1], 500)
    >>> model = hush.learning.LogisticRegression(data_norm=1.5, classes=[0, 1], epsilon=0.5, delta=1e-7, examples=800)
    >>> tried = {"regularization": [0.001, 0.1, 10.0]}
    >>> tuned = PrivateSearchCV(model, tried, runs=hush.GeometricRuns(gamma=0.1), score_epsilon=0.2).fit(rows, labels)
    >>> tuned.score(rows, labels) > 0.9, tuned.guarantee_.epsilon(delta=1e-5).upper < 1.6
    (True, True)
    """

    guarantee_: Mechanism
    """The whole search, as one mechanism: `guarantee_.epsilon(delta=...)`."""
    best_estimator_: PrivateClassifier | None
    """The best model; None where there was no run."""
    best_params_: dict[str, Any] | None
    best_score_: float
    """Its noisy number of right answers among the records that were held out."""
    private_: bool

    def __init__(
        self,
        estimator: PrivateClassifier | None = None,
        param_grid: Mapping[str, Sequence[Any]] | None = None,
        *,
        runs: Runs | None = None,
        score_epsilon: float = 0.1,
        holdout: float = 0.25,
        source: Source | None = None,
    ) -> None:
        self.estimator = estimator
        self.param_grid = param_grid
        self.runs = runs
        self.score_epsilon = score_epsilon
        self.holdout = holdout
        self.source = source

    def fit(self, X: Table, y: Table) -> Self:
        """Search; nothing is drawn before all parameters were checked."""
        candidates = self._candidates()
        table, labels = checked_data(self, X, y, numbers=False)
        noise = DiscreteLaplace(1 / number("PrivateSearchCV", RULE, 1e-6, 500, score_epsilon=self.score_epsilon))
        share = number("PrivateSearchCV", "0 < holdout < 1", 0, 1, low_open=True, high_open=True, holdout=self.holdout)
        classes = self._classifier().public_classes(labels)
        one_run = self._one_run(candidates, table.shape[1], len(classes), noise)
        bits = source_or_secure(self.source)
        held = tosses(bits, len(table), share).astype(bool)
        parts = _Parts.of(table, labels, held, classes)
        with counted_as_one():
            found = search(
                lambda given: parts.tried(self._made(given), noise, bits),
                candidates,
                mechanism=one_run,
                runs=GeometricRuns(gamma=0.1) if self.runs is None else self.runs,
                source=bits,
            )
        if found.found:  # to publish the winner costs what the search costs, and its number is that of the search
            found.output.guarantee_, found.output.fits_ = found.mechanism, fit_made()
        self.guarantee_, self.private_ = found.mechanism, found.private
        self.best_params_, self.best_estimator_, self.best_score_ = found.candidate, found.output, found.score
        return self

    def _candidates(self) -> list[dict[str, Any]]:
        """All combinations of the grid."""
        grid = self.param_grid
        if not isinstance(grid, Mapping) or not grid:
            raise InvalidParameter("PrivateSearchCV", "param_grid= lists of values by name", param_grid=type(grid))
        lists = [list(values) for values in grid.values()]
        if not 0 < np.prod([float(len(values)) for values in lists]) <= MOST_CANDIDATES:
            raise InvalidParameter("PrivateSearchCV", f"1 to {MOST_CANDIDATES} candidates", param_grid=list(grid))
        for forbidden in ("source", "ledger", "private"):
            if forbidden in grid:
                raise InvalidParameter("PrivateSearchCV", f"a grid without {forbidden}", param_grid=list(grid))
        return [dict(zip(grid, values, strict=True)) for values in product(*lists)]

    def _classifier(self) -> PrivateClassifier:
        given: object = self.estimator
        if not isinstance(given, PrivateClassifier) or given.ledger is not None or given.private is not True:
            rule = "estimator= a private classifier of hush.learning, without a ledger of its own"
            raise InvalidParameter("PrivateSearchCV", rule, estimator=type(given))
        return given

    def _one_run(self, candidates: list[dict[str, Any]], columns: int, classes: int, noise: Mechanism) -> Mechanism:
        """The worst of all candidates beside the noisy score: each record is in one of the two parts."""
        models = [self._made(given) for given in candidates]
        if any(model.chosen_method().public_size for model in models):
            raise NotCovered(
                "a search over a method whose guarantee is for replaced records: its number of records must be public, "
                'which a random split does not leave it. Covered: method="gradient" and method="sgd"'
            )
        scores = 1 if classes == 2 else classes
        return noise.beside(*{model.planned(columns=columns, scores=scores).mechanism for model in models})

    def _made(self, given: dict[str, Any]) -> PrivateClassifier:
        return clone(self._classifier()).set_params(**given)

    def predict(self, X: Table) -> Array:
        """Labels, by the best model."""
        return self._best().predict(X)

    def predict_proba(self, X: Table) -> Array:
        """Probabilities of the classes, where the model has them."""
        return self._best().predict_proba(X)

    @property
    def classes_(self) -> Array:
        """The labels."""
        return self._best().classes_

    def _best(self) -> Any:
        if getattr(self, "best_estimator_", None) is None:
            raise InvalidParameter("PrivateSearchCV", "a search that was fitted, and had at least one run")
        return self.best_estimator_


RULE = "1e-6 <= score_epsilon <= 500"


@dataclass(frozen=True, eq=False)
class _Parts:
    """The rows to train on and those to score on, so that no record can make a run fail.

    An empty row, which has no influence, stands beside the rows to train on: they are never none. Rows to score on that
    hold no numbers are wrong answers.
    """

    trained: tuple[Array, Array]
    scored: tuple[Array, Array]
    usable: Array
    classes: Array

    @classmethod
    def of(cls, table: Array, labels: Array, held: Array, classes: Array) -> _Parts:
        rows = np.vstack([table[~held], np.full((1, table.shape[1]), np.nan)])
        usable = np.asarray(np.isfinite(table[held]).all(axis=1))
        scored = np.where(usable[:, None], table[held], 0.0)
        empty = np.asarray([classes[0]], dtype=labels.dtype)
        return cls((rows, np.concatenate([labels[~held], empty])), (scored, labels[held]), usable, classes)

    def tried(self, model: PrivateClassifier, noise: DiscreteLaplace, bits: Source) -> tuple[PrivateClassifier, float]:
        """The model of one run, and its noisy number of right answers."""
        model.set_params(source=bits, classes=self.classes).fit(*self.trained)
        rows, labels = self.scored
        right = int(np.count_nonzero((model.predict(rows) == labels) & self.usable)) if len(rows) else 0
        model.set_params(source=None)
        return model, float(right + int(discrete_laplace(bits, noise.scale, 1)[0]))
