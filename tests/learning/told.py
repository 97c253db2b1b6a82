"""Everything that a run tells besides its result."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest


def told(run: Callable[[], Any], capsys: pytest.CaptureFixture[str]) -> tuple[list[str], Any]:
    """Errors with their causes, warnings, and what was printed; and the result, None after an error."""
    seen: list[str] = []
    result = None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = run()
        except BaseException as error:
            fault: BaseException | None = error
            while fault is not None:
                seen.append(f"{type(fault).__name__}: {fault}")
                fault = fault.__cause__ or fault.__context__
    output = capsys.readouterr()
    return [*seen, *(f"{w.category.__name__}: {w.message}" for w in caught), output.out, output.err], result
