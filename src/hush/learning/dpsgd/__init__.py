"""Training with PyTorch: the loop, its noise, clipping, data and checkpoints."""
