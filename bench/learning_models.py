"""The models and batches that the steps of private training are timed on."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

BATCHES = (64, 512, 4096)


class Attention(nn.Module):
    """Self-attention made of plain layers, so that every library can train it."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.project = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, values: Tensor) -> Tensor:
        rows, length, width = values.shape
        split = self.project(values).view(rows, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        query, key, value = split[0], split[1], split[2]
        weights = (query @ key.transpose(-2, -1) / (width // self.heads) ** 0.5).softmax(-1)
        return self.out((weights @ value).transpose(1, 2).reshape(rows, length, width))


class Block(nn.Module):
    """One layer of a transformer encoder."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.attention = Attention(width, heads)
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, values: Tensor) -> Tensor:
        values = values + self.attention(self.first(values))
        return values + self.narrow(F.gelu(self.wide(self.second(values))))


class Transformer(nn.Module):
    """Tokens to classes: two blocks of width 128 on 64 positions."""

    def __init__(self, words: int = 1000, width: int = 128, length: int = 64) -> None:
        super().__init__()
        self.words = nn.Embedding(words, width)
        self.places = nn.Parameter(torch.zeros(length, width), requires_grad=False)
        self.blocks = nn.Sequential(Block(width, 4), Block(width, 4))
        self.last = nn.Linear(width, 10)

    def forward(self, tokens: Tensor) -> Tensor:
        return self.last(self.blocks(self.words(tokens) + self.places).mean(1))


def model_of(name: str) -> nn.Module:
    """A fresh model by name."""
    torch.manual_seed(1)
    if name == "logistic":
        return nn.Linear(784, 10)
    if name == "mlp":
        return nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 256), nn.ReLU(), nn.Linear(256, 10))
    if name == "cnn":
        return nn.Sequential(
            nn.Conv2d(1, 16, 8, 2, padding=3),
            nn.ReLU(),
            nn.MaxPool2d(2, 1),
            nn.Conv2d(16, 32, 4, 2),
            nn.ReLU(),
            nn.MaxPool2d(2, 1),
            nn.Flatten(),
            nn.Linear(512, 32),
            nn.ReLU(),
            nn.Linear(32, 10),
        )
    return Transformer()


def batch_of(name: str, rows: int) -> tuple[Tensor, Tensor]:
    """Random inputs and classes."""
    torch.manual_seed(2)
    shape = {"cnn": (rows, 1, 28, 28), "transformer": (rows, 64)}.get(name, (rows, 784))
    inputs = torch.randint(0, 1000, shape) if name == "transformer" else torch.randn(shape)
    return inputs, torch.randint(0, 10, (rows,))
