"""Which numbers of guesses an audit of one run tries: decided before any score is looked at, and paid for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from hush.arrays import Array
from hush.auditing.canaries.chances_of_guesses import Guesses, bound_from_right, is_evidence, right_guesses
from hush.auditing.canaries.random_walk import FEWEST_GUESSES, WalkTest
from hush.auditing.claims import Claim


@dataclass(frozen=True)
class SeparateTests:
    """Several numbers of guesses, each tested by itself with its own share of the error."""

    errors: dict[Guesses, float]
    canaries: int
    claim: Claim

    def bound(self, ranked: Array) -> tuple[float, Guesses]:
        """The best bound, and the guesses that give it."""
        found, best = 0.0, next(iter(self.errors))
        for pair, error in self.errors.items():
            higher = bound_from_right(right_guesses(ranked, pair), pair, self.canaries, self.claim, error, found)
            found, best = (higher, pair) if higher > found else (found, best)
        return found, best

    def is_evidence(self, ranked: Array) -> bool:
        """Whether the bound exceeds 0."""
        return any(is_evidence(right_guesses(ranked, pair), pair, error) for pair, error in self.errors.items())

    @property
    def words(self) -> str:
        """What was tried, in a few words."""
        return f"{len(self.errors)} numbers of guesses tried" if len(self.errors) > 1 else "guesses fixed beforehand"


@dataclass(frozen=True)
class JointTests:
    """All numbers of guesses tested together: guesses from both ends by turns, and from the highest scores alone."""

    walks: dict[str, tuple[WalkTest, float]]

    def bound(self, ranked: Array) -> tuple[float, Guesses]:
        """The best bound, and the guesses that say most against it."""
        found, best = 0.0, (0, 0)
        for name, (walk, error) in self.walks.items():
            wrong = wrong_on_the_way(ranked, walk.numbers, both=name == "both")
            higher = walk.bound(wrong, error=error, above=found)
            if higher > found or best == (0, 0):
                number = walk.likeliest(wrong, higher)
                found, best = higher, (number - number // 2, number // 2) if name == "both" else (number, 0)
        return found, best

    def is_evidence(self, ranked: Array) -> bool:
        """Whether the bound exceeds 0."""
        return any(
            walk.is_evidence(wrong_on_the_way(ranked, walk.numbers, both=name == "both"), error=error)
            for name, (walk, error) in self.walks.items()
        )

    @property
    def words(self) -> str:
        """What was tried, in a few words."""
        return f"{sum(len(walk.numbers) for walk, _ in self.walks.values())} numbers of guesses tested together"


def planned_tests(canaries: int, claim: Claim, error: float) -> SeparateTests | JointTests:
    """Tests together for (epsilon, delta), unless its delta would take too much of the error; else separate ones."""
    mu = separation(claim)
    if claim.quantity == "epsilon" and (together := _together(canaries, mu, claim, error)):
        return together
    # attacks fall short of most claims: what would prove most with 1/2, 1/4 and 1/8 of the separation is tried too
    weaker = [expected_guesses(canaries, mu / 2**k, claim, error / 2 ** (k + 1))[0] for k in range(4)]
    shares = numbers_of_guesses(canaries, weaker)
    return SeparateTests({pair: share * error for pair, share in shares.items()}, canaries, claim)


def _together(canaries: int, mu: float, claim: Claim, error: float) -> JointTests | None:
    expected, proven = expected_guesses(canaries, mu, claim, error)
    fewest = FEWEST_GUESSES
    while fewest <= sum(expected):
        walk = WalkTest.around(sum(expected), canaries=canaries, delta=claim.delta, fewest=fewest)
        if walk.leak(proven) <= error / 5:
            one_end = WalkTest.around(expected[0], canaries=canaries, delta=claim.delta, fewest=fewest)
            return JointTests({"both": (walk, 0.9 * error), "highest": (one_end, 0.1 * error)})
        fewest *= 2
    return None


def wrong_on_the_way(ranked: Array, numbers: Array, *, both: bool) -> Array:
    """Wrong guesses among the first so many: the highest scores called in, by turns with the lowest called out.

    >>> wrong_on_the_way(np.array([True, False, True, False]), np.array([1, 2, 3, 4]), both=True)
    array([0, 0, 1, 2])
    """
    from_above = np.concatenate([[0], np.cumsum(~ranked)])
    if not both:
        return from_above[numbers]
    from_below = np.concatenate([[0], np.cumsum(ranked[::-1])])
    return from_above[numbers - numbers // 2] + from_below[numbers // 2]


def numbers_of_guesses(canaries: int, expected: list[Guesses]) -> dict[Guesses, float]:
    """Guesses that are tried, with shares of the error: half, a quarter, ... for those expected; the rest for halvings.

    >>> {pair: round(share, 3) for pair, share in numbers_of_guesses(20, [(7, 7), (6, 6)]).items()}
    {(7, 7): 0.5, (6, 6): 0.25, (10, 10): 0.1, (20, 0): 0.025, (5, 5): 0.1, (10, 0): 0.025}
    """
    shares: dict[Guesses, float] = {}
    for place, pair in enumerate(expected, start=1):
        shares[pair] = shares.get(pair, 0.0) + 0.5**place
    sizes = [canaries >> halvings for halvings in range(50) if canaries >> halvings >= FEWEST_GUESSES]
    left = 0.5 ** len(expected) / len(sizes)
    for size in sizes:
        for pair, share in (((size - size // 2, size // 2), 0.8 * left), ((size, 0), 0.2 * left)):
            shares[pair] = shares.get(pair, 0.0) + share
    return shares


def separation(claim: Claim) -> float:
    """The mu at which scores N(mu, 1) of members and N(0, 1) of others give an attacker the claimed advantage."""
    if claim.quantity == "mu":
        return claim.value
    return 2 * float(special.ndtri((1 + min(claim.mechanism.advantage().upper, 1 - 1e-9)) / 2))


def expected_guesses(canaries: int, mu: float, claim: Claim, error: float) -> tuple[Guesses, float]:
    """The number of guesses at both ends that would prove most with such scores, and what it would prove.

    No score is looked at.

    >>> import hush
    >>> expected_guesses(1000, 4.0, Claim.of(hush.GaussianDP(4.0)), 0.05)[0]
    (353, 353)
    """
    best, proven = (canaries - canaries // 2, canaries // 2), 0.0
    cuts = np.linspace(mu - 4, 4 + mu, 2000)
    called = (special.ndtr(mu - cuts) + special.ndtr(-cuts)) / 2
    for step in range(40):
        half = int(canaries / 2 ** (step / 4 + 1))
        if half < 5:
            break
        cut = cuts[np.argmin(np.abs(called - half / canaries))]
        truth = special.ndtr(mu - cut) / (special.ndtr(mu - cut) + special.ndtr(-cut))
        # half a deviation fewer, so as not to count on luck
        correct = int(2 * half * truth - 0.5 * np.sqrt(2 * half * truth * (1 - truth)))
        reached = bound_from_right(correct, (half, half), canaries, claim, error, proven)
        if reached > proven:
            best, proven = (half, half), reached
    return best, proven
