"""Random bits, and exact draws made of them; unaware of privacy."""

from hush.door import door

__getattr__, __dir__, __all__ = door(__name__, __file__)
