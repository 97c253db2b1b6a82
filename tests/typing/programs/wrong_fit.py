# pyright: strict
"""A misspelt option."""

import torch

import hush

plan = hush.train_plan(examples=100, batch_size=10, epochs=1, epsilon=3.0, delta=1e-3)
rows = torch.zeros(100, 3), torch.zeros(100, dtype=torch.long)
network = torch.nn.Linear(3, 2)
loss = torch.nn.functional.cross_entropy
hush.learning.fit(network, rows, plan, loss=loss, max_norm=1.0, epoch=3)  # error
