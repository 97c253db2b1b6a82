"""Every public name, in one place; `hush` itself looks them up here when one is first used."""

from hush.curves.bound import Bound
from hush.curves.relation import Relation
from hush.curves.renyi import RenyiCurve
from hush.errors import Contradiction, HushError, InvalidParameter, NotCovered, NotInstalled
from hush.mechanisms.allocation import Allocated, Allocation
from hush.mechanisms.batches import Revealed, ShuffledBatches
from hush.mechanisms.choice import Exponential, RandomizedResponse, ReportNoisyMax
from hush.mechanisms.compose import Parallel, Repeat, Sequence
from hush.mechanisms.descent import ConvexLoss, CyclicGradientDescent, NoisyGradientDescent
from hush.mechanisms.fixed_size import WithoutReplacement, WithReplacement
from hush.mechanisms.group import Group
from hush.mechanisms.iterate import NoisyIteration
from hush.mechanisms.local import KaryResponse, LocalDP, LocalRandomizer
from hush.mechanisms.mechanism import Mechanism
from hush.mechanisms.noise import DiscreteGaussian, DiscreteLaplace, Gaussian, Laplace
from hush.mechanisms.one_pass import OnePassGradientDescent, RandomStop
from hush.mechanisms.posterior import BetaPosterior, GaussianPosterior, exponential_family
from hush.mechanisms.reports import GaussianReport, LaplaceReport, UnaryEncoding
from hush.mechanisms.sampling import Poisson, Sampled, UnequalPoisson
from hush.mechanisms.shuffle import Shuffled
from hush.mechanisms.skellam import Skellam
from hush.mechanisms.stated import TCDP, ZCDP, ApproxDP, FromPair, GaussianDP, PureDP, RenyiDP, from_profile
from hush.questions import chart, plan
from hush.questions.calibrate import Calibration, calibrate
from hush.questions.compare_schemes import SchemeComparison, compare_schemes
from hush.questions.composition import Compositions, compositions
from hush.questions.explain import explain
from hush.questions.iteration import IterationGain, iteration_gain
from hush.questions.plan_model import PublicPilot
from hush.questions.plan_result import Plan
from hush.questions.plan_training import TrainingPlans
from hush.questions.serialise import from_json, to_json
from hush.questions.statement import statement
from hush.questions.train_plan import TrainPlan, train_plan, train_plan_from_json
from hush.randomness.source import SecureSource, SeededSource, Source

__all__ = [
    "TCDP",
    "ZCDP",
    "Allocated",
    "Allocation",
    "ApproxDP",
    "BetaPosterior",
    "Bound",
    "Calibration",
    "Compositions",
    "Contradiction",
    "ConvexLoss",
    "CyclicGradientDescent",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "Exponential",
    "FromPair",
    "Gaussian",
    "GaussianDP",
    "GaussianPosterior",
    "GaussianReport",
    "Group",
    "HushError",
    "InvalidParameter",
    "IterationGain",
    "KaryResponse",
    "Laplace",
    "LaplaceReport",
    "LocalDP",
    "LocalRandomizer",
    "Mechanism",
    "NoisyGradientDescent",
    "NoisyIteration",
    "NotCovered",
    "NotInstalled",
    "OnePassGradientDescent",
    "Parallel",
    "Plan",
    "Poisson",
    "PublicPilot",
    "PureDP",
    "RandomStop",
    "RandomizedResponse",
    "Relation",
    "RenyiCurve",
    "RenyiDP",
    "Repeat",
    "ReportNoisyMax",
    "Revealed",
    "Sampled",
    "SchemeComparison",
    "SecureSource",
    "SeededSource",
    "Sequence",
    "Shuffled",
    "ShuffledBatches",
    "Skellam",
    "Source",
    "TrainPlan",
    "TrainingPlans",
    "UnaryEncoding",
    "UnequalPoisson",
    "WithReplacement",
    "WithoutReplacement",
    "calibrate",
    "chart",
    "compare_schemes",
    "compositions",
    "explain",
    "exponential_family",
    "from_json",
    "from_profile",
    "iteration_gain",
    "plan",
    "sequence",
    "statement",
    "to_json",
    "train_plan",
    "train_plan_from_json",
]


def sequence(*mechanisms: Mechanism) -> Mechanism:
    """Several mechanisms on the same data.

    >>> sequence(Laplace(2.0), Laplace(2.0)) == Laplace(2.0).repeat(2)
    True
    """
    return Sequence.of(mechanisms)
