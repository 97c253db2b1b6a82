"""Every known privacy bug, injected into the real code, is caught; and its catcher is content without it."""

from __future__ import annotations

import pytest

from tests.mutants.bugs import Mutant
from tests.mutants.listed import MUTANTS
from tests.mutants.run import ask, is_caught

RUNNABLE = [mutant for mutant in MUTANTS if mutant.can_run]
AUDITS = [mutant for mutant in RUNNABLE if not isinstance(mutant.catcher, str)]


def named(mutant: Mutant) -> str:
    return mutant.name


@pytest.mark.parametrize("mutant", RUNNABLE, ids=named)
def test_caught(mutant: Mutant) -> None:
    assert is_caught(mutant), f"{mutant.name} survives {mutant.caught_by}"


@pytest.mark.parametrize("mutant", AUDITS, ids=named)
def test_the_audit_is_content_without_the_bug(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    ask(mutant, monkeypatch)


def test_at_least_twenty() -> None:
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS) >= 20
