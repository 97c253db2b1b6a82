"""Events of dp_accounting as mechanisms; the package itself is not needed for it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from hush.checks import count, number
from hush.curves.pairs.normal import NormalPair
from hush.curves.relation import Relation
from hush.errors import InvalidParameter, NotCovered
from hush.interop.replaced_records import DOUBLED, checked_replaced
from hush.mechanisms.combinators.one_after_another import Sequence
from hush.mechanisms.leaves.from_pair import FromPair
from hush.mechanisms.leaves.gaussian import Gaussian
from hush.mechanisms.leaves.laplace import DiscreteLaplace, Laplace
from hush.mechanisms.leaves.randomized_response import RandomizedResponse
from hush.mechanisms.leaves.stated import ApproxDP, PureDP
from hush.mechanisms.leaves.stated_curves import ZCDP, RenyiDP
from hush.mechanisms.mechanism import Mechanism
from hush.mechanisms.scheme import Scheme
from hush.mechanisms.schemes.capped_poisson import CappedPoisson
from hush.mechanisms.schemes.fixed_size import WithoutReplacement, WithReplacement
from hush.mechanisms.schemes.poisson import Poisson

WHO = "from_dp_event"
DEEPEST = 200
"""Events inside each other: far more than any program builds."""

UNKNOWN = {
    "UnsupportedDpEvent": "it says itself that it has no description",
    "RepeatAndSelectDpEvent": "its law is told by a mean alone; say best_of(runs=...) of the mechanism of one run",
}
"""Events that have no equivalent, and why."""


def from_dp_event(event: Any, *, relation: Relation = Relation.ADD_REMOVE, replaced: str | None = None) -> Mechanism:
    """The mechanism that an event of dp_accounting describes.

    Under Relation.REPLACE, `replaced` says what a sensitivity means: "stated" (a replaced record moves the sum by that
    much, as dp_accounting's RdpAccountant reads it) or "doubled" (by twice as much, as its PLDAccountant does).
    Relation.ZERO_OUT is their REPLACE_SPECIAL: a record becomes one that adds nothing. What has no equivalent raises
    NotCovered.

        from_dp_event(PoissonSampledDpEvent(0.01, GaussianDpEvent(1.0)))
        from_dp_event(GaussianDpEvent(1.0), relation=hush.Relation.REPLACE, replaced="doubled")
    """
    how, blank = checked_replaced(WHO, relation, replaced), relation is Relation.ZERO_OUT
    noise_for = Relation.ADD_REMOVE if blank else relation
    found = _Reader(noise_for, how, blank=blank).read(event)
    return (PureDP(0.0, relation=noise_for) if found is None else found).under(relation)


@dataclass(frozen=True)
class _Reader:
    """What an event means under a relation; None stands for what reveals nothing."""

    relation: Relation
    replaced: str | None
    depth: int = 0
    blank: bool = False
    """Whether the whole is to be stated for a record that is blanked."""
    on_sample: bool = False

    def read(self, event: Any) -> Mechanism | None:
        """The mechanism of an event, by the name of its class: that of a derived class may mean something else."""
        kind = type(event)
        ours = kind.__module__.partition(".")[0] == "dp_accounting"
        if not ours:
            raise InvalidParameter(WHO, "an event of dp_accounting", event=kind)
        if kind.__name__ not in EVENTS:
            reason = UNKNOWN.get(kind.__name__, "hush does not know it")
            raise NotCovered(f"the event {kind.__name__} of dp_accounting: {reason}")
        if self.depth > DEEPEST:
            raise InvalidParameter(WHO, f"at most {DEEPEST} events inside each other", depth=self.depth)
        return EVENTS[kind.__name__](replace(self, depth=self.depth + 1), event)

    def noisy(self, event: Any, field: str, make: Callable[[float, Relation], Mechanism]) -> Mechanism:
        """Noise relative to the sensitivity: without noise nothing is private."""
        amount = number(type(event).__name__, f"{field} >= 0", 0.0, math.inf, **{field: getattr(event, field)})
        if amount == 0:
            return self.exposed(event)
        if self.replaced == DOUBLED:
            return make(amount, Relation.ADD_REMOVE).under(Relation.REPLACE)
        return make(amount, self.relation)

    def exposed(self, _: Any) -> Mechanism:
        """What shows the data as they are."""
        return ApproxDP(0.0, 1.0, relation=self.relation)

    def composed(self, event: Any) -> Mechanism | None:
        """One after the other; what reveals nothing is left out."""
        parts = [part for part in map(self.read, event.events) if part is not None]
        return Sequence.of(parts) if parts else None

    def repeated(self, event: Any) -> Mechanism | None:
        """So many times."""
        times, inner = count("SelfComposedDpEvent", 0, count=event.count), self.read(event.event)
        return None if inner is None or times == 0 else inner.repeat(times)

    def sampled(self, event: Any, scheme: Scheme) -> Mechanism | None:
        """On a secret sample."""
        inner = replace(self, on_sample=True).read(event.event)
        return None if inner is None else inner.on(scheme)

    def poisson(self, event: Any) -> Mechanism | None:
        """A coin for every record; nobody is drawn at rate 0."""
        scheme = Poisson(rate=event.sampling_probability)
        found = self.sampled(event, scheme)
        return found if scheme.rate > 0 else None

    def capped_poisson(self, event: Any) -> Mechanism | None:
        """A Poisson sample that is cut to a size, from a dataset of a known one."""
        if self.on_sample:
            raise NotCovered("TruncatedSubsampledGaussianDpEvent on a sample: it states the size of a whole dataset")
        population = count("TruncatedSubsampledGaussianDpEvent", 0, dataset_size=event.dataset_size)
        rate, cap = event.sampling_probability, event.truncated_batch_size
        scheme = CappedPoisson(rate=rate, cap=cap, population=max(population, 1))
        noisy = self.noisy(event, "noise_multiplier", Gaussian)
        return noisy.on(scheme) if rate > 0 and cap > 0 and population > 0 else None

    def tree(self, event: Any) -> Mechanism:
        """Sums over the nodes of trees, each record at one leaf of one of them: it is in one node per level."""
        who, steps = "SingleEpochTreeAggregationDpEvent", event.step_counts
        if not self.blank or self.on_sample:
            raise NotCovered(f"{who} but for a blanked record of the whole dataset: else records change their leaves")
        counts = steps if isinstance(steps, list | tuple) else [steps]
        levels = max([count(who, 0, step_counts=one) for one in counts], default=0).bit_length()
        if levels == 0:
            raise InvalidParameter(who, "at least one step", step_counts=steps)
        return self.noisy(
            event,
            "noise_multiplier",
            lambda amount, relation: Gaussian(amount / math.sqrt(levels) * (1 - 1e-15), relation=relation),
        )

    def whole(self, name: str) -> None:
        """A guarantee for a blanked record says nothing about a sample that lacks it: amplification needs that."""
        if self.blank and self.on_sample:
            raise NotCovered(f"{name} on a sample where a record is blanked: it does not say what removing one does")

    def discrete_laplace(self, event: Any) -> Mechanism:
        """The parameter is 1/scale: the scale is rounded down, so that it is not more noise than the event has."""

        def make(parameter: float, relation: Relation) -> Mechanism:
            scale = math.nextafter(1 / parameter, 0.0)
            return DiscreteLaplace(scale, sensitivity=event.sensitivity, relation=relation)

        return self.noisy(event, "noise_parameter", make)

    def response(self, event: Any) -> Mechanism | None:
        """With probability p one of k values at random, else the true one: e^eps = 1 + k(1-p)/p, rounded up."""
        who = "RandomizedResponseDpEvent"
        rule = "0 <= noise_parameter <= 1"
        p = number(who, rule, 0.0, 1.0, noise_parameter=event.noise_parameter)
        values = count(who, 1, num_buckets=event.num_buckets)
        if self.relation is Relation.ADD_REMOVE:
            raise NotCovered(f"{who} where a record is added or removed: it answers with the value of a record")
        if values == 1 or p == 1:
            return None
        if p == 0:
            return self.exposed(event)
        epsilon = math.log1p(values * (1 - p) / p) * (1 + 1e-15)
        return RandomizedResponse(epsilon=epsilon, choices=values, relation=self.relation)

    def concentrated(self, event: Any) -> Mechanism | None:
        """rho times the order, plus xi; a guarantee is stated for the relation, and never doubled."""
        who = "ZCDpEvent"
        self.whole(who)
        rho, xi = (number(who, "rho, xi >= 0", 0.0, math.inf, **{n: getattr(event, n)}) for n in ("rho", "xi"))
        if xi == 0:
            return ZCDP(rho, relation=self.relation) if rho > 0 else None
        if rho == 0:  # the same at every order, so also at infinity
            return PureDP(xi, relation=self.relation)
        return RenyiDP(function=AffineDivergence(rho, xi), relation=self.relation)

    def promised(self, event: Any) -> Mechanism:
        """A stated (epsilon, delta)."""
        self.whole("EpsilonDeltaDpEvent")
        return ApproxDP(event.epsilon, event.delta, relation=self.relation)

    def mixture(self, event: Any) -> Mechanism | None:
        """sum_i p_i N(c_i, s^2) against N(0, s^2): the pair itself."""
        if self.relation is Relation.REPLACE:
            raise NotCovered("MixtureOfGaussiansDpEvent where a record is replaced: its pair is for one that is added")
        self.whole("MixtureOfGaussiansDpEvent")
        shifts = _mixture(event)
        if set(shifts) <= {0.0}:
            return None
        if event.standard_deviation == 0:
            return self.exposed(event)
        pair = NormalPair(tuple(sorted(shifts.items())), ((0.0, 1.0),))
        return FromPair(pair, pair.swap(), self.relation)


@dataclass(frozen=True)
class AffineDivergence:
    """xi + rho times the order."""

    rho: float
    xi: float

    def __call__(self, order: float) -> float:
        return self.xi + self.rho * order


def _mixture(event: Any) -> dict[float, float]:
    """Shifts in deviations, with their chances; at a deviation of 0, shifts as they are."""
    who, rule = "MixtureOfGaussiansDpEvent", "as many sensitivities >= 0 as chances, which add up to 1"
    given, chances = list(event.sensitivities), list(event.sampling_probs)
    if len(given) != len(chances) or not given or not abs(math.fsum(chances) - 1) < 1e-9:
        raise InvalidParameter(who, rule, sensitivities=given, sampling_probs=chances)
    spread = number(who, "standard_deviation >= 0", 0.0, math.inf, standard_deviation=event.standard_deviation)
    shifts: dict[float, float] = {}
    total = math.fsum(chances)
    for c, p in zip(given, chances, strict=True):
        shift = number(who, rule, 0.0, 1e300, sensitivities=c) / (spread or 1.0)
        shifts[shift] = shifts.get(shift, 0.0) + number(who, rule, 0.0, 1.0, sampling_probs=p) / total
    return {shift: chance for shift, chance in shifts.items() if chance > 0}


EVENTS: dict[str, Callable[[_Reader, Any], Mechanism | None]] = {
    "NoOpDpEvent": lambda reader, event: None,  # noqa: ARG005
    "NonPrivateDpEvent": _Reader.exposed,
    "GaussianDpEvent": lambda reader, event: reader.noisy(event, "noise_multiplier", Gaussian),
    "LaplaceDpEvent": lambda reader, event: reader.noisy(event, "noise_multiplier", Laplace),
    "DiscreteLaplaceDpEvent": _Reader.discrete_laplace,
    "RandomizedResponseDpEvent": _Reader.response,
    "MixtureOfGaussiansDpEvent": _Reader.mixture,
    "SingleEpochTreeAggregationDpEvent": _Reader.tree,
    "ZCDpEvent": _Reader.concentrated,
    "EpsilonDeltaDpEvent": _Reader.promised,
    "ComposedDpEvent": _Reader.composed,
    "SelfComposedDpEvent": _Reader.repeated,
    "PoissonSampledDpEvent": _Reader.poisson,
    "TruncatedSubsampledGaussianDpEvent": _Reader.capped_poisson,
    "SampledWithReplacementDpEvent": lambda reader, event: reader.sampled(
        event, WithReplacement(size=event.sample_size, population=event.source_dataset_size)
    ),
    "SampledWithoutReplacementDpEvent": lambda reader, event: reader.sampled(
        event, WithoutReplacement(size=event.sample_size, population=event.source_dataset_size)
    ),
}
"""What each event means, by the name of its class."""
