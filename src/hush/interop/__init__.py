"""Bridges to other libraries: their events and histories as mechanisms, and accountants that they take."""

from hush.door import door

__getattr__, __dir__, __all__ = door(__name__, __file__)
