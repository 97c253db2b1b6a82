"""Mechanisms as JSON text, and back, in a versioned format."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from hush.curves.pairs.finite import FinitePair
from hush.curves.pairs.pair import Pair
from hush.curves.relation import Relation
from hush.errors import NotCovered
from hush.mechanisms.combinators.compose import Parallel, Repeat, Sequence
from hush.mechanisms.combinators.group import Group, Under
from hush.mechanisms.last_iterate.descent import ConvexLoss, CyclicGradientDescent, NoisyGradientDescent
from hush.mechanisms.last_iterate.iteration import NoisyIteration
from hush.mechanisms.last_iterate.one_pass import OnePassGradientDescent, RandomStop
from hush.mechanisms.leaves.choice import Exponential, RandomizedResponse, ReportNoisyMax
from hush.mechanisms.leaves.noise import DiscreteGaussian, DiscreteLaplace, Gaussian, Laplace
from hush.mechanisms.leaves.posterior import BetaPosterior, GaussianPosterior
from hush.mechanisms.leaves.skellam import Skellam
from hush.mechanisms.leaves.stated import TCDP, ZCDP, ApproxDP, FromPair, GaussianDP, PureDP, RenyiDP
from hush.mechanisms.local.randomizer import KaryResponse, LocalDP, LocalRandomizer
from hush.mechanisms.local.reports import GaussianReport, LaplaceReport, UnaryEncoding
from hush.mechanisms.local.shuffled import Shuffled
from hush.mechanisms.mechanism import Mechanism, require
from hush.mechanisms.schemes.allocation import Allocated, Allocation
from hush.mechanisms.schemes.fixed_size import WithoutReplacement, WithReplacement
from hush.mechanisms.schemes.scheme import Poisson, Sampled, UnequalPoisson
from hush.mechanisms.schemes.shuffled_batches import Revealed, ShuffledBatches
from hush.questions.json.strict import (
    as_list,
    as_number,
    as_truth,
    as_whole,
    check_size,
    from_number,
    members,
    parse,
    refuse,
)

VERSION = 1


def to_json(mechanism: Mechanism) -> str:
    """The mechanism as JSON text.

    >>> import hush
    >>> print(to_json(hush.Laplace(2.0)))
    {"hush": 1, "mechanism": {"kind": "laplace", "scale": 2.0, "relation": "add_remove"}}
    """
    document = {"hush": VERSION, "mechanism": _encode(KINDS, require("to_json", mechanism))}
    text = json.dumps(document, allow_nan=False)
    check_size("to_json", text)
    return text


def from_json(text: str) -> Mechanism:
    """The mechanism in a text that `to_json` made; any other text raises InvalidParameter.

    >>> import hush
    >>> training = hush.Gaussian(1.0).on(hush.Poisson(rate=0.01)).repeat(10_000)
    >>> from_json(to_json(training)) == training
    True
    """
    document = members(parse(text), {"hush", "mechanism"})
    if as_whole(document["hush"]) != VERSION:
        refuse(f"version {VERSION}", hush=document["hush"])
    return _decode(KINDS, document["mechanism"])


def tabulated(mechanism: Mechanism, *, orders: Iterable[float]) -> RenyiDP:
    """What can be kept of a mechanism that has no JSON form: its Rényi divergences at these orders.

    >>> import hush
    >>> tabulated(hush.RenyiDP(function=lambda order: order / 2), orders=[2, 4]).points
    ((2.0, 1.0), (4.0, 2.0))
    """
    orders = list(orders)
    divergences = require("tabulated", mechanism).renyi(orders=orders).tolist()
    return RenyiDP(points=list(zip(orders, divergences, strict=True)), relation=mechanism.relation)


@dataclass(frozen=True)
class Codec:
    """How one field is written and read."""

    encode: Callable[[Any], object]
    decode: Callable[[object], Any]


@dataclass(frozen=True)
class Kind:
    """A class with its fields, and what makes a value of them (the class itself, unless given)."""

    type: type
    fields: Mapping[str, Codec]
    build: Callable[..., Any] | None = None


def _encode(kinds: Mapping[str, Kind], value: object) -> dict[str, object]:
    for name, kind in kinds.items():
        if type(value) is kind.type:
            # Where a question has the field's name, the attribute ends in an underscore (epsilon_).
            given = {key: getattr(value, f"{key}_", getattr(value, key)) for key in kind.fields}
            return {"kind": name} | {key: codec.encode(given[key]) for key, codec in kind.fields.items()}
    raise NotCovered(
        f"{type(value).__name__} has no JSON form; hush.questions.json.mechanisms.tabulated keeps its Rényi curve"
    )


def _decode(kinds: Mapping[str, Kind], value: object) -> Any:
    name = value.get("kind") if isinstance(value, dict) else None
    if not isinstance(value, dict) or not isinstance(name, str) or name not in kinds:
        refuse(f"an object of a known kind ({', '.join(kinds)})", kind=name)
    kind = kinds[name]
    given = members(value, {"kind", *kind.fields})
    fields = {key: codec.decode(given[key]) for key, codec in kind.fields.items()}
    return (kind.build or kind.type)(**fields)


# -- fields --------------------------------------------------------------------------------------------------


def _relation(value: object) -> Relation:
    names = [relation.value for relation in Relation]
    return Relation(value) if value in names else refuse(f"a relation ({', '.join(names)})", relation=value)


def _from_points(points: tuple[tuple[float, float], ...]) -> object:
    if not points:
        raise NotCovered(
            "a Rényi curve that is a function has no JSON form; make points of it with "
            "hush.questions.json.mechanisms.tabulated"
        )
    return [[from_number(x), from_number(y)] for x, y in points]


def _as_points(value: object) -> list[tuple[float, float]]:
    points = [as_list(point) for point in as_list(value)]
    if not points or any(len(point) != 2 for point in points):
        refuse("a list of pairs of numbers", points=value)
    return [(as_number(x), as_number(y)) for x, y in points]


def _from_pair(pair: Pair) -> object:
    if not isinstance(pair, FinitePair):
        raise NotCovered(
            f"a supplied {type(pair).__name__} has no JSON form; make a finite pair of it with "
            "hush.curves.pairs.finite.tabulate"
        )
    return {
        "losses": pair.losses.tolist(),
        "mass": pair.mass.tolist(),
        "at_infinity": float(pair.at_infinity),
        "at_minus_infinity": float(pair.at_minus_infinity),
        "lattice": pair.lattice,
    }


def _as_pair(value: object) -> FinitePair:
    given = members(value, {"losses", "mass", "at_infinity", "at_minus_infinity", "lattice"})
    losses, mass = (np.array([as_number(x) for x in as_list(given[name])]) for name in ("losses", "mass"))
    ends = as_number(given["at_infinity"]), as_number(given["at_minus_infinity"])
    lattice = None if given["lattice"] is None else as_number(given["lattice"])
    return FinitePair(losses, mass, ends[0], ends[1], lattice)


def _sequence(parts: list[tuple[Mechanism, int]]) -> Mechanism:
    return Sequence.of(Repeat.of(part, times) for part, times in parts)


def _parallel(parts: list[Mechanism]) -> Mechanism:
    """Named twice, so that releases which were all alike stay side by side."""
    return Parallel.of([*parts, *parts])


def _as_parts(value: object) -> list[tuple[Mechanism, int]]:
    parts = [members(part, {"mechanism", "times"}) for part in as_list(value)]
    return [(_decode(KINDS, part["mechanism"]), as_whole(part["times"])) for part in parts]


def _as_randomizer(value: object) -> LocalRandomizer:
    found = _decode(KINDS, value)
    return found if isinstance(found, LocalRandomizer) else refuse("a local randomizer", kind=type(found).__name__)


NUMBER = Codec(from_number, as_number)
WHOLE = Codec(int, as_whole)
TRUTH = Codec(bool, as_truth)
RANDOMIZER = Codec(lambda inner: _encode(KINDS, inner), _as_randomizer)
RELATION = Codec(lambda relation: relation.value, _relation)
POINTS = Codec(_from_points, _as_points)
PAIR = Codec(_from_pair, _as_pair)
MECHANISM = Codec(lambda inner: _encode(KINDS, inner), lambda value: _decode(KINDS, value))
MECHANISMS = Codec(
    lambda parts: [_encode(KINDS, part) for part in parts],
    lambda value: [_decode(KINDS, part) for part in as_list(value)],
)
PARTS = Codec(lambda parts: [{"mechanism": _encode(KINDS, part), "times": times} for part, times in parts], _as_parts)
SCHEME = Codec(lambda scheme: _encode(SCHEMES, scheme), lambda value: _decode(SCHEMES, value))

LOSS = Codec(lambda loss: _encode(LOSSES, loss), lambda value: _decode(LOSSES, value))
NUMBERS = Codec(
    lambda values: [from_number(value) for value in values],
    lambda value: [as_number(number) for number in as_list(value)],
)

SCHEMES: dict[str, Kind] = {
    "poisson": Kind(Poisson, {"rate": NUMBER}),
    "unequal_poisson": Kind(UnequalPoisson, {"rates": NUMBERS}),
    "without_replacement": Kind(WithoutReplacement, {"size": WHOLE, "population": WHOLE}),
    "with_replacement": Kind(WithReplacement, {"size": WHOLE, "population": WHOLE}),
    "shuffled_batches": Kind(ShuffledBatches, {"steps": WHOLE}),
    "revealed": Kind(Revealed, {"scheme": SCHEME}),
    "allocation": Kind(Allocation, {"steps": WHOLE, "times": WHOLE}),
}
"""Every sampling scheme that survives a round trip."""

LOSSES: dict[str, Kind] = {
    "convex_loss": Kind(
        ConvexLoss, dict.fromkeys(("smoothness", "strong_convexity", "lipschitz", "sensitivity"), NUMBER)
    )
}
"""What a gradient descent declares of its loss."""

DESCENT = {"loss": LOSS, "noise": NUMBER, "step_size": NUMBER}
ITERATIONS: dict[str, Kind] = {
    "noisy_iteration": Kind(
        NoisyIteration,
        {"sensitivities": NUMBERS, "deviations": NUMBERS, "contractions": NUMBERS, "relation": RELATION},
    ),
    "noisy_gradient_descent": Kind(
        NoisyGradientDescent, DESCENT | {"records": WHOLE, "iterations": WHOLE, "diameter": NUMBER}
    ),
    "cyclic_gradient_descent": Kind(
        CyclicGradientDescent,
        DESCENT | {"batches": WHOLE, "batch_size": WHOLE, "epochs": WHOLE, "diameter": NUMBER},
    ),
    "one_pass_gradient_descent": Kind(OnePassGradientDescent, DESCENT | {"records": WHOLE}),
    "random_stop": Kind(RandomStop, {"run": MECHANISM}),
}
"""Iterations whose last iterate is released."""

KINDS: dict[str, Kind] = {
    "gaussian": Kind(Gaussian, {"noise_multiplier": NUMBER, "relation": RELATION}),
    "laplace": Kind(Laplace, {"scale": NUMBER, "relation": RELATION}),
    "discrete_gaussian": Kind(DiscreteGaussian, {"sigma": NUMBER, "sensitivity": WHOLE, "relation": RELATION}),
    "discrete_laplace": Kind(DiscreteLaplace, {"scale": NUMBER, "sensitivity": WHOLE, "relation": RELATION}),
    "randomized_response": Kind(RandomizedResponse, {"epsilon": NUMBER, "choices": WHOLE, "relation": RELATION}),
    "exponential": Kind(Exponential, {"epsilon": NUMBER, "relation": RELATION}),
    "report_noisy_max": Kind(ReportNoisyMax, {"scale": NUMBER, "monotone": TRUTH, "relation": RELATION}),
    "skellam": Kind(Skellam, {"variance": NUMBER, "sensitivity": WHOLE, "relation": RELATION}),
    "beta_posterior": Kind(BetaPosterior, {"flips": WHOLE, "heads": NUMBER, "tails": NUMBER}),
    "gaussian_posterior": Kind(
        GaussianPosterior,
        {"records": WHOLE, "prior_variance": NUMBER, "noise_variance": NUMBER, "data_range": NUMBER},
    ),
    "pure_dp": Kind(PureDP, {"epsilon": NUMBER, "relation": RELATION}),
    "approx_dp": Kind(ApproxDP, {"points": POINTS, "relation": RELATION}),
    "gaussian_dp": Kind(GaussianDP, {"mu": NUMBER, "relation": RELATION}),
    "zcdp": Kind(ZCDP, {"rho": NUMBER, "relation": RELATION}),
    "tcdp": Kind(TCDP, {"rho": NUMBER, "omega": NUMBER, "relation": RELATION}),
    "renyi_dp": Kind(RenyiDP, {"points": POINTS, "relation": RELATION}),
    "from_pair": Kind(FromPair, {"remove": PAIR, "add": PAIR, "relation": RELATION}),
    "local_dp": Kind(LocalDP, {"epsilon": NUMBER}),
    "kary_response": Kind(KaryResponse, {"epsilon": NUMBER, "choices": WHOLE}),
    "unary_encoding": Kind(UnaryEncoding, {"epsilon": NUMBER, "choices": WHOLE, "optimised": TRUTH}),
    "laplace_report": Kind(LaplaceReport, {"scale": NUMBER}),
    "gaussian_report": Kind(GaussianReport, {"deviation": NUMBER}),
    "shuffled": Kind(Shuffled, {"randomizer": RANDOMIZER, "people": WHOLE}),
    "repeat": Kind(Repeat, {"inner": MECHANISM, "times": WHOLE}, Repeat.of),
    "sequence": Kind(Sequence, {"parts": PARTS}, _sequence),
    "parallel": Kind(Parallel, {"parts": MECHANISMS}, _parallel),
    "sampled": Kind(Sampled, {"inner": MECHANISM, "scheme": SCHEME}, lambda inner, scheme: inner.on(scheme)),
    "allocated": Kind(Allocated, {"inner": MECHANISM, "scheme": SCHEME}, lambda inner, scheme: inner.on(scheme)),
    "group": Kind(Group, {"inner": MECHANISM, "size": WHOLE}, Group.of),
    "under": Kind(Under, {"inner": MECHANISM, "relation": RELATION}, Under.of),
    **ITERATIONS,
}
"""Every mechanism that survives a round trip: a new one is one entry."""
