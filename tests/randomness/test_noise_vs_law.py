"""Integer noise against its exact law, against the one-at-a-time sampler, and where bits tie."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx
from scipy import special, stats

from hush import InvalidParameter, SecureSource, SeededSource, Source
from hush.randomness import exact, integer_noise
from hush.randomness.slots import Slots

SIGNIFICANCE = 1e-6
"""The seeds are fixed, so a test that passes does so always; a wrong law would be far below this."""
SIZE = 200_000
SCALES = [0.1, 0.37, 1.0, 2.7, 9.0, 17.3, 1000.0, 123456.789, 2.0**31 + 0.5, 2.0**40]
SAMPLERS = [
    integer_noise.discrete_laplace,
    integer_noise.discrete_gaussian,
    integer_noise.rounded_laplace,
    integer_noise.rounded_gaussian,
]


def survival(sampler: object, scale: float, k: np.ndarray) -> np.ndarray:
    """P(value >= k) for k >= 1, from closed forms (Gaussian sums: all terms, or the integral where it is exact)."""
    if sampler is integer_noise.discrete_laplace:
        return np.exp(-k / scale) / (1 + math.exp(-1 / scale))
    if sampler is integer_noise.rounded_laplace:
        return 0.5 * np.exp(-(k - 0.5) / scale)
    if sampler is integer_noise.rounded_gaussian or scale > 1000:  # Poisson summation: equal up to exp(-2 pi^2 scale^2)
        return special.ndtr(-(k - 0.5) / scale)
    places = np.arange(-math.ceil(40 * scale) - 2, math.ceil(40 * scale) + 3)
    mass = np.exp(-((places / scale) ** 2) / 2)
    above = np.cumsum(mass[::-1])[::-1] / mass.sum()
    return above[np.searchsorted(places, np.minimum(k, places[-1]))]


def cells(scale: float) -> np.ndarray:
    """Right ends of at most about forty cells of the positive integers."""
    if scale < 10:
        return np.arange(1, math.ceil(12 * scale) + 4)
    return np.unique(np.ceil(scale * np.linspace(0.05, 6, 40)).astype(np.int64))


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("sampler", SAMPLERS)
def test_values_have_their_law(sampler: object, scale: float) -> None:
    """Chi-squared over cells of both signs and, where there is one, of zero."""
    values = sampler(SeededSource(round(scale * 8)), scale, SIZE)  # type: ignore[operator]
    assert values.dtype == np.int64
    assert len(values) == SIZE
    edges = cells(scale)
    above = np.append(survival(sampler, scale, edges), 0.0)
    expected = np.concatenate([(above[:-1] - above[1:])[::-1], [1 - 2 * above[0]], above[:-1] - above[1:]]) * SIZE
    places = np.searchsorted(edges, np.abs(values), side="right")
    observed = np.bincount(np.sign(values) * places + len(edges), minlength=2 * len(edges) + 1)
    rare = expected < 8
    observed = np.append(observed[~rare], observed[rare].sum())
    expected = np.append(expected[~rare], expected[rare].sum())
    keep = expected > 0
    assert observed[~keep].sum() == 0
    if keep.sum() > 1:
        assert stats.chisquare(observed[keep], expected[keep] * SIZE / expected[keep].sum()).pvalue > SIGNIFICANCE


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_signs_and_tails_are_alike(sampler: object) -> None:
    values = sampler(SeededSource(3), 1e6, SIZE)  # type: ignore[operator]
    for edge in (0, 1e6, 2.5e6):
        above, below = int(np.sum(values > edge)), int(np.sum(values < -edge))
        assert stats.binomtest(above, above + below, 0.5).pvalue > SIGNIFICANCE


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_low_bits_are_uniform(sampler: object) -> None:
    """Noise of 2^40 steps: each of the low 30 bits is a fair coin, and neighbours are independent."""
    values = sampler(SeededSource(4), 2.0**40, SIZE)  # type: ignore[operator]
    bits = (np.abs(values)[:, None] >> np.arange(30)) & 1
    for column in bits.T:
        assert stats.binomtest(int(column.sum()), SIZE, 0.5).pvalue > SIGNIFICANCE
    for one, other in zip(bits.T[:-1], bits.T[1:], strict=True):
        assert stats.binomtest(int(np.sum(one ^ other)), SIZE, 0.5).pvalue > SIGNIFICANCE


@pytest.mark.parametrize("scale", [0.3, 1.5, 40.0])
@pytest.mark.parametrize(
    ("fast", "slow"),
    [
        (integer_noise.discrete_laplace, exact.discrete_laplace),
        (integer_noise.discrete_gaussian, exact.discrete_gaussian),
    ],
)
def test_fast_samplers_agree_with_the_slow_exact_ones(fast: object, slow: object, scale: float) -> None:
    """Two samples of the same law: chi-squared on the table of both."""
    source, size = SeededSource(5), 1500
    slowly = np.array([slow(source, Fraction(scale)) for _ in range(size)])  # type: ignore[operator]
    quickly = fast(source, scale, 20 * size)  # type: ignore[operator]
    edges = np.unique(np.quantile(quickly, np.linspace(0.02, 0.98, 15)).round())
    table = np.array([np.bincount(np.searchsorted(edges, x), minlength=len(edges) + 1) for x in (slowly, quickly)])
    table = table[:, table.sum(axis=0) > 20]
    assert stats.chi2_contingency(table).pvalue > SIGNIFICANCE


def all_slots(scale: float) -> list[Slots]:
    return [make(scale, whole) for make in (integer_noise._laplace, integer_noise._gaussian) for whole in (True, False)]


@pytest.mark.parametrize("scale", [2.0**-30, 0.1, 1.0, 37.5, 2.0**40, 2.0**50])
def test_thresholds_enclose_those_of_ball_arithmetic(scale: float) -> None:
    """The probability of the slots below c, computed by flint to 300 bits, lies between both bounds for every c."""
    precision, ctx.prec = ctx.prec, 300
    try:
        for slots in all_slots(scale):
            rate, curve, step = (
                arb(x.numerator) / x.denominator for x in (slots.shape.rate, slots.shape.curve, slots.step)
            )
            mass = [(-(rate * c + curve * c * c / 2)).exp() for c in range(slots.last + 1)]
            mass[-1] /= 1 - (-step).exp()
            total = sum(mass, arb(0))
            below = arb(0)
            for part, low, high, floor in zip(mass, *slots.thresholds(128), slots._floors, strict=False):
                below += part
                share = below / total * arb(2) ** 128
                assert share >= low
                assert share <= high or high == 1 << 128
                assert high - low <= 2
                first = share / arb(2) ** 64
                assert first >= int(floor)
                assert first < int(floor) + 1 or int(floor) == 2**64 - 1
    finally:
        ctx.prec = precision


@pytest.mark.parametrize(
    "exponent", [Fraction(0), Fraction(1, 3), Fraction(7), Fraction(2**70 + 1, 2**69), Fraction(300)]
)
@pytest.mark.parametrize("bits", [16, 64, 200, 500])
def test_exponentials_lie_between_their_bounds(exponent: Fraction, bits: int) -> None:
    precision, ctx.prec = ctx.prec, 1200
    try:
        truth = (-arb(exponent.numerator) / exponent.denominator).exp() * arb(2) ** bits
        low, high = exact.exponential(exponent, bits)
        assert low <= truth
        assert truth <= high
        assert high - low <= 3
    finally:
        ctx.prec = precision


class Then(Source):
    """Given words first, seeded ones after."""

    private = False

    def __init__(self, *words: int) -> None:
        self.given, self.rest = list(words), SeededSource(99)

    def words(self, count: int) -> np.ndarray:
        given, self.given = self.given[:count], self.given[count:]
        return np.array([*given, *self.rest.words(count - len(given)).tolist()], dtype=np.uint64)


def test_a_slot_on_its_threshold_is_decided_by_more_bits() -> None:
    """64 bits equal to those of a threshold; the next 64 are just below or just above the threshold's own."""
    for slots in all_slots(3.0):
        for c in (0, 1, slots.last - 1):
            low, high = (ends[c] for ends in slots.thresholds(128))
            word, mask = int(slots._floors[c]), (1 << 64) - 1
            assert low >> 64 == word
            assert slots._settle_exactly(Then((low - 2) & mask), word) == c
            assert slots._settle_exactly(Then((high + 2) & mask), word) == c + 1
            on_it = slots._settle_exactly(Then(low & mask), word)
            assert on_it in (c, c + 1)


def test_a_tie_in_the_vectorised_path_is_settled_exactly() -> None:
    """The first 16 bits and the 48 after them are a threshold's: `draw` must ask for more bits and use them."""
    slots = integer_noise._laplace(3.0, True)
    low = slots.thresholds(128)[0][1]
    word, mask = int(slots._floors[1]), (1 << 64) - 1
    first, rest = word >> 48, (word & ((1 << 48) - 1)) << 16
    assert slots.guide[first] == 255
    assert slots.draw(Then(first, rest, (low - 2) & mask), 1).tolist() == [1]
    assert slots.draw(Then(first, rest, (low + 4) & mask), 1).tolist() == [2]


@pytest.mark.parametrize("whole", [True, False])
def test_a_kept_value_on_the_edge_is_decided_by_more_bits(whole: bool) -> None:
    """The coin's first 32 bits are those of exp(-drop): the next 64 decide, and the exact exponential says how."""
    shape = integer_noise._gaussian(1000.0, whole).shape
    bits = shape.power if whole else 63
    slot, low = 5, (1 << bits) // 3
    edge = exact.exponential(shape.drop(slot, Fraction(low, 1 << bits)), 96)[0]
    coin = np.array([edge >> 64])
    for shift, kept in ((-(2**40), True), (2**40, False)):
        more = (edge & (2**64 - 1)) + shift
        extra = [] if whole else [0]
        part = np.array([low << (64 - bits)], dtype=np.uint64)
        found = integer_noise._kept(Then(more, *extra), shape, np.array([slot]), part, coin)
        assert found.tolist() == [kept]
    far = (edge >> 64) + 5000
    assert not integer_noise._kept_exactly(SeededSource(1), shape, slot, low, bits, far)


@pytest.mark.parametrize("laplace", [True, False])
@pytest.mark.parametrize("whole", [True, False])
def test_the_tail_goes_on_as_the_law_does(laplace: bool, whole: bool) -> None:
    """Slots beyond the table: the tail's own sampler against the ratios of the densities there."""
    slots = Slots((integer_noise._laplace if laplace else integer_noise._gaussian)(50.0, whole).shape, last=30)
    source, rounds = SeededSource(12), 4000
    drawn = np.array([slots._tail(source) for _ in range(rounds)])
    kept = drawn[drawn >= 0]
    place = np.arange(30, 400)
    weight = np.exp(-float(slots.shape.rate) * place - float(slots.shape.curve) * place**2 / 2)
    expected = weight / weight.sum() * len(kept)
    observed = np.bincount(kept - 30, minlength=len(place))
    rare = expected < 8
    assert (
        stats.chisquare(
            np.append(observed[~rare], observed[rare].sum()), np.append(expected[~rare], expected[rare].sum())
        ).pvalue
        > SIGNIFICANCE
    )


def test_sizes_and_scales_at_the_ends() -> None:
    for sampler in SAMPLERS:
        assert len(sampler(SecureSource(), 1.0, 0)) == 0
        assert not sampler(SecureSource(), 2.0**-30, 1000).any()
        assert np.abs(sampler(SecureSource(), 2.0**50, 1000)).max() < 2**56
        for bad in (0.0, -1.0, 2.0**-31, 2.0**51, math.inf, math.nan, True, "1", None):
            with pytest.raises(InvalidParameter, match="scale|sigma"):
                sampler(SecureSource(), bad, 1)  # type: ignore[arg-type]


def test_a_value_too_large_for_64_bits_is_cut() -> None:
    class Far(Slots):
        def draw(self, source: Source, count: int) -> np.ndarray:
            return np.full(count, 1 << 62)

    for whole in (True, False):
        near = integer_noise._laplace(2.0**40, whole)
        values = np.empty(100, dtype=np.int64)
        integer_noise._propose(SeededSource(1), Far(near.shape, near.last), values)
        assert np.all(np.abs(values) >= integer_noise.FARTHEST)
        assert np.all(np.abs(values) <= integer_noise.FARTHEST + 2**40)


def test_the_charge_of_inexact_draws() -> None:
    assert integer_noise.delta_of_inexact_draws(epsilon=0.0, draws=10, total_variation=1e-9) == pytest.approx(2e-8)


@pytest.mark.parametrize("whole", [True, False])
def test_a_tail_that_is_turned_down_is_drawn_anew(whole: bool) -> None:
    """Slots of -1 never come out: every place is filled by a value that was kept."""

    class Poor(Slots):
        def draw(self, source: Source, count: int) -> np.ndarray:
            slots = super().draw(source, count).astype(np.int64)
            slots[::3] = -1
            return slots

    near = integer_noise._gaussian(1000.0, whole)
    values = integer_noise._noise(SeededSource(3), Poor(near.shape, near.last), 100_000)
    assert len(values) == 100_000
    assert stats.kstest((values + 0.0) / 1000.0, "norm").pvalue > SIGNIFICANCE


@pytest.mark.parametrize(("laplace", "scale"), [(True, 0.7), (True, 3e5), (False, 1.3), (False, 40.0), (False, 1e9)])
@pytest.mark.parametrize("whole", [True, False])
def test_coins_that_keep_any_place_are_below_the_exact_chance(laplace: bool, scale: float, whole: bool) -> None:
    slots = (integer_noise._laplace if laplace else integer_noise._gaussian)(scale, whole)
    for slot in range(slots.last):
        least = exact.exponential(slots.shape.drop(slot, Fraction(1)), 64)[0]
        assert int(slots.sure[slot]) << 32 <= least
    assert slots.sure[slots.last] == 0
