"""Where the records of a CSV file end, in chunks of bytes of any length.

A quote at the start of a cell opens it; until it is closed (two quotes are one of the text) line ends belong to the
cell. A quote elsewhere is a character like any other. So a cut between two chunks never decides how a record is read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import BinaryIO

import numpy as np

CHUNK = 1 << 22
"""Bytes that are read at once."""
LONGEST = 1 << 26
"""Records of more bytes are left out, so that memory stays bounded."""
START, FIELD, QUOTED, CLOSING = range(4)
"""Where a scan stands: before a cell, in a plain one, within quotes, or after a quote that may close or be doubled."""
QUOTE, NEWLINE, RETURN, COMMA = b'"\n\r,'


def blocks(file: BinaryIO, chunk: int = CHUNK, longest: int = LONGEST, comma: int = COMMA) -> Iterator[bytes]:
    """The file in pieces of whole records; a last one without a line end counts too. `comma` stands between cells.

    >>> import io
    >>> list(blocks(io.BytesIO(b'a,"b\\nc"\\nd\\n'), chunk=4))
    [b'a,"b\\nc"\\n', b'd\\n']
    """
    state, kept, dropped = START, b"", False
    while piece := file.read(chunk):
        first, last, state = _ends(piece, state, comma)
        if last:
            whole = kept + piece[:last] if not dropped else piece[first:last]
            kept, dropped = piece[last:], False
            yield from _within(whole, first + len(whole) - last, longest)
        elif not dropped:
            kept += piece
        if len(kept) > longest:
            kept, dropped = b"", True
    if kept:
        yield kept


def first_record(file: BinaryIO, comma: int = COMMA) -> bytes:
    """The first record that is not empty; the file then stands behind it. Nothing, where there is none or no end of it.

    >>> import io
    >>> first_record(io.BytesIO(b"\\n\\na,b\\n1,2\\n"))
    b'a,b\\n'
    """
    while True:
        start, kept, state, end = file.tell(), b"", START, 0
        while not end and len(kept) <= LONGEST and (piece := file.read(1 << 16)):
            end, _, state = _ends(piece, state, comma)
            kept += piece[: end or None]
        file.seek(start + len(kept))
        if len(kept) > LONGEST:
            return b""
        if not kept or kept.strip(b"\r\n"):
            return kept


def _within(whole: bytes, first: int, longest: int) -> Iterator[bytes]:
    """Records of which the first, up to there, may be too long."""
    found = whole[first:] if first > longest else whole
    if found:
        yield found


def _ends(piece: bytes, state: int, comma: int) -> tuple[int, int, int]:
    """The places after the first and the last line end that ends a record (0 if none), and where the scan stands."""
    if state in (START, FIELD) and QUOTE not in piece:
        first = min((place + 1 for end in (b"\n", b"\r") if (place := piece.find(end)) >= 0), default=0)
        last = max(piece.rfind(b"\n"), piece.rfind(b"\r")) + 1
        return first, last, START if piece[-1] in (NEWLINE, RETURN, comma) else FIELD
    return _by_parity(piece, state, comma) or _by_steps(piece, state, comma)


def _by_parity(piece: bytes, state: int, comma: int) -> tuple[int, int, int] | None:
    """All at once, where every quote opens a cell, closes one or is doubled; None if one does not."""
    if state == CLOSING:
        return None
    cells = np.frombuffer(piece, dtype=np.uint8)
    quotes, odd = np.flatnonzero(cells == QUOTE), int(state == QUOTED)
    opening = quotes[odd::2]
    if len(opening) and opening[0] == 0:
        if state != START:
            return None
        opening = opening[1:]
    # bytes after which a quote opens a cell, or is the second of two
    if not np.isin(cells[opening - 1], (QUOTE, NEWLINE, RETURN, comma)).all():
        return None
    lines = np.flatnonzero((cells == NEWLINE) | (cells == RETURN))
    ends = lines[(np.searchsorted(quotes, lines) + odd) % 2 == 0]
    if (len(quotes) + odd) % 2:
        state = QUOTED
    else:
        state = CLOSING if piece[-1] == QUOTE else START if piece[-1] in (comma, NEWLINE, RETURN) else FIELD
    return (int(ends[0]) + 1, int(ends[-1]) + 1, state) if len(ends) else (0, 0, state)


def _by_steps(piece: bytes, state: int, comma: int) -> tuple[int, int, int]:
    """Cell by cell."""
    first = last = place = 0
    next_end = re.compile(rb"[\r\n]|" + re.escape(bytes([comma])) + rb'"?')
    while place < len(piece):
        if state == START:
            state, place = (QUOTED, place + 1) if piece[place] == QUOTE else (FIELD, place)
        elif state == QUOTED:
            place = piece.find(b'"', place) + 1
            if not place:
                break
            state = CLOSING
        elif state == CLOSING:
            state, place = (QUOTED, place + 1) if piece[place] == QUOTE else (FIELD, place)
        else:
            found = next_end.search(piece, place)
            if found is None:
                break
            place, state = found.end(), QUOTED if len(found[0]) == 2 else START
            if found[0] in (b"\n", b"\r"):
                first, last = first or place, place
    return first, last, state
