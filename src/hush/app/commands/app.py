"""`hush app`: a page in the browser, on this machine alone."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from hush.app.options import add_examples
from hush.errors import InvalidParameter, NotInstalled

ABOUT = """\
The page answers with the same certified numbers as the other commands. It is served on 127.0.0.1 alone, needs no
network, and ends with this command (Ctrl-C). Every start has a new token: open the address that is printed.
A book is shown read-only unless --write is given, too.
"""


def add(parser: ArgumentParser) -> None:
    """The options."""
    parser.add_argument("--port", type=int, default=0, help="the port (any that is free)")
    parser.add_argument("--no-browser", action="store_true", help="print the address only")
    parser.add_argument("--ledger", metavar="BOOK", help="a budget book to show: a file, or postgresql://...")
    parser.add_argument("--write", action="store_true", help="allow the page to enter releases into the book")
    parser.add_argument("--seconds", type=float, default=20.0, help="work that one question may take (20)")
    parser.add_argument("--megabytes", type=int, default=2048, help="memory that one question may take (2048)")
    add_examples(parser, "hush app", "hush app --ledger budget.db", "hush app --port 8000 --no-browser", more=ABOUT)


def run(arguments: Namespace) -> str:
    """Serve until a key ends it."""
    _check(arguments)
    try:
        from hush.app.service.serving import serve, workers_here
        from hush.app.service.web_routes import Settings
        from hush.app.service.workers import WorkLimits
    except ModuleNotFoundError as error:
        if error.name not in ("starlette", "uvicorn"):
            raise
        raise NotInstalled("hush app", str(error.name), "app") from error
    limits = WorkLimits(arguments.seconds, arguments.megabytes)
    settings = Settings(arguments.ledger, arguments.write, workers_here(), limits)
    try:
        serve(settings, arguments.port, _told, browser=not arguments.no_browser)
    except KeyboardInterrupt:
        pass
    return "hush app: ended"


def _told(address: str) -> None:
    print(f"hush app: {address}\nIt is for this machine alone. Ctrl-C ends it.", flush=True)


def _check(arguments: Namespace) -> None:
    """All that can be wrong is found before anything is served."""
    if not 0 <= arguments.port < 1 << 16:
        raise InvalidParameter("hush app", "a port from 0 to 65535", port=arguments.port)
    if not 0.1 <= arguments.seconds <= 3600:
        raise InvalidParameter("hush app", "0.1 <= seconds <= 3600", seconds=arguments.seconds)
    if not 512 <= arguments.megabytes <= 1 << 20:
        raise InvalidParameter("hush app", "512 <= megabytes <= 2^20", megabytes=arguments.megabytes)
    if arguments.write and arguments.ledger is None:
        raise InvalidParameter("hush app", "--ledger BOOK with --write", write=True)
    if arguments.ledger is not None:
        from hush.ledger import Ledger

        Ledger.open(arguments.ledger)
