"""The command line: what was typed is parsed, run, printed, and summed up in an exit code."""

from __future__ import annotations

import argparse
import io
import json
import os
import re
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any, NoReturn

import hush
from hush.app.commands import COMMANDS
from hush.app.options import LANGUAGE
from hush.errors import AlreadySpent, BudgetExceeded, HushError, LedgerError, NotCovered

USAGE, UNKNOWN, REFUTED, UNWRITTEN, REFUSED, INTERRUPTED = 2, 3, 4, 5, 6, 130
"""Exit codes: a value breaks a rule; no theorem covers what was asked; an audit refuted a claim; what was found could
not be written (a release is spent then); a budget, or the book of it, does not allow it; a key interrupted."""

EXAMPLES = f"""\
examples:
  hush epsilon --noise 1.0 --rate 0.01 --steps 10000 --delta 1e-5
  hush epsilon --noise 1.1 --examples 60000 --batch-size 256 --epochs 15 --delta 1e-5
  hush epsilon "gaussian 1.0 | poisson 0.01 | repeat 10000; laplace 2" --delta 1e-5
  hush calibrate --epsilon 2 --delta 1e-5 --rate 0.01 --steps 10000
  hush explain "laplace 1 | repeat 100" --delta 1e-6
  hush compare --noise 1.0 --steps 1000 --epochs 1 --delta 1e-6 --chart schemes.svg
  hush plan median --population 10001 --bounds 0 2000 --epsilon 0.5 --delta 1e-6 --model "lognormal 5 0.5"
  hush release median data.parquet --column income --bounds 0 2000 --epsilon 1 --sample 0.01
  hush ledger create budget.db --dataset census --epsilon 1 --delta 1e-6
  hush audit scores canaries.csv --claim "gdp 2"

`hush COMMAND --help` has examples of every command.

{LANGUAGE}"""

NEGATIVE = re.compile(r"-(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$|-inf(inity)?$", re.IGNORECASE)
"""Words that are numbers below 0, and no options."""


JSON = "--json"


class UsageError(Exception):
    """The command line does not make sense."""


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line, printed by main, and to which -1e3 is a number."""

    def __init__(self, **options: Any) -> None:
        super().__init__(formatter_class=argparse.RawDescriptionHelpFormatter, **options)
        # argparse knows -1 and -0.5 but takes -1e3 and -inf for options, and has no public setting for that
        self._negative_number_matcher = NEGATIVE

    def error(self, message: str) -> NoReturn:
        """Leave it to main."""
        raise UsageError(message)


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
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        return _run(words or ["--help"])
    except BrokenPipeError:  # the reader has seen enough
        _give_up_writing()
        return 0
    except SystemExit as leaving:  # --help and --version
        return int(leaving.code or 0)
    except KeyboardInterrupt:
        return _failed("interrupted: nothing was written", INTERRUPTED, words)
    except UsageError as error:
        return _failed(str(error), USAGE, words)
    except HushError as error:
        return _failed(_said(error, words), _code(error), words, type(error).__name__)
    except MemoryError:  # such as a file whose head promises more than there is
        return _failed("this takes more memory than there is", USAGE, words)
    except OSError as error:  # of the system, about a file that was named on the command line, or about the output
        _give_up_writing()
        where = f": {error.filename}" if error.filename else ""
        return _failed(f"{error.strerror or type(error).__name__}{where}", UNWRITTEN, words)


def _code(error: Exception) -> int:
    if isinstance(error, BudgetExceeded | AlreadySpent | LedgerError):
        return REFUSED
    return UNKNOWN if isinstance(error, NotCovered) else USAGE


def _run(argv: Sequence[str]) -> int:
    arguments = parser(argv).parse_args(argv)
    if sys.stdout is None:  # closed: a release would be spent, and seen by nobody
        raise UsageError("the output is closed: there is nowhere to write to")
    printed = command(arguments.command).run(arguments)
    print(printed, flush=True)
    from hush.app.output import Refutation

    return REFUTED if isinstance(printed, Refutation) else 0


def _said(error: HushError, words: Sequence[str]) -> str:
    """The message in the words of the shell: options that were typed, and words of an expression."""
    from hush.app.shell_words import in_the_shell

    typed = {word.partition("=")[0] for word in words if word.startswith("--")}
    return in_the_shell(str(error), typed, _word)


def _word(name: str) -> str:
    """The word of a class in an expression; its name where it has none."""
    from hush.mechanisms.description import class_named, word_of

    kind = class_named(name)
    return word_of(kind) if kind is not None else f"hush.{name}"


def _failed(message: str, code: int, words: Sequence[str], kind: str = "") -> int:
    """One line about an error, or one JSON object, where there is an output for errors."""
    line = " ".join(message.split())
    if JSON in words:
        shown = json.dumps({"error": line, "kind": kind, "code": code} if kind else {"error": line, "code": code})
    else:
        shown = f"hush: error: {line}"
    if sys.stderr is not None:
        try:
            print(shown, file=sys.stderr, flush=True)
        except OSError:
            pass
    return code


def _give_up_writing() -> None:
    """What is left to be written goes nowhere: else Python would try once more when it ends."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (AttributeError, OSError, ValueError):  # no file behind it
        pass


def parser(argv: Sequence[str]) -> Parser:
    """All commands; the options of those that are named."""
    top = Parser(
        prog="hush",
        description="Differential privacy accounting: every answer is a certified interval.",
        epilog=EXAMPLES,
    )
    top.add_argument("--version", action="version", version=f"hush {hush.__version__}", help="print the version")
    added = top.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, text in COMMANDS.items():
        one = added.add_parser(name, help=text, description=text)
        if name in argv:
            command(name).add(one)
    return top


def command(name: str) -> Any:
    """The module of a command, with `add` and `run`."""
    return import_module(f"hush.app.commands.{name}")


if __name__ == "__main__":
    sys.exit(main())
