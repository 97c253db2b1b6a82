"""One thread: the tests run beside each other."""

from importlib.util import find_spec

if find_spec("torch"):
    import torch

    torch.set_num_threads(1)
