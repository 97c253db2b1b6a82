"""The server as a whole: a port on this machine alone, a token per start, and the browser that is opened with both."""

from __future__ import annotations

import os
import secrets
import socket
import threading
import webbrowser
from collections.abc import Callable

import uvicorn

from hush.app.service.guard import Guard
from hush.app.service.web_routes import Settings, site_of
from hush.errors import InvalidParameter

HERE = "127.0.0.1"
"""The loopback address: no other machine reaches it."""
MOST_CONNECTIONS = 256


def workers_here() -> int:
    """As many workers as there are processors, but at least two and at most four."""
    return max(2, min(4, os.cpu_count() or 2))


def serve(settings: Settings, port: int, tell: Callable[[str], None], *, browser: bool) -> None:
    """Serve the page until a key or a signal ends it; `tell` gets the address once the server listens."""
    token = secrets.token_urlsafe(32)
    with _listening(port) as listener:
        chosen = listener.getsockname()[1]
        address = f"http://{HERE}:{chosen}/#token={token}"
        config = uvicorn.Config(
            Guard(site_of(settings), port=chosen, token=token),
            log_level="error",  # a storm of questions writes no storm of lines
            access_log=False,
            server_header=False,
            proxy_headers=False,
            http="h11",  # reads strictly, and headers of any length not at all
            ws="none",
            limit_concurrency=MOST_CONNECTIONS,
            timeout_keep_alive=30,
            timeout_graceful_shutdown=2,
        )
        tell(address)
        if browser:
            # in a thread of its own: some browsers return only when they are closed
            threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
        uvicorn.Server(config).run(sockets=[listener])


def _listening(port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((HERE, port))
        listener.listen(128)
    except OSError as reason:
        listener.close()
        raise InvalidParameter("hush app", "a port that is free", port=port, reason=reason.strerror) from reason
    return listener
