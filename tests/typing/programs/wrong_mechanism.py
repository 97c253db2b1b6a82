# pyright: strict
"""A misspelt option."""

import hush

hush.Gaussian(noise_multiplyer=1.0)  # error
