"""Operation counts of a tree's dynamics in closed form, which select the mass matrix, Newton-Euler or articulated bodies."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from screwbond.models.chains.sections import Section
from screwbond.models.chains.trees import Tree

MATRIX_PREFERENCE = 1.25
"""Factor that the mass matrix may cost over the recursion: with M(q) the equations can be written down."""


@dataclass(frozen=True)
class Cost:
    """Operations that one more section costs."""

    fixed: float
    """For mass matrix, velocity forces and weight."""
    carried: float
    """To transform its momentum and that of each section that it carries to the frame before."""
    articulated: float
    """For its articulated body and acceleration."""


PARALLEL, RIGHT_ANGLED, OBLIQUE = Cost(67, 9, 105), Cost(162, 17, 307), Cost(470, 45, 724)
"""Cost of a section in a planar mechanism, of one with axes along those of the frame before, and of any other: exact for each
further joint in a row. Joints through one point and the ends of branches take less."""


def recursion_is_shorter(tree: Tree) -> bool:
    """Return True if M(q) and h(q, v) together take fewer operations with h by recursion than with h by differentiation.

    The recursion grows with the number of joints in a row, the derivatives of M(q) with its square and more. They
    meet at four joints with parallel and right-angled axes (the finger of a hand: 305 operations for v' by derivatives, 393 by
    recursion), at three with oblique ones (694 and 722 for M and h; of seven joints 7425 and 3157).
    """
    freedoms = tree.sections.freedoms
    longest = max(len(tree.sections.path(k + 1)) for k in range(len(freedoms)))
    return longest > (3 if any(_is_oblique(section) for section in freedoms) else 4)


def articulated_is_shorter(tree: Tree) -> bool:
    """Return True if v' takes clearly fewer operations by articulated bodies than by M(q) and its solution.

    The first takes 724 operations for each oblique joint. The second takes n^3 / 2 for the solution of n joints that hang on
    one; ten oblique joints in a row take 6200 and 6800, fifty 35000 and 133000.
    """
    if not all(drive.direct for drive in tree.sections.drives):
        return False  # driven joints tie distant bodies together: no such recursion
    by_matrix, by_recursion = operations(tree)
    return by_recursion * MATRIX_PREFERENCE < by_matrix


def operations(tree: Tree) -> tuple[float, float]:
    """Return upper bounds of the operations for v' by the mass matrix and by articulated bodies."""
    freedoms = tree.sections.freedoms
    carried, costs = [1] * len(freedoms), _costs(tree)
    for k in range(len(freedoms) - 1, -1, -1):
        if freedoms[k].before:
            carried[freedoms[k].before - 1] += carried[k]
    by_matrix = by_recursion = 0.0
    for section, cost, count in zip(freedoms, costs, carried, strict=True):
        if section.before:
            by_matrix += cost.fixed + cost.carried * count
            by_recursion += cost.articulated
        else:  # all sections that hang on one at the base are coupled
            by_matrix += count * (count * count - 1) / 2 + 2 * count * count
    return by_matrix, by_recursion


def _costs(tree: Tree) -> list[Cost]:
    freedoms, costs = tree.sections.freedoms, list[Cost]()
    for section in freedoms:
        before, flat = (freedoms[section.before - 1], costs[section.before - 1]) if section.before else (section, PARALLEL)
        in_plane = flat is PARALLEL and section.axis == before.axis and section.turns
        costs.append(OBLIQUE if _is_oblique(section) else PARALLEL if in_plane else RIGHT_ANGLED)
    return costs


def _is_oblique(section: Section) -> bool:
    return not np.array_equal(section.R, np.eye(3))
