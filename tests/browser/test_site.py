"""The site of the documentation, as built by `make docs`: pages open without an error and ask for nothing from outside."""

from __future__ import annotations

import functools
import html
import http.server
import re
import threading
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

from tests.browser.conftest import ROOT, SLOWEST, missing

pytestmark = pytest.mark.browser

SITE = ROOT / "site"
PAGES = (
    "index",
    "first-hour",
    "overview",
    "guide",
    "page",
    "documents",
    "learn/1-why",
    "learn/4-learning",
    "roles/opacus",
    "theory/error-budget",
    "theory/sampling",
    "reference/mechanisms",
    "reference/schemes",
)


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """The site, served on this machine."""
    if not (SITE / "index.html").exists():
        missing("the site (make docs)")

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None: ...

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(SITE)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("name", PAGES)
def test_a_page_opens(chromium: Any, address: str, name: str) -> None:
    faults: list[str] = []
    page = chromium.new_page()
    page.set_default_timeout(SLOWEST)
    page.on("console", lambda said: faults.append(said.text) if said.type == "error" else None)
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("response", lambda found: faults.append(found.url) if found.status >= 400 else None)
    page.on("request", lambda asked: faults.append(asked.url) if not asked.url.startswith((address, "data:")) else None)
    page.goto(f"{address}{name}.html", wait_until="networkidle")
    assert page.locator("h1").count() >= 1
    if name.startswith("theory/"):
        assert page.locator("math").count() > 1
    page.close()
    assert faults == []


def test_every_link_of_the_built_site_leads_somewhere(address: str) -> None:
    """Files and anchors, as a browser would look for them."""
    pages = {page: page.read_text(encoding="utf-8") for page in SITE.rglob("*.html") if page.name != "404.html"}
    anchors = {page: set(re.findall(r'\b(?:id|name)="([^"]*)"', text)) for page, text in pages.items()}
    assert len(pages) > 50
    for page, text in pages.items():
        for link in map(html.unescape, re.findall(r'(?:href|src)="([^"]*)"', text)):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            target = target / "index.html" if target.is_dir() else target
            assert target.exists(), (page.name, link)
            assert not parts.fragment or unquote(parts.fragment) in anchors.get(target, {parts.fragment}), (page, link)
