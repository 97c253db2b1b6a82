"""Options that several commands share, and the mechanism that they describe."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from typing import Any

import hush
from hush.errors import InvalidParameter

LANGUAGE = """\
a mechanism is either a training run, or an expression:
  a training run:                         --noise with --rate and --steps, with --examples, --batch-size and --epochs,
                                          or with --steps-per-epoch and --epochs; --scheme says how batches are drawn
  a release, then what is done to it:     gaussian 1.0 | poisson 0.01 | repeat 10000
  releases on the same data:              laplace 2; gaussian 1.0   or   laplace 2 then gaussian 1.0
  its noise is set for replaced records:  laplace 2 relation=replace
  `hush words` lists every word, and what may follow it
"""
OVER: dict[str, tuple[float, float]] = {
    "rate": (1e-9, 1.0),
    "steps": (1, 10**12),
    "epochs": (1, 10**6),
    "times": (1, 10**12),
    "size": (1, 10**4),
}
"""Where a number of this name is sought unless told; two whole numbers ask for a whole one."""
ANYWHERE = (0.05, 10_000.0)
"""Where any other number is sought: noise, scale, epsilon."""
PICTURE = "draw it too: a name that ends in .svg, .png or .html"

SCHEMES = {
    "poisson": "Poisson",
    "shuffled-batches": "ShuffledBatches",
    "allocation": "Allocation",
    "without-replacement": "WithoutReplacement",
    "capped-poisson": "CappedPoisson",
    "cyclic-poisson": "CyclicPoisson",
    "cyclic-allocation": "CyclicAllocation",
    "balls-in-bins": "BallsInBins",
}
"""Ways to draw batches, by their words in an expression, and their classes."""
COUNTED = ("without-replacement", "capped-poisson")
"""Those that must know how many records there are."""
STYLES = ("plain", "methods")
"""How a guarantee is worded."""
NUMBERS = ("noise", "rate", "steps", "steps_per_epoch", "examples", "batch_size", "epochs")
"""What describes a training run."""
FORMS = (
    ("rate", "steps"),
    ("examples", "batch_size", "epochs"),
    ("examples", "batch_size", "steps"),
    ("steps_per_epoch", "epochs"),
)
"""What a training run is told by, beside its noise."""
WAYS = "--noise, and --rate with --steps, --examples with --batch-size and --epochs, or --steps-per-epoch with --epochs"


def number_or_fraction(text: str) -> float:
    """A number, also as a fraction of two.

    >>> number_or_fraction("256/60000") == 256 / 60000, number_or_fraction("1e-3")
    (True, 0.001)
    """
    above, slash, below = text.partition("/")
    try:
        return float(above) / float(below) if slash else float(above)
    except (ValueError, ZeroDivisionError):
        raise ArgumentTypeError(f"invalid float value: {text!r}") from None


def add_examples(parser: ArgumentParser, *examples: str, more: str = "") -> None:
    """Examples below the help, and what else there is to say."""
    lines = "\n".join(f"  {example}" for example in examples)
    parser.epilog = f"examples:\n{lines}\n" + (f"\n{more}" if more else "")


def add_json(parser: ArgumentParser) -> None:
    """--json."""
    parser.add_argument("--json", action="store_true", help="print one JSON object; errors are one too")


def add_training(parser: ArgumentParser, *, schemes: bool = False) -> None:
    """A training run; where several schemes are compared, --scheme takes a list."""
    run = parser.add_argument_group("a training run")
    run.add_argument("--noise", type=float, help="noise multiplier of each step")
    run.add_argument("--rate", type=number_or_fraction, help="Poisson sampling rate of each step, as 0.01 or 256/60000")
    run.add_argument("--steps", type=float, help="number of steps in all")
    run.add_argument("--steps-per-epoch", type=float, help="each step uses one of so many parts of the records")
    run.add_argument("--examples", type=float, help="number of examples")
    run.add_argument("--batch-size", type=float, help="examples per step, on average")
    run.add_argument("--epochs", type=float, help="passes over the examples")
    how: dict[str, Any] = {"nargs": "+"} if schemes else {}
    run.add_argument("--scheme", choices=tuple(SCHEMES), help="how batches are drawn (poisson)", **how)


def add_mechanism(parser: ArgumentParser) -> None:
    """An expression, or a training run instead."""
    parser.add_argument("expression", nargs="?", help="the mechanism, unless a training run is given")
    add_training(parser)
    add_json(parser)


def add_question(parser: ArgumentParser, given: str, *examples: str) -> None:
    """A mechanism, the one number that a question about it needs, and how precise the answer is to be."""
    add_mechanism(parser)
    parser.add_argument(given, type=float, required=True)
    parser.add_argument("--tolerance", type=float, default=1e-6, help="relative width to seek (1e-6)")
    add_examples(parser, *examples, more=LANGUAGE)


def option(name: str) -> str:
    """How an option is typed."""
    return f"--{name.replace('_', '-')}"


def given_numbers(arguments: Namespace) -> dict[str, Any]:
    """What was said of a training run."""
    return {name: value for name in NUMBERS if (value := getattr(arguments, name)) is not None}


def mechanism_of(arguments: Namespace) -> hush.Mechanism:
    """The mechanism of an expression, or of a training run."""
    given = given_numbers(arguments)
    said = [*given, *(["scheme"] if arguments.scheme else [])]
    if arguments.expression is None:
        return training(given, arguments.scheme)
    if said:
        raise InvalidParameter("hush", "either an expression or a training run", both=list(map(option, said)))
    return expressed(arguments.expression)


def expressed(expression: str) -> hush.Mechanism:
    """The mechanism of an expression."""
    from hush.app.expression import parse

    return parse(expression)


def training(given: dict[str, Any], scheme: str | None) -> hush.Mechanism:
    """The mechanism of a training run; numbers are as they were typed, and checked where they are used."""
    form = form_of(given)
    noise = hush.Gaussian(given["noise"])
    if "steps" in form:
        if scheme not in (None, "poisson"):
            raise InvalidParameter("hush", "--epochs with such batches: they are drawn for whole epochs", scheme=scheme)
        rate = given["rate"] if "rate" in form else _share(given["batch_size"], given["examples"])
        return noise.on(hush.Poisson(rate=rate)).repeat(given["steps"])
    from hush.questions.planning.training.accounted_run import training_run

    return training_run(noise_multiplier=noise.noise_multiplier, **sizes(given, scheme))


def _share(batch_size: float, examples: float) -> float:
    if not 0 < batch_size <= examples:
        raise InvalidParameter("hush", "0 < --batch-size <= --examples", batch_size=batch_size, examples=examples)
    return batch_size / examples


def sizes(given: dict[str, Any], scheme: str | None) -> dict[str, Any]:
    """Examples, batch size, epochs and the scheme of a run that is told by its epochs."""
    kind = getattr(hush, SCHEMES[scheme or "poisson"])
    if "examples" in given:
        parts = {"examples": given["examples"], "batch_size": given["batch_size"]}
    elif scheme in COUNTED:
        raise InvalidParameter("hush", "--examples and --batch-size with batches of bounded size", scheme=scheme)
    else:  # all that counts is how many parts the records are in
        parts = {"examples": given["steps_per_epoch"], "batch_size": 1}
    return {**parts, "epochs": given["epochs"], "scheme": kind}


def form_of(given: dict[str, Any]) -> tuple[str, ...]:
    """The way in which a training run was told; an error that says what is missing, or too much."""
    said = set(given) - {"noise"}
    for form in FORMS:
        if said == set(form) and "noise" in given:
            return form
    nearest = max(FORMS, key=lambda form: (len(said & set(form)), -len(form)))
    missing = [option(name) for name in ("noise", *nearest) if name not in given]
    surplus = [option(name) for name in NUMBERS if name in said - set(nearest)]
    if not given:
        raise InvalidParameter("hush", f"an expression, or a training run: {WAYS}", missing=missing)
    told = {"missing": missing} if missing else {}
    raise InvalidParameter("hush", f"a training run: {WAYS}", **told, **({"too_many": surplus} if surplus else {}))
