# pyright: strict
"""A misspelt option."""

import hush

print(hush.releases.median([1.0, 2.0], bounds=(0.0, 3.0), epsilon=1.0, stepp=3))  # error
