"""How a notebook shows what hush says: texts that are values, and tables, as HTML that is safe to show."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape


class Text(str):
    """A text that shows itself: at the prompt its lines, in a notebook the same lines.

    >>> Text("epsilon = 1\\nat delta 0")
    epsilon = 1
    at delta 0
    >>> Text("a < b")._repr_html_()
    '<p>a &lt; b</p>'
    """

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return lines_html(self)


class Shown:
    """What a notebook shows by its text, in lines that keep their columns."""

    def _repr_html_(self) -> str:
        return lines_html(str(self))


def lines_html(text: str) -> str:
    """A paragraph, or lines that keep their columns.

    >>> lines_html("one\\n  two")
    '<pre>one\\n  two</pre>'
    """
    return f"<pre>{escape(text)}</pre>" if "\n" in text else f"<p>{escape(text)}</p>"


def table_html(rows: Sequence[Sequence[str]], *, title: str = "", below: str = "") -> str:
    """A table with a head, a title above it and a remark below.

    >>> table_html([["times"], ["1 < 2"]])
    '<table><thead><tr><th>times</th></tr></thead><tbody><tr><td>1 &lt; 2</td></tr></tbody></table>'
    """
    head, *body = rows
    caption = f"<caption>{escape(title)}</caption>" if title else ""
    shown = "".join(f"<tr>{_cells('td', row)}</tr>" for row in body)
    remark = f"<p>{escape(below)}</p>" if below else ""
    return f"<table>{caption}<thead><tr>{_cells('th', head)}</tr></thead><tbody>{shown}</tbody></table>{remark}"


def _cells(tag: str, texts: Sequence[str]) -> str:
    return "".join(f"<{tag}>{escape(text)}</{tag}>" for text in texts)
