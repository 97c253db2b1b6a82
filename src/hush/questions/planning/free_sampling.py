"""When sampling is free: Steinke's rules, for samples of rate p that must be epsilon-DP in the end.

Steinke, Limits of Privacy Amplification by Subsampling, DifferentialPrivacy.org. All of it holds for Poisson sampling
where records are added or removed, and for samples of fixed size where they are replaced: the lemma is the same.
"""

from __future__ import annotations

import math

from hush.curves.renyi.convert import amplify_inverse
from hush.numerics.roots import decreasing_root


def noise_ratio(rate: float, epsilon: float) -> float:
    """p ε_p/ε: how much of the noise's advantage a sample of rate p keeps, at equal privacy ε.

    Equation 5: ε_p = log(1 + (e^ε − 1)/p) is what the sampled mechanism may spend; its noise is 1/ratio times that of
    the unsampled one.

    >>> noise_ratio(0.01, 0.1)
    0.244383217...
    """
    return rate * amplify_inverse(epsilon, 0.0, rate)[0] / epsilon


def noise_limit(constant: float) -> float:
    """c/log(1 + c): where epsilon <= c p, a sample needs at most so many times the noise (equation 6).

    >>> noise_limit(2.0)
    1.820478...
    """
    return constant / math.log1p(constant) if constant > 0 else 1.0


def constant_for(factor: float) -> float:
    """The c at which c/log(1 + c) is this factor.

    >>> constant_for(2.0)
    2.5128624...
    """
    return decreasing_root(lambda c: factor - noise_limit(c), 1e-9, 1e9)[1]


def free_rate(*, epsilon: float, queries: int, factor: float = 2.0) -> float:
    """The least rate that costs at most this factor in noise, where k queries share epsilon: about epsilon/(c sqrt k).

    By advanced composition each of them has an epsilon of the order epsilon/sqrt(k), and the rule asks for c p.

    >>> free_rate(epsilon=1.0, queries=10_000)
    0.0039795...
    """
    return min(1.0, epsilon / (constant_for(factor) * math.sqrt(queries)))


def no_sample_error(*, records: int, epsilon: float, spread: float = 1.0) -> float:
    """Equation 1: 2/(ε²n²), the mean squared error of a mean of values in [0, spread] with Laplace noise, n public.

    >>> no_sample_error(records=1000, epsilon=1.0)
    2e-06
    """
    return 2 * (spread / (epsilon * records)) ** 2


def poisson_error_limit(*, records: int, rate: float, epsilon: float, spread: float = 1.0) -> float:
    """Equation 2: at most 1/(pn) + 2/(ε_p p n)², the same on a Poisson sample of rate p, with |x| = n.

    >>> poisson_error_limit(records=1000, rate=0.1, epsilon=1.0)
    0.010024...
    """
    inner = amplify_inverse(epsilon, 0.0, rate)[0]
    return spread**2 * (1 / (rate * records) + 2 / (inner * rate * records) ** 2)


def rules(*, rate: float, epsilon: float, each: float, queries: int) -> tuple[str, ...]:
    """The rules that bind at this rate, in words: k queries have `each` of epsilon; none where a sample is free.

    >>> rules(rate=1.0, epsilon=0.1, each=0.1, queries=1)
    ()
    """
    constant = each / rate
    found: list[str] = []
    if rate < 1 and noise_ratio(rate, each) < 0.95:
        found.append(
            f"Steinke: at p = {rate:.3g} epsilon is {constant:.3g} p, so a sampled mechanism whose noise goes with 1/n "
            f"needs {1 / noise_ratio(rate, each):.3g} times the noise (at most c/log(1 + c) = "
            f"{noise_limit(constant):.3g}); below 2 only for epsilon <= {constant_for(2.0):.3g} p."
        )
    if queries > 1:
        least = free_rate(epsilon=epsilon, queries=queries)
        found.append(
            f"Steinke: {queries} queries that share epsilon = {epsilon:g} have about epsilon/sqrt(k) each; a sample "
            f"for each costs less than twice the noise only for p of at least about {least:.2g}: "
            f"{least * queries:.3g} epochs."
        )
    return tuple(found)
