# pyright: strict
"""A misspelt option."""

import hush

hush.Gaussian(1.0).epsilon(detla=1e-5, delta=1e-5)  # error
