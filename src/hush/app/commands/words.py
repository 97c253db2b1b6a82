"""`hush words`: every word that an expression may have."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from hush.app.options import add_examples


def add(parser: ArgumentParser) -> None:
    """No options."""
    add_examples(parser, "hush words")


def run(_: Namespace) -> str:
    """The words, with what may follow each."""
    from hush.app.expression import words

    return words()
