"""Measure one library on one problem, in this process: `python measure.py PEER CASE` prints one line of JSON.

CASE is a name from `cases.ACCOUNTING`, or `calibration`. The CPU time is the best of three calls after a
warm-up; a library that is slow is not asked again, and its first call counts.
"""

import argparse
import json
import math
import resource
import sys
import time
import warnings
from collections.abc import Callable
from typing import TypeVar

import cases
import peers

REPEATS = 3
PATIENCE = 15.0  # CPU seconds after which no further call is made
MEMORY = 6 * 2**30  # bytes

T = TypeVar("T")


def timed(question: Callable[[], T]) -> tuple[T, float]:
    """The answer, and the CPU seconds of the best call."""
    begun = time.process_time()
    answer = question()
    times = [time.process_time() - begun]
    while len(times) <= REPEATS and time.process_time() - begun < PATIENCE:
        peers.forget()
        start = time.process_time()
        answer = question()
        times.append(time.process_time() - start)
    return answer, min(times[1:] or times)


def measure(peer: str, case: str) -> dict[str, object]:
    """The row for one library and one problem; a failure is a row too."""
    try:
        if case == "calibration":
            answer, seconds = timed(lambda: peers.NOISE[peer](cases.CALIBRATION))
        else:
            answer, seconds = timed(lambda: peers.EPSILON[peer](cases.ACCOUNTING[case]))
    except peers.NotOffered as reason:
        return {"not_offered": str(reason)}
    except MemoryError:
        return {"failure": "out of memory"}
    except Exception as error:
        return {"failure": f"{type(error).__name__}: {error}"}
    if not math.isfinite(answer.value):
        return {"failure": f"answers {answer.value}"}
    lower = None if answer.lower is None else float(answer.lower)
    return {"value": float(answer.value), "lower": lower, "cpu_seconds": seconds}


def main() -> None:
    """Read the two names, limit the memory, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("peer", choices=peers.EPSILON)
    parser.add_argument("case", choices=[*cases.ACCOUNTING, "calibration"])
    names = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    warnings.simplefilter("ignore")
    row = measure(names.peer, names.case)
    sys.stdout.write("\n" + json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
