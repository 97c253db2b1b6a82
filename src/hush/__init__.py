"""Differential privacy with amplification: every answer is a certified interval.

>>> import hush
>>> step = hush.Gaussian(noise_multiplier=1.0).on(hush.Poisson(rate=0.01))
>>> step.repeat(10_000).epsilon(delta=1e-5).upper
6.18771...
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hush import auditing, learning, randomness, releases  # noqa: F401
    from hush.public import *  # noqa: F403

ROOMS = ("auditing", "learning", "randomness", "releases")
"""Names of the packages that are reached as hush.releases and so on, loaded when first used."""


def __getattr__(name: str) -> object:
    """All public names at once, when the first is used: `hush --help` need not wait for scipy."""
    if name in ROOMS:
        return import_module(f"hush.{name}")
    if name.startswith("_") and name != "__all__":
        raise AttributeError(f"module 'hush' has no attribute {name!r}")
    public = import_module("hush.public")
    globals().update({key: getattr(public, key) for key in ("__all__", *public.__all__)})
    if name not in globals():
        raise AttributeError(f"module 'hush' has no attribute {name!r}")
    return globals()[name]


def __dir__() -> list[str]:
    return sorted([*import_module("hush.public").__all__, *ROOMS])
