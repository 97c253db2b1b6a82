"""A module of the user's own, with a global that a model may write to."""

from __future__ import annotations

SEEN: list[float] = []
