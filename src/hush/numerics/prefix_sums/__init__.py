"""Errors of noisy prefix sums: noise that is correlated over the steps, its best coefficients, and trees."""
