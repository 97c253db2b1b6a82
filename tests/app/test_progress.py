"""Bars: on a terminal, on the error stream, for work that takes its time."""

from __future__ import annotations

import io
import time

import pytest

from hush.app import progress

rich_console = pytest.importorskip("rich.console")


def terminal() -> tuple[io.StringIO, object]:
    screen = io.StringIO()
    return screen, rich_console.Console(file=screen, force_terminal=True, width=120)


def test_quick_work_shows_nothing() -> None:
    screen, console = terminal()
    with progress.bar("reading", 2, console) as show:
        show(1)
    assert "reading" not in screen.getvalue()


def test_slow_work_shows_what_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "PATIENCE", 0.01)
    screen, console = terminal()
    with progress.bar("reading", console=console) as show:
        show(3, 7, "still reading")
        time.sleep(0.3)
    assert "still reading" in screen.getvalue()
    assert "3/7" in screen.getvalue()


def test_without_a_terminal_there_is_no_bar(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    assert list(progress.each(["a", "b"])) == ["a", "b"]
    assert capsys.readouterr() == ("", "")


def test_an_error_inside_ends_the_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "PATIENCE", 60.0)
    with pytest.raises(ZeroDivisionError), progress.bar("dividing", console=terminal()[1]):
        raise ZeroDivisionError
