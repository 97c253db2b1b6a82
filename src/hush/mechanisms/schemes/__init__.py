"""Ways to draw a sample, or the batches of an epoch: each draws, and knows its theorem."""
