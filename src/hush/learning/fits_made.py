"""How many private fits were made, and what no fit can see: said in words that depend on no record."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from hush.errors import InvalidParameter

PUBLIC_ONLY = (
    "data_norm and classes must be public knowledge, and so must be what a pipeline before the model has learnt, such "
    "as the means of a scaler or chosen columns. hush cannot see where they come from; its guarantee does not cover it."
)
_numbers = itertools.count(1)
_alone: ContextVar[bool] = ContextVar("alone", default=True)


class PublicKnowledgeWarning(UserWarning):
    """What a private fit takes as public; the same words at every fit. Silence it once all of that is public."""


def fit_made() -> int:
    """The number of this fit among the private ones of this process; 0 inside of a search, which counts as one."""
    return next(_numbers) if _alone.get() else 0


@contextmanager
def counted_as_one() -> Iterator[None]:
    """While a search runs: how many fits it makes is secret."""
    token = _alone.set(False)
    try:
        yield
    finally:
        _alone.reset(token)


def warn_of_public_knowledge() -> None:
    """Say what the guarantee does not cover, whatever the data."""
    warnings.warn(PUBLIC_ONLY, PublicKnowledgeWarning, stacklevel=4)


def of_one_fit(fits: int) -> str:
    """What is to be said beside the guarantee of a fit."""
    return (
        f"This is the guarantee of one fit, number {fits} of the private fits of this process. Fits on the same people "
        "count together, also those of cross-validation and of a search over parameters, one per candidate and fold, "
        "and the refit: what they give away is their composition. A ledger adds it up."
    )


def refuse_weights(who: str, refused: dict[str, object]) -> None:
    """No `sample_weight`: a record's weight would be how much it may move what is learnt."""
    unknown = sorted(set(refused) - {"sample_weight"})
    if unknown:
        raise TypeError(f"{who}.fit() got an unexpected keyword argument {unknown[0]!r}")
    if refused.get("sample_weight") is not None:
        rule = (
            "no sample_weight: the guarantee bounds what one record moves, and a weight would change that by record; "
            "weights are made from records, too"
        )
        raise InvalidParameter(f"{who}.fit", rule, sample_weight=type(refused["sample_weight"]).__name__)
