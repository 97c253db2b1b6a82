"""What has been spent: budgets, filters for releases chosen one after the other, and the book that keeps them."""

from hush.door import door

__getattr__, __dir__, __all__ = door(__name__, __file__)
