"""A real Chromium before a real server. Where one is missing the tests are skipped by name; with CI set they fail."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.page_server import Served, served

ROOT = Path(__file__).parents[2]
AXE = ROOT / ".browser" / "package" / "axe.min.js"
NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --disable-dev-shm-usage"
).split()
SLOWEST = 150_000
"""Milliseconds that anything may take: a busy machine is slow."""
SETTLED = """() => !document.querySelector('[aria-busy=true]') && [...document.querySelectorAll('.place')].every(
    (place) => place.children.length === 0 || place.querySelector('[data-drawn]') || place.querySelector('.problem'))"""


def missing(what: str) -> None:
    """Skip by name, or fail in CI."""
    if os.environ.get("CI"):
        pytest.fail(f"{what} is missing: make browser installs it")
    pytest.skip(f"{what} is missing: make browser installs it")


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if find_spec("playwright") is None:
        missing("playwright")
    if found is None:
        missing("chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=found, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def axe() -> str:
    """The source of axe-core, which looks for faults that keep people out."""
    if not AXE.exists():
        missing("axe-core")
    return AXE.read_text(encoding="utf-8")


@pytest.fixture(scope="session")
def book(tmp_path_factory: pytest.TempPathFactory) -> Path:
    import hush
    from hush.ledger import Budget, Ledger

    place = tmp_path_factory.mktemp("book") / "budget.db"
    made = Ledger.create(place)
    made.add("census", Budget(epsilon=1.0, delta=1e-6))
    made.add("ann", Budget(epsilon=0.5, delta=1e-6), within="census")
    made.record(hush.Gaussian(20.0), dataset="ann", purpose="<img src=x onerror=document.title='broken'>")
    return place


@pytest.fixture(scope="session")
def server(book: Path) -> Iterator[Served]:
    with served("--ledger", str(book), "--write") as found:
        yield found


Opened = Callable[..., Any]


@pytest.fixture
def opened(chromium: Any, server: Served) -> Iterator[Opened]:
    """Opens the page; at the end there was no error on any console and no request to anywhere else."""
    contexts, faults = [], []

    def watch(page: Any) -> None:
        page.on("console", lambda said: faults.append(said.text) if said.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("request", lambda asked: faults.append(asked.url) if not ours(asked.url, server) else None)

    def opening(fragment: str = "", *, width: int = 1400, dark: bool = False, token: bool = True) -> Any:
        size = {"width": width, "height": 900}
        context = chromium.new_context(viewport=size, color_scheme="dark" if dark else "light", accept_downloads=True)
        context.set_default_timeout(SLOWEST)
        context.grant_permissions(["clipboard-read", "clipboard-write"])
        context.on("page", watch)
        contexts.append(context)
        page = context.new_page()
        parts = [f"token={server.token}"] * token + [fragment] * bool(fragment)
        page.goto(f"http://127.0.0.1:{server.port}/#{'&'.join(parts)}")
        if token:
            page.wait_for_selector("body[data-ready]")
        return page

    yield opening
    for context in contexts:
        context.close()
    assert faults == []


def ours(address: str, server: Served) -> bool:
    return address.startswith((f"http://127.0.0.1:{server.port}/", "blob:", "data:image/svg+xml"))


@pytest.fixture
def shot(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[..., None]:
    """Keeps a picture of the page, in the folder that HUSH_SHOTS names or in that of the test."""
    folder = Path(os.environ.get("HUSH_SHOTS", tmp_path))
    folder.mkdir(parents=True, exist_ok=True)

    def keep(page: Any, name: str = "") -> None:
        page.screenshot(path=folder / f"{name or request.node.name}.png", full_page=True)

    return keep


def go(page: Any, view: str) -> None:
    """To a view, until all of it is answered and drawn."""
    page.click(f"nav a[href='#view={view}']")
    page.wait_for_selector(f"main[data-view={view}]")
    settle(page)


def settle(page: Any) -> None:
    """Until nothing is worked on any more."""
    page.wait_for_function(SETTLED)
