"""Box complementarity by parametric principal pivoting: find modes and efforts of ideal elements, starting from their previous
modes.

A small positive diagonal, added to the matrix, makes the problem strictly monotone (Tikhonov): it has one solution, whatever the
order of its rows, and principal pivots lead to the solution along a line of offsets. Repetition with the solution as the centre
(proximal points) removes the error of the regularisation; because the first centre is zero, undetermined unknowns have the least
norm.

Source: Cottle, Pang and Stone 1992, The Linear Complementarity Problem; Ruiz 2001 (scaling); Rockafellar 1976 (proximal points).
"""

from __future__ import annotations

from bondgraph.emit.kernel_language.language import finite, larger, smaller, sqrt, unrolled
from bondgraph.run.complementarity.table import BoxOutcome, BoxTable

REGULARISATIONS = (1e-6, 1e-8, 1e-10)
"""Multiples of the weights that are added to the scaled diagonal, one after another until the problem is solved."""
PROXIMAL_STEPS = 12
ROUNDING = 2.0**-52
LEVEL = 1.0
"""Initial bound on the rounding error of a sum, relative to the rounding errors of its terms."""
SPREAD = 1e3
"""Largest ratio between a weight and the mean of the weights, in either direction."""
SCALING_ROUNDS = 8
EVEN = 1.5
"""Largest factor between a row's largest entry and 1, in either direction, in a well-scaled matrix."""
UPDATES = 24
"""Maximum number of updates of an inverse before it is recomputed."""
WEAK_PIVOT = 1e-3
"""Fraction of the diagonal below which a pivot is too small for an update."""
PIVOTS, PIVOTS_EACH = 20, 4
"""The bound on rounding errors is raised after PIVOTS pivots plus PIVOTS_EACH pivots per row."""
COARSER = 4.0
MAX_LEVEL = 1e6
GOLDEN = 0.6180339887498949
INSIDE, BEYOND = 1e-3, 1e-2
"""Relative distances, at the start of the path, of the unknowns from their bounds and of the residuals from zero."""


def scale_rows(s: BoxTable) -> None:
    """Scale the problem symmetrically so that the largest entry of each row is near one; set the weights of the unknowns."""
    n, m, c = s.n, s.matrix, s.scale
    for i in range(n):
        diagonal = m[i * n + i]
        c[i] = 1.0 / sqrt(diagonal) if diagonal > 0.0 else 1.0
    uneven, rounds = True, 0
    while uneven and rounds < SCALING_ROUNDS:
        uneven = False
        for i in range(n):
            most = 0.0
            for j in range(n):
                most = larger(most, larger(abs(m[i * n + j]), abs(m[j * n + i])) * c[i] * c[j])
            s.image[i] = 1.0 / sqrt(most) if most > 0.0 else 1.0
            uneven = uneven or most > EVEN or (most > 0.0 and most * EVEN < 1.0)
        for i in range(n):
            c[i] = c[i] * s.image[i]
        rounds += 1
    total = 0.0
    for i in range(n):
        for j in range(n):
            s.scaled[i * n + j] = m[i * n + j] * c[i] * c[j]
        s.low[i], s.high[i] = s.lower[i] / c[i], s.upper[i] / c[i]
        s.image[i] = s.weights[i] * c[i] * c[i]
        total += s.image[i]
        s.x[i] = 0.0
    mean = total / n if total > 0.0 else 1.0
    for i in range(n):
        s.share[i] = larger(smaller(s.image[i] / mean, SPREAD), 1.0 / SPREAD)
        if (s.status[i] < 0 and not finite(s.low[i])) or (s.status[i] > 0 and not finite(s.high[i])):
            s.status[i] = 0


def regularise(s: BoxTable, epsilon: float) -> None:
    n = s.n
    for i in range(n):
        for j in range(n):
            s.regular[i * n + j] = s.scaled[i * n + j]
        s.raised[i] = epsilon * s.share[i]
        s.regular[i * n + i] += s.raised[i]


# The inverse of the block of the basic unknowns.


def invert(s: BoxTable) -> bool:
    n, count, width = s.n, 0, 2 * s.n
    for i in range(n):
        if s.status[i] == 0:
            s.basic[count] = i
            count += 1
    s.count, s.updates = count, 0
    for i in range(count):
        line = s.tableau[i * width :]
        for j in range(count):
            line[j] = s.regular[s.basic[i] * n + s.basic[j]]
            line[count + j] = float(i == j)
    for k in range(count):
        pivot = k
        for i in range(k + 1, count):
            if abs(s.tableau[i * width + k]) > abs(s.tableau[pivot * width + k]):
                pivot = i
        one, other = s.tableau[k * width :], s.tableau[pivot * width :]
        if not abs(other[k]) > 0.0:
            return False
        inverse = 1.0 / other[k]
        for j in range(k, 2 * count):
            value = other[j] * inverse
            other[j] = one[j]
            one[j] = value
        for i in range(count):
            line = s.tableau[i * width :]
            factor = line[k]
            if i != k and factor != 0.0:
                for j in range(k, 2 * count):
                    line[j] = line[j] - factor * one[j]
    for i in range(count):
        for j in range(count):
            s.inverse[i * n + j] = s.tableau[i * width + count + j]
    return True


def enter(s: BoxTable, chosen: int) -> bool:
    n, k = s.n, s.count
    pivot = s.regular[chosen * n + chosen]
    for i in range(k):
        value = 0.0
        for j in range(k):
            value += s.inverse[i * n + j] * s.regular[s.basic[j] * n + chosen]
        s.column[i] = value
        s.row[i] = 0.0
    for i in range(k):
        coupling = s.regular[chosen * n + s.basic[i]]
        pivot = pivot - coupling * s.column[i]
        for j in range(k):
            s.row[j] += coupling * s.inverse[i * n + j]
    s.basic[k] = chosen
    s.count = k + 1
    if not pivot > WEAK_PIVOT * s.regular[chosen * n + chosen]:
        return False
    for i in range(k):
        for j in range(k):
            s.inverse[i * n + j] += s.column[i] * s.row[j] / pivot
        s.inverse[i * n + k] = -s.column[i] / pivot
        s.inverse[k * n + i] = -s.row[i] / pivot
    s.inverse[k * n + k] = 1.0 / pivot
    return True


def leave(s: BoxTable, chosen: int) -> None:
    n, last, place = s.n, s.count - 1, 0
    while s.basic[place] != chosen:
        place += 1
    pivot = s.inverse[place * n + place]
    for i in range(s.count):
        s.column[i], s.row[i] = s.inverse[i * n + place], s.inverse[place * n + i]
    for i in range(s.count):
        factor = s.column[i] / pivot
        for j in range(s.count):
            s.inverse[i * n + j] = s.inverse[i * n + j] - factor * s.row[j]
    for i in range(s.count):
        s.inverse[i * n + place] = s.inverse[i * n + last]
    for j in range(s.count):
        s.inverse[place * n + j] = s.inverse[last * n + j]
    s.basic[place] = s.basic[last]
    s.count = last


# The path.


def at_bound(s: BoxTable, i: int) -> float:
    return s.below[i] if s.status[i] < 0 else s.above[i]


def evaluate(s: BoxTable) -> None:
    n, k = s.n, s.count
    for i in range(n):
        value, terms = s.shifted[i], s.terms[i]
        for j in range(n):
            if s.status[j] != 0:
                term = s.regular[i * n + j] * s.at[j]
                value += term
                terms += abs(term)
        s.residual[i], s.slope[i], s.error[i] = value, s.path[i], terms
    for i in range(k):
        x, along, error = 0.0, 0.0, 0.0
        for j in range(k):
            factor, b = s.inverse[i * n + j], s.basic[j]
            x = x - factor * s.residual[b]
            along = along - factor * s.slope[b]
            error += abs(factor) * s.error[b]
        s.column[i], s.row[i], s.image[i] = x, along, error
    for i in range(k):
        b = s.basic[i]
        s.at[b], s.along[b] = s.column[i], s.row[i]
    for i in range(n):
        if s.status[i] != 0:
            for k_basic in range(k):
                b = s.basic[k_basic]
                term = s.regular[i * n + b] * s.at[b]
                s.residual[i] += term
                s.error[i] += abs(term) + abs(s.regular[i * n + b]) * s.image[k_basic]
                s.slope[i] += s.regular[i * n + b] * s.along[b]
    for i in range(k):
        s.error[s.basic[i]] = s.image[i]


def next_mode_change(s: BoxTable, t: float) -> float:
    """Return the largest t at which an unknown must change its mode, or -1; set `chosen` to this unknown and `into` to its new
    mode."""
    best = -1.0
    s.chosen = -1
    for i in range(s.n):
        into, excess, rate = 0, 0.0, 0.0
        level = s.level * ROUNDING * s.error[i]
        if s.status[i] == 0:
            if s.below[i] - s.at[i] > level:
                into, excess, rate = -1, s.below[i] - s.at[i], s.along[i]
            elif s.at[i] - s.above[i] > level:
                into, excess, rate = 1, s.at[i] - s.above[i], -s.along[i]
        elif s.low[i] != s.high[i]:
            excess, rate = s.status[i] * s.residual[i], -s.status[i] * s.slope[i]
            if excess <= level:
                excess = 0.0
        if excess > 0.0:
            turn = excess / rate
            if not (turn >= 0.0 and turn < t):
                turn = t
            if turn > best:
                best, s.chosen, s.into = turn, i, into
    return best


def begin_path(s: BoxTable) -> None:
    """Choose offsets at t = 1 for which the current modes are the solution, with a different margin in each row."""
    n, far, spread = s.n, 0.0, 0.0
    for i in range(n):
        far = larger(far, larger(abs(s.shifted[i]), abs(s.at[i])))
    far = far if far > 0.0 else 1.0
    for i in range(n):
        spread = spread + GOLDEN
        spread = spread - 1.0 if spread >= 1.0 else spread
        inside = INSIDE * smaller(0.25 * (s.above[i] - s.below[i]), (1.0 + spread) * far)
        s.column[i] = larger(smaller(s.at[i], s.above[i] - inside), s.below[i] + inside) if s.status[i] == 0 else at_bound(s, i)
        s.row[i] = BEYOND * (1.0 + spread) * far
    for i in range(n):
        value = s.shifted[i]
        for j in range(n):
            value += s.regular[i * n + j] * s.column[j]
        s.path[i] = -value
        if s.status[i] < 0:
            s.path[i] = larger(s.row[i] - value, 0.0)
        elif s.status[i] > 0:
            s.path[i] = smaller(-s.row[i] - value, 0.0)


def follow_path(s: BoxTable) -> bool:
    n, t, fresh = s.n, 1.0, s.count < 0
    for i in range(n):
        value = s.offset[i] * s.scale[i]
        terms = abs(value)
        for j in range(n):
            term = s.scaled[i * n + j] * s.x[j]
            value += term
            terms += abs(term)
        s.shifted[i], s.terms[i], s.path[i] = value, terms, 0.0
        s.below[i], s.above[i] = s.low[i] - s.x[i], s.high[i] - s.x[i]
        s.at[i] = 0.0 if s.status[i] == 0 else at_bound(s, i)
    if fresh and not invert(s):
        return False
    evaluate(s)
    if next_mode_change(s, t) >= 0.0:
        begin_path(s)
        evaluate(s)
        t = next_mode_change(s, t)
    left = PIVOTS + PIVOTS_EACH * n
    while s.chosen >= 0:
        chosen, left = s.chosen, left - 1
        if left < 0:
            left = PIVOTS + PIVOTS_EACH * n
            s.level = s.level * COARSER
            if s.level > MAX_LEVEL:
                return False
        s.pivots += 1
        s.updates += 1
        s.status[chosen] = s.into
        fresh = s.updates > UPDATES
        if s.into == 0:
            fresh = not enter(s, chosen) or fresh
        else:
            leave(s, chosen)
            s.at[chosen] = at_bound(s, chosen)
        if fresh and not invert(s):
            return False
        evaluate(s)
        t = next_mode_change(s, t)
    return True


# The problem.


def solves_problem(s: BoxTable) -> bool:
    """Move the centre to the solution of the regularised problem; return True if this solves the problem itself, up to rounding
    errors. Set `fault` to the row that has moved furthest."""
    most, worst, far = 0.0, 0.0, -1.0
    for i in range(s.n):
        most = larger(most, s.terms[i])
        worst = larger(worst, abs(s.raised[i] * s.at[i]))
        if abs(s.at[i]) > far:
            far, s.fault = abs(s.at[i]), i
        s.x[i] += s.at[i]
        if s.status[i] != 0:
            s.x[i] = s.low[i] if s.status[i] < 0 else s.high[i]
    return worst <= 16.0 * ROUNDING * most


def solve(s: BoxTable) -> int:
    """Solve a problem, starting from the modes in `status`; write modes, y and w, and return a `BoxOutcome`."""
    n = s.n
    scale_rows(s)
    s.pivots, s.fault, s.level = 0, 0, LEVEL
    outcome = int(BoxOutcome.NO_SOLUTION)
    for epsilon in unrolled(REGULARISATIONS):
        if outcome == BoxOutcome.NO_SOLUTION:
            regularise(s, epsilon)
            s.count = -1
            for _ in range(PROXIMAL_STEPS):
                if outcome == BoxOutcome.NO_SOLUTION:
                    if not follow_path(s):
                        outcome = int(BoxOutcome.TOO_MANY_PIVOTS)
                    elif solves_problem(s):
                        outcome = int(BoxOutcome.SOLVED)
    for i in range(n):
        s.y[i] = larger(smaller(s.x[i] * s.scale[i], s.upper[i]), s.lower[i])
        if s.status[i] != 0:
            s.y[i] = s.lower[i] if s.status[i] < 0 else s.upper[i]
    for i in range(n):
        value = s.offset[i]
        for j in range(n):
            value += s.matrix[i * n + j] * s.y[j]
        s.w[i] = value
    return outcome
