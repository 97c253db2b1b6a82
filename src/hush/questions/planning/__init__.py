"""Plans made before any data is seen: for a mean, a median, a training."""
