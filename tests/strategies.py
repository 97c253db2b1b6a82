"""Hypothesis: random mechanism expressions over everything that hush exports.

Ranges are moderate, so that one question takes milliseconds; extreme parameters are for tests/mechanisms/test_fuzz.py.
An expression is written by a seeded `Random` that hypothesis draws, not choice by choice: twenty examples are then
twenty different ones, where hypothesis alone prefers small leaves and neighbours of what it tried before.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from random import Random

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st

import hush
from hush import Mechanism, Relation
from hush.mechanisms.scheme import Scheme

LAWS = settings(
    deadline=None,
    derandomize=True,
    database=None,
    max_examples=10,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
)
"""Few examples, always the same ones: a red run can be repeated. No shrinking: it would take minutes."""

DELTAS = st.sampled_from([1e-9, 1e-6, 1e-3, 0.05])
EPSILONS = st.sampled_from([0.0, 0.01, 0.1, 0.3, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0])
RATES = st.sampled_from([0.0, 0.001, 0.01, 0.03, 0.1, 0.25, 0.5, 0.9, 1.0])

SELDOM = 0.1
"""Share of combinators that are composed through tables, which takes a second where others take milliseconds."""

Writer = Callable[[Random], Mechanism]


def number(random: Random, low: float, high: float) -> float:
    """Log-uniform, four digits: failures are easy to type."""
    return float(f"{low * (high / low) ** random.random():.4g}")


def rate(random: Random) -> float:
    """A sampling rate, its ends included."""
    return random.choice([number(random, 1e-3, 1.0), number(random, 1e-3, 1.0), 0.0, 0.01, 0.5, 1.0])


def allocation(random: Random) -> hush.Allocation:
    """One step of few or of many, in one round or two."""
    times = random.choice([1, 1, 1, 2])
    return hush.Allocation(steps=times * random.choice([2, 5, 30, 400]), times=times)


def spaced(random: Random) -> Scheme:
    """Batches for noise that may be correlated."""
    parts = random.choice([1, 2, 5])
    return random.choice(
        [
            hush.CyclicPoisson(rate=rate(random), parts=parts),
            hush.CyclicAllocation(steps=parts * random.choice([2, 30]), parts=parts),
            hush.BallsInBins(bins=parts * random.choice([2, 30]), epochs=random.choice([1, 4]), bands=parts),
        ]
    )


def probabilities(random: Random, size: int) -> list[float]:
    """So many probabilities; all but the first may be zero."""
    weights = [random.randint(1, 20), *(random.choice([0, 1, 2, 5, 20]) for _ in range(size - 1))]
    return [w / sum(weights) for w in weights]


def table(random: Random, relation: Relation) -> Mechanism:
    """A pair supplied as probabilities."""
    size = random.randint(2, 4)
    return hush.FromPair.of(probabilities(random, size), probabilities(random, size), relation=relation)


def stated_curve(random: Random, relation: Relation) -> Mechanism:
    """A Rényi curve at a few orders."""
    orders = random.sample([1.5, 2.0, 4.0, 8.0, 32.0, 128.0], random.randint(1, 4))
    values = sorted(number(random, 1e-3, 2.0) for _ in orders)
    return hush.RenyiDP(points=list(zip(sorted(orders), values, strict=True)), relation=relation)


def stated_profile(random: Random, relation: Relation) -> Mechanism:
    """Several (epsilon, delta) points; they need not lie on one curve."""
    points = [(number(random, 0.05, 2.0), number(random, 1e-9, 0.05)) for _ in range(random.randint(2, 4))]
    return hush.ApproxDP(points=points, relation=relation)


def unknown_keys(random: Random) -> Mechanism:
    """Groups whose keys only the data know, shown above a threshold."""
    counts = random.choice([hush.Gaussian(number(random, 1.0, 8.0)), hush.Laplace(number(random, 1.0, 8.0))])
    return hush.UnknownKeys(counts, random.choice([1, 2, 3]), random.choice([0.0, 1e-8, 1e-4, 0.1]))


def posterior(random: Random) -> Mechanism:
    """A posterior draw of a normal mean."""
    return hush.GaussianPosterior(random.randint(1, 50), number(random, 0.1, 10.0), number(random, 0.5, 5.0), 1.0)


def pair_leaf(random: Random, relation: Relation = Relation.ADD_REMOVE) -> Mechanism:
    """A mechanism with a dominating pair."""
    options: list[Writer] = [
        lambda r: hush.Gaussian(number(r, 0.5, 8.0), relation),
        lambda r: hush.Laplace(number(r, 0.4, 8.0), relation),
        lambda r: hush.DiscreteGaussian(number(r, 0.5, 8.0), r.randint(1, 2), relation),
        lambda r: hush.DiscreteLaplace(number(r, 0.4, 8.0), r.randint(1, 3), relation),
        lambda r: hush.RandomizedResponse(epsilon=number(r, 0.05, 3.0), choices=r.randint(2, 5), relation=relation),
        lambda r: hush.Exponential(number(r, 0.05, 3.0), relation),
        lambda r: hush.ReportNoisyMax(number(r, 0.5, 20.0), relation=relation),
        lambda r: hush.Skellam(number(r, 1.0, 50.0), r.randint(1, 2), relation),
        lambda r: hush.PureDP(number(r, 0.01, 2.0), relation),
        lambda r: hush.ApproxDP(number(r, 0.01, 2.0), r.choice([0.0, 1e-8, 1e-4]), relation=relation),
        lambda r: hush.GaussianDP(number(r, 0.1, 2.0), relation),
        lambda r: stated_profile(r, relation),
        lambda r: table(r, relation),
        lambda r: iteration(r, relation),
    ]
    if relation is Relation.ADD_REMOVE:
        options += [unknown_keys, sampled_descent]
    if relation is Relation.REPLACE:
        options += [posterior, descent, local, lambda r: local(r).shuffled(people=r.choice([1, 2, 7, 300, 20_000]))]
    return random.choice(options)(random)


def loss(random: Random) -> hush.ConvexLoss:
    """Conditions of a loss: convex or strongly so, its sensitivity or its Lipschitz constant."""
    smoothness = number(random, 0.5, 4.0)
    curved = random.choice([0.0, smoothness * random.random()])
    bound = "sensitivity" if curved or random.random() < 0.5 else "lipschitz"
    return hush.ConvexLoss(smoothness=smoothness, strong_convexity=curved, **{bound: number(random, 0.1, 2.0)})


def descent(random: Random) -> Mechanism:
    """A gradient descent of which the last iterate is released."""
    stated = loss(random)
    shared = {
        "loss": stated,
        "noise": number(random, 0.5, 5.0),
        "step_size": random.uniform(0.05, 2) / stated.smoothness,
    }
    wide = {"diameter": random.choice([math.inf, number(random, 0.1, 10.0)])}
    options: list[Writer] = [
        lambda r: hush.NoisyGradientDescent(**shared, **wide, records=r.randint(1, 9), iterations=r.randint(1, 500)),
        lambda r: hush.CyclicGradientDescent(
            **shared, **wide, batches=r.randint(1, 20), batch_size=r.randint(3, 9), epochs=r.randint(1, 50)
        ),
        lambda r: hush.OnePassGradientDescent(**shared, records=r.randint(1, 50)),
        lambda r: hush.OnePassGradientDescent(**shared, records=r.randint(1, 300)).stopped_at_random(),
    ]
    return random.choice(options)(random)


def sampled_descent(random: Random) -> Mechanism:
    """A gradient descent on capped samples of which the last iterate is released."""
    population, smoothness, noise = random.randint(2, 30), number(random, 0.5, 4.0), number(random, 0.5, 5.0)
    cap, strength = random.randint(1, population), random.choice([0.0, number(random, 0.01, 1.0)])
    return hush.SampledGradientDescent(
        loss=hush.ConvexLoss(smoothness=smoothness, strong_convexity=0, lipschitz=number(random, 0.1, 2.0)),
        scheme=hush.CappedPoisson(rate=random.choice([0.1, 0.5]), cap=cap, population=population),
        batch_size=4,
        noise=noise,
        step_size=random.uniform(0.05, 1.9) / (smoothness * cap / 4 + strength),
        iterations=random.randint(1, 300),
        diameter=number(random, 0.1, 10.0),
        regularization=strength,
    )


def iteration(random: Random, relation: Relation) -> Mechanism:
    """A contractive noisy iteration of any schedule."""
    steps = random.randint(1, 6)
    return hush.NoisyIteration(
        sensitivities=[random.choice([0.0, number(random, 0.05, 1.0)]) for _ in range(steps)],
        deviations=[number(random, 0.5, 4.0) for _ in range(steps)],
        contractions=[random.choice([0.0, 1.0, random.random()]) for _ in range(steps)],
        relation=relation,
    )


def local(random: Random) -> hush.LocalRandomizer:
    """What one person runs before anything is sent."""
    epsilon, choices = number(random, 0.1, 4.0), random.randint(2, 9)
    return random.choice(
        [
            hush.LocalDP(epsilon),
            hush.KaryResponse(epsilon=epsilon, choices=choices),
            hush.UnaryEncoding(epsilon=epsilon, choices=choices, optimised=random.random() < 0.5),
            hush.LaplaceReport(number(random, 0.3, 8.0)),
            hush.GaussianReport(number(random, 0.5, 8.0)),
        ]
    )


def curve_leaf(random: Random, relation: Relation = Relation.ADD_REMOVE) -> Mechanism:
    """A mechanism known by a Rényi curve alone."""
    options: list[Writer] = [
        lambda r: hush.ZCDP(number(r, 1e-3, 1.0), relation),
        lambda r: hush.TCDP(number(r, 1e-3, 0.5), number(r, 2.0, 100.0), relation),
        lambda r: stated_curve(r, relation),
    ]
    if relation is Relation.REPLACE:
        options.append(lambda r: hush.BetaPosterior(r.randint(1, 30), number(r, 1.0, 50.0), number(r, 1.0, 50.0)))
    return random.choice(options)(random)


def leaf(random: Random, relation: Relation = Relation.ADD_REMOVE) -> Mechanism:
    """Any mechanism that stands for itself; one in five is known by a curve alone."""
    return (curve_leaf if random.random() < 0.2 else pair_leaf)(random, relation)


def scheme(random: Random) -> Scheme:
    """A sampling scheme; more often than not Poisson, which covers most."""
    population = random.randint(2, 1000)
    options: list[Callable[[], Scheme]] = [
        lambda: hush.UnequalPoisson([rate(random) for _ in range(random.randint(1, 3))]),
        lambda: hush.WithoutReplacement(random.randint(0, population), population),
        lambda: hush.WithReplacement(random.randint(0, population), population),
        lambda: hush.ShuffledBatches(random.randint(1, 50)),
        lambda: hush.CappedPoisson(rate(random), random.randint(0, 40), random.choice([None, population])),
        lambda: allocation(random),
        lambda: spaced(random),
        lambda: hush.Clusters(rate(random), [random.randint(1, 4) for _ in range(random.randint(1, 3))]),
        lambda: hush.TwoStage(rate(random), [random.randint(1, 4)], rate(random)),
        lambda: hush.Stratified([random.randint(0, 3), 1], [random.randint(3, 50), 20]),
        lambda: hush.Systematic(random.randint(1, population), population),
        lambda: hush.Revealed(hush.Poisson(rate=rate(random))),
        lambda: hush.Revealed(hush.WithoutReplacement(random.randint(0, population), population)),
    ]
    return hush.Poisson(rate=rate(random)) if random.random() < 0.5 else random.choice(options)()


def sampled(random: Random, inner: Mechanism) -> Mechanism:
    """The mechanism on a sample; where it was stated for a number of records, a sample of that size."""
    numbers = sorted(inner.scope.populations)
    chosen = scheme(random)
    if len(numbers) == 1:
        size = numbers[0]
        kind = random.choice([hush.WithoutReplacement, hush.WithReplacement])
        chosen = random.choice([kind(size, size * random.randint(1, 30)), hush.ShuffledBatches(random.randint(1, 50))])
    elif numbers:
        chosen = hush.ShuffledBatches(random.randint(1, 50))
    if inner.scope.no_secret_sample and chosen.one_sample | isinstance(chosen, hush.ShuffledBatches):
        if numbers and isinstance(chosen, hush.ShuffledBatches):  # known batches of no fixed number of records
            return inner
        chosen = hush.Revealed(chosen)
    try:
        return inner.on(chosen)
    except hush.NotCovered:  # it is refused when it is written down
        return inner


def runs(random: Random) -> object:
    """How many runs there are of which the best is released."""
    gamma = random.choice([0.01, 0.1, 0.5, 0.99])
    return random.choice(
        [
            hush.GeometricRuns(gamma),
            hush.NegativeBinomialRuns(gamma, random.choice([-0.5, 0.0, 0.5, 2.0])),
            hush.PoissonRuns(random.choice([0.1, 1.0, 5.0, 50.0])),
        ]
    )


def users(random: Random, inner: Mechanism) -> Mechanism:
    """Users who add a random number of records."""
    if random.random() < 0.3:
        return hush.RandomContributions.poisson(inner, mean=number(random, 0.01, 2.0))
    return hush.RandomContributions(inner, probabilities(random, random.randint(1, 4)))


def expression(random: Random, relation: Relation, depth: int) -> Mechanism:
    """Anything that can be written down, so many combinators deep; some of it is covered by no theorem."""
    if depth == 0:
        return leaf(random, relation)
    side = "beside" if relation is Relation.ADD_REMOVE else "under"
    verb = random.choice(["on", "repeat", "then", "group", side])
    if random.random() < SELDOM:
        verb = random.choice(["users", "best", "either" if relation is Relation.ADD_REMOVE else "best"])
    if verb == "either":
        first, second = (expression(random, relation, depth - 1) for _ in range(2))
        try:
            return hush.Either(first, second, random.choice([0.1, 0.5, 0.9]))
        except hush.NotCovered:
            return first
    if verb == "under":
        return expression(random, Relation.ADD_REMOVE, depth - 1).under(Relation.REPLACE)
    if verb == "best":
        return expression(random, relation, depth - 1).best_of(runs=runs(random))
    if verb == "users":
        return users(random, expression(random, relation, depth - 1))
    inner = expression(random, relation, depth - 1)
    if verb == "on":
        return sampled(random, inner)
    if verb == "repeat":
        return inner.repeat(random.randint(0, 12))
    if verb == "group":
        return inner.group(random.randint(1, 3))
    other = expression(random, relation, random.randint(0, depth - 1))
    return inner.then(other) if verb == "then" else inner.beside(other)


def plain_expression(random: Random, depth: int) -> Mechanism:
    """Samples of leaves, repeated (depth 1), in sequence (depth 2): both engines can compose them without a table."""
    step = pair_leaf(random)
    if random.random() < 0.5 and not step.scope.populations:
        step = step.on(hush.Poisson(rate=rate(random)))
    if depth >= 1:
        step = step.repeat(random.choice([1, 2, 5, 12, 100, 1000]))
    return step.then(plain_expression(random, 1)) if depth == 2 and random.random() < 0.5 else step


def is_covered(mechanism: Mechanism) -> bool:
    """Whether a theorem covers every direction of the mechanism's relation."""
    try:
        for _, neighbours in mechanism.directions():
            mechanism.evidence(neighbours).require()
    except hush.NotCovered:
        return False
    return True


# -- as strategies -----------------------------------------------------------------------------------------------


@st.composite
def written(draw: st.DrawFn, writer: Writer) -> Mechanism:
    """What the writer makes of a seeded Random; a failure shows the mechanism, not the seed."""
    return writer(draw(st.randoms(use_true_random=True)))


def leaves(relation: Relation = Relation.ADD_REMOVE) -> st.SearchStrategy[Mechanism]:
    """Any mechanism that stands for itself."""
    return written(lambda r: leaf(r, relation))


def add_remove(depth: int = 2) -> st.SearchStrategy[Mechanism]:
    """Expressions under ADD_REMOVE up to so many combinators deep."""
    return written(lambda r: expression(r, Relation.ADD_REMOVE, r.randint(0, depth)))


def any_expression(depth: int = 3) -> st.SearchStrategy[Mechanism]:
    """Expressions under either relation, up to so many combinators deep."""
    relations = [Relation.ADD_REMOVE, Relation.ADD_REMOVE, Relation.REPLACE]
    return written(lambda r: expression(r, r.choice(relations), r.randint(0, depth)))


def covered(depth: int = 2) -> st.SearchStrategy[Mechanism]:
    """Expressions that have an answer."""
    return any_expression(depth).filter(is_covered)


def plain(depth: int = 2) -> st.SearchStrategy[Mechanism]:
    """Expressions for the engines alone, under ADD_REMOVE."""
    return written(lambda r: plain_expression(r, depth))


def parts_of(value: object) -> Iterator[object]:
    """A value and everything inside it: mechanisms, schemes, tuples of them."""
    yield value
    if isinstance(value, tuple):
        for item in value:
            yield from parts_of(item)
    elif is_dataclass(value):
        for field in fields(value):
            yield from parts_of(getattr(value, field.name))
