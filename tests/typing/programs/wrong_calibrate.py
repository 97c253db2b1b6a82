# pyright: strict
"""A misspelt option."""

import hush

hush.calibrate(hush.Gaussian, ovr=(0.1, 100.0), over=(0.1, 100.0), epsilon=1.0, delta=1e-6)  # error
