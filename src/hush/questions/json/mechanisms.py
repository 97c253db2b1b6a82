"""Mechanisms as JSON text, and back, in a versioned format."""

from __future__ import annotations

import json
from collections.abc import Iterable

from hush.mechanisms.leaves.stated_curves import RenyiDP
from hush.mechanisms.mechanism import Mechanism, require
from hush.questions.json.codec import decode, encode
from hush.questions.json.strict import as_whole, check_size, members, parse, refuse

VERSION = 2


def to_json(mechanism: Mechanism) -> str:
    """The mechanism as JSON text.

    >>> import hush
    >>> print(to_json(hush.Laplace(2.0)))
    {"hush": 2, "mechanism": {"kind": "Laplace", "scale": 2.0, "relation": "add_remove"}}
    """
    document = {"hush": VERSION, "mechanism": encode(require("to_json", mechanism))}
    text = json.dumps(document, allow_nan=False)
    check_size("to_json", text)
    return text


def from_json(text: str) -> Mechanism:
    """The mechanism in a text that `to_json` made; any other text raises InvalidParameter.

    A class that your program defines is known once its module is imported; a text cannot make hush import anything.

    >>> import hush
    >>> training = hush.Gaussian(1.0).on(hush.Poisson(rate=0.01)).repeat(10_000)
    >>> from_json(to_json(training)) == training
    True
    """
    document = members(parse(text), {"hush", "mechanism"})
    if as_whole(document["hush"]) != VERSION:
        refuse(f"version {VERSION}", hush=document["hush"])
    return decode(Mechanism, document["mechanism"])


def tabulated(mechanism: Mechanism, *, orders: Iterable[float]) -> RenyiDP:
    """What can be kept of a mechanism that has no JSON form: its Rényi divergences at these orders.

    >>> import hush
    >>> tabulated(hush.RenyiDP(function=lambda order: order / 2), orders=[2, 4]).points
    ((2.0, 1.0), (4.0, 2.0))
    """
    orders = list(orders)
    divergences = require("tabulated", mechanism).renyi(orders=orders).tolist()
    return RenyiDP(points=list(zip(orders, divergences, strict=True)), relation=mechanism.relation)
