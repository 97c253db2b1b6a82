"""CPU time of a private step on a single layer against plain SGD, at batch 64: `python bench/layers.py`.

Each layer is alone in its model, as wide as people have it, between frozen layers that take no time; one thread. Ways
take turns; a ratio is the median over turns. hush has torch's noise.
"""

import statistics
import time
from collections.abc import Callable
from typing import Any

import torch
from learning_ways import made
from tables import about, listed, table, versions, write
from torch import Tensor, nn
from torch.nn.utils.parametrizations import orthogonal, weight_norm

import hush

ROWS, TURNS, TURN = 64, 9, 0.15
"""Rows of the batch, turns, and CPU seconds of each way in a turn (at least one step)."""
CLASSES = 10


class Classes(nn.Module):
    """The first numbers of what a layer gives are scores of classes."""

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, values: Tensor) -> Tensor:
        output = self.layer(values)
        output = output[0] if isinstance(output, tuple) else output
        return output.flatten(1).unflatten(1, (CLASSES, -1)).sin().mean(2)


class Twice(nn.Module):
    def __init__(self, layer: nn.Module, times: int) -> None:
        super().__init__()
        self.layer, self.times = layer, times

    def forward(self, values: Tensor) -> Any:
        return self.layer(*[values] * self.times)


def reals(*shape: int) -> Callable[[], Tensor]:
    return lambda: torch.randn(ROWS, *shape)


def words(*shape: int) -> Callable[[], Tensor]:
    return lambda: torch.randint(0, 1000, (ROWS, *shape))


LAYERS: dict[str, tuple[Callable[[], nn.Module], Callable[[], Tensor]]] = {
    "Linear": (lambda: nn.Linear(512, 500), reals(512)),
    "Linear on sequences": (lambda: nn.Linear(128, 500), reals(64, 128)),
    "Bilinear": (lambda: Twice(nn.Bilinear(64, 64, 50), 2), reals(64)),
    "Conv1d": (lambda: nn.Conv1d(32, 50, 5), reals(32, 64)),
    "Conv2d": (lambda: nn.Conv2d(16, 30, 3, padding=1), reals(16, 32, 32)),
    "Conv2d, wide": (lambda: nn.Conv2d(128, 130, 3, padding=1), reals(128, 8, 8)),
    "Conv2d, grouped": (lambda: nn.Conv2d(32, 40, 3, padding=1, groups=4), reals(32, 16, 16)),
    "Conv2d, depthwise": (lambda: nn.Conv2d(30, 30, 3, padding=1, groups=30), reals(30, 16, 16)),
    "ConvTranspose2d": (lambda: nn.ConvTranspose2d(16, 10, 3, stride=2), reals(16, 16, 16)),
    "weight_norm of Linear": (lambda: weight_norm(nn.Linear(512, 500)), reals(512)),
    "weight_norm of Conv2d": (lambda: weight_norm(nn.Conv2d(16, 30, 3, padding=1)), reals(16, 32, 32)),
    "weight_norm of Conv2d, wide": (lambda: weight_norm(nn.Conv2d(128, 130, 3, padding=1)), reals(128, 8, 8)),
    "orthogonal Linear": (lambda: orthogonal(nn.Linear(32, 30)), reals(32)),
    "Embedding": (lambda: nn.Embedding(1000, 100), words(64)),
    "EmbeddingBag": (lambda: nn.EmbeddingBag(1000, 100, mode="mean"), words(64)),
    "LayerNorm": (lambda: nn.LayerNorm(500), reals(64, 500)),
    "GroupNorm": (lambda: nn.GroupNorm(5, 50), reals(50, 16, 16)),
    "RMSNorm": (lambda: nn.RMSNorm(500), reals(64, 500)),
    "PReLU": (lambda: nn.PReLU(50), reals(50, 16, 16)),
    "LSTM": (lambda: nn.LSTM(64, 60, batch_first=True), reals(32, 64)),
    "GRU": (lambda: nn.GRU(64, 60, batch_first=True), reals(32, 64)),
    "MultiheadAttention": (lambda: Twice(nn.MultiheadAttention(60, 4, batch_first=True), 3), reals(32, 60)),
}


def measured(name: str) -> tuple[float, float]:
    """Seconds of plain SGD, and how many times as long hush takes."""
    torch.manual_seed(1)
    make, draw = LAYERS[name]
    batch = draw(), torch.randint(0, CLASSES, (ROWS,))
    steps = [made(way, Classes(make()), batch) for way in ("plain", "hush fast")]
    once = [[timed(step, 1) for _ in range(2)][1] for step in steps]
    turns = [
        [timed(step, max(1, round(TURN / first))) for step, first in zip(steps, once, strict=True)]
        for _ in range(TURNS)
    ]
    return statistics.median(plain for plain, _ in turns), statistics.median(own / plain for plain, own in turns)


def timed(step: Callable[[], None], often: int) -> float:
    start = time.process_time()
    for _ in range(often):
        step()
    return (time.process_time() - start) / often


if __name__ == "__main__":
    torch.set_num_threads(1)
    found = {name: measured(name) for name in LAYERS}
    body = [(name, f"{1e3 * plain:.2f}", f"{ratio:.2f}") for name, (plain, ratio) in found.items()]
    compared = versions(("torch",)) | {"hush": hush.__version__}
    text = ["# Single layers", "", about(__doc__), "", listed(compared), ""]
    write("layers", "\n".join([*text, *table(("layer", "plain, ms", "hush fast"), body)]), {"layers": found})
