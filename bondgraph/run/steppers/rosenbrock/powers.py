"""Integrated powers over a step of Rodas5P: quadrature, error estimate, correction and dense output."""

from __future__ import annotations

import math
from collections.abc import Sequence

from bondgraph.emit.kernel_language.language import Disjoint, Fixed, Reals, inline, larger, unrolled
from bondgraph.run.kernel_functions import formula_time
from bondgraph.run.steppers.rosenbrock.coefficients import GAMMA
from bondgraph.run.steppers.rosenbrock.steps import LAST, RosenbrockTable, slopes_inside, states_inside, unknowns
from bondgraph.run.steppers.shared_fields import derivative, error_weight

NODES = (0.0, 0.5 - math.sqrt(3.0 / 28.0), 0.5, 0.5 + math.sqrt(3.0 / 28.0), 1.0)
WEIGHTS = (1.0 / 20.0, 49.0 / 180.0, 16.0 / 45.0, 49.0 / 180.0, 1.0 / 20.0)
ERROR = (2.0 / 15.0, -14.0 / 45.0, 16.0 / 45.0, -14.0 / 45.0, 2.0 / 15.0)
"""Difference between these weights and those of order 4 without the midpoint."""


WIDTH = 2.0**-17
"""Largest relative change of a state in the central difference of `corrected_powers`: its square is about rounding over it."""
STRAIGHT = 2.0**-8
"""Largest second difference of the powers, relative to the first, with which that difference counts; if it is larger where the
states change in proportion to their sizes so far, they change in proportion to their present values."""
SIGNIFICANT = 0.1
"""Part of the tolerance from which a correction of an integrated power counts."""


def along(nodes: Sequence[float]) -> tuple[tuple[float, ...], ...]:
    """Integrate the Lagrange polynomials of nodes from 0; return for each integral the coefficients of x, x^2, ..."""
    polynomials = []
    for node in nodes:
        terms, scale = [1.0], 1.0
        for other in nodes:
            if other != node:
                terms = [low - other * high for low, high in zip([0.0, *terms], [*terms, 0.0], strict=True)]
                scale *= node - other
        polynomials.append(tuple(term / scale / (power + 1) for power, term in enumerate(terms)))
    return tuple(polynomials)


_ALONG = along(NODES)
_INNER = range(1, len(NODES) - 1)


@inline
def error_of(flows: Reals, many: int, i: int) -> float:
    """Return the error of an integrated power over the step just attempted, J."""
    error = 0.0
    for node, weight in enumerate(ERROR):
        error = error + flows[many * node + i] * weight
    return error


def power_integrals(c: RosenbrockTable, h: float) -> float:
    """Compute the integrated powers at the end of the step just attempted, into y_new; return the sum of the squares of their
    errors over the tolerance."""
    n, many, flows, state = c.n, c.quadratures, c.flows, c.y_dense
    y, y_new, k, last = c.y[n:], c.y_new[n:], c.k[n:], c.k[c.width * LAST + n :]
    for node in unrolled(_INNER):
        states_inside(c, NODES[node], state)
        c.powers(formula_time(c, c.t + h * NODES[node]), state, c.p, c.m, flows[many * node :])
    moved, total, excused = 0.0, 0.0, False
    for i in range(many):
        gained = 0.0 + k[i] * WEIGHTS[0]
        flows[i] = h * k[i]
        for node in unrolled(_INNER):
            value = flows[many * node + i]
            gained = gained + value * WEIGHTS[node]
            flows[many * node + i] = h * value
        gained = gained + last[i] * WEIGHTS[-1]
        flows[many * (len(NODES) - 1) + i] = h * last[i]
        y_new[i] = y[i] + h * gained
        moved = larger(moved, abs(y_new[i]))
    for i in range(many):
        # The error weight follows from the largest power: one that is only rounding has no size of its own.
        scale, noise = error_weight(c, n + i, moved), h * c.noise[n + i]
        if noise > scale:
            excused = True
        part = error_of(flows, many, i) / (scale + noise)
        total = total + part * part
    if not excused and not c.fast:
        return total
    correct_powers(c, h)
    if not is_significant(c, moved):
        return total
    return corrected_integrals(c, h)


def is_significant(c: RosenbrockTable, moved: float) -> bool:
    """Return True if the correction of an integrated power counts, where the largest power is `moved`."""
    many, changes, significant = c.quadratures, c.flows[c.quadratures * len(NODES) :], False
    for i in range(many):
        change = 0.0
        for node, weight in enumerate(WEIGHTS):
            change = change + changes[many * node + i] * weight
        if abs(change) > error_weight(c, c.n + i, moved) * SIGNIFICANT:
            significant = True
    return significant


def corrected_integrals(c: RosenbrockTable, h: float) -> float:
    """Compute the integrated powers as `power_integrals`, with their corrections."""
    n, many, flows, moved, total = c.n, c.quadratures, c.flows, 0.0, 0.0
    changes, y, y_new = c.flows[c.quadratures * len(NODES) :], c.y[c.n :], c.y_new[c.n :]
    for i in range(many):
        gained = 0.0
        for node, weight in enumerate(WEIGHTS):
            flow = flows[many * node + i] + changes[many * node + i]
            flows[many * node + i] = flow
            gained = gained + flow * weight
        y_new[i] = y[i] + gained
        moved = larger(moved, abs(y_new[i]))
    for i in range(many):
        part = error_of(flows, many, i) / (error_weight(c, n + i, moved) + h * c.noise[n + i])
        total = total + part * part
    return total


def correct_powers(c: RosenbrockTable, h: float) -> None:
    """Compute corrections of the powers at the nodes of the step just attempted, times the step size, into the rows behind those
    of `flows`, for states that rounding or the error of the dense output takes off the slow manifold.

    A fast process near equilibrium, such as a reaction whose forward and reverse rates nearly cancel, turns the least such error
    d into a large power. The slopes s of the dense output are the true rates, so that (1 - h GAMMA J) d = h GAMMA (f - s) gives
    the change d of the states after which their rates f are s. The power follows by its first and second derivatives along d,
    from central differences so wide that rounding does not count.
    """
    n, state, off, ahead, beyond, many = c.n, c.y_dense, c.rate, c.ahead, c.beyond, c.quadratures
    flows, changes = c.flows, c.flows[c.quadratures * len(NODES) :]
    above, below = c.flows[c.quadratures * 2 * len(NODES) :], c.flows[c.quadratures * (2 * len(NODES) + 1) :]
    for node, theta in enumerate(NODES):
        now = formula_time(c, c.t + h * theta)
        states_inside(c, theta, state)
        slopes_inside(c, theta, beyond)
        derivative(c, c.t + h * theta, state, ahead, False)
        for i in range(n):
            c.rest[i] = beyond[i] * -GAMMA
        unknowns(c, h, ahead, 0.0, off)
        differs = True
        for by_sizes in (True, False):
            furthest = 0.0
            for i in range(n):
                magnitude = larger(abs(state[i]), c.size[i]) if by_sizes else abs(state[i])
                furthest = larger(furthest, abs(off[i]) / magnitude)
            if furthest > 0.0 and differs:
                wide, first, second = WIDTH / furthest, 0.0, 0.0
                for i in range(n):
                    ahead[i] = state[i] + wide * off[i]
                    beyond[i] = state[i] - wide * off[i]
                c.powers(now, ahead, c.p, c.m, above)
                c.powers(now, beyond, c.p, c.m, below)
                for i in range(many):
                    change = h * (above[i] - below[i])
                    bend = h * (above[i] + below[i]) - 2.0 * flows[many * node + i]
                    first = first + abs(change)
                    second = second + abs(bend)
                    changes[many * node + i] = (change + bend / wide) / (2.0 * wide)
                straight = second <= STRAIGHT * first
                differs = not (straight if by_sizes else straight or wide > 1.0)
        if differs:
            for i in range(many):
                changes[many * node + i] = 0.0


@inline
def lagrange_integral(theta: float, terms: Fixed) -> float:
    """Return the integral of a Lagrange polynomial from 0 to theta, from its coefficients."""
    total = terms[-1]
    for term in reversed(terms[:-1]):
        total = total * theta + term
    return total * theta


def powers_inside(c: RosenbrockTable, theta: float, out: Disjoint) -> None:
    """Evaluate the integrated powers at the fraction theta of the step."""
    many, flows, y, powers = c.quadratures, c.flows, c.y[c.n :], out[c.n :]
    for i in range(many):
        gained = 0.0
        for node, terms in enumerate(_ALONG):
            gained = gained + flows[many * node + i] * lagrange_integral(theta, terms)
        powers[i] = y[i] + gained
