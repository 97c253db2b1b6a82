"""Prefix sums from a tree: noise on the sums of dyadic intervals, and the errors of what is made of them."""

from __future__ import annotations

import math

import numpy as np

from hush.arrays import Array


def tree_variances(levels: int, *, decoded: bool) -> Array:
    """Variances of the prefix sums of 2^levels steps, where every node has noise of one unit of its sensitivity.

    A record is in one node per level, so that noise is paid for times 1 + levels. `decoded`: the best linear estimate
    from all nodes (Honaker 2015); else each prefix is a sum of disjoint nodes, one per bit of its length.

    >>> round(float(np.sqrt(tree_variances(10, decoded=False).mean())), 4)
    7.4169
    """
    steps, price = 2**levels, 1.0 + levels
    if not decoded:
        return price * np.array([t.bit_count() for t in range(1, steps + 1)], dtype=float)
    nodes = np.concatenate([np.kron(np.eye(2**level), np.ones(steps >> level)) for level in range(levels + 1)])
    prefixes = np.tril(np.ones((steps, steps)))
    return price * np.einsum("ti,it->t", prefixes, np.linalg.solve(nodes.T @ nodes, prefixes.T))


def tree_products(levels: int) -> Array:
    """C^T C of the tree: how many nodes two steps have in common.

    >>> tree_products(1).tolist()
    [[2.0, 1.0], [1.0, 2.0]]
    """
    places = np.arange(2**levels)
    apart = np.bitwise_xor(places[:, None], places[None])
    return levels + 1.0 - np.where(apart > 0, np.floor(np.log2(np.maximum(apart, 1))) + 1, 0)


def tree_rmse(steps: int) -> float:
    """Root of the mean variance of the decoded prefix sums, on the least tree that holds so many steps.

    >>> round(tree_rmse(1024), 6)
    3.686159
    """
    levels = max(math.ceil(math.log2(steps)), 0)
    return math.sqrt(float(tree_variances(levels, decoded=True)[:steps].mean()))
