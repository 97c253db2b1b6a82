"""Estimators in scikit-learn's style: LogisticRegression, LinearSVC, LinearRegression."""

from __future__ import annotations

import copy
import hashlib
from typing import Any, Literal, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from hush.account import Account, Charge, checked_account, paid
from hush.arrays import Array
from hush.checks import count, number
from hush.errors import InvalidParameter
from hush.learning.fits_made import fit_made, of_one_fit, refuse_weights, warn_of_public_knowledge
from hush.learning.kept_weights import read_weights, write_weights
from hush.learning.linear.bounded_rows import INTERCEPT, BoundedRecords, bounded
from hush.learning.linear.checked_arrays import checked_data, checked_rows, comparable, placed
from hush.learning.linear.losses import LinearLoss, Logistic, SmoothHinge, Squared
from hush.learning.linear.method import Method, MethodPlan, Task
from hush.learning.linear.noisy_descent import REGULARIZATION, FullBatchGradient, PoissonGradient
from hush.learning.linear.objective_perturbation import Objective
from hush.learning.linear.one_pass import OnePass
from hush.learning.linear.output_perturbation import SOLVED, Output
from hush.learning.linear.scikit_learn import (
    ClassifierMixin,
    PrivateEstimator,
    RegressorMixin,
    Table,
    assert_all_finite,
    check_classification_targets,
    check_is_fitted,
)
from hush.learning.linear.solver import minimiser
from hush.mechanisms.mechanism import Mechanism
from hush.randomness.source import Source, source_or_secure

MethodName: TypeAlias = Literal["gradient", "objective", "output", "sgd", "iterate"]
METHODS: dict[str, type[Method]] = {
    "gradient": FullBatchGradient,
    "objective": Objective,
    "output": Output,
    "sgd": PoissonGradient,
    "iterate": OnePass,
}
"""Short names of methods with their own defaults."""
OBSERVED = "observed"
"""As `classes`: the set of labels that occur in the data is public anyway."""


class PrivateLinearModel(PrivateEstimator):
    """What the models share: checks, rows of bounded norm, a plan made without the data, then the training."""

    data_norm: float | None
    epsilon: float
    delta: float
    method: Method | MethodName
    examples: int | None
    regularization: float | None
    private: bool
    source: Source | None
    ledger: Account | None
    """The budget book that pays for a fit, before anything is drawn; hush.ledger has one."""
    coef_: Array
    intercept_: Array | float
    guarantee_: Mechanism | None
    """What ran: `guarantee_.epsilon(delta=...)`, `.explain(...)`; None for private=False. It is that of ONE fit."""
    fits_: int
    """The number of this fit among all private fits of this process: those of a search over parameters, too."""
    private_: bool
    """Whether the weights may be published: not with private=False, nor with a source that can be replayed."""

    def chosen_method(self) -> Method:
        """The method with its parameters, also where its name was given."""
        method: object = self.method
        if isinstance(method, str) and method in METHODS:
            return METHODS[method]()
        if not isinstance(method, Method):
            rule = f"method= one of {', '.join(METHODS)}, or a value such as hush.learning.FullBatchGradient()"
            raise InvalidParameter(type(self).__name__, rule, method=method)
        return method

    def planned(self, *, columns: int, scores: int, rows: int | None = None) -> MethodPlan:
        """The plan for so many columns and scores: it depends on no record (rows: where their number is public)."""
        who, method = type(self).__name__, self.chosen_method()
        examples = rows if method.public_size else self.examples
        strength, rule = self.regularization, "1e-12 <= regularization <= 1e12"
        task = Task(
            loss=self._loss_of(method, scores),
            columns=columns + 1,
            epsilon=number(who, "1e-6 <= epsilon <= 1e6", 1e-6, 1e6, epsilon=self.epsilon),
            delta=number(who, "0 <= delta < 1", 0.0, 1.0, high_open=True, delta=self.delta),
            examples=None if examples is None else count(who, 1, examples=examples),
            regularization=None if strength is None else number(who, rule, 1e-12, 1e12, regularization=strength),
        )
        return method.plan(task)

    def _loss(self, scores: int) -> LinearLoss:
        """The loss of so many scores, each on its own."""
        raise NotImplementedError

    def _loss_of(self, method: Method, scores: int) -> LinearLoss:
        return self._loss(scores).joint() if method.joint else self._loss(scores)

    def _checked(self, X: Any, y: Any, *, numbers: bool = False) -> tuple[Array, Array]:
        """Table and targets of the right shapes and types; what values they hold raises nothing."""
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        return checked_data(self, X, y, numbers=numbers)

    def _trained(self, table: Array, usable: Array, targets: Array, scores: int) -> Array:
        """Weights for rows in units of data_norm, after every check of parameters and before any other draw."""
        who, given = type(self).__name__, _given(self, "data_norm")
        norm = number(who, "1e-300 <= data_norm <= 1e300", 1e-300, 1e300, data_norm=given)
        source = source_or_secure(self.source)
        if not source.private:
            source = copy.deepcopy(source)  # a seed gives the same model at every fit, as random_state does elsewhere
        plan = None
        if _checked_choice(who, self.private):
            plan = self.planned(columns=table.shape[1], scores=scores, rows=max(len(table), 1))
        elif checked_account(who, self.ledger) is not None:
            raise InvalidParameter(who, "private=True with a ledger", private=False)
        rows, finite = bounded(table, norm, clip=self.private)
        records = BoundedRecords.of(rows, finite & usable, targets)
        self.guarantee_ = plan.mechanism if plan else None
        if plan is not None:
            warn_of_public_knowledge()
            self.fits_ = fit_made()
        self.private_ = plan is not None and source.private
        if plan is None:
            weights = self._without_privacy(records, scores)
        else:
            charge = Charge(self.asked(table.shape[1]), plan.mechanism, private=source.private)
            train = plan.train
            weights = paid(self.ledger, charge, lambda: train(records, source), write=write_weights, read=read_weights)
        return np.vstack([weights[:-1] / norm, weights[-1:] * INTERCEPT])

    def statement(self, unit: str = "record") -> str:
        """The guarantee of this fit in words, and how many fits were made."""
        check_is_fitted(self)
        if self.guarantee_ is None:
            raise InvalidParameter(type(self).__name__, "a fit with private=True", private=False)
        return f"{self.guarantee_.statement(delta=self.delta, unit=unit)} {of_one_fit(self.fits_)}"

    def asked(self, columns: int) -> str:
        """The fit in words: what its weights are made by, but for the records."""
        given = {name: value for name, value in self.get_params(deep=False).items() if name not in ("source", "ledger")}
        said = ", ".join(f"{name}={_said(value)}" for name, value in sorted(given.items()))
        return f"{type(self).__name__}({said}), {columns} columns"

    def _without_privacy(self, records: BoundedRecords, scores: int) -> Array:
        """The minimiser of mean loss + regularization/2 |θ|², to 8 digits and more."""
        loss = self._loss_of(self.chosen_method(), scores)
        ridge = (self.regularization or REGULARIZATION) * max(len(records.rows), 1)
        start = np.zeros((records.rows.shape[1], loss.scores))
        return minimiser(loss, records, ridge=ridge, tilt=start, gradient_norm=SOLVED)

    def _scores(self, X: Table) -> Array:
        check_is_fitted(self)
        table = checked_rows(self, X, reset=False)
        usable = np.isfinite(table).all(axis=1, keepdims=True)
        table = np.where(usable, table, 0.0)
        return table @ np.atleast_2d(self.coef_).T + np.atleast_1d(self.intercept_)


class PrivateClassifier(ClassifierMixin, PrivateLinearModel):
    """A classifier whose classes are public: other labels count as records without influence."""

    def __init__(
        self,
        *,
        data_norm: float | None = None,
        epsilon: float = 1.0,
        delta: float = 1e-5,
        classes: ArrayLike | None = None,
        method: Method | MethodName = "gradient",
        examples: int | None = None,
        regularization: float | None = None,
        private: bool = True,
        source: Source | None = None,
        ledger: Account | None = None,
    ) -> None:
        self.data_norm = data_norm
        self.epsilon = epsilon
        self.delta = delta
        self.classes = classes
        self.method = method
        self.examples = examples
        self.regularization = regularization
        self.private = private
        self.source = source
        self.ledger = ledger

    def fit(self, X: Table, y: Table, **refused: object) -> Self:
        """Train on records (X, y); what is not a number, or no known class, has no influence and raises nothing."""
        refuse_weights(type(self).__name__, refused)
        table, labels = self._checked(X, y)
        self.classes_ = self.public_classes(labels)
        scores = 1 if len(self.classes_) == 2 else len(self.classes_)
        places, known = placed(labels, self.classes_)
        targets = self._loss(scores).encode(places, len(self.classes_))
        weights = self._trained(table, known, targets, scores)
        self.coef_, self.intercept_ = weights[:-1].T, weights[-1]
        return self

    def public_classes(self, labels: Array) -> Array:
        """The classes that were given, in order; those of the labels only where they are declared public."""
        given = _given(self, "classes")
        if isinstance(given, str):
            if given != OBSERVED:
                raise InvalidParameter(type(self).__name__, f"classes= a list, or {OBSERVED!r}", classes=given)
            if labels.dtype.kind == "f":
                assert_all_finite(labels, input_name="y")
            check_classification_targets(labels)
            given = labels
        found = self._sorted(given)
        if not comparable(labels, found):
            raise InvalidParameter(type(self).__name__, "labels of the type of `classes`", dtype=str(labels.dtype))
        return found

    def _sorted(self, given: Any) -> Array:
        who, rule = type(self).__name__, "a list of labels of one type, none of them missing, as its classes"
        try:
            labels = np.asarray(given if issubclass(type(given), np.ndarray) else list(given))
            found = np.unique(labels)
        except (TypeError, ValueError):
            raise InvalidParameter(who, rule, classes=str(self.classes)) from None
        if labels.ndim != 1 or (found.dtype.kind == "f" and np.isnan(found).any()):
            raise InvalidParameter(who, rule, classes=str(self.classes))
        if len(found) < 2:
            raise InvalidParameter(who, "at least two classes (one class is no question)", classes=1)
        return found

    def decision_function(self, X: Table) -> Array:
        """The score of the second of two classes, or one score per class."""
        scores = self._scores(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X: Table) -> Array:
        """The class with the highest score."""
        return highest(self.decision_function(X), self.classes_)


def highest(scores: Array, classes: Array) -> Array:
    """The class with the highest score; of two classes the one score is that of the second."""
    return classes[(scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)]


class LogisticRegression(PrivateClassifier):
    """Logistic regression with (epsilon, delta)-differential privacy for every record.

    `data_norm` bounds the norm of a row (longer rows are scaled down to it) and `classes` are the labels: both are
    public knowledge, not read from the data. `examples` is a public number of records, which need not be exact.

    >>> rows, labels = np.repeat([[1.0, 0.1], [0.1, 1.0]], 500, axis=0), np.repeat([0, 1], 500)
    >>> model = LogisticRegression(data_norm=1.5, classes=[0, 1], epsilon=1.0, delta=1e-6).fit(rows, labels)
    >>> model.score(rows, labels)
    1.0
    >>> model.guarantee_.epsilon(delta=1e-6).upper
    0.99999...
    """

    def _loss(self, scores: int) -> LinearLoss:
        return Logistic(scores)

    def predict_proba(self, X: Table) -> Array:
        """Probabilities of the classes."""
        scores = self.decision_function(X)
        if scores.ndim == 1:
            second = special.expit(scores)
            return np.column_stack([1 - second, second])
        if self.chosen_method().joint:
            return special.softmax(scores, axis=1)
        each = special.expit(scores)
        return each / each.sum(axis=1, keepdims=True)

    def predict_log_proba(self, X: Table) -> Array:
        """Logarithms of the probabilities of the classes."""
        return np.log(np.maximum(self.predict_proba(X), 1e-300))


class LinearSVC(PrivateClassifier):
    """A linear support vector machine with privacy: the hinge with a rounded corner, one class against the others.

    >>> rows, labels = np.repeat([[1.0, 0.1], [0.1, 1.0]], 500, axis=0), np.repeat([0, 1], 500)
    >>> LinearSVC(data_norm=1.5, classes=[0, 1], epsilon=1.0, delta=1e-6).fit(rows, labels).score(rows, labels)
    1.0
    """

    def _loss(self, scores: int) -> LinearLoss:
        return SmoothHinge(scores)


class LinearRegression(RegressorMixin, PrivateLinearModel):
    """Ridge regression with privacy, for targets within public `target_bounds` (others are moved to the nearer bound).

    >>> rows = np.repeat([[1.0, 0.0], [0.0, 1.0]], 2000, axis=0)
    >>> model = LinearRegression(data_norm=1, target_bounds=(0, 10), epsilon=2.0, delta=1e-6, examples=4000)
    >>> bool(model.fit(rows, np.repeat([2.0, 7.0], 2000)).score(rows, np.repeat([2.0, 7.0], 2000)) > 0.9)
    True
    """

    def __init__(
        self,
        *,
        data_norm: float | None = None,
        target_bounds: tuple[float, float] | None = None,
        epsilon: float = 1.0,
        delta: float = 1e-5,
        method: Method | MethodName = "gradient",
        examples: int | None = None,
        regularization: float | None = None,
        private: bool = True,
        source: Source | None = None,
        ledger: Account | None = None,
    ) -> None:
        self.data_norm = data_norm
        self.target_bounds = target_bounds
        self.epsilon = epsilon
        self.delta = delta
        self.method = method
        self.examples = examples
        self.regularization = regularization
        self.private = private
        self.source = source
        self.ledger = ledger

    def fit(self, X: Table, y: Table, **refused: object) -> Self:
        """Train on records (X, y); what is not a number has no influence and raises nothing."""
        refuse_weights("LinearRegression", refused)
        low, high = self._bounds()
        table, given = self._checked(X, y, numbers=True)
        usable = ~np.isnan(given)
        middle, half = (low + high) / 2, (high - low) / 2
        kept = np.clip(given, low, high) if self.private else given
        targets = (np.where(usable, kept, middle) - middle) / half
        weights = self._trained(table, usable, targets.reshape(-1, 1), 1) * half
        self.coef_, self.intercept_ = weights[:-1, 0], float(weights[-1, 0] + middle)
        return self

    def _bounds(self) -> tuple[float, float]:
        rule = "target_bounds=(low, high), two finite public numbers with low < high"
        given: Any = _given(self, "target_bounds")
        if not issubclass(type(given), (tuple, list)) or len(given) != 2:
            raise InvalidParameter("LinearRegression", rule, target_bounds=given)
        low, high = (number("LinearRegression", rule, -1e300, 1e300, target_bounds=end) for end in given)
        if not low < high:
            raise InvalidParameter("LinearRegression", rule, target_bounds=given)
        return low, high

    def _loss(self, scores: int) -> LinearLoss:
        return Squared(scores)

    def predict(self, X: Table) -> Array:
        """Predicted targets."""
        return self._scores(X)[:, 0]


def _said(value: Any) -> str:
    """A parameter in words; of an array the hash of what it holds, as it may be long."""
    listed = value.tolist() if hasattr(value, "tolist") else value
    text = repr(listed)
    return text if len(text) <= 200 else f"sha256 {hashlib.sha256(text.encode()).hexdigest()}"


def _checked_choice(who: str, private: object) -> bool:
    if not isinstance(private, bool):
        raise InvalidParameter(who, "private=True or False", private=private)
    return private


def _given(model: PrivateLinearModel, name: str) -> Any:
    value = getattr(model, name)
    if value is None:
        rule = f"{name}=: public knowledge, which must not be read from the data"
        raise InvalidParameter(type(model).__name__, rule, **{name: None})
    return value
