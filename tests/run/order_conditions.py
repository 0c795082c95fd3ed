"""Residuals of the order conditions of one-step methods, from their weights and stage matrices.

E. Hairer, G. Wanner, Solving Ordinary Differential Equations II, 1996, IV.7; for explicit methods both matrices are the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

Tree = tuple["Tree", ...]
"""Rooted tree, given by the subtrees at its root in descending order."""


def trees(order: int, most: Any = None) -> Iterator[Tree]:
    def forests(total: int, most: Any) -> Iterator[Tree]:
        if total == 0:
            yield ()
        for size in range(1, total + 1):
            for tree in trees(size):
                if most is None or (size, tree) <= most:
                    for others in forests(total - size, (size, tree)):
                        yield (tree, *others)

    yield from forests(order - 1, None)


def size(tree: Tree) -> int:
    return 1 + sum(map(size, tree))


def density(tree: Tree) -> int:
    product = size(tree)
    for branch in tree:
        product *= density(branch)
    return product


def weight(tree: Tree, one: np.ndarray, several: np.ndarray) -> np.ndarray:
    """Return the elementary weights of the stages, with `one` at vertices with one branch and `several` at all others."""
    product = np.ones(len(one))
    for branch in tree:
        product = product * ((one if len(tree) == 1 else several) @ weight(branch, one, several))
    return product


def most_missed(b: np.ndarray, one: np.ndarray, several: np.ndarray, order: int, theta: float = 1.0) -> float:
    """Return the largest residual of all conditions of this order, at the fraction theta of a step."""
    return max(abs(b @ weight(tree, one, several) - theta**order / density(tree)) for tree in trees(order))
