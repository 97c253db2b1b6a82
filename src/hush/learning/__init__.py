"""Models from data, trained with privacy.

Training with PyTorch needs the extra `torch`, linear models the extra `learn`. Each name is loaded when it is first
used, and raises `hush.NotInstalled` where its package is missing. So does `from hush.learning import *`, which asks for
all of them: import by name what you use.
"""

from hush.door import door

__getattr__, __dir__, __all__ = door(__name__, __file__)
