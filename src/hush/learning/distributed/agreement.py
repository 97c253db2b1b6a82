"""What must be equal on every rank, compared before the first draw; and errors that all ranks raise alike."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ParamSpec, TypeVar

import torch
from torch import Tensor, nn

from hush import errors
from hush.errors import HushError, InvalidParameter, LedgerError, NotCovered
from hush.learning.boundary import WITHHELD
from hush.learning.distributed.ranks import Ranks
from hush.randomness.source import Source

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

COINS = 4
"""Words of 64 bits that are drawn to see whether two ranks have the same coins, and thrown away."""
WRAPPERS = ("torch.distributed.", "torch.nn.parallel.")
"""Modules of torch whose classes average gradients, or spread parameters, over processes by themselves."""


def same_error_everywhere(run: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """A function with an argument `ranks` that tells the others if it fails before they have agreed.

    They wait for it at the agreement, and raise the same error there: nobody hangs, and nobody trains alone.
    """

    @functools.wraps(run)
    def told(*given: Parameters.args, **named: Parameters.kwargs) -> Result:
        ranks = named.get("ranks")
        if not isinstance(ranks, Ranks):
            return run(*given, **named)
        outermost, ranks.settled = ranks.settled, False
        try:
            return run(*given, **named)
        except Exception as error:
            if not ranks.settled:
                known = isinstance(error, HushError)
                with contextlib.suppress(*(() if known else (HushError,))):  # what is not ours goes on as it is
                    _exchanged(ranks, error if known else NotCovered(f"a start that raises {type(error).__name__}"), {})
            raise
        finally:
            ranks.settled = ranks.settled or outermost

    return told


@contextlib.contextmanager
def all_or_none(ranks: Ranks | None, step: int) -> Iterator[None]:
    """A block that every rank comes through, or none: one that fails tells the others, who would wait for its sum."""
    if ranks is None:
        yield
        return
    try:
        yield
    except Exception:
        ranks.at_step(None)
        raise
    if not ranks.at_step(step):
        raise NotCovered(WITHHELD)


def checked_ranks(ranks: object) -> Ranks | None:
    """The ranks that were given, or none."""
    if ranks is not None and not isinstance(ranks, Ranks):
        raise InvalidParameter("ranks", "a hush.learning.Ranks()", ranks=type(ranks).__name__)
    return ranks


def agree(ranks: Ranks, facts: Mapping[str, str], sources: Mapping[str, Source]) -> None:
    """Compare what must be equal on every rank, and the coins, which must not be; raise the same error on all.

    facts: texts by name, of which only names are ever shown. sources: where a rank draws for itself.
    """
    coins = {name: _digest(source.words(COINS).tobytes()) for name, source in sources.items()}
    heard = _exchanged(ranks, None, {"facts": dict(facts), "coins": coins})
    ranks.settled = True
    for name in heard[0]["facts"]:
        others = [rank for rank, said in enumerate(heard) if said["facts"].get(name) != heard[0]["facts"][name]]
        if others:
            raise InvalidParameter(f"A training on {ranks.size} ranks", f"the same {name} on every rank", unlike=others)
    for name in coins:
        drawn = [said["coins"][name] for said in heard]
        twice = [rank for rank, digest in enumerate(drawn) if digest in drawn[:rank]]
        if twice:
            rule = f"coins of its own on every rank ({name}): a seed must differ by rank"
            raise InvalidParameter(f"A training on {ranks.size} ranks", rule, repeated=twice)


def from_first(ranks: Ranks, run: Callable[[], str]) -> str:
    """What the first rank finds, on all ranks, which wait for it; what it raises is raised on all."""
    found, fault = "", None
    if ranks.leads:
        try:
            found = run()
        except Exception as error:  # also what is not ours: the others would wait for ever
            fault = error
    told = fault if fault is None or isinstance(fault, HushError) else LedgerError(f"raised {type(fault).__name__}")
    try:
        heard = _exchanged(ranks, told, {"found": found})
    except HushError:
        if fault is not None:
            raise fault from None
        raise
    return heard[0]["found"]


def _exchanged(ranks: Ranks, error: HushError | None, said: Mapping[str, Any]) -> list[Any]:
    """What each rank says, unless one of them has an error: then that of the first such rank, on all of them."""
    own = {"error": None if error is None else [type(error).__name__, str(error)], **said}
    heard = [json.loads(text) for text in ranks.told(json.dumps(own))]
    ranks.settled = True
    for rank, other in enumerate(heard):
        if other["error"] is not None:
            kind, message = other["error"]
            raise _again(kind, message, rank)
    return heard


def _again(kind: str, message: str, rank: int) -> HushError:
    """The error of another rank: of the same class, with its message."""
    known = getattr(errors, kind, NotCovered)
    found = known.__new__(known)
    found.args = (f"On rank {rank}: {message}",)
    return found


def refuse_wrapped(model: nn.Module) -> None:
    """A model that talks to other processes by itself is not taken: its sums would have no noise, or it twice."""
    for name, module in model.named_modules():
        kinds = [kind for kind in type(module).__mro__ if kind.__module__.startswith(WRAPPERS)]
        if kinds:
            inner = "model.module" if not name and hasattr(module, "module") else "the model before it was wrapped"
            rule = (
                f"the model itself: fit({inner}, ..., ranks=Ranks()); hush adds up the clipped gradients of all ranks"
            )
            raise InvalidParameter("model", rule, wrapped=kinds[0].__name__)


def same_start(ranks: Ranks, model: nn.Module) -> None:
    """Every rank starts from the parameters and buffers of the first."""
    for values in [*model.parameters(), *model.buffers()]:
        ranks.copied(values)


def digest_of_state(state: Any) -> str:
    """A digest of nested settings and tensors, such as an optimizer's state."""
    if isinstance(state, Tensor):
        plain = state.detach().cpu().contiguous()
        return _digest(plain.reshape(-1).view(torch.uint8).numpy().tobytes() + str((plain.shape, plain.dtype)).encode())
    if isinstance(state, Mapping):
        return _digest("".join(f"{key}:{digest_of_state(value)};" for key, value in state.items()).encode())
    if isinstance(state, list | tuple):
        return _digest("".join(f"{digest_of_state(value)};" for value in state).encode())
    return _digest(repr(state).encode())


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
