"""Differential privacy with amplification: every answer is a certified interval.

>>> import hush
>>> step = hush.Gaussian(noise_multiplier=1.0).on(hush.Poisson(rate=0.01))
>>> step.repeat(10_000).epsilon(delta=1e-5).upper
6.18771...
"""

from hush.curves.bound import Bound
from hush.curves.relation import Relation
from hush.errors import HushError, InvalidParameter, NotCovered
from hush.mechanisms.choice import Exponential, RandomizedResponse
from hush.mechanisms.compose import Parallel, Repeat, Sequence
from hush.mechanisms.group import Group
from hush.mechanisms.mechanism import Mechanism
from hush.mechanisms.noise import DiscreteGaussian, DiscreteLaplace, Gaussian, Laplace
from hush.mechanisms.sampling import Poisson, Sampled
from hush.mechanisms.stated import TCDP, ZCDP, ApproxDP, FromPair, GaussianDP, PureDP, RenyiDP, from_profile


def sequence(*mechanisms: Mechanism) -> Mechanism:
    """Several mechanisms on the same data.

    >>> sequence(Laplace(2.0), Laplace(2.0)) == Laplace(2.0).repeat(2)
    True
    """
    return Sequence.of(mechanisms)
