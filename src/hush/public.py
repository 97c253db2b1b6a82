"""Every public name, in one place; `hush` itself looks them up here when one is first used."""

from hush.curves.bound import Bound
from hush.curves.relation import Relation
from hush.errors import HushError, InvalidParameter, NotCovered
from hush.mechanisms.allocation import Allocated, Allocation
from hush.mechanisms.batches import Revealed, ShuffledBatches
from hush.mechanisms.choice import Exponential, RandomizedResponse
from hush.mechanisms.compose import Parallel, Repeat, Sequence
from hush.mechanisms.fixed_size import WithoutReplacement, WithReplacement
from hush.mechanisms.group import Group
from hush.mechanisms.mechanism import Mechanism
from hush.mechanisms.noise import DiscreteGaussian, DiscreteLaplace, Gaussian, Laplace
from hush.mechanisms.sampling import Poisson, Sampled, UnequalPoisson
from hush.mechanisms.stated import TCDP, ZCDP, ApproxDP, FromPair, GaussianDP, PureDP, RenyiDP, from_profile
from hush.questions.calibrate import Calibration, calibrate
from hush.questions.compare_schemes import SchemeComparison, compare_schemes
from hush.questions.explain import explain
from hush.questions.serialise import from_json, to_json
from hush.questions.statement import statement
from hush.randomness.source import SecureSource, SeededSource, Source

__all__ = [
    "TCDP",
    "ZCDP",
    "Allocated",
    "Allocation",
    "ApproxDP",
    "Bound",
    "Calibration",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "Exponential",
    "FromPair",
    "Gaussian",
    "GaussianDP",
    "Group",
    "HushError",
    "InvalidParameter",
    "Laplace",
    "Mechanism",
    "NotCovered",
    "Parallel",
    "Poisson",
    "PureDP",
    "RandomizedResponse",
    "Relation",
    "RenyiDP",
    "Repeat",
    "Revealed",
    "Sampled",
    "SchemeComparison",
    "SecureSource",
    "SeededSource",
    "Sequence",
    "ShuffledBatches",
    "Source",
    "UnequalPoisson",
    "WithReplacement",
    "WithoutReplacement",
    "calibrate",
    "compare_schemes",
    "explain",
    "from_json",
    "from_profile",
    "sequence",
    "statement",
    "to_json",
]


def sequence(*mechanisms: Mechanism) -> Mechanism:
    """Several mechanisms on the same data.

    >>> sequence(Laplace(2.0), Laplace(2.0)) == Laplace(2.0).repeat(2)
    True
    """
    return Sequence.of(mechanisms)
