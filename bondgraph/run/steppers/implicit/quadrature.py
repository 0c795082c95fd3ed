"""Quadrature rules for integrated powers over a step."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True, eq=False)
class Rule:
    """Quadrature rule over a step.

    Parameters
    ----------
    nodes : ascending fractions of the step, from 0 to 1.
    weights : weights of the values at the nodes.
    error : weights of the error estimate, which is zero for polynomials of low degree.
    """

    nodes: Sequence[float]
    weights: Sequence[float]
    error: Sequence[float]

    @cached_property
    def integrals(self) -> tuple[tuple[float, ...], ...]:
        """Coefficients of x, x^2, ... of the integral from 0 of each node's Lagrange polynomial."""
        return lagrange_integrals(self.nodes)

    @property
    def inner(self) -> range:
        return range(1, len(self.nodes) - 1)


def lagrange_integrals(nodes: Sequence[float]) -> tuple[tuple[float, ...], ...]:
    polynomials = []
    for node in nodes:
        terms, scale = [1.0], 1.0
        for other in nodes:
            if other != node:
                terms = [low - other * high for low, high in zip([0.0, *terms], [*terms, 0.0], strict=True)]
                scale *= node - other
        polynomials.append(tuple(term / scale / (power + 1) for power, term in enumerate(terms)))
    return tuple(polynomials)


LOBATTO = Rule(
    nodes=(0.0, 0.5 - math.sqrt(3.0 / 28.0), 0.5, 0.5 + math.sqrt(3.0 / 28.0), 1.0),
    weights=(1.0 / 20.0, 49.0 / 180.0, 16.0 / 45.0, 49.0 / 180.0, 1.0 / 20.0),
    error=(2.0 / 15.0, -14.0 / 45.0, 16.0 / 45.0, -14.0 / 45.0, 2.0 / 15.0),
)
"""Rule of order 8, whose error estimate is the difference from the rule of order 4 without the midpoint."""
