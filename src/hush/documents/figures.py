"""The figures of the documentation, each a chart made of numbers that are checked by tests."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from hush.curves.renyi.pearson_vajda import chi
from hush.documents.sampled_noise import overall, renyi_curves
from hush.mechanisms.leaves.gaussian import Gaussian
from hush.mechanisms.leaves.laplace import Laplace
from hush.numerics.prefix_sums.spread_uses import worst_pattern
from hush.numerics.prefix_sums.tree_errors import tree_products, tree_rmse
from hush.questions.calibrate import calibrate
from hush.questions.charts.drawing import Axis, Chart, ChartLine, Picture, Stroke
from hush.questions.compositions import compositions
from hush.questions.planning.free_sampling import noise_limit, noise_ratio
from hush.questions.planning.training.train_plan import correlated_plan
from hush.questions.schemes_compared import compare_schemes

SETTING = "Laplace noise at equal ε, Poisson sampling at rate p\nε_p = log(1 + (exp(ε) − 1)/p)"
RATIO = Axis("p·ε_p / ε (1: sampling is free)", domain=(0.0, 1.05))
RATES = np.geomspace(1e-4, 1.0, 81).tolist()


def _line(name: str, places: Sequence[float], value: Callable[[float], float]) -> ChartLine:
    return ChartLine(name, tuple(places), tuple(map(value, places)))


def ratio_against_rate() -> Chart:
    """The ratio against the sampling rate, for some ε."""
    lines = [_line(f"ε = {e:g}", RATES, lambda rate, e=e: noise_ratio(rate, e)) for e in (0.01, 0.1, 1.0, 2.0)]
    said = f"{SETTING}; add or remove one record"
    return Chart("What sampling keeps, by rate", said, Axis("sampling rate p", log=True), RATIO, tuple(lines))


def ratio_against_epsilon() -> Chart:
    """The ratio against ε, for some rates."""
    epsilons = np.geomspace(1e-4, 10.0, 81).tolist()
    lines = [_line(f"p = {p:g}", epsilons, partial(noise_ratio, p)) for p in (0.5, 0.1, 0.01, 0.001)]
    said = f"{SETTING}; add or remove one record"
    return Chart("What sampling keeps, by ε", said, Axis("ε, nats", log=True), RATIO, tuple(lines))


def ratio_for_proportional_epsilon() -> Chart:
    """The ratio against the rate where ε = c p, with the limits log(1 + c)/c."""
    lines = [
        _line(f"c = {c:g}, limit {math.log1p(c) / c:.3f}", RATES, lambda rate, c=c: noise_ratio(rate, c * rate))
        for c in (0.2, 0.5, 2.0, 5.0)
    ]
    said = "ε = c·p, Poisson sampling at rate p; as p goes to 0 it falls to log(1 + c)/c"
    return Chart("What sampling keeps where ε = c·p", said, Axis("sampling rate p", log=True), RATIO, tuple(lines))


def noise_factor() -> Chart:
    """c/log(1 + c): how much more noise sampling costs at most where ε ≤ c p."""
    constants = np.linspace(0.0, 10.0, 101).tolist()
    lines = (_line("c / log(1 + c)", constants, noise_limit),)
    said = "Laplace noise on a Poisson sample of rate p, against no sample, at equal ε ≤ c·p"
    x, y = Axis("c = ε / p"), Axis("noise, times that without a sample", domain=(0.0, 4.5))
    return Chart("How much more noise sampling costs", said, x, y, lines)


def poisson_divergence(order: int, mean: float, base: float) -> float:
    """χ^order of the Poisson distribution of one mean from that of another: E_Q (P/Q − 1)^order.

    Nielsen, Nock 2014, who have a closed form.

    >>> poisson_divergence(2, 0.5, 0.3) - math.expm1(0.2**2 / 0.3)
    0.0...
    """
    outcomes = np.arange(100)
    log_factorials = np.array([math.lgamma(n + 1) for n in outcomes.tolist()])
    p, q = (np.exp(outcomes * math.log(rate) - rate - log_factorials) for rate in (mean, base))
    return chi(p, q, order)


def negative_divergence() -> Chart:
    """Odd χ-divergences of Poisson distributions below zero: where the exact sampling theorem does not apply."""
    base = 0.5
    means = np.linspace(0.01, 0.65, 65).tolist()
    lines = []
    for order in (3, 5, 7):
        values = [poisson_divergence(order, mean, base) for mean in means]
        roots = tuple(math.copysign(abs(value) ** (1 / order), value) for value in values)
        lines.append(ChartLine(f"k = {order}", tuple(means), roots))
    lines.append(ChartLine("zero", (means[0], means[-1]), (0.0, 0.0), stroke=Stroke.DOTTED))
    said = f"P = Poisson(λ), Q = Poisson({base:g}); below 0 the theorem without the factor 3 does not apply"
    y = Axis("k-th root of E_Q (P/Q − 1)^k, with its sign")
    return Chart("Odd χ-divergences can be negative", said, Axis("mean λ of P"), y, tuple(lines))


def compared() -> Chart:
    """Every composition theorem on the same steps."""
    steps = Laplace(10.0).then(Gaussian(20.0).repeat(9))
    return compositions(steps, times=np.rint(np.geomspace(1, 10_000, 9)).tolist(), delta=1e-6).chart()


CORRELATED = {"examples": 100_000, "batch_size": 1000, "epochs": 10, "delta": 1e-6}
"""A thousand steps at rate 0.01, ten epochs."""


def correlated_noise() -> Chart:
    """Error of prefix sums against bands at equal (epsilon, delta); and that of a tree, without sampling."""
    lines, steps, epochs = [], 1000, 10
    tree = tree_rmse(steps) / math.sqrt(11.0) * math.sqrt(worst_pattern(tree_products(10), steps // epochs, epochs))
    for epsilon in (2.0, 8.0):
        errors = correlated_plan(epsilon=epsilon, **CORRELATED).errors
        bands = sorted(errors)
        lines.append(ChartLine(f"ε = {epsilon:g}", tuple(map(float, bands)), tuple(errors[b] for b in bands)))
        noise = float(calibrate(Gaussian, over=(0.01, 1e3), epsilon=epsilon, delta=1e-6).value)
        ends = (float(bands[0]), float(bands[-1]))
        lines.append(ChartLine(f"ε = {epsilon:g}, a tree", ends, (tree * noise,) * 2, stroke=Stroke.DASHED))
    said = "1000 steps at rate 0.01, δ = 1e-06, cyclic Poisson; one band is DP-SGD. Tree: decoded, uses 100 steps apart"
    x, y = Axis("bands", log=True), Axis("root mean square error of prefix sums, clipping norms", log=True)
    return Chart("Noise of prefix sums, by how far it is correlated", said, x, y, tuple(lines))


FIGURES: dict[str, Callable[[], Picture]] = {
    "renyi-gaussian": lambda: renyi_curves(Gaussian(5.0)),
    "renyi-laplace": lambda: renyi_curves(Laplace(0.5)),
    "overall-gaussian-5": lambda: overall(Gaussian(5.0)),
    "overall-gaussian-0.5": lambda: overall(Gaussian(0.5)),
    "overall-laplace-2": lambda: overall(Laplace(2.0)),
    "overall-laplace-0.5": lambda: overall(Laplace(0.5)),
    "compositions": compared,
    "schemes": lambda: compare_schemes(noise_multiplier=1.0, steps=1000, delta=1e-6).chart(),
    "ratio-against-rate": ratio_against_rate,
    "ratio-against-epsilon": ratio_against_epsilon,
    "ratio-for-proportional-epsilon": ratio_for_proportional_epsilon,
    "noise-factor": noise_factor,
    "negative-divergence": negative_divergence,
    "correlated-noise": correlated_noise,
}
"""Every figure, by the name of its file."""
