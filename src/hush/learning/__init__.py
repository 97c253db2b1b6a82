"""Models from data, trained with privacy."""

from importlib import import_module

from hush.errors import NotInstalled

NAMES = {
    "Automatic": "clipping",
    "BaggingClassifier": "convex.bagging",
    "Clipping": "clipping",
    "FastNoise": "noise",
    "Flat": "clipping",
    "FullBatchGradient": "convex.gradient",
    "LinearRegression": "convex.estimators",
    "LinearSVC": "convex.estimators",
    "LogisticRegression": "convex.estimators",
    "Objective": "convex.objective",
    "OnePass": "convex.one_pass",
    "Output": "convex.output",
    "PerLayer": "clipping",
    "PoissonGradient": "convex.gradient",
    "PrivateGradient": "sgd",
    "Progress": "sgd",
    "SecureNoise": "noise",
    "Trained": "sgd",
    "clipped_gradient": "per_example",
    "fit": "sgd",
}
"""Public names, and the modules that they are loaded from when first used: torch takes seconds to import."""
NEED_TORCH = ("clipping", "noise", "per_example", "sgd")


def __getattr__(name: str) -> object:
    if name not in NAMES:
        raise AttributeError(f"module 'hush.learning' has no attribute {name!r}")
    if NAMES[name] in NEED_TORCH:
        try:
            import_module("torch")
        except ImportError as error:
            raise NotInstalled(f"hush.learning.{name}", "torch", "torch") from error
    return getattr(import_module(f"hush.learning.{NAMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(NAMES)
