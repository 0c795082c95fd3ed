"""Integrated powers over a step of an implicit method: quadrature, error estimate, correction and dense output."""

from __future__ import annotations

from bondgraph.emit.kernel_language.language import Disjoint, Fixed, Reals, inline, larger, unrolled
from bondgraph.run.kernel_functions import formula_time
from bondgraph.run.linear.elimination import without_tiny
from bondgraph.run.linear.system import solve_system
from bondgraph.run.steppers.implicit.jacobian import ImplicitTable
from bondgraph.run.steppers.shared_fields import derivative, error_weight

WIDTH = 2.0**-17
"""Largest relative change of a state in the central difference of `correct_powers`, about the cube root of the rounding error."""
STRAIGHT = 2.0**-8
"""Largest second difference of the powers, relative to the first, for which a central difference is used. Its width
is relative to the largest sizes of the states so far; if the limit is exceeded, it is relative to their current values, and a
difference wider than the correction itself is then used in any case."""
SIGNIFICANT = 0.1


@inline
def error_of(flows: Reals, many: int, i: int, rule: Fixed) -> float:
    error = 0.0
    for node, weight in enumerate(rule.error):
        error = error + flows[many * node + i] * weight
    return error


def power_integrals(c: ImplicitTable, h: float, method: Fixed) -> float:
    """Compute the integrated powers at the end of the step just attempted, and store them in y_new; return the sum of the squares
    of their ratios of error to tolerance."""
    n, many, flows, state, rule = c.n, c.quadratures, c.flows, c.y_dense, method.coefficients.rule
    y, y_new, k, last = c.y[n:], c.y_new[n:], c.k[n:], c.k[c.width * method.last + n :]
    for node in unrolled(rule.inner):
        method.coefficients.node(c, node, state, method)
        c.powers(formula_time(c, c.t + h * rule.nodes[node]), state, c.p, c.m, flows[many * node :])
    moved, total, excused = 0.0, 0.0, False
    for i in range(many):
        gained = 0.0 + k[i] * rule.weights[0]
        flows[i] = h * k[i]
        for node in unrolled(rule.inner):
            value = flows[many * node + i]
            gained = gained + value * rule.weights[node]
            flows[many * node + i] = h * value
        gained = gained + last[i] * rule.weights[-1]
        flows[many * (len(rule.nodes) - 1) + i] = h * last[i]
        y_new[i] = y[i] + h * gained
        moved = larger(moved, abs(y_new[i]))
    for i in range(many):
        # The error weight is based on the largest integral: an integral that is rounding error has no size of its own.
        scale, noise = error_weight(c, n + i, moved), h * c.noise[n + i]
        if noise > scale:
            excused = True
        part = error_of(flows, many, i, rule) / (scale + noise)
        total = total + part * part
    if not excused and not c.fast:
        return total
    correct_powers(c, h, method)
    if not is_significant(c, moved, rule):
        return total
    return corrected_integrals(c, h, rule)


def is_significant(c: ImplicitTable, moved: float, rule: Fixed) -> bool:
    many, changes, significant = c.quadratures, c.flows[c.quadratures * len(rule.nodes) :], False
    for i in range(many):
        change = 0.0
        for node, weight in enumerate(rule.weights):
            change = change + changes[many * node + i] * weight
        if abs(change) > error_weight(c, c.n + i, moved) * SIGNIFICANT:
            significant = True
    return significant


def corrected_integrals(c: ImplicitTable, h: float, rule: Fixed) -> float:
    n, many, flows, moved, total = c.n, c.quadratures, c.flows, 0.0, 0.0
    changes, y, y_new = c.flows[c.quadratures * len(rule.nodes) :], c.y[c.n :], c.y_new[c.n :]
    for i in range(many):
        gained = 0.0
        for node, weight in enumerate(rule.weights):
            flow = flows[many * node + i] + changes[many * node + i]
            flows[many * node + i] = flow
            gained = gained + flow * weight
        y_new[i] = y[i] + gained
        moved = larger(moved, abs(y_new[i]))
    for i in range(many):
        part = error_of(flows, many, i, rule) / (error_weight(c, n + i, moved) + h * c.noise[n + i])
        total = total + part * part
    return total


def correct_powers(c: ImplicitTable, h: float, method: Fixed) -> None:
    """Compute corrections of the powers at the nodes of the step just attempted, times the step size, into the next rows of
    `flows`, for states that rounding or errors of the dense output have moved off the slow manifold.

    A fast process near equilibrium, such as a reaction whose forward and reverse rates nearly cancel, turns the smallest error d
    of the states into a large power. The slopes s of the dense output are the true rates, so (1 - h gamma J) d = h gamma (f - s)
    gives the change d that turns the rates f into s. The power then follows from its first and second derivatives along d, by
    central differences so wide that rounding errors do not matter.
    """
    n, state, off, ahead, beyond, many = c.n, c.y_dense, c.rate, c.ahead, c.beyond, c.quadratures
    rule = method.coefficients.rule
    flows, changes = c.flows, c.flows[c.quadratures * len(rule.nodes) :]
    above, below = c.flows[c.quadratures * 2 * len(rule.nodes) :], c.flows[c.quadratures * (2 * len(rule.nodes) + 1) :]
    for node, theta in enumerate(rule.nodes):
        now = formula_time(c, c.t + h * theta)
        method.coefficients.node(c, node, state, method)
        method.coefficients.slopes(c, theta, beyond)
        derivative(c, c.t + h * theta, state, ahead, False)
        for i in range(n):
            c.rest[i] = beyond[i] * -method.coefficients.gamma
        off_manifold(c, h * method.coefficients.gamma, ahead, off)
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


def off_manifold(c: ImplicitTable, reach: float, k: Reals, out: Reals) -> None:
    system, right, order = c.system, c.system.right, c.system.order
    for i in range(c.n):
        state = order[i]
        right[i] = without_tiny(reach * k[state] + c.rest[state])
    solve_system(system)
    for i in range(c.n):
        out[order[i]] = right[i]


@inline
def lagrange_integral(theta: float, terms: Fixed) -> float:
    total = terms[-1]
    for term in reversed(terms[:-1]):
        total = total * theta + term
    return total * theta


def powers_inside(c: ImplicitTable, theta: float, out: Disjoint, rule: Fixed) -> None:
    many, flows, y, powers = c.quadratures, c.flows, c.y[c.n :], out[c.n :]
    for i in range(many):
        gained = 0.0
        for node, terms in enumerate(rule.integrals):
            gained = gained + flows[many * node + i] * lagrange_integral(theta, terms)
        powers[i] = y[i] + gained
