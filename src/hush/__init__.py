"""Differential privacy with amplification: every answer is a certified interval.

>>> import hush
>>> step = hush.Gaussian(noise_multiplier=1.0).on(hush.Poisson(rate=0.01))
>>> step.repeat(10_000).epsilon(delta=1e-5).upper
6.18771...
"""

from hush.door import door

__version__ = "0.1.0"
__getattr__, __dir__, __all__ = door(__name__, __file__)
