"""The routes: files of the page, pages of the documentation, the drawing library, questions, and a file of scores."""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

import hush
from hush.app.service import library
from hush.app.service.guard import body_of, refusal
from hush.app.service.questions.book_view import PLACE
from hush.app.service.questions.menu import BOOK, MENU
from hush.app.service.workers import Spot, WorkerPool, WorkLimits

PAGE = Path(__file__).parents[1] / "page"
KINDS = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
"""Files that are served, and what they are."""
BUNDLE = "import sys, vl_convert; sys.stdout.buffer.write(vl_convert.javascript_bundle().encode())"
"""Vega, Vega-Lite and Vega-Embed as one script, out of the package that draws on the command line."""
BOOK_PATIENCE = 10.0
"""Seconds that a book may keep the page waiting, when another process has locked it."""
LOOK = 0.2
"""Seconds between looks whether somebody still waits for the answer."""
ENDINGS = (".csv", ".npz", ".parquet")
LONGEST_PLACE, LAST_TURN = 64, 1 << 53
"""Letters of the name of a tab or a place, and the most questions of a place: as far as a browser counts exactly."""
USUAL = WorkLimits()


@dataclass(frozen=True)
class Settings:
    """What the server was started with."""

    ledger: str | None = None
    write: bool = False
    workers: int = 2
    limits: WorkLimits = USUAL


class Site:
    """What the routes share: the files, which are read once, the workers, and the settings."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.pool = WorkerPool(settings.workers, settings.limits)
        self.files = {
            f"/{path.relative_to(PAGE).as_posix()}": (path.read_bytes(), KINDS[path.suffix])
            for path in PAGE.rglob("*")
            if path.suffix in KINDS
        }
        self._drawing: asyncio.Task[bytes] | None = None

    @asynccontextmanager
    async def running(self, _: Starlette) -> AsyncIterator[None]:
        """From the start of the server to its end."""
        self._drawing = asyncio.create_task(_bundled())
        warming = asyncio.create_task(self.pool.warm())
        yield
        for task in (warming, self._drawing):
            task.cancel()
        with suppress(asyncio.CancelledError):
            await asyncio.gather(warming, self._drawing, return_exceptions=True)
        self.pool.close()

    # -- what is read --------------------------------------------------------------------------------------------

    async def file(self, request: Request) -> Response:
        """A file of the page: only those that were found at the start, so no path leads anywhere else."""
        path = request.url.path
        found = self.files.get("/index.html" if path == "/" else path)
        if found is None:
            raise HTTPException(404, "There is nothing here.")
        return Response(found[0], media_type=found[1])

    async def drawing(self, _: Request) -> Response:
        """The drawing library, once it is made."""
        if self._drawing is None:
            raise HTTPException(503, "The server is starting.")
        made = await asyncio.shield(self._drawing)
        if not made:
            raise HTTPException(503, "Pictures need the package vl-convert-python: pip install 'hush-dp[app]'")
        return Response(made, media_type="text/javascript")

    async def document(self, request: Request) -> Response:
        """A page of the documentation, as it is written."""
        text = library.pages().get(request.path_params["name"])
        if text is None:
            raise HTTPException(404, "There is no such page.")
        return Response(text, media_type="text/plain")

    # -- what is asked -------------------------------------------------------------------------------------------

    async def ask(self, request: Request) -> Response:
        """One question, as {"tab", "slot", "turn", "ask", "with"}."""
        name, given, spot = _question(await body_of(request))
        if name == "hello":
            return _json(json.dumps({"answer": self._hello()}).encode())
        if name in BOOK:
            return await self._ask_book(request, spot, name, given)
        if name not in MENU:
            raise HTTPException(404, "There is no such question.")
        return _json(await _awaited(request, self.pool.ask(spot, name, given)))

    async def _ask_book(self, request: Request, spot: Spot, name: str, given: dict[str, Any]) -> Response:
        if self.settings.ledger is None:
            raise HTTPException(404, "No book was given: hush app --ledger BOOK")
        if name == "record" and not self.settings.write:
            raise HTTPException(403, "The book is read only: hush app --ledger BOOK --write")
        given = given | {PLACE: self.settings.ledger}
        if name == "record":  # once it is on its way it is not given up, whoever goes away
            return _json(await self.pool.ask(spot, name, given, BOOK_PATIENCE))
        return _json(await _awaited(request, self.pool.ask(spot, name, given, BOOK_PATIENCE)))

    def _hello(self) -> dict[str, Any]:
        return {
            "version": hush.__version__,
            "ledger": self.settings.ledger is not None,
            "write": self.settings.write,
            "seconds": self.settings.limits.seconds,
            "documents": sorted(library.pages()),
        }

    async def scores(self, request: Request) -> Response:
        """A file of scores against the claim in the query: kept in a folder of its own while it is read."""
        query = request.query_params
        ending = Path(query.get("name", "")).suffix.lower()
        if ending not in ENDINGS:
            raise HTTPException(415, f"A file of scores ends in one of: {', '.join(ENDINGS)}")
        content = await body_of(request)
        try:
            delta = float(query.get("delta", ""))
        except ValueError:
            raise HTTPException(400, "delta must be a number.") from None
        with tempfile.TemporaryDirectory(prefix="hush-") as folder:
            path = Path(folder) / f"scores{ending}"
            await asyncio.to_thread(path.write_bytes, content)
            given = {"file": str(path), "expression": query.get("expression", ""), "delta": delta}
            spot = _spot(query.get("tab"), "scores", _turn(query.get("turn", "0")))
            return _json(await _awaited(request, self.pool.ask(spot, "scores", given)))


def site_of(settings: Settings) -> Starlette:
    """The whole application, without the guard."""
    site = Site(settings)
    return Starlette(
        routes=[
            Route("/ask", site.ask, methods=["POST"]),
            Route("/scores", site.scores, methods=["POST"]),
            Route("/vega.js", site.drawing),
            Route("/docs/{name:path}", site.document),
            Route("/{path:path}", site.file),
        ],
        lifespan=site.running,
        exception_handlers={HTTPException: refusal},
    )


def _question(body: bytes) -> tuple[str, dict[str, Any], Spot]:
    try:
        asked = json.loads(body)
    except (ValueError, RecursionError):
        raise HTTPException(400, "A question is one JSON object.") from None
    if not isinstance(asked, dict) or not isinstance(asked.get("with", {}), dict):
        raise HTTPException(400, "A question is one JSON object.")
    return (
        str(asked.get("ask")),
        asked.get("with", {}),
        _spot(asked.get("tab"), asked.get("slot"), asked.get("turn", 0)),
    )


def _spot(tab: object, slot: object, turn: object) -> Spot:
    for name in (tab, slot):
        if not isinstance(name, str) or not 0 < len(name) <= LONGEST_PLACE:
            raise HTTPException(400, "A question says from which tab and for which place it is.")
    if type(turn) is not int or not 0 <= turn <= LAST_TURN:
        raise HTTPException(400, "A question says the how-manieth of its place it is: a whole number.")
    return Spot(str(tab), str(slot), turn)


def _turn(text: str) -> int | None:
    """The number that an address says, if it is short: Python reads no number of thousands of digits."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= len(str(LAST_TURN)) else None


async def _awaited(request: Request, asking: Awaitable[bytes]) -> bytes:
    """The reply; if the tab is closed before it comes, the question is given up."""
    task = asyncio.ensure_future(asking)
    try:
        while not task.done():
            await asyncio.wait({task}, timeout=LOOK)
            if not task.done() and await request.is_disconnected():
                raise HTTPException(499, "Nobody waits for it any more.")
    finally:
        task.cancel()
    return task.result()


def _json(content: bytes) -> Response:
    return Response(content, media_type="application/json")


async def _bundled() -> bytes:
    """The script, made by a process of its own: what makes it needs much memory for a moment."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", BUNDLE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL
    )
    try:
        made, _ = await process.communicate()
    except asyncio.CancelledError:
        with suppress(ProcessLookupError):
            process.kill()
        await process.communicate()  # its end is noticed here, and not when there is no loop any more
        raise
    return made if process.returncode == 0 else b""
