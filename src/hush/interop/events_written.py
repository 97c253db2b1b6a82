"""Mechanisms as events of dp_accounting."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dp_accounting import dp_event  # pyright: ignore[reportMissingImports]

from hush.curves.pairs.normal import NormalPair
from hush.curves.relation import Relation
from hush.errors import NotCovered
from hush.interop.replaced_records import DOUBLED, checked_replaced
from hush.mechanisms.combinators.group import Under
from hush.mechanisms.combinators.one_after_another import Repeat, Sequence
from hush.mechanisms.leaves.from_pair import FromPair
from hush.mechanisms.leaves.gaussian import Gaussian
from hush.mechanisms.leaves.laplace import DiscreteLaplace, Laplace
from hush.mechanisms.leaves.randomized_response import RandomizedResponse
from hush.mechanisms.leaves.stated import ApproxDP, PureDP
from hush.mechanisms.leaves.stated_curves import ZCDP
from hush.mechanisms.mechanism import Mechanism, require
from hush.mechanisms.schemes.capped_poisson import CappedPoisson
from hush.mechanisms.schemes.fixed_size import WithoutReplacement, WithReplacement
from hush.mechanisms.schemes.one_sample import Sampled
from hush.mechanisms.schemes.poisson import Poisson

WHO = "to_dp_event"


def to_dp_event(mechanism: Mechanism, *, replaced: str | None = None) -> Any:
    """The event of dp_accounting that describes a mechanism; NotCovered where there is none.

    For a guarantee under Relation.REPLACE, `replaced` says how the event will be read: "stated" or "doubled", as in
    `from_dp_event`. What would be read as another guarantee then is NotCovered.

    >>> import hush
    >>> to_dp_event(hush.Gaussian(1.0).on(hush.Poisson(rate=0.01)))
    PoissonSampledDpEvent(sampling_probability=0.01, event=GaussianDpEvent(noise_multiplier=1.0))
    """
    relation = require(WHO, mechanism).relation
    return _Writer(relation, checked_replaced(WHO, relation, replaced)).write(mechanism)


@dataclass(frozen=True)
class _Writer:
    relation: Relation
    replaced: str | None
    under: bool = False
    """Whether what is written stands for add-or-remove, inside a statement for replace-one."""

    def write(self, mechanism: Mechanism) -> Any:
        """The event, by the class of the mechanism itself: a derived one may mean something else."""
        write = MECHANISMS.get(type(mechanism))
        if write is None:
            raise NotCovered(f"an event of dp_accounting for {type(mechanism).__name__} ({mechanism})")
        return write(self, mechanism)

    def noisy(self, mechanism: Any, event: Callable[[], Any]) -> Any:
        """Noise relative to the sensitivity: the event must be read as the mechanism was meant."""
        if self.relation is Relation.ZERO_OUT and mechanism.relation is not Relation.ADD_REMOVE:
            raise NotCovered(f"an event for {mechanism}, stated for replaced records, where one is blanked")
        doubled = self.relation is Relation.REPLACE and mechanism.relation is Relation.ADD_REMOVE
        if doubled != (self.replaced == DOUBLED):
            raise NotCovered(f"an event for {mechanism}, read with replaced={self.replaced!r}: it is not meant so")
        return event()

    def promised(self, mechanism: Any, event: Callable[[], Any]) -> Any:
        """A guarantee that readers take as it is stated."""
        if self.under:
            raise NotCovered(f"an event for {mechanism}, stated for replaced records: events are not restated")
        return event()

    def sampled(self, mechanism: Any) -> Any:
        """On a sample of a kind that there are events for."""
        scheme = mechanism.scheme
        kind = SCHEMES.get(type(scheme))
        if kind is None:
            raise NotCovered(f"an event of dp_accounting for {scheme}")
        return kind(scheme, self.write(mechanism.inner))

    def repeated(self, mechanism: Mechanism, times: int) -> Any:
        """So many times; once is the event itself."""
        event = self.write(mechanism)
        return event if times == 1 else dp_event.SelfComposedDpEvent(event, times)

    def restated(self, mechanism: Any) -> Any:
        """What is inside a statement for replace-one."""
        return _Writer(self.relation, self.replaced, under=True).write(mechanism.inner)

    def supplied(self, mechanism: Any) -> Any:
        """A pair of normal mixtures, one of them a single normal, is an event of its own."""
        shifts = MIXTURES.get(type(mechanism.remove), lambda _: None)(mechanism.remove)
        if shifts is None or self.relation is Relation.REPLACE or mechanism.add != mechanism.remove.swap():
            raise NotCovered("an event of dp_accounting for a supplied pair other than a mixture of normals and one")
        places, weights = zip(*shifts, strict=True)
        return dp_event.MixtureOfGaussiansDpEvent(1.0, list(places), list(weights))


def _capped(scheme: CappedPoisson, event: Any) -> Any:
    if scheme.population is None or not isinstance(event, dp_event.GaussianDpEvent):
        raise NotCovered(f"an event of dp_accounting for {scheme}, but of Gaussian noise and a known population")
    noise = event.noise_multiplier
    return dp_event.TruncatedSubsampledGaussianDpEvent(scheme.population, scheme.rate, scheme.cap, noise)


def _epsilon_delta(epsilon: float, delta: float) -> Any:
    event = getattr(dp_event, "EpsilonDeltaDpEvent", None)
    if event is None:
        raise NotCovered("an event for a stated (epsilon, delta): this version of dp_accounting has none")
    return event(epsilon, delta)


def _points(writer: _Writer, mechanism: ApproxDP) -> Any:
    if len(mechanism.points) > 1:
        raise NotCovered("an event of dp_accounting for several (epsilon, delta) at once")
    return writer.promised(mechanism, lambda: _epsilon_delta(*mechanism.points[0]))


def _response(writer: _Writer, mechanism: RandomizedResponse) -> Any:
    """p = k/(e^eps - 1 + k), rounded down: not more noise than the mechanism has."""
    if writer.relation is Relation.ADD_REMOVE:
        raise NotCovered("an event for randomized response where a record is added or removed")
    p = mechanism.choices / (math.expm1(float(mechanism.epsilon)) + mechanism.choices) * (1 - 1e-15)
    return writer.promised(mechanism, lambda: dp_event.RandomizedResponseDpEvent(p, mechanism.choices))


def _discrete(mechanism: DiscreteLaplace) -> Any:
    parameter = math.nextafter(1 / mechanism.scale, math.inf)
    return dp_event.DiscreteLaplaceDpEvent(parameter, mechanism.sensitivity)


MECHANISMS: dict[type, Callable[[_Writer, Any], Any]] = {
    Gaussian: lambda writer, m: writer.noisy(m, lambda: dp_event.GaussianDpEvent(m.noise_multiplier)),
    Laplace: lambda writer, m: writer.noisy(m, lambda: dp_event.LaplaceDpEvent(m.scale)),
    DiscreteLaplace: lambda writer, m: writer.noisy(m, lambda: _discrete(m)),
    RandomizedResponse: _response,
    ZCDP: lambda writer, m: writer.promised(m, lambda: dp_event.ZCDpEvent(m.rho)),
    PureDP: lambda writer, m: writer.promised(
        m, lambda: dp_event.NoOpDpEvent() if float(m.epsilon) == 0 else _epsilon_delta(float(m.epsilon), 0.0)
    ),
    ApproxDP: _points,
    FromPair: lambda writer, m: writer.promised(m, lambda: writer.supplied(m)),
    Repeat: lambda writer, m: writer.repeated(m.inner, m.times),
    Sequence: lambda writer, m: dp_event.ComposedDpEvent([writer.repeated(*part) for part in m.parts]),
    Sampled: _Writer.sampled,
    Under: _Writer.restated,
}
"""How each mechanism is written."""

SCHEMES: dict[type, Callable[[Any, Any], Any]] = {
    Poisson: lambda scheme, event: dp_event.PoissonSampledDpEvent(scheme.rate, event),
    CappedPoisson: _capped,
    WithReplacement: lambda scheme, event: dp_event.SampledWithReplacementDpEvent(
        scheme.population, scheme.size, event
    ),
    WithoutReplacement: lambda scheme, event: dp_event.SampledWithoutReplacementDpEvent(
        scheme.population, scheme.size, event
    ),
}
"""How each sample is written."""

MIXTURES: dict[type, Callable[[Any], Any]] = {
    NormalPair: lambda pair: pair.above if pair.below == ((0.0, 1.0),) and pair.spacing is None else None
}
"""The shifts of a mixture of normals that is compared with one normal."""
