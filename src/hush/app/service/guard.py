"""Who may ask: the own page alone. Host, Origin, token, type and size are checked before anything is read."""

from __future__ import annotations

import asyncio
import hmac
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

QUESTION, UPLOAD = 64 << 10, 10_000_000
"""Bytes of the body of a question, and of a file that is dropped in."""
TYPES = {"/ask": "application/json", "/scores": "application/octet-stream"}
"""What a body is said to be: no form of another page can send these without asking first, which is refused."""
SIZES = {"/ask": QUESTION, "/scores": UPLOAD}
TOKEN = "x-hush-token"  # noqa: S105 - the name of a header
SLOWEST = 20.0
"""Seconds in which a body must have come."""
FRAMES = ("iframe", "frame", "object", "embed", "fencedframe")
NEAR = ("same-origin", "none")
"""What a browser says of requests of the page itself, and of those that a person typed."""

HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cache-control": "no-store",
}
"""What every reply says: nothing from outside, no inline code, no frames, nothing kept."""


class Guard:
    """Stands before all routes; what is refused never reaches them."""

    def __init__(self, app: ASGIApp, *, port: int, token: str) -> None:
        self._app, self._token = app, token
        self._hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse, or pass it on."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":  # there are no sockets here
            raise RuntimeError("only HTTP is spoken here")
        refused = self._refused(scope["method"], scope["path"], Headers(scope=scope))
        answer: ASGIApp = PlainTextResponse(f"{refused[1]}\n", refused[0]) if refused else self._app
        await answer(scope, receive, _sealed(send))

    def _refused(self, method: str, path: str, headers: Headers) -> tuple[int, str] | None:
        """The status and the reason, in the order in which they are checked."""
        host = headers.getlist("host")
        if len(host) != 1 or host[0].lower() not in self._hosts:
            return 421, "This server answers to its own address alone."
        if headers.get("sec-fetch-dest") in FRAMES:
            return 403, "The page is not shown inside other pages."
        if method in ("GET", "HEAD"):
            return None
        if method != "POST":
            return 405, "GET and POST alone."
        return self._refused_post(path, headers)

    def _refused_post(self, path: str, headers: Headers) -> tuple[int, str] | None:
        origins = {f"http://{host}" for host in self._hosts}
        if headers.get("origin") not in origins or headers.get("sec-fetch-site", "same-origin") not in NEAR:
            return 403, "Questions come from the page itself alone."
        if not hmac.compare_digest(headers.get(TOKEN, "").encode(), self._token.encode()):
            return 403, "The token is missing or old: open the address that hush app printed."
        if path not in TYPES:
            return 404, "There is nothing here."
        if headers.get("content-type", "").split(";")[0].strip().lower() != TYPES[path]:
            return 415, f"A question here is {TYPES[path]}."
        length = headers.get("content-length", "0")
        if not (length.isascii() and length.isdigit()) or int(length) > SIZES[path]:
            return 413, f"At most {SIZES[path]} bytes."
        return None


def _sealed(send: Send) -> Send:
    """Every reply with the headers above."""

    async def sealed(message: Message) -> None:
        if message["type"] == "http.response.start":
            MutableHeaders(scope=message).update(HEADERS)
        await send(message)

    return sealed


async def body_of(request: Request) -> bytes:
    """The whole body, if it is not too large and does not come too slowly."""
    most, parts, size = SIZES[request.url.path], [], 0
    try:
        async with asyncio.timeout(SLOWEST):
            async for part in request.stream():
                size += len(part)
                if size > most:
                    raise HTTPException(413, f"At most {most} bytes.")
                parts.append(part)
    except TimeoutError:
        raise HTTPException(408, "The question came too slowly.") from None
    return b"".join(parts)


def refusal(_: Request, error: Any) -> PlainTextResponse:
    """An error of a route, in plain text."""
    return PlainTextResponse(f"{error.detail}\n", error.status_code)
