"""Known privacy bugs of the field, each injected into the real code, with the test or audit that must catch it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest
from scipy import special

import hush
from hush import releases
from hush.auditing import Claim, distinguish, one_run, simulated
from hush.mechanisms.neighbours import Neighbours

REPLACE = hush.Relation.REPLACE
Patch = pytest.MonkeyPatch


@dataclass(frozen=True)
class Mutant:
    """A bug: what goes wrong, how it is injected, and who sees it ("module:test", or an audit)."""

    name: str
    inject: Callable[[Patch], None]
    catcher: str | Callable[[], None]
    arguments: tuple[Any, ...] = ()
    needs: str = ""
    """A package that the bug or its catcher loads, if any."""

    @property
    def can_run(self) -> bool:
        return not self.needs or find_spec(self.needs) is not None

    @property
    def caught_by(self) -> str:
        """The catcher as it is printed."""
        return self.catcher if isinstance(self.catcher, str) else str(self.catcher.__doc__)


# -- audits that catch --------------------------------------------------------------------------------------------


def audit_of(mechanism: Callable[[], hush.Mechanism], delta: float, samples: int = 40_000) -> Callable[[], None]:
    """Distinguish runs of a mechanism, against what the accountant claims for it."""

    def run() -> None:
        made = mechanism()
        report = distinguish(*simulated(made, source=hush.SeededSource(1)), claim=made, delta=delta, samples=samples)
        assert report.survives, report

    run.__doc__ = f"distinguish on {mechanism()}"
    return run


def audit_of_release(query: Callable[[], Any], bits: bool = False, samples: int = 1500) -> Callable[[], None]:
    """Distinguish releases on three records and on their neighbours, against their claim."""

    def run() -> None:
        made, source = query(), hush.SeededSource(1)
        others = [0.0, 0.0]
        worlds = [*others, 1.0], [*others, 0.0] if made.mechanism.relation is REPLACE else others
        drawn = [
            np.array([float(made.release(world, source=source).value) for _ in range(samples)]) for world in worlds
        ]
        report = distinguish(*drawn, claim=made.mechanism, delta=0.0, bits=bits)
        assert report.survives, report

    run.__doc__ = f"distinguish on releases of {type(query()).__name__}{', last bits' if bits else ''}"
    return run


def audit_of_training() -> None:
    """one-run audit of DP-SGD end to end"""
    from hush.app.self_audit import training

    assert training(300, 1, noise_multiplier=4.0).survives


def audit_of_nulls() -> None:
    """null audits, 100 of them, at confidence 0.95"""
    attack = import_module("hush.auditing.distinguish").attack
    random, claim, alarms = np.random.default_rng(2), Claim.of(hush.PureDP(1.0)), 0
    for _ in range(100):
        _, _, true, false = attack((random.standard_normal(200), random.standard_normal(200)), claim, 0.05)
        alarms += bool(np.min(claim.bound(true, false)) > 0)
    assert alarms <= 15


def audit_of_ties() -> None:
    """one-run audit of constant scores"""
    assert one_run(np.zeros(100), np.arange(100) < 50, claim=hush.PureDP(1.0)).lower_bound == 0


# -- injections ---------------------------------------------------------------------------------------------------


def one_direction(patch: Patch) -> None:
    patch.setattr(
        hush.Mechanism,
        "directions",
        lambda self: [(n, Neighbours.of(r, a)) for n, r, a in self.relation.directions[-1:]],
    )


def plain_laplace(order: float) -> float:
    """A Rényi function with no value at order infinity."""
    from tests.curves.test_declared_curves import plain_laplace

    return plain_laplace(order)


def mean_of_the_largest(patch: Patch) -> None:
    """What bounds a sum where no line is in reach counts its largest value alone."""
    from hush.numerics.special import line_integral
    from hush.numerics.special.trials import Trials

    def log_mean(trials: Trials) -> float:
        value, chance = trials.lively[0]
        return float(np.log(trials.count) + np.log(value) + np.log(chance))

    patch.setattr(line_integral, "log_mean", log_mean)


def no_number_passes(patch: Patch) -> None:
    """Values of a Rényi function and ends of intervals are not looked at: min and max drop what is not a number."""
    from hush.curves.renyi import declared

    patch.setattr(declared.Declared, "__call__", lambda self, orders: self._function(orders))
    patch.setattr(declared.Proven, "__call__", lambda self, orders: self._function(orders))
    patch.setattr("hush.mechanisms.guarantees.known", lambda ends: ends)
    patch.setattr(hush.Bound, "__post_init__", lambda self: None)


def count_ignored(patch: Patch) -> None:
    patch.setattr(hush.Repeat, "knows", lambda self, neighbours: self.inner.evidence(neighbours))


def thinned(change: Callable[[float], float]) -> Callable[[Patch], None]:
    def inject(patch: Patch) -> None:
        thin = hush.Poisson.thin

        def wrong(self: hush.Poisson, counts: tuple[float, ...]) -> tuple[float, ...]:
            return thin(hush.Poisson(rate=change(self.rate)), counts)

        patch.setattr(hush.Poisson, "thin", wrong)

    return inject


def group_as_one(patch: Patch) -> None:
    def wrong(self: hush.Poisson, counts: tuple[float, ...]) -> tuple[float, ...]:
        size = len(counts) - 1
        return counts if not size else (1 - self.rate, *(0.0,) * (size - 1), self.rate)

    patch.setattr(hush.Poisson, "thin", wrong)


def shuffled_as_poisson(patch: Patch) -> None:
    def wrong(self: hush.ShuffledBatches, inner: hush.Mechanism, neighbours: Any) -> Any:
        return inner.on(hush.Poisson(rate=1 / self.steps)).repeat(self.steps).evidence(neighbours)

    patch.setattr(hush.ShuffledBatches, "evidence", wrong)


def replacement_as_removal(patch: Patch) -> None:
    from hush.mechanisms.leaf import Leaf

    patch.setattr(Leaf, "steps", lambda self, removed, added: max(removed, added))


def group_ignored(patch: Patch) -> None:
    one = lambda counts: counts if len(counts) == 1 else (0.0, 1.0)  # noqa: E731
    patch.setattr(hush.Group, "knows", lambda self, neighbours: self.inner.evidence(neighbours.thin(one)))


def population_unchecked(patch: Patch) -> None:
    """A sample of so many records, out of any number of them."""
    patch.setattr(hush.OneSample, "population_of", lambda self, inner: frozenset())


def batches_unchecked(patch: Patch) -> None:
    """As many batches as a scheme likes to draw, of whatever it draws."""
    patch.setattr(hush.Scheme, "batches", lambda self, population, source: self.draw(population, source))


def gaussian_half(patch: Patch) -> None:
    from hush.curves.pairs.normal import NormalPair

    patch.setattr(
        hush.Gaussian, "at", lambda self, r, a: NormalPair.shifted(0.5 * self.steps(r, a) / self.noise_multiplier)
    )


def response_half(patch: Patch) -> None:
    at = hush.RandomizedResponse.at
    half = lambda self: hush.RandomizedResponse(epsilon=self.epsilon / 2, choices=self.choices, relation=self.relation)  # noqa: E731
    patch.setattr(hush.RandomizedResponse, "at", lambda self, r, a: at(half(self), r, a))


def draws_too_many(patch: Patch) -> None:
    draw = hush.Poisson.draw
    patch.setattr(
        hush.Poisson, "draw", lambda self, n, source=None: draw(hush.Poisson(rate=min(1.3 * self.rate, 1.0)), n, source)
    )


def fixed_batches(patch: Patch) -> None:
    """Batches of a fixed size, where each record should have a coin of its own."""
    patch.setattr(
        hush.Poisson,
        "draw",
        lambda self, n, source=None: hush.WithoutReplacement(round(self.rate * n), n).draw(n, source),
    )


def losses_left_out_forgotten(patch: Patch) -> None:
    """The mass of losses that a line leaves out is not added to delta."""
    from hush.numerics.engines.contour_line import LineValue

    whole = LineValue.upper.fget
    assert whole is not None
    patch.setattr(LineValue, "upper", property(lambda value: whole(replace(value, log_left_out=-math.inf))))


def conversion_without_delta(patch: Patch) -> None:
    """epsilon = divergence of some order, the term log(1/delta)/(order - 1) forgotten."""
    patch.setattr(hush.RenyiCurve, "epsilon_at", lambda self, log_delta: float(self(np.array([8.0]))[0]))


def words_repeat(patch: Patch) -> None:
    patch.setattr(hush.SecureSource, "words", lambda self, count: np.arange(count, dtype=np.uint64) << np.uint64(40))


def seeded_is_private(patch: Patch) -> None:
    patch.setattr(hush.SeededSource, "private", True)


def noise_too_small(patch: Patch) -> None:
    from hush.randomness import integer_noise

    sampler = integer_noise.rounded_laplace
    patch.setattr(integer_noise, "rounded_laplace", lambda source, scale, size: sampler(source, 0.7 * scale, size))


def sensitivity_over(divisor: int, kind: type) -> Callable[[Patch], None]:
    """Noise for one n-th of the sensitivity: that of a mean on a sum, or of a wrong n on a mean."""

    def inject(patch: Patch) -> None:
        noised = kind.noised

        def wrong(self: Any, totals: Any, *, l1: int, l2: float, source: Any) -> Any:
            return noised(self, totals, l1=max(1, l1 // divisor), l2=l2 / divisor, source=source)

        patch.setattr(kind, "noised", wrong)

    return inject


def float_noise(patch: Patch) -> None:
    """Laplace noise made of floats, added in floats."""
    from hush.randomness.float_noise import laplace
    from hush.releases.noise import noisy_query

    exact = noisy_query.add_laplace

    def wrong(values: Any, *, sensitivity: float, scale: float, source: Any) -> Any:
        found = exact(values, sensitivity=sensitivity, scale=scale, source=source)
        return replace(found, values=np.asarray(values, float) + found.scale * laplace(source, len(values)))

    patch.setattr(noisy_query, "add_laplace", wrong)


def not_clamped(patch: Patch) -> None:
    from hush.releases.noise.exact_sums import SumGrid

    sums = SumGrid.sums

    def wrong(self: Any, batches: Any, *, powers: int) -> list[int]:
        kept = [np.asarray(batch, dtype=float) for batch in batches]
        extra = sum(float(np.sum(np.nan_to_num(np.maximum(b - self.bounds[1], 0), posinf=0.0))) for b in kept)
        found = sums(self, kept, powers=powers)
        return [found[0] + int(min(extra / self.step, 2**40)), *found[1:]]

    patch.setattr(SumGrid, "sums", wrong)


def sample_charged_once(patch: Patch) -> None:
    patch.setattr(releases.Sample, "_accounted", lambda self, uses: uses[-1].on(self._scheme))


def smooth_off_by_one(patch: Patch) -> None:
    from hush.releases.statistics import smooth_sensitivity

    largest, coarse = smooth_sensitivity._largest, smooth_sensitivity._coarse
    patch.setattr(smooth_sensitivity, "_largest", lambda down, up, beta: largest(down, up, beta) * math.exp(-beta))
    patch.setattr(
        smooth_sensitivity, "_coarse", lambda x, rank, beta, bounds: coarse(x, rank, beta, bounds) * math.exp(-beta)
    )


def audit_of_median() -> None:
    """distinguish on releases of a quantile of two equal halves"""
    query = releases.Quantile(p=0.5, bounds=(0, 12), epsilon=1.0, step=1.0)
    source = hush.SeededSource(9)
    worlds = [0.0, 0.0, 0.0, 12.0, 12.0, 12.0], [0.0, 0.0, 0.0, 12.0, 12.0, 12.0, 12.0]
    drawn = [np.array([float(query.release(w, source=source).value) for _ in range(1500)]) for w in worlds]
    assert distinguish(*drawn, claim=query.mechanism, delta=0.0).survives


def quantile_too_sharp(patch: Patch) -> None:
    from hush.releases.statistics import quantile

    change = quantile.change_of_loss
    patch.setattr(quantile, "change_of_loss", lambda p, relation: change(p, relation) / 8)


def no_clipping(patch: Patch) -> None:
    import torch

    from hush.learning.per_example.clipping import Flat

    patch.setattr(Flat, "factors", lambda self, squares, max_norm, share: torch.full_like(squares, share))


def clipping_after_averaging(patch: Patch) -> None:
    from hush.learning.per_example.clipped_sum import CheckedModel

    add = CheckedModel.add_clipped

    def wrong(self: Any, named: Any, batch: Any, max_norm: float, clipping: Any, share: float = 1.0) -> None:
        add(self, named, batch, 1e9, clipping, share)
        norm = math.sqrt(sum(float(part.square().sum()) for part in named.values())) / share
        for part in named.values():
            part.mul_(min(1.0, max_norm / norm) if norm else 1.0)

    patch.setattr(CheckedModel, "add_clipped", wrong)


def tied_weights_apart(patch: Patch) -> None:
    """Layers that share weights, their norms taken apart; the check on random rows switched off with it."""
    from hush.learning.per_example import clipped_sum, ways

    patch.setattr(clipped_sum, "grouped", lambda units: [[unit] for unit in units])
    patch.setattr(ways, "differs", lambda probe, parts, alone: None)


def norm_of_each_layer(patch: Patch) -> None:
    """Each layer clipped to the whole norm."""
    from hush.learning.per_example.clipping import Flat

    patch.setattr(
        Flat, "factors", lambda self, squares, max_norm, share: squares.rsqrt().mul(max_norm).clamp_max(1) * share
    )


def buffers_of_the_state_alone(patch: Patch) -> None:
    """What a model keeps is looked for in its state_dict only: buffers that are not saved pass, and attributes."""
    from hush.learning.model_state import memory
    from hush.learning.per_example import batch_sizes, probe

    def wrong(**roots: Any) -> Any:
        found = roots["model"]
        return memory.memory(model=found if isinstance(found, dict) else dict(found.state_dict()))

    for module in (probe, batch_sizes):
        patch.setattr(module, "memory", wrong)


def views_clipped_before_the_mean(patch: Patch) -> None:
    """Every view of an example is clipped on its own, and the mean is taken of what is left."""
    from hush.learning.per_example.clipped_sum import CheckedModel

    of, add = CheckedModel.of, CheckedModel.add_clipped

    def made(model: Any, loss: Any, *others: Any) -> Any:
        checked = of(model, loss.loss, *others)
        checked.spread, checked.share = loss.spread, 1 / loss.views
        return checked

    def wrong(self: Any, named: Any, batch: Any, max_norm: float, clipping: Any, share: float = 1.0) -> None:
        add(self, named, self.spread(batch), max_norm, clipping, share * self.share)

    patch.setattr(CheckedModel, "of", staticmethod(made))
    patch.setattr(CheckedModel, "add_clipped", wrong)


def average_of_weights_without_noise(patch: Patch) -> None:
    """The average follows weights that were moved by the clipped sum itself."""
    import torch

    from hush.learning.dpsgd.followers import Followers
    from hush.learning.dpsgd.private_gradient import PrivateGradient
    from hush.learning.per_example.clipped_sum import CheckedModel

    bare: dict[str, Any] = {}
    add, after, call = CheckedModel.add_clipped, Followers.after, PrivateGradient.__call__

    def kept(self: Any, named: Any, *others: Any) -> None:
        add(self, named, *others)
        bare["sum"] = {name: part.clone() for name, part in named.items()}

    def noised(self: Any, batch: Any) -> None:
        call(self, batch)
        bare["noise"] = {n: p.grad - bare["sum"][n] for n, p in self.model.named_parameters() if n in bare["sum"]}

    def wrong(self: Any, model: Any) -> None:
        rate = 0.5 if self.scheduler is None else self.scheduler.get_last_lr()[0]
        with torch.no_grad():
            for name, p in model.named_parameters():
                p.add_(bare["noise"][name], alpha=rate)  # the step of the noise, taken back
        after(self, model)
        with torch.no_grad():
            for name, p in model.named_parameters():
                p.sub_(bare["noise"][name], alpha=rate)

    patch.setattr(CheckedModel, "add_clipped", kept)
    patch.setattr(PrivateGradient, "__call__", noised)
    patch.setattr(Followers, "after", wrong)


def training_without_noise(patch: Patch) -> None:
    from hush.learning.dpsgd.gradient_noise import SecureNoise

    patch.setattr(SecureNoise, "finish", lambda self, flat, noise_multiplier, max_norm: None)


def noise_of_the_mean(patch: Patch) -> None:
    """Noise for the average added to the sum: too small by the batch size."""
    from hush.learning.dpsgd.gradient_noise import SecureNoise

    finish = SecureNoise.finish
    patch.setattr(SecureNoise, "finish", lambda self, flat, noise, norm: finish(self, flat, noise, norm / 100))


def drawn_batch_normalises(patch: Patch) -> None:
    """The noisy sum divided by the number of rows that were drawn, which is secret."""
    from hush.learning.dpsgd.private_gradient import PrivateGradient
    from hush.learning.per_example.batch import size_of

    call = PrivateGradient.__call__

    def wrong(self: Any, batch: Any) -> None:
        call(self, batch)
        for parameter in self.model.parameters():
            parameter.grad.mul_(self.plan.expected_batch / max(1, size_of(batch.examples)))

    patch.setattr(PrivateGradient, "__call__", wrong)


def empty_batch_skipped(patch: Patch) -> None:
    """A batch without rows leaves no noise behind: that it was empty shows."""
    from hush.learning.dpsgd.private_gradient import PrivateGradient
    from hush.learning.per_example.batch import size_of

    call = PrivateGradient.__call__

    def wrong(self: Any, batch: Any) -> None:
        call(self, batch)
        for parameter in self.model.parameters() if not size_of(batch.examples) else ():
            parameter.grad.zero_()

    patch.setattr(PrivateGradient, "__call__", wrong)


def audit_without_split(patch: Patch) -> None:
    """Attackers chosen on the samples that give the bound."""
    module = import_module("hush.auditing.distinguish")

    def wrong(worlds: Any, claim: Any, error: float, bits: bool = False) -> Any:
        event = module.choose(tuple(np.concatenate([world, world]) for world in worlds), claim, 1.0, bits)
        return event, worlds, *event.limits(worlds, error)

    patch.setattr(module, "attack", wrong)


def ties_in_order_of_the_file(patch: Patch) -> None:
    module = import_module("hush.auditing.canaries.one_run")
    patch.setattr(module, "falling", lambda scores, members: np.argsort(-scores, kind="stable"))


def delta_of_one_run_forgotten(patch: Patch) -> None:
    from hush.auditing.canaries import chances_of_guesses

    chance = chances_of_guesses.chance_of_right
    patch.setattr(
        chances_of_guesses, "chance_of_right", lambda *a, epsilon, delta: chance(*a, epsilon=epsilon, delta=0.0)
    )


def delta_of_all_numbers_forgotten(patch: Patch) -> None:
    patch.setattr("hush.auditing.canaries.random_walk.WalkTest.leak", lambda self, epsilon: 0.0)


def numbers_of_guesses_not_paid_for(patch: Patch) -> None:
    """Only the number that says most is counted, as if it had been the only one."""
    walk = import_module("hush.auditing.canaries.random_walk").WalkTest
    patch.setattr(walk, "chance", lambda self, wrong, low, high: float(np.min(self.local(wrong, high))))


def message_passes(patch: Patch) -> None:
    """What a library says of a record is told as it is."""
    for module in ("reader", "opening"):
        patch.setattr(f"hush.releases.tables.{module}.sealed", lambda action, **told: action())


def coins_of_the_attempt(patch: Patch) -> None:
    """A task that is tried again tosses fresh coins."""
    keyed = import_module("hush.randomness.keyed_source").KeyedSource
    patch.setattr(keyed, "part", lambda self, number: keyed.of(hush.SeededSource(next(ATTEMPTS))))


ATTEMPTS = itertools.count()


def users_moved_when_the_table_grows(patch: Patch) -> None:
    """Ids get new slots when their table grows, and what was counted for them stays at the old ones."""
    table = import_module("hush.releases.tables.ids.id_slots").WholeSlots

    def grow(self: Any, most: int) -> None:
        if most * 3 > len(self._keys):
            known, self.size = self.keys()[::-1].copy(), 0
            self._make((3 * most - 1).bit_length())
            self._search(known, self._home(known))

    patch.setattr(table, "_grow", grow)


def texts_of_one_hash_are_one_user(patch: Patch) -> None:
    patch.setattr("hush.releases.tables.ids.id_slots.TextSlots._other", lambda self, text: 0)


def windows_without_their_ties(patch: Patch) -> None:
    """A point that holds many records counts as one of them."""
    module = import_module("hush.releases.statistics.ordered_records")
    full = np.full
    fake = type(
        "np", (), {**{n: getattr(np, n) for n in dir(np)}, "full": staticmethod(lambda n, v: full(min(n, 1), v))}
    )
    patch.setattr(module, "np", fake)


def weights_without_rounding(patch: Patch) -> None:
    """Two numbers near 10^12 cancel, and their rounding is not charged."""
    from hush.numerics.laws.normals import Normals

    patch.setattr(Normals, "_weight_error", lambda _self, x, _tilt: np.zeros(len(x)))


def rounding_of_small_differences(patch: Patch) -> None:
    """A kernel on a lattice as the difference of two sums, its rounding charged by the size of what is left."""
    module = import_module("hush.numerics.engines.contour_line")
    plain = module.ContourLine.kernels

    def kernels(self: Any, gaps: Any) -> Any:
        if not self.lattice:
            return plain(self, gaps)
        gap = np.asarray(gaps)[..., None]
        _, mass, discount = self._ladder
        first = np.exp(-self.s * gap)
        rest = first * np.exp(-gap) * discount
        kernel = first * mass - rest
        return kernel, rest, np.abs(kernel)

    patch.setattr(module.ContourLine, "kernels", kernels)


def chords_instead_of_corners(patch: Patch) -> None:
    """The upper curve of the best attacker from the known points of its profile alone: each is attained, no chord is."""
    module = import_module("hush.curves.tradeoff")
    patch.setattr(module.KnownProfile, "corners", property(lambda self: (self.t[:-1], self.below[:-1])))


def one_line_for_all_rates(patch: Patch) -> None:
    """The lower curve of the best attacker from lower bounds on delta."""
    module = import_module("hush.curves.tradeoff")
    plain = module.KnownProfile.of.__func__
    patch.setattr(
        module.KnownProfile,
        "of",
        classmethod(
            lambda cls, profile, epsilons, floor=0.0: plain(cls, lambda e: (profile(e)[0],) * 2, epsilons, floor)
        ),
    )


def large_losses_forgotten(patch: Patch) -> None:
    """Tails of a mirrored mix that lose every loss past 37, where e^-l is nothing beside 1."""
    module = import_module("hush.curves.pairs.share")

    def inverse_loss(self: Any, losses: Any) -> Any:
        growth = np.expm1(np.minimum(losses, 700.0))
        top = self._excess - self.below * growth
        under, over = self._excess + growth * self.below_rest <= 0, top <= 0
        inside = ~(under | over)
        ratio = np.where(inside, growth / np.where(inside, top, 1.0), 0.0)
        base = np.log1p(np.maximum(ratio, -1 + 1e-15))
        if self.below == 0:
            base = np.where(losses > 600, losses - math.log(self.above), base)
        return base, under, over

    patch.setattr(module.Share, "inverse_loss", inverse_loss)


# -- tables and recursions ------------------------------------------------------------------------------------------


def coins_for_choices(patch: Patch) -> None:
    """What one attacker gains from choices of bounded range, taken for what every attacker may gain."""
    module = import_module("hush.curves.theorems.ranged_choices")
    patch.setattr(module, "recursion", lambda bound, count, cells: module.coins(bound, count, bound / 2))


def spike_raised(patch: Patch) -> None:
    """Merged outcomes put where the largest of them is, not where they are on average."""
    window = import_module("hush.numerics.engines.loss_source")._Window
    merged = window.merged
    patch.setattr(window, "merged", lambda self, place, mass: merged(self, max(place, self.high), mass))


def largest_loss_as_its_own_lower_end(patch: Patch) -> None:
    """The largest loss of a sum, which was rounded up, is answered as what is reached."""
    patch.setattr("hush.curves.composition.finite_sum.largest_loss_between", lambda top, _: (top, top))


def largest_loss_to_the_nearest(patch: Patch) -> None:
    """One over the scale, as floats divide: half a unit low as often as not."""
    patch.setattr(import_module("hush.curves.pairs.segment"), "written_up", float)


def bystanders_weigh_nothing(patch: Patch) -> None:
    """What stands beside the levels has moment 1 at every order in Chernoff's bounds."""
    kind = import_module("hush.numerics.engines.levels.bystanders").Bystanders
    patch.setattr(kind, "log_moments", lambda _, orders: (np.zeros(len(orders)), np.zeros(len(orders))))


def nothing_past_the_lattice(patch: Patch) -> None:
    """Losses that make the sum exceed epsilon are left out where atoms are split onto a lattice."""
    kind = import_module("hush.numerics.engines.split_atoms").SplitSum
    patch.setattr(kind, "_past", lambda _self, _epsilon, _side: 0.0)


# -- correlated noise ---------------------------------------------------------------------------------------------


def means_of_ratios_rounded(patch: Patch) -> None:
    """Means of ratios near 1, rounded to floats near 1 before their logarithm is taken."""
    module = import_module("hush.curves.theorems.any_allocation")
    patch.setattr(module, "_more_than_one", lambda counts, losses: counts @ np.exp(losses) - counts.sum(axis=1))


def rounding_of_what_is_left(patch: Patch) -> None:
    """One of two releases, the level that is left for the second taken as exact."""
    module = import_module("hush.curves.theorems.one_of_two")
    patch.setattr(module.OneOfTwo, "_off", lambda *_: 0.0)


def any_scheme_for_banded_noise(patch: Patch) -> None:
    """Plain Poisson sampling with banded noise, accounted for as if the uses of a record were apart."""
    module = import_module("hush.mechanisms.schemes.spaced.banded_noise")
    patch.setattr(module.BandedNoise, "require", lambda self, scheme: None)


def lost_atom_is_certain(patch: Patch) -> None:
    """The atom of the largest loss, of whatever mass: where that is rounded to 0, its logarithm is left out."""

    def top_atom(self: Any) -> tuple[float, float]:
        tops = [(law.losses.max(), law.masses[law.losses == law.losses.max()].sum(), n) for law, n in self.laws]
        log_mass = sum(n * math.log(mass) for _, mass, n in tops if mass > 0)
        return sum(n * loss for loss, _, n in tops), log_mass

    patch.setattr(import_module("hush.curves.composition.finite_sum").FiniteSum, "_top_atom", property(top_atom))


def beta_without_rounding(patch: Patch) -> None:
    """log B(a, b) as scipy gives it, with the rounding of a number of its size."""
    patch.setattr(
        import_module("hush.mechanisms.leaves.posterior"),
        "log_beta_ends",
        lambda eta: (special.betaln(eta[:, 0], eta[:, 1]), np.zeros(len(eta))),
    )


def parts_of_a_shuffle(patch: Patch) -> None:
    """Equal parts of a shuffle: they depend on how many records there are, and move when one is added."""
    module, order = (
        import_module("hush.mechanisms.schemes.spaced.cyclic_poisson"),
        import_module("hush.randomness.draws").order,
    )

    def even(source: Any, parts: int, population: int) -> Any:
        found = np.zeros(population, dtype=np.int64)
        for part, members in enumerate(np.array_split(order(source, population), parts)):
            found[members] = part
        return found

    patch.setattr(module, "drawn_parts", even)


def poisson_pair_of_a_capped_step(patch: Patch) -> None:
    """The last iterate on capped batches, with the pair of plain Poisson sampling inside."""
    run = hush.SampledGradientDescent

    def step(self: Any, share: float = 0.0) -> hush.Mechanism:
        scale = self.noise * self.batch_size / self.loss.lipschitz * math.sqrt(1 - share)
        return hush.Gaussian(scale).on(hush.Poisson(rate=self.scheme.rate))

    patch.setattr(run, "_step", step)
