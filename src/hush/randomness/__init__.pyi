# The public names of hush.randomness; each is loaded when first used, as accounting needs none of them.

from hush.randomness.additive import NoisyValues as NoisyValues
from hush.randomness.additive import add_discrete_laplace as add_discrete_laplace
from hush.randomness.additive import add_gaussian as add_gaussian
from hush.randomness.additive import add_laplace as add_laplace
from hush.randomness.additive import scale_for as scale_for
from hush.randomness.binary_grid import BinaryGrid as BinaryGrid
from hush.randomness.draws import coins as coins
from hush.randomness.draws import integers as integers
from hush.randomness.draws import subset as subset
from hush.randomness.integer_noise import discrete_gaussian as discrete_gaussian
from hush.randomness.integer_noise import discrete_laplace as discrete_laplace
from hush.randomness.integer_noise import rounded_gaussian as rounded_gaussian
from hush.randomness.integer_noise import rounded_laplace as rounded_laplace
from hush.randomness.source import source_or_secure as source_or_secure
