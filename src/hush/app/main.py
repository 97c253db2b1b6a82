"""The command line: questions, calibration, compositions, iteration, and the pictures."""

from __future__ import annotations

import argparse
import io
import os
import re
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

import hush
from hush.errors import HushError, NotCovered

USAGE, UNKNOWN, REFUTED, UNWRITTEN, INTERRUPTED = 2, 3, 4, 5, 130
"""Exit codes: a value breaks a rule; no theorem covers what was asked; an audit refuted a claim; what was found could
not be written (a release is spent then); a key interrupted."""

EXAMPLES = """\
examples:
  hush epsilon --noise 1.0 --rate 0.01 --steps 10000 --delta 1e-5
  hush epsilon "gaussian 1.0 | poisson 0.01 | repeat 10000; laplace 2" --delta 1e-5
  hush delta "randomized-response 1 relation=replace | repeat 10" --epsilon 4
  hush calibrate --epsilon 2 --delta 1e-5 --rate 0.01 --steps 10000
  hush calibrate --for steps --advantage 0.1 --noise 2 --rate 0.01
  hush explain "laplace 1 | repeat 100" --delta 1e-6
  hush tradeoff "gaussian 2" --fpr 0.01
  hush compose "laplace 10" --times 1 10 100 --delta 1e-6 --out compared.svg
  hush chart profile "gaussian 1" "laplace 1" --out profiles.png
  hush figures pictures
  hush figures --accuracy pictures
  hush plan median --population 10001 --bounds 0 2000 --epsilon 0.5 --delta 1e-6 --model "lognormal 5 0.5"
  hush audit scores canaries.csv --claim "gdp 2"
  hush release median data.parquet --column income --bounds 0 2000 --epsilon 1 --sample 0.01
  hush compare --noise 1.0 --steps 1000 --epochs 1 --delta 1e-6 --chart schemes.svg

a mechanism is either --noise, --rate and --steps (Gaussian noise on Poisson samples), or an expression:
  a release, then what is done to it:     gaussian 1.0 | poisson 0.01 | repeat 10000
  releases on the same data:              laplace 2; gaussian 1.0   or   laplace 2 then gaussian 1.0
  its noise is set for replaced records:  laplace 2 relation=replace
  `hush words` lists every word, and what may follow it
"""


class UsageError(Exception):
    """The command line does not make sense."""


NEGATIVE = re.compile(r"-(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$|-inf(inity)?$", re.IGNORECASE)
"""Words that are numbers below 0, and no options."""


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line, printed by main, and to which -1e3 is a number."""

    def __init__(self, *given: Any, **options: Any) -> None:
        super().__init__(*given, **options)
        self._negative_number_matcher = NEGATIVE

    def error(self, message: str) -> NoReturn:
        raise UsageError(message)


class Version(argparse.Action):
    """Prints the version."""

    def __call__(self, parser: argparse.ArgumentParser, *rest: object) -> None:
        print("hush", hush.__version__)
        parser.exit()


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code.

    >>> main(["epsilon", "laplace 2", "--delta", "0"])
    epsilon = 0.5 at delta 0
    ...
    0
    """
    # The matrices are small: more threads would only spin. It must be said before numpy is imported.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # Greek letters on a terminal that has none
    try:
        return _run(argv)
    except BrokenPipeError:  # the reader has seen enough
        _give_up_writing()
        return 0
    except SystemExit as leaving:  # --help and --version
        return int(leaving.code or 0)
    except KeyboardInterrupt:
        return _failed("interrupted: nothing was written", INTERRUPTED)
    except (UsageError, HushError) as error:
        return _failed(str(error), UNKNOWN if isinstance(error, NotCovered) else USAGE)
    except OSError as error:  # of the system, about a file that was named on the command line, or about the output
        _give_up_writing()
        where = f": {error.filename}" if error.filename else ""
        return _failed(f"{error.strerror or type(error).__name__}{where}", UNWRITTEN)


def _run(argv: Sequence[str] | None) -> int:
    arguments = parser().parse_args(argv)
    if sys.stdout is None:  # closed: a release would be spent, and seen by nobody
        raise UsageError("the output is closed: there is nowhere to write to")
    from hush.app import commands

    printed = commands.run(arguments)
    print(printed, flush=True)
    return REFUTED if isinstance(printed, commands.Refutation) else 0


def _failed(message: str, code: int) -> int:
    """One line about an error, where there is an output for errors."""
    if sys.stderr is not None:
        try:
            print(f"hush: error: {' '.join(message.split())}", file=sys.stderr, flush=True)
        except OSError:
            pass
    return code


def _give_up_writing() -> None:
    """What is left to be written goes nowhere: else Python would try once more when it ends."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (AttributeError, OSError, ValueError):  # no file behind it
        pass


def parser() -> Parser:
    """All commands and options."""
    top = Parser(
        prog="hush",
        description="Differential privacy accounting: every answer is a certified interval.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action=Version, nargs=0, help="print the version")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True)

    def command(name: str, text: str, training: bool = True) -> argparse.ArgumentParser:
        added = commands.add_parser(
            name,
            help=text,
            description=text,
            epilog=EXAMPLES,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        if training:
            added.add_argument("--noise", type=float, help="noise multiplier of each step")
            added.add_argument("--rate", type=float, help="Poisson sampling rate of each step")
            added.add_argument("--steps", type=float, help="number of steps")
        added.add_argument("--json", action="store_true", help="print one JSON object")
        return added

    for name, text, needs in (
        ("epsilon", "the least epsilon at a delta", "--delta"),
        ("delta", "the least delta at an epsilon", "--epsilon"),
        ("tradeoff", "the best attacker at a false positive rate", "--fpr"),
        ("explain", "theorems, papers, assumptions, and what every method says", "--delta"),
        ("statement", "the guarantee in plain words", "--delta"),
    ):
        added = command(name, text)
        added.add_argument("expression", nargs="?", help="the mechanism, unless --noise, --rate and --steps are given")
        added.add_argument(needs, type=float, required=True)
        if needs != "--delta" or name == "epsilon":
            added.add_argument("--tolerance", type=float, default=1e-6, help="relative width to seek (1e-6)")
        if name == "statement":
            added.add_argument("--unit", default="record", help="what one record stands for (record)")
    _add_compare(commands)
    _add_calibrate(command("calibrate", "the noise, rate or steps that just meet a target"))
    _add_compose(command("compose", "what every composition theorem says, side by side"))
    _add_chart(command("chart", "a picture of one or more mechanisms", training=False))
    _add_figures(command("figures", "the pictures of the documentation", training=False))
    _add_iterate(commands)
    _add_plan(commands)
    _add_audit(commands)
    _add_release(commands)
    text = "every word that an expression may have"
    commands.add_parser("words", help=text, description=text)
    return top


def _add_plan(commands: argparse._SubParsersAction) -> None:
    from hush.app import plan_options

    text = "expected error with and without a sample, before any data is seen; batch sizes of DP-SGD"
    added = commands.add_parser(
        "plan",
        help=text,
        description=text,
        epilog=plan_options.EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    plan_options.add_options(added)


def _add_audit(commands: argparse._SubParsersAction) -> None:
    from hush.app import audit_options

    audit_options.add_audit(commands)


def _add_iterate(commands: argparse._SubParsersAction) -> None:
    from hush.app import iterate_options

    text = "the last iterate of noisy gradient descent, against releasing all iterates"
    added = commands.add_parser(
        "iterate",
        help=text,
        description=text,
        epilog=iterate_options.EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    iterate_options.add_options(added)


def _add_release(commands: argparse._SubParsersAction) -> None:
    from hush.app import release_options

    text = "one noisy statistic of a file, on all records or on a secret sample"
    added = commands.add_parser(
        "release",
        help=text,
        description=text,
        epilog=release_options.EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    release_options.add_options(added)


def _add_compare(commands: argparse._SubParsersAction) -> None:
    text = "one training run under every way to draw its batches: Poisson, fixed size, allocation, shuffled"
    added = commands.add_parser("compare", help=text, description=text)
    added.add_argument("--noise", type=float, required=True, help="noise multiplier of each step")
    added.add_argument(
        "--steps", type=float, required=True, help="steps in one epoch; each uses 1/steps of the records"
    )
    added.add_argument("--epochs", type=float, default=1, help="number of epochs (1)")
    added.add_argument("--delta", type=float, required=True)
    added.add_argument(
        "--chart", "--out", dest="out", metavar="FILE", help="draw it too: a name that ends in .svg, .png or .html"
    )
    added.add_argument("--json", action="store_true", help="print one JSON object")


def _add_calibrate(added: argparse.ArgumentParser) -> None:
    added.add_argument("--for", dest="sought", choices=("noise", "rate", "steps"), default="noise")
    added.add_argument("--over", type=float, nargs=2, metavar=("LOW", "HIGH"), help="where to search")
    added.add_argument("--epsilon", type=float)
    added.add_argument("--delta", type=float)
    added.add_argument("--advantage", type=float, help="target instead of epsilon and delta")
    added.add_argument("--tolerance", type=float, default=1e-6, help="relative distance from the boundary (1e-6)")


def _add_compose(added: argparse.ArgumentParser) -> None:
    added.add_argument("expression", nargs="?", help="the mechanism, unless --noise, --rate and --steps are given")
    added.add_argument("--delta", type=float, required=True)
    added.add_argument("--times", type=float, nargs="+", default=[1, 10, 100, 1000], help="how often it is repeated")
    added.add_argument("--out", help="draw it too: a name that ends in .svg, .png or .html")


def _add_chart(added: argparse.ArgumentParser) -> None:
    added.add_argument("kind", choices=("renyi", "profile", "tradeoff", "roc", "steps"), help="what to draw")
    added.add_argument("expressions", nargs="+", metavar="EXPRESSION", help="a mechanism")
    added.add_argument("--label", action="append", help="the name of a line, once for each mechanism")
    added.add_argument("--at", type=float, nargs="+", help="orders, epsilons, false positive rates or steps to draw")
    added.add_argument("--delta", type=float, help="for epsilon against steps")
    added.add_argument("--out", help="a name that ends in .svg, .png or .html")


def _add_figures(added: argparse.ArgumentParser) -> None:
    added.add_argument("directory", help="where to put them")
    added.add_argument(
        "--accuracy",
        action="store_true",
        help="instead: the experiment on the accuracy of samples, its tables (.md, .csv) and pictures",
    )
    added.add_argument("--only", nargs="+", metavar="NAME", help="some of them")
    added.add_argument("--format", choices=("svg", "png", "html"), default="svg")


if __name__ == "__main__":
    sys.exit(main())
