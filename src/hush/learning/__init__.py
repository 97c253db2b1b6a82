"""Models from data, trained with privacy."""

from hush.door import door

__getattr__, __dir__, __all__ = door(__name__, __file__)
