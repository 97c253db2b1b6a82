"""Plans: the expected error of a release with and without a sample, before anybody looks at private data.

`mean`, `median` and `quantile` compare noise for all records with a sample, which may spend a larger epsilon,
at every rate and with every mechanism; `table` does so for all columns of a grouped query (counts, sums, variances,
quantiles, top values); `training` compares batch sizes and epochs of DP-SGD, `outlook` shows what one training plan
means. No function here takes data: a model of them is a public distribution, a `hush.PublicPilot`, or nothing, which
means the worst case.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import fields

from hush.checks import number
from hush.curves.relation import Relation
from hush.questions.planning import cost, of_mean, of_median
from hush.questions.planning.cost import Cost
from hush.questions.planning.model import Mixture, Model, read_model
from hush.questions.planning.of_designs import designs
from hush.questions.planning.of_search import search
from hush.questions.planning.result import Plan, PlanRow
from hush.questions.planning.table_plan import GroupedQuery, TablePlan, TablePlanRow, on_sample, table_plan
from hush.questions.planning.target import Setting, Target, target
from hush.questions.planning.training.batch_sizes import TrainingPlans, training_plans
from hush.questions.planning.training.run_outlook import RunOutlook, run_outlook
from hush.questions.planning.training.train_plan import TrainPlan

__all__ = [
    "Cost",
    "Mixture",
    "Plan",
    "PlanRow",
    "TablePlan",
    "TablePlanRow",
    "designs",
    "mean",
    "median",
    "on_sample",
    "outlook",
    "quantile",
    "search",
    "table",
    "training",
]


def mean(
    *,
    population: int,
    bounds: tuple[float, float],
    epsilon: float,
    delta: float = 0.0,
    model: object = None,
    relation: Relation = Relation.REPLACE,
    rates: Iterable[float] | None = None,
    queries: int = 1,
    cost: Cost = cost.MEAN,
) -> Plan:
    """Expected error of a private mean, with Laplace noise and, where delta > 0, with Gaussian noise.

    REPLACE plans a sample without replacement of a population of public size; ADD_REMOVE plans Poisson sampling, the
    sum divided by a public number. With `queries`, that many such releases share the budget.

    >>> from scipy import stats
    >>> found = mean(population=10_001, bounds=(0, 2000), epsilon=0.5, model=stats.lognorm(0.5, scale=148.4))
    >>> found.sample, found.best.error
    (False, 0.565...)
    """
    given = target(
        "plan.mean",
        population=population,
        bounds=bounds,
        epsilon=epsilon,
        delta=delta,
        relation=relation,
        rates=rates,
        queries=queries,
        least=1,
    )
    known = read_model("plan.mean", model, given.bounds)
    return _plan("mean", given, known, of_mean.rows(given, known, cost))


def median(
    *,
    population: int,
    bounds: tuple[float, float],
    epsilon: float,
    delta: float = 0.0,
    model: object = None,
    relation: Relation = Relation.REPLACE,
    rates: Iterable[float] | None = None,
    queries: int = 1,
    cost: Cost = cost.MEDIAN,
) -> Plan:
    """Expected error of a private median, by the exponential mechanism and by noise from the smooth sensitivity.

    Poisson sampling (ADD_REMOVE) has the exponential mechanism alone: smooth sensitivity needs a fixed size. Without
    a model half of the records lie at each bound, where every mechanism errs by a large part of the range.

    >>> from scipy import stats
    >>> found = median(population=10_001, bounds=(0, 2000), epsilon=0.1, model=stats.lognorm(0.5, scale=148.4))
    >>> found.sample, found.best.mechanism
    (False, 'exponential mechanism')
    """
    return quantile(
        p=0.5,
        population=population,
        bounds=bounds,
        epsilon=epsilon,
        delta=delta,
        model=model,
        relation=relation,
        rates=rates,
        queries=queries,
        cost=cost,
    )


def quantile(
    *,
    p: float,
    population: int,
    bounds: tuple[float, float],
    epsilon: float,
    delta: float = 0.0,
    model: object = None,
    relation: Relation = Relation.REPLACE,
    rates: Iterable[float] | None = None,
    queries: int = 1,
    cost: Cost = cost.MEDIAN,
) -> Plan:
    """Expected error of a private p-quantile: `median` says by which mechanisms, and what is not known."""
    share = number("plan.quantile", "0 < p < 1", 0.0, 1.0, low_open=True, high_open=True, p=p)
    name = "median" if share == 0.5 else f"{share:g}-quantile"
    given = target(
        f"plan.{'median' if share == 0.5 else 'quantile'}",
        population=population,
        bounds=bounds,
        epsilon=epsilon,
        delta=delta,
        relation=relation,
        rates=rates,
        queries=queries,
        least=2,
    )
    known = read_model(given.who, model, given.bounds)
    return _plan(name, given, known, of_median.rows(given, known, share, cost))


def table(
    query: GroupedQuery, *, sizes: float | Sequence[float] = 1000, rates: Iterable[float] | None = None
) -> TablePlan:
    """Expected error of every column of a grouped query (`hush.releases.GroupBy`), on all records and on samples.

    `sizes` is how many records a group has, or a list with one number per group: public guesses. The errors are those
    of noise, and of a sample for the worst values within the bounds (of quantiles: values spread evenly over them). A
    query without keys is a table of one group, so this plans a count, a sum or a variance of all records too.

    >>> from hush import releases
    >>> asked = {"people": releases.Rows(), "age": releases.Stats("age", bounds=(0, 100), variance=True)}
    >>> found = table(releases.GroupBy(keys={}, ask=asked, epsilon=1.0), sizes=10_000, rates=[0.1])
    >>> found.sample, {name: round(error, 2) for name, error in found.best.columns.items()}
    (False, {'people': 2.83, 'age_variance': 1.41})
    """
    return table_plan(query, sizes, rates)


def training(
    *, examples: int, batch_sizes: Iterable[int], epochs: Iterable[float], epsilon: float, delta: float
) -> TrainingPlans:
    """Noise and compute of DP-SGD for every batch size and number of epochs, at one (epsilon, delta).

    >>> found = training(examples=60_000, batch_sizes=[256, 1024], epochs=[10], epsilon=2.0, delta=1e-5)
    >>> [round(row.noise_multiplier, 3) for row in found.rows]
    [0.8..., 1.2...]
    """
    return training_plans(examples=examples, batch_sizes=batch_sizes, epochs=epochs, epsilon=epsilon, delta=delta)


def outlook(run: TrainPlan) -> RunOutlook:
    """What a training plan means: signal to noise, epsilon against steps, and what larger batches would buy.

    >>> import hush
    >>> plan = hush.train_plan(examples=10_000, batch_size=100, epochs=3, noise_multiplier=1.0, delta=1e-5)
    >>> found = outlook(plan)
    >>> [part.steps for part in found.parts], found.larger[1].batch_size
    ([15, 30, 75, 150, 225, 300], 200)
    >>> found.larger[0].signal_to_noise
    100.0
    """
    return run_outlook(run)


def _plan(statistic: str, given: Target, model: Model | None, rows: list[PlanRow]) -> Plan:
    words = "worst case" if model is None else f"model: {model.words}"
    notes = ()
    if model is not None and model.outside > 1e-4:
        notes = (
            f"{100 * model.outside:.2g}% of the model lies outside the bounds; errors are for the values moved to "
            "them, and that move is a further error.",
        )
    setting = {field.name: getattr(given, field.name) for field in fields(Setting)}
    return Plan(**setting, statistic=statistic, model=words, rows=tuple(rows), notes=notes)
