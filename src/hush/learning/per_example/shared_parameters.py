"""Units that share parameters are one: their gradients are added up before a norm is taken."""

from __future__ import annotations

from torch import Tensor

from hush.learning.per_example.parts import LayerGradient, PlainRows
from hush.learning.per_example.watch import Unit

Keys = dict[str, int]
"""Name of a parameter in its part, to the identity of the parameter."""


def joint(parts: dict[int, LayerGradient], groups: list[list[Unit]]) -> list[tuple[Keys, LayerGradient]]:
    """The parts of a group of units that share parameters, as one."""
    found = []
    for group in groups:
        present = [unit for unit in group if id(unit) in parts]
        if len(present) == 1:
            found.append((present[0].keys, parts[id(present[0])]))
        elif present:
            total: dict[int, Tensor] = {}
            for unit in present:
                for name, gradients in parts[id(unit)].rows().items():
                    key = unit.keys[name]
                    total[key] = total[key] + gradients if key in total else gradients
            found.append(
                ({str(key): key for key in total}, PlainRows({str(key): value for key, value in total.items()}))
            )
    return found


def grouped(units: list[Unit]) -> list[list[Unit]]:
    """Units that share a parameter, directly or by way of others, together."""
    groups: list[tuple[set[int], list[Unit]]] = []
    for unit in units:
        keys = {id(p) for p in unit.parameters.values()}
        touching = [group for group in groups if group[0] & keys]
        merged = (keys.union(*(g[0] for g in touching)), [*(u for g in touching for u in g[1]), unit])
        groups = [group for group in groups if group not in touching] + [merged]
    return [members for _, members in groups]
