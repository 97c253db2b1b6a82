"""The law of one privacy loss: atoms, and analytic pieces of several kinds."""
