"""Compare logistic regression with privacy: `make bench`, or `python bench/estimators.py <python with opacus>`.

scikit-learn's breast cancer (columns standardised) and digits, rows scaled to norm 1, an 80/20 split a seed, 10 seeds
(1000 to 1009: defaults were chosen without a look at these splits), δ = 1e-5. That preparation is the same for all and
counts as public. hush and diffprivlib run with their defaults; hush once with the number of records private (the
default) and once public. DP-SGD with Opacus (a linear layer, Poisson batches of 256 on average, 20 epochs, clipping
norm 1) is shown at the best of two learning rates for each cell, chosen on the test accuracy: an advantage that no
honest run has. diffprivlib's guarantee is pure (δ = 0), for replacement. Every library runs in a process of its own.
The table goes to results/estimators.md, the numbers to results/estimators.json.
"""

import json
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import processes
from tables import about, listed, table, versions, write

EPSILONS = (0.1, 0.5, 1.0, 3.0, 8.0)
DELTA = 1e-5
SEEDS = range(1000, 1010)
"""Of the splits: none of them was looked at while defaults were chosen."""
RATES = (1.0, 4.0)
PACKAGES = ["hush", "diffprivlib", "opacus", "torch", "scikit-learn", "numpy"]

Data = dict[str, Any]
Fit = Callable[[Data, float, int], float]
"""Train and test rows and labels, epsilon, seed -> accuracy on the test rows."""


def splits(name: str) -> list[Data]:
    """The data of every seed."""
    from sklearn import datasets
    from sklearn.model_selection import train_test_split

    rows, labels = getattr(datasets, f"load_{name}")(return_X_y=True)
    if name == "breast_cancer":
        rows = (rows - rows.mean(axis=0)) / rows.std(axis=0)
    rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    found = []
    for seed in SEEDS:
        train, test, train_labels, test_labels = train_test_split(rows, labels, test_size=0.2, random_state=seed)
        found.append({"train": train, "test": test, "train_labels": train_labels, "test_labels": test_labels})
    return found


def with_hush(**settings: Any) -> Fit:
    """The estimator; `public` gives it the number of records."""
    from hush.learning import LogisticRegression

    public = settings.pop("public", False)

    def fit(data: Data, epsilon: float, seed: int) -> float:
        classes = range(int(data["train_labels"].max()) + 1)
        size = len(data["train"]) if public else None
        given = {"delta": DELTA, "examples": size, **settings}
        model = LogisticRegression(data_norm=1.0, classes=list(classes), epsilon=epsilon, **given)
        return model.fit(data["train"], data["train_labels"]).score(data["test"], data["test_labels"])

    return fit


def with_diffprivlib() -> Fit:
    """Objective perturbation with its own defaults."""
    from diffprivlib.models import LogisticRegression

    def fit(data: Data, epsilon: float, seed: int) -> float:
        model = LogisticRegression(epsilon=epsilon, data_norm=1.0)
        return model.fit(data["train"], data["train_labels"]).score(data["test"], data["test_labels"])

    return fit


@lru_cache(maxsize=64)
def opacus_noise(rate: float, steps: int, epsilon: float) -> float:
    """What its default accountant asks for."""
    from opacus.accountants.utils import get_noise_multiplier

    return get_noise_multiplier(
        target_epsilon=epsilon, target_delta=DELTA, sample_rate=rate, steps=steps, accountant="prv"
    )


def with_opacus(rate: float) -> Fit:
    """DP-SGD on a linear layer."""
    import torch
    from opacus import PrivacyEngine
    from torch.utils.data import DataLoader, TensorDataset

    torch.set_num_threads(1)

    def fit(data: Data, epsilon: float, seed: int) -> float:
        torch.manual_seed(seed)
        rows, labels = torch.tensor(data["train"]).float(), torch.tensor(data["train_labels"]).long()
        model = torch.nn.Linear(rows.shape[1], int(labels.max()) + 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=rate)
        loader = DataLoader(TensorDataset(rows, labels), batch_size=256)
        noise = opacus_noise(1 / len(loader), 20 * len(loader), epsilon)
        model, optimizer, loader = PrivacyEngine().make_private(
            module=model, optimizer=optimizer, data_loader=loader, noise_multiplier=noise, max_grad_norm=1.0
        )
        for _ in range(20):
            for batch, target in loader:
                optimizer.zero_grad()
                torch.nn.functional.cross_entropy(model(batch), target).backward()
                optimizer.step()
        found = model(torch.tensor(data["test"]).float()).argmax(dim=1).numpy()
        return float((found == data["test_labels"]).mean())

    return fit


WAYS: dict[str, Callable[[], Fit]] = {
    "hush, default": with_hush,
    "hush, records public": lambda: with_hush(public=True),
    "hush, objective, δ = 0": lambda: with_hush(public=True, method="objective", delta=0.0),
    "diffprivlib, δ = 0": with_diffprivlib,
    **{f"Opacus, rate {rate:g}": (lambda rate=rate: with_opacus(rate)) for rate in RATES},
}


def measure(way: str, folder: Path) -> dict[str, Any]:
    """Accuracies of all seeds for each data set and epsilon, and CPU seconds a fit."""
    warnings.simplefilter("ignore")
    fit, found, begin, count = WAYS[way](), {}, time.process_time(), 0
    for file in sorted(folder.glob("*.npz")):
        name, seed = file.stem.rsplit("-", 1)
        with np.load(file) as data:
            content = dict(data)
        for epsilon in EPSILONS:
            found.setdefault(f"{name} {epsilon:g}", []).append(fit(content, epsilon, int(seed)))
            count += 1
    return {
        "way": way,
        "accuracy": found,
        "seconds": (time.process_time() - begin) / count,
        "versions": versions(PACKAGES),
    }


def cell(values: list[float]) -> str:
    """Mean and its standard error."""
    return f"{np.mean(values):.3f} ± {np.std(values, ddof=1) / np.sqrt(len(values)):.3f}"


def accuracies(rows: list[dict[str, Any]], name: str) -> list[str]:
    """One line a library; Opacus at its best rate in each cell."""
    opacus = [row for row in rows if row["way"].startswith("Opacus")]
    best = {
        f"{name} {epsilon:g}": max((row["accuracy"][f"{name} {epsilon:g}"] for row in opacus), key=np.mean)
        for epsilon in EPSILONS
    }
    shown = [row for row in rows if row not in opacus]
    shown.append({"way": "Opacus DP-SGD, best rate", "accuracy": best, "seconds": opacus[0]["seconds"]})
    body = [
        [row["way"], *(cell(row["accuracy"][f"{name} {epsilon:g}"]) for epsilon in EPSILONS), f"{row['seconds']:.2f}"]
        for row in shown
    ]
    return table([name.replace("_", " "), *(f"ε = {epsilon:g}" for epsilon in EPSILONS), "seconds a fit"], body)


def report(rows: list[dict[str, Any]]) -> str:
    """The whole page."""
    found = {package: version for row in rows for package, version in row["versions"].items()}
    lines = ["# Logistic regression with privacy: test accuracy", "", about(__doc__), ""]
    for name in ("breast_cancer", "digits"):
        lines += accuracies(rows, name)
    return "\n".join([*lines, listed(found), ""])


def main() -> None:
    """With a way and a folder: measure. Else: run every way, write both files."""
    if len(sys.argv) == 3:
        print(json.dumps(measure(sys.argv[1], Path(sys.argv[2]))))
        return
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name in ("breast_cancer", "digits"):
            for seed, data in enumerate(splits(name)):
                np.savez(Path(folder) / f"{name}-{seed}.npz", **data)
        for way in WAYS:
            python = sys.argv[1] if way.startswith("Opacus") else sys.executable
            rows.append(processes.ask(__file__, way, folder, limit=None, python=python))
            print(way, f"{rows[-1]['seconds']:.2f} s a fit", flush=True)
    write("estimators", report(rows), rows)


if __name__ == "__main__":
    main()
