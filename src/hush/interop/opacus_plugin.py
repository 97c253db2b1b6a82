"""hush as an accountant of Opacus: PrivacyEngine(accountant="hush")."""

from __future__ import annotations

from opacus.accountants import IAccountant, register_accountant  # pyright: ignore[reportMissingImports]

from hush.interop.opacus_history import from_opacus
from hush.mechanisms.mechanism import Mechanism

NAME = "hush"


class OpacusAccountant(IAccountant):
    """What an Opacus training gives away, certified: `get_epsilon` never lies below the truth.

    `guarantee` is all that ran so far, for every other question: `accountant.guarantee.explain(delta=1e-5)`.

    >>> accountant = OpacusAccountant()
    >>> for _ in range(100):
    ...     accountant.step(noise_multiplier=1.0, sample_rate=0.01)
    >>> accountant.history, accountant.get_epsilon(delta=1e-5)
    ([(1.0, 0.01, 100)], 0.7180...)
    """

    def __init__(self) -> None:
        self.history: list[tuple[float, float, int]] = []

    def step(self, *, noise_multiplier: float, sample_rate: float) -> None:
        """One step, added to the last phase where nothing changed."""
        steps = 1
        if self.history and self.history[-1][:2] == (noise_multiplier, sample_rate):
            steps += self.history.pop()[2]
        self.history.append((noise_multiplier, sample_rate, steps))

    @property
    def guarantee(self) -> Mechanism:
        """All that ran so far, drawn by Poisson sampling as the engine does unless told otherwise."""
        return from_opacus(self.history)

    def get_epsilon(self, delta: float) -> float:  # type: ignore[override]
        """The upper end of the certified interval."""
        return self.guarantee.epsilon(delta=delta).upper

    def __len__(self) -> int:
        return sum(steps for _, _, steps in self.history)

    @classmethod
    def mechanism(cls) -> str:
        """The name of this accountant, as Opacus calls it."""
        return NAME


def register_with_opacus() -> None:
    """From now on PrivacyEngine(accountant="hush") works, and so does make_private_with_epsilon.

    >>> register_with_opacus()
    >>> from opacus.accountants import create_accountant
    >>> type(create_accountant("hush")).__name__
    'OpacusAccountant'
    """
    register_accountant(NAME, OpacusAccountant, force=True)
