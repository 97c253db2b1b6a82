"""Correlated noise against DP-SGD at the same (epsilon, delta): digits, and a synthetic language.

    python -m bench.correlated_training          # some minutes; writes bench/results/correlated-training.md

Four epochs, ten seeds, epsilon 2 and 8 at delta 1e-5; the same model, clipping, batches and learning rates for both.
Each has the learning rate, of the same few, with the best mean over the seeds: both are tuned alike, and not privately.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import Tensor, nn

import hush
from hush import learning

SEEDS = 10
DELTA = 1e-5
RATES = (0.25, 0.5, 1.0, 2.0)
RESULT = Path(__file__).parent / "results" / "correlated-training.md"
Split = tuple[Tensor, Tensor, Tensor, Tensor]


@dataclass(frozen=True)
class Task:
    """Data by seed, a model, and how large a batch is."""

    name: str
    split: Callable[[int], Split]
    model: Callable[[], nn.Module]
    batch_size: int


def digits(seed: int) -> Split:
    """scikit-learn's digits, 80/20."""
    rows, targets = load_digits(return_X_y=True)
    order = np.random.default_rng(seed).permutation(len(rows))
    inputs, labels = torch.tensor(rows[order] / 16, dtype=torch.float32), torch.tensor(targets[order])
    cut = len(rows) * 4 // 5
    return inputs[:cut], labels[:cut], inputs[cut:], labels[cut:]


LETTERS, BACK = 12, 3


def language(seed: int) -> Split:
    """Twelve letters, each drawn by a random table of the two before it; the next one is told from the last three."""
    table = np.random.default_rng(1).dirichlet(np.full(LETTERS, 0.15), size=(LETTERS, LETTERS))
    random = np.random.default_rng(100 + seed)
    texts = random.integers(LETTERS, size=(6000, BACK + 5))
    for place in range(2, texts.shape[1]):
        chances = table[texts[:, place - 2], texts[:, place - 1]].cumsum(axis=1)
        texts[:, place] = np.minimum((random.random((len(texts), 1)) > chances).sum(axis=1), LETTERS - 1)
    inputs, labels = torch.tensor(texts[:, -BACK - 1 : -1]), torch.tensor(texts[:, -1])
    return inputs[:5000], labels[:5000], inputs[5000:], labels[5000:]


TASKS = (
    Task("digits", digits, lambda: nn.Sequential(nn.Linear(64, 32), nn.Tanh(), nn.Linear(32, 10)), 32),
    Task(
        "synthetic language",
        language,
        lambda: nn.Sequential(
            nn.Embedding(LETTERS, 16), nn.Flatten(), nn.Linear(16 * BACK, 48), nn.Tanh(), nn.Linear(48, LETTERS)
        ),
        64,
    ),
)


def accuracy(task: Task, plan: hush.TrainPlan, seed: int, rate: float) -> tuple[float, float]:
    """Share of test rows that are right, and the mean test loss."""
    torch.manual_seed(seed)
    inputs, labels, test_inputs, test_labels = task.split(seed)
    model = task.model()
    learning.fit(
        model,
        (inputs, labels),
        plan,
        loss=nn.functional.cross_entropy,
        max_norm=1.0,
        optimizer=torch.optim.SGD(model.parameters(), lr=rate),
        noise=learning.FastNoise(),
        source=hush.SeededSource(seed),
    )
    with torch.no_grad():
        scores = model(test_inputs)
        right = float((scores.argmax(dim=1) == test_labels).float().mean())
        return right, float(nn.functional.cross_entropy(scores, test_labels))


def rows_of(task: Task, epsilon: float) -> list[list[str]]:
    """One row per way to make noise."""
    size = len(task.split(0)[0])
    found = []
    for noise in ("independent", "correlated"):
        plan = hush.train_plan(
            examples=size, batch_size=task.batch_size, epochs=4, epsilon=epsilon, delta=DELTA, noise=noise
        )
        runs = {rate: [accuracy(task, plan, seed, rate) for seed in range(SEEDS)] for rate in RATES}
        best = max(runs, key=lambda rate: statistics.mean(right for right, _ in runs[rate]))
        right, lost = (list(column) for column in zip(*runs[best], strict=True))
        ends = [(statistics.mean(c), statistics.stdev(c) / math.sqrt(SEEDS)) for c in (right, lost)]
        bands = plan.noise.bands if plan.noise else 1
        cells = [f"{100 * ends[0][0]:.1f} ± {100 * ends[0][1]:.1f}", f"{ends[1][0]:.3f} ± {ends[1][1]:.3f}"]
        found.append(
            [task.name, f"{epsilon:g}", noise, str(bands), f"{plan.noise_multiplier:.3f}", f"{best:g}", *cells]
        )
        print(found[-1], flush=True)
    return found


def main() -> None:
    """Run all, and write the table."""
    torch.set_num_threads(1)
    head = ["task", "ε", "noise", "bands", "multiplier", "learning rate", "test accuracy, %", "test loss"]
    lines = [row for task in TASKS for epsilon in (2.0, 8.0) for row in rows_of(task, epsilon)]
    table = [head, ["---"] * len(head), *lines]
    text = "\n".join("| " + " | ".join(row) + " |" for row in table)
    RESULT.write_text(
        f"# Correlated noise against DP-SGD\n\n{__doc__.split(chr(10) * 2, 2)[2]}\n{text}\n", encoding="utf-8"
    )


if __name__ == "__main__":
    main()
