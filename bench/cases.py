"""The problems that every library gets, each with its true ε.

The truth is the larger of the two directions of add-or-remove (the removal, in all of these). The values
for sampled noise come from ball arithmetic or from 30-digit quadrature of the inversion integral of δ, the
unsampled Gaussian from its closed form at μ = 2, randomized response from its binomial sum.
"""

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class SampledGaussian:
    """Noise of `noise` times the sensitivity, on a Poisson sample of rate `rate`, `steps` times."""

    noise: float
    rate: float
    steps: int
    delta: float
    truth: float

    @property
    def title(self) -> str:
        """How the tables call it."""
        sample = f"rate {self.rate:.4g}" if self.rate < 1 else "unsampled"
        return f"Gaussian {self.noise:g}, {sample}, {self.steps} steps, δ = {self.delta:g}"


@dataclass(frozen=True)
class RandomizedResponse:
    """Randomized response of one bit with `epsilon0`, `steps` times, replace one record."""

    epsilon0: float
    steps: int
    delta: float
    truth: float

    @property
    def title(self) -> str:
        """How the tables call it."""
        return f"Randomized response {self.epsilon0:g}, {self.steps} steps, δ = {self.delta:g}"


@dataclass(frozen=True)
class Calibration:
    """The least noise with which `steps` sampled steps meet (`epsilon`, `delta`)."""

    epsilon: float
    delta: float
    rate: float
    steps: int
    truth: float

    @property
    def title(self) -> str:
        """How the tables call it."""
        run = f"rate {self.rate:g}, {self.steps} steps"
        return f"least noise for ε = {self.epsilon:g}, δ = {self.delta:g}, {run}"


Accounting = SampledGaussian | RandomizedResponse

ACCOUNTING: dict[str, Accounting] = {
    "everyday": SampledGaussian(1.0, 0.01, 10_000, 1e-5, 6.1877123899715391),
    "little-noise": SampledGaussian(0.8, 0.004, 15_000, 1e-5, 4.379474360070370),
    "large-batches": SampledGaussian(2.0, 0.05, 2_000, 1e-6, 6.106551639700588),
    "heavy-tail": SampledGaussian(0.5, 0.001, 1_000, 1e-6, 4.235068302831261),
    "small-delta": SampledGaussian(1.0, 0.01, 1_000, 1e-15, 4.854537750604924),
    "small-rate": SampledGaussian(1.0, 1e-4, 1_000_000, 1e-10, 0.7656950190339158),
    "tiny-delta": SampledGaussian(1.0, 0.01, 10_000, 1e-100, 40.454844746640100),
    "half-sampled": SampledGaussian(10.0, 0.5, 500, 1e-8, 6.5906143836354335),
    "digits": SampledGaussian(0.6, 256 / 60_000, 14_040, 1e-5, 10.756933967758771),
    "unsampled": SampledGaussian(100.0, 1.0, 40_000, 1e-12, 15.641125779460989),
    "response": RandomizedResponse(math.log(3), 100, 1e-6, 94.2898678929248858),
}

CALIBRATION = Calibration(2.0, 1e-5, 0.01, 10_000, 2.127375434714145)
