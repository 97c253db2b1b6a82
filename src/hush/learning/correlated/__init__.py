"""Training with noise that is correlated over the steps."""
