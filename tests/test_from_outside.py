"""A noise and a sampling scheme that hush does not have, defined here with public names, work everywhere in it."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import product
from typing import ClassVar

import numpy as np
import pytest

import hush
from hush.app.main import main
from hush.randomness import coins, integers, source_or_secure
from tests.laws import test_answers_are_intervals as intervals
from tests.laws import test_attained_below_promised as attained
from tests.laws import test_epsilon_and_delta_are_inverse as inverse
from tests.laws import test_order_of_composition as order
from tests.laws import test_renyi_vs_pair as renyi
from tests.laws import test_repeat_is_a_list as repeated
from tests.laws import test_sampling_never_hurts as sampling


@dataclass(frozen=True)
class UniformNoise(hush.Leaf):
    """Uniform noise on `width` whole numbers, added to a count: one record in `width` is given away."""

    width: int
    relation: hush.Relation = hush.Relation.ADD_REMOVE

    def at(self, removed: int, added: int) -> hush.Pair:
        shift = self.steps(removed, added)
        law = np.full(self.width, 1 / self.width)
        nothing = np.zeros(shift)
        return hush.FinitePair.of(np.concatenate([nothing, law]), np.concatenate([law, nothing]))

    def simulate(self, contributions: np.ndarray, source: hush.Source) -> np.ndarray:
        return contributions + integers(source, self.width, len(contributions))

    def derivation(self) -> hush.Step:
        return hush.Step(str(self), "two shifted uniform laws", "a count of sensitivity 1")

    def __str__(self) -> str:
        return f"uniform noise on {self.width} numbers"


@dataclass(frozen=True)
class BlockPoisson(hush.OneSample):
    """Every record falls into a random block; a coin for each block, then, in those that are on, one for each record.

    Given the coins of the blocks, m of them on, a record is drawn with probability rate m/blocks, on its own.
    """

    blocks: int
    block_rate: float
    rate: float
    title: ClassVar[str] = "blocks"
    why: ClassVar[str] = "coins for blocks, then for records: {exact}"

    @classmethod
    def for_training(cls, *, examples: int, batch_size: int, epochs: float) -> BlockPoisson:
        return cls(blocks=2, block_rate=0.5, rate=2 * batch_size / examples)

    @property
    def chances(self) -> list[tuple[float, float]]:
        """The rate of a record, and the chance of it, for each number of blocks that are on."""
        n, p = self.blocks, self.block_rate
        return [(self.rate * m / n, math.comb(n, m) * p**m * (1 - p) ** (n - m)) for m in range(n + 1)]

    def draw(self, population: int, source: hush.Source | None = None) -> np.ndarray:
        bits = source_or_secure(source)
        on = coins(bits, np.full(self.blocks, self.block_rate))
        block = integers(bits, self.blocks, population)
        return np.flatnonzero(on[block] & coins(bits, np.full(population, self.rate)))

    def evidence(self, inner: hush.Mechanism, neighbours: hush.Neighbours) -> hush.Evidence:
        return hush.Evidence.blend(
            (inner.evidence(neighbours.thin(hush.Poisson(rate=rate).thin)), weight) for rate, weight in self.chances
        )

    def listed(self, records: int, least: float) -> tuple[tuple[float, ...], float]:
        lists = [(hush.Poisson(rate=rate).listed(records, least)[0], weight) for rate, weight in self.chances]
        size = max(len(chances) for chances, _ in lists)
        return tuple(math.fsum(w * chances[k] for chances, w in lists if k < len(chances)) for k in range(size)), 0.0

    def theorem(self, relation: hush.Relation) -> tuple[str, str]:
        return "joint convexity over the coins of the blocks", "blocks, coins and the sample stay secret"

    def __str__(self) -> str:
        return f"{self.blocks} blocks at rate {self.block_rate:g}, records at rate {self.rate:g}"


LEAF = UniformNoise(width=50)
SCHEME = BlockPoisson(blocks=2, block_rate=0.5, rate=0.2)
STEP = hush.Gaussian(1.0).on(SCHEME)
MECHANISMS = {
    "leaf": LEAF,
    "leaf, composed": LEAF.then(hush.Laplace(1.0)).repeat(3),
    "scheme": STEP,
    "both": LEAF.on(SCHEME).repeat(2),
    "for groups": STEP.group(2),
}


def test_the_scheme_vs_enumeration() -> None:
    """One record of randomized response on the sample, all coins listed: its laws are below the pair in both ways."""
    inner = hush.RandomizedResponse(epsilon=1.0, relation=hush.Relation.ADD_REMOVE)
    here, away = np.array([math.e, 1.0]) / (1 + math.e), np.array([1.0, math.e]) / (1 + math.e)
    law = np.zeros(2)
    for on in product((0, 1), repeat=SCHEME.blocks):
        chance = math.prod(SCHEME.block_rate if one else 1 - SCHEME.block_rate for one in on)
        drawn = SCHEME.rate * sum(on) / SCHEME.blocks
        law += chance * (drawn * here + (1 - drawn) * away)
    found = inner.on(SCHEME)
    for epsilon in (0.0, 0.05, 0.1):
        stick = max(float(np.maximum(p - math.exp(epsilon) * q, 0.0).sum()) for p, q in ((law, away), (away, law)))
        assert stick <= found.delta(epsilon=epsilon).upper * (1 + 1e-12)
    assert found.delta(epsilon=0.0).upper == pytest.approx(inner.on(hush.Poisson(rate=0.1)).delta(epsilon=0.0).upper)


def test_the_leaf_vs_its_laws() -> None:
    assert LEAF.delta(epsilon=1.0).upper == pytest.approx(1 / 50)
    assert LEAF.group(3).delta(epsilon=1.0).upper == pytest.approx(3 / 50)
    assert LEAF.on(hush.Poisson(rate=0.1)).delta(epsilon=0.0).upper == pytest.approx(0.1 / 50)


@pytest.mark.parametrize("name", MECHANISMS)
def test_laws(name: str) -> None:
    mechanism = MECHANISMS[name]
    for law, given in (
        (intervals.test_epsilon, (mechanism, 0.1)),
        (intervals.test_delta, (mechanism, 0.5)),
        (intervals.test_renyi_grows_with_the_order, (mechanism, [1.5, 2.0, 8.0])),
        (intervals.test_tradeoff, (mechanism, 0.1)),
        (attained.test_attained_below_promised, (mechanism, 0.5, 0.1)),
        (inverse.test_there_and_back, (mechanism, 0.1)),
        (inverse.test_delta_falls, (mechanism, 0.2, 0.9)),
        (order.test_sequence, (mechanism, hush.Laplace(2.0), hush.Gaussian(3.0), 0.1)),
        (order.test_side_by_side_costs_the_larger, (mechanism, hush.Laplace(2.0), 0.1)),
        (renyi.test_curve_is_above_the_pair, (mechanism, 0.1, 0.5)),
        (repeated.test_three_times_is_a_list_of_three, (mechanism, 0.1, 0.5)),
        (sampling.test_ends, (mechanism, 0.1)),
    ):
        law.hypothesis.inner_test(*given)  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", MECHANISMS)
def test_written_and_explained(name: str) -> None:
    mechanism = MECHANISMS[name]
    assert hush.from_json(hush.to_json(mechanism)) == mechanism
    assert (
        str(mechanism) in mechanism.explain(delta=0.1)
        or "uniform" in mechanism.explain(delta=0.1)
        or "blocks" in str(mechanism)
    )
    assert "epsilon" in mechanism.statement(delta=0.1)


def test_in_the_expression_language(capsys: pytest.CaptureFixture[str]) -> None:
    from hush.app.expression import parse, words

    assert parse("uniform-noise 50 | block-poisson 2 0.5 0.2 | repeat 2") == MECHANISMS["both"]
    assert "uniform-noise WIDTH" in words() and "block-poisson BLOCKS BLOCK_RATE RATE" in words()
    assert main(["epsilon", "gaussian 1 | block-poisson 2 0.5 0.2", "--delta", "1e-5", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["upper"] == STEP.epsilon(delta=1e-5).upper


def test_drawn_from() -> None:
    source = hush.SeededSource(3)
    sizes = [len(SCHEME.draw(1000, source)) for _ in range(400)]
    assert np.mean(sizes) == pytest.approx(100, rel=0.1)
    present, absent = hush.auditing.simulated(LEAF.on(SCHEME), source=source)
    # the last number shows the record: it is drawn in a tenth of the runs, and then seen in one of fifty
    assert np.mean(present(5000) == 50) == pytest.approx(0.1 / 50, abs=0.003) and not np.any(absent(5000) == 50)


def test_compared() -> None:
    found = hush.compare_schemes(
        noise_multiplier=1.0, steps=20, delta=1e-5, schemes=(hush.Poisson, BlockPoisson, hush.Allocation)
    )
    bound, poisson = found["blocks"].bound, found["Poisson"].bound
    assert bound is not None and poisson is not None
    assert bound.upper >= poisson.lower  # the coins of the blocks are shared: no better than coins of their own
    assert "coins for blocks" in str(found)


def test_released() -> None:
    """A median on a sample drawn so; a count with the new noise; both accounted."""
    data = np.linspace(0.0, 100.0, 2001)
    query = hush.releases.Median(bounds=(0.0, 100.0), epsilon=1.0).on(SCHEME)
    found = query.release(data)
    assert 0 <= found.value <= 100
    assert found.mechanism.epsilon(delta=0).upper < 1
    sample = hush.releases.Sample(data, SCHEME)
    noisy = sample.apply(lambda rows: len(rows) + int(integers(hush.SecureSource(), 50, 1)[0]), guarantee=LEAF)
    assert noisy.mechanism == LEAF.on(SCHEME)
    with pytest.raises(hush.NotCovered, match="same probability"):
        hush.releases.Mean(bounds=(0.0, 100.0), epsilon=1.0).on(SCHEME).release(data)


@pytest.mark.skipif(find_spec("torch") is None, reason="needs torch")
def test_trained_with() -> None:
    import torch

    plan = hush.train_plan(examples=100, batch_size=20, epochs=1, epsilon=5.0, delta=1e-3, scheme=BlockPoisson)
    assert plan.scheme == BlockPoisson(blocks=2, block_rate=0.5, rate=0.4)
    assert plan.epsilon <= 5.0
    assert hush.train_plan_from_json(plan.to_json()) == plan
    rows, labels = torch.randn(100, 3), torch.zeros(100, dtype=torch.long)
    trained = hush.learning.fit(
        torch.nn.Linear(3, 2), (rows, labels), plan, loss=torch.nn.functional.cross_entropy, max_norm=1.0
    )
    assert trained.mechanism == plan.mechanism
