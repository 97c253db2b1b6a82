# The public names of hush.learning; each is loaded when first used, as torch takes seconds to import.

from hush.learning.distributed.ranks import Ranks as Ranks
from hush.learning.dpsgd.clip_norms import AdaptiveNorm as AdaptiveNorm
from hush.learning.dpsgd.clip_norms import NormSchedule as NormSchedule
from hush.learning.dpsgd.fit import Progress as Progress
from hush.learning.dpsgd.fit import Trained as Trained
from hush.learning.dpsgd.fit import fit as fit
from hush.learning.dpsgd.gradient_noise import FastNoise as FastNoise
from hush.learning.dpsgd.gradient_noise import SecureNoise as SecureNoise
from hush.learning.dpsgd.private_gradient import PrivateGradient as PrivateGradient
from hush.learning.dpsgd.user_rows import RowUsers as RowUsers
from hush.learning.fits_made import PublicKnowledgeWarning as PublicKnowledgeWarning
from hush.learning.linear.bagging import BaggingClassifier as BaggingClassifier
from hush.learning.linear.estimators import LinearRegression as LinearRegression
from hush.learning.linear.estimators import LinearSVC as LinearSVC
from hush.learning.linear.estimators import LogisticRegression as LogisticRegression
from hush.learning.linear.noisy_descent import FullBatchGradient as FullBatchGradient
from hush.learning.linear.noisy_descent import PoissonGradient as PoissonGradient
from hush.learning.linear.objective_perturbation import Objective as Objective
from hush.learning.linear.one_pass import OnePass as OnePass
from hush.learning.linear.output_perturbation import Output as Output
from hush.learning.per_example.clipped_sum import clipped_gradient as clipped_gradient
from hush.learning.per_example.clipping import Automatic as Automatic
from hush.learning.per_example.clipping import Clipping as Clipping
from hush.learning.per_example.clipping import Flat as Flat
from hush.learning.per_example.clipping import PerLayer as PerLayer
