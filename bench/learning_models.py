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


class BertTiny(nn.Module):
    """BERT-tiny of HuggingFace (2 layers of width 128, 30,522 words) with random weights, tokens to classes.

    Positions and types are given for each row: Opacus has no gradients for what rows share.
    """

    def __init__(self) -> None:
        super().__init__()
        from transformers import BertConfig, BertForSequenceClassification

        sizes = {"hidden_size": 128, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 512}
        still = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
        self.bert = BertForSequenceClassification(BertConfig(**sizes, **still, num_labels=10))

    def forward(self, tokens: Tensor) -> Tensor:
        places = torch.arange(tokens.shape[1]).repeat(len(tokens), 1)
        types = torch.zeros_like(tokens)
        return self.bert(input_ids=tokens, position_ids=places, token_type_ids=types).logits


class Residual(nn.Module):
    """A basic block of a residual network, with group normalisation."""

    def __init__(self, into: int, out: int, stride: int) -> None:
        super().__init__()
        self.first, self.second = (
            nn.Conv2d(into, out, 3, stride, 1, bias=False),
            nn.Conv2d(out, out, 3, 1, 1, bias=False),
        )
        self.norms = nn.ModuleList([nn.GroupNorm(32, out), nn.GroupNorm(32, out)])
        same = stride == 1 and into == out
        self.short = None if same else nn.Sequential(nn.Conv2d(into, out, 1, stride, bias=False), nn.GroupNorm(32, out))

    def forward(self, values: Tensor) -> Tensor:
        found = self.norms[1](self.second(F.relu(self.norms[0](self.first(values)))))
        return F.relu(found + (values if self.short is None else self.short(values)))


def resnet18() -> nn.Module:
    """ResNet18 with group normalisation, for pictures of 64 x 64."""
    blocks = [Residual(64, 64, 1), Residual(64, 64, 1)]
    for width in (128, 256, 512):
        blocks += [Residual(width // 2, width, 2), Residual(width, width, 1)]
    stem = nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.GroupNorm(32, 64), nn.ReLU(), nn.MaxPool2d(3, 2, 1)
    return nn.Sequential(*stem, *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 10))


def model_of(name: str) -> nn.Module:
    """A fresh model by name."""
    torch.manual_seed(1)
    if name == "bert-tiny":
        return BertTiny()
    if name == "resnet18":
        return resnet18()
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
    shapes = {"cnn": (1, 28, 28), "transformer": (64,), "bert-tiny": (128,), "resnet18": (3, 64, 64)}
    shape, words = (rows, *shapes.get(name, (784,))), {"transformer": 1000, "bert-tiny": 30_522}
    inputs = torch.randint(0, words[name], shape) if name in words else torch.randn(shape)
    return inputs, torch.randint(0, 10, (rows,))
