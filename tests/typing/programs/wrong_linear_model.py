# pyright: strict
"""A misspelt option."""

import hush

hush.learning.LogisticRegression(data_norm=1.0, epsilonn=1, classes=[0, 1])  # error
