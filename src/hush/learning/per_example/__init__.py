"""Gradients of single examples: watched, probed, clipped and summed."""
