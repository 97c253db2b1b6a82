"""Ways to draw batches that keep the uses of a record apart, and the noise that may then be correlated."""
