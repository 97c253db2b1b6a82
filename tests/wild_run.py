"""Ask wild expressions wild questions, in a process with 1 GB: `python -m tests.wild_run FIRST LAST`.

Each seed is one expression and one question, asked of the mechanism itself, of what its JSON text gives, or of an
expression of the command line. It prints what was neither an answer nor a HushError. The clock here finds hangs;
what ends a question inside hush is counted work.
"""

from __future__ import annotations

import contextlib
import io
import math
import resource
import signal
import sys
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import hush
from hush.app.main import main as command
from hush.mechanisms.mechanism import QUESTIONS
from tests.wild import Refused, Wild, hints

SECONDS = 20
"""CPU time after which a question hangs: the work that is allowed takes two or three seconds."""
MEMORY = 1 << 30
"""Bytes that a question may need beyond what Python and the libraries have at the start."""


class Late(BaseException):
    """A question took too long; nothing inside may catch it."""


def questions() -> list[str]:
    """What a mechanism answers about all neighbours."""
    return [*QUESTIONS, "upper_log_delta"]


def arguments(random: Random) -> dict[str, Callable[[], Any]]:
    """What a question may be asked about, by name."""
    return {
        "delta": lambda: random.choice(
            [0.0, 1e-5, 1e-5, 1e-9, 10 ** random.uniform(-300, -1e-6), 10 ** random.uniform(-3, -1e-6)]
        ),
        "epsilon": lambda: random.choice([0.0, 1.0, 10 ** random.uniform(-300, 300), 10 ** random.uniform(-3, 3)]),
        "false_positive_rate": lambda: random.choice([0.0, 1.0, random.random(), 10 ** random.uniform(-300, 0)]),
        "orders": lambda: [1, 1 + 10 ** random.uniform(-15, 0), 2, 1 + 10 ** random.uniform(-3, 10), math.inf],
    }


def check(answer: object) -> None:
    """No NaN, ends in order, and no route that broke."""
    if isinstance(answer, hush.RenyiCurve):
        answer = answer([1.0, 1.5, 2.0, 64.0, 1e6, math.inf])
    if isinstance(answer, hush.RocCurve):
        assert (answer.lower <= answer.upper).all(), answer
    elif isinstance(answer, hush.Bound):
        assert answer.lower <= answer.upper, answer
    elif isinstance(answer, str):
        assert "failed: " not in answer, answer
        assert not any(word.strip(".,;:[]()") == "nan" for word in answer.split()), answer
    else:
        assert not np.isnan(answer).any(), answer


def ask(seed: int, said: list[str]) -> None:
    """One seed: make, perhaps write and read, ask, check; what was asked is appended to what was said."""
    random = Random(seed)
    wild = Wild(random)
    if seed % 8 == 7:
        words = [random.choice(["epsilon", "explain"]), wild.text(), "--delta", str(arguments(random)["delta"]())]
        said += words
        with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()):
            assert command(words) in (0, 1, 2, 3)
        return check(out.getvalue())
    mechanism = wild.mechanism(seed % 6)
    if seed % 5 == 4:
        with contextlib.suppress(hush.NotCovered):  # a function has no JSON form
            mechanism = hush.from_json(hush.to_json(mechanism))
    name = random.choice(questions())
    question = getattr(mechanism, name)
    known = arguments(random)
    given = {key: known[key]() for key in hints(getattr(hush.Mechanism, name)) if key in known}
    said += [repr(mechanism), f".{name}(**{given})"]
    check(question(**given))
    return None


def attempt(seed: int) -> str:
    """What went wrong; empty where nothing did."""

    def late(*_: object) -> None:
        raise Late

    said: list[str] = []
    signal.signal(signal.SIGVTALRM, late)
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
    try:
        ask(seed, said)
    except hush.Contradiction as error:
        failure: BaseException = error
    except (hush.HushError, Refused):
        return ""
    except (Exception, Late) as error:
        failure = error
    else:
        return ""
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    places = [f"{Path(f.filename).name}:{f.lineno}" for f in traceback.extract_tb(failure.__traceback__)[-8:]]
    return f"seed {seed}: {type(failure).__name__}: {failure}\n  {' '.join(said)[:2000]}\n  {' > '.join(places)}"


def main(first: int, last: int) -> int:
    """Print the failures of the seeds from first to last; the exit code is 1 where there is one."""
    warnings.simplefilter("error")
    hush.Gaussian(1.0).on(hush.Poisson(rate=0.1)).repeat(3).explain(delta=1e-5)  # whatever is imported late
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + MEMORY, resource.RLIM_INFINITY))
    failures = 0
    for seed in range(first, last):
        if found := attempt(seed):
            print(found, flush=True)
            failures += 1
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2])))
