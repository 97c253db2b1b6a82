"""Names of tables in databases: `duckdb://file.db#table`, `postgresql://user@host/database#schema.table`."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote, urlsplit

from hush.errors import InvalidParameter

RULE = "the address of a table: duckdb://file.db#table or postgresql://user@host/database#schema.table"
SCHEMES = ("duckdb", "postgresql", "postgres")


@dataclass(frozen=True)
class TableUrl:
    """An address: the database, the table and its schema, and what of it may be shown, without a password."""

    scheme: str
    address: str = field(repr=False)
    """What the database's own library is given."""
    table: tuple[str, ...]
    shown: str

    @property
    def path(self) -> Path:
        """Of a database that is a file."""
        return Path(unquote(self.address.split("://", 1)[1].split("?", 1)[0]))


def table_url(text: str) -> TableUrl | None:
    """The address that a text is, or None if it is something else, such as the name of a file.

    >>> table_url("postgresql://ann:secret@host/db#public.visits")
    TableUrl(scheme='postgresql', table=('public', 'visits'), shown='postgresql://host/db#public.visits')
    >>> table_url("data.csv") is None
    True
    """
    scheme = text.split("://", 1)[0].lower()
    if "://" not in text or scheme not in SCHEMES:
        return None
    address, _, fragment = text.partition("#")
    table = tuple(unquote(part) for part in fragment.split("."))
    parts = urlsplit(address)
    host = (parts.netloc if scheme == "duckdb" else parts.netloc.rpartition("@")[2]) + parts.path
    shown = f"{scheme}://{host}#{fragment}"
    if not 1 <= len(table) <= 2 or not all(table) or any("\x00" in part for part in table):
        raise InvalidParameter("table", RULE, source=shown)
    return TableUrl(scheme, address, table, shown)


def quoted(name: str) -> str:
    """A name as SQL writes it, whatever it holds.

    >>> quoted('a"; DROP TABLE b; --')
    '"a""; DROP TABLE b; --"'
    """
    if "\x00" in name:
        raise InvalidParameter("table", "names without a zero character", length=len(name))
    return '"' + name.replace('"', '""') + '"'
