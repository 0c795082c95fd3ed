"""Natural scales of states, from rates and their Jacobian: the size above which a state matters to the states coupled to it.

A state at zero has no size yet with which to compare errors. Its scale is its rate, or the rate at which the scale of a coupled
state drives it, over the fastest rate at which it is coupled. Propagated from state to state, scales decay along weak couplings,
as the states themselves do. Each scale has the unit of its state.
"""

from __future__ import annotations

import math

from bondgraph.emit.kernel_language.language import Reals, finite, inline, larger, smaller, unrolled
from bondgraph.run.accuracy.balancing import fastest_by_cycles, propagate
from bondgraph.run.accuracy.fields import PATTERNS, PROPAGATED, Control
from bondgraph.run.accuracy.rounding_noise import rounding
from bondgraph.run.kernel_functions import formula_time
from bondgraph.run.sparsity.structure import MAX_COUPLING, MIN_COUPLING

LOOK_AHEAD = (1e-8, 1e-6, 1e-4, 1e-2, 1.0)
"""Look-ahead times, in longest steps, at which scales are sought for states without one."""
DISPLACEMENT = 0.1
"""Displacement of states, relative to their scales, in `look_ahead`, and waiting time, relative to a state's time constant, in
`source_rates`."""
DECADE = 10.0
"""Ratio of the times of successive evaluations of a source, and smallest growth of a rate that counts as steep."""
MIN_ERROR = 1e-150
"""Smallest error allowance, for states that nothing drives: it keeps squared error ratios finite."""
_ROUNDS = (0.0, *LOOK_AHEAD)
ROUNDED = 64.0
"""Number of rounding errors up to which a change of a state, or a power, counts as rounding error."""
TIMES, SHIFT, GOLDEN = (0.0, 0.381966, 0.618034, 0.854102), 2.0**-50, 0.6180339887498949
"""Parameters are shifted at the look-ahead times TIMES, in longest steps, by amounts of relative size SHIFT. GOLDEN is the
step between the shifts of neighbouring parameters."""
TOLERATED = 2.0**-30
"""Tolerated error of a state at rest, relative to the terms of its rate."""
UNITS, NOTHING = 2.0**52, 2.0**-26
"""UNITS is the ratio of the terms of a sum to the rounding error of the sum. A state has moved if its rounding error is below the
fraction NOTHING of its size, and is at rest only if its size is at most this fraction of the terms of its rate."""


def natural_scales(w: Control, t: float, x: Reals, m: Reals) -> None:
    scales, later = w.scales, w.later
    propagated_scales(w, t, x, m, w.size)
    for i in range(w.n):
        scales[i] = later[i]
    for ahead in _ROUNDS:
        if not look_ahead(w, t, x, m, ahead):
            return


def look_ahead(w: Control, t: float, x: Reals, m: Reals, ahead: float) -> bool:
    n, scales, later, moved, is_missing = w.n, w.scales, w.later, w.moved, False
    for i in range(n):
        moved[i] = x[i] + scales[i] * DISPLACEMENT
        if not scales[i] > 0.0:
            is_missing = True
    if not is_missing:
        return False
    propagated_scales(w, t + ahead * w.longest, moved, m, scales)
    is_open = not w.autonomous
    for i in range(n):
        if not scales[i] > 0.0:
            if later[i] != scales[i]:
                is_open = True
            scales[i] = later[i]
    return is_open


def propagated_scales(w: Control, t: float, x: Reals, m: Reals, size: Reals) -> None:
    couplings(w, t, x, m)
    if w.scaled == PROPAGATED:
        w.scaled = 0
        return
    fastest_by_cycles(w.pattern.structure, w.cycles, w.values, w.diagonal, w.fastest, w.balance)
    local_scales(w, t, x, m, size)
    propagate(w.pattern.structure, w.values, w.fastest, w.later, w.reached)


def local_scales(w: Control, t: float, x: Reals, m: Reals, size: Reals) -> None:
    n, speed, driven, later = w.n, w.fastest, w.driven, w.later
    least = 1.0 / w.longest
    for i in range(n):
        rate = speed[i]
        speed[i] = larger(rate if rate < math.inf else 0.0, least)
    source_rates(w, t, x, m)
    for i in range(n):
        later[i] = larger(size[i], driven[i] / speed[i])


def source_rates(w: Control, t: float, x: Reals, m: Reals) -> None:
    """Store in `driven` the largest rate of each state, now and after a fraction of its time constant 1 / `fastest`, when its
    source may have begun to act. If a rate has grown steeply by then, as with an exponential law, scale rates down to the
    shorter time constants at that time."""
    n, largest, speed, later, is_steep = w.n, w.driven, w.fastest, w.beyond, False
    if not w.rated:
        w.rates(formula_time(w, t), x, w.p, m, largest)
    w.rated = False
    wait, longest = math.inf, 0.0
    for i in range(n):
        largest[i] = abs(largest[i])
        ahead = DISPLACEMENT / speed[i]
        wait = smaller(wait, ahead)
        longest = larger(longest, ahead)
    while wait <= longest and not w.autonomous:
        w.rates(formula_time(w, t + wait), x, w.p, m, later)
        grows = False
        for i in range(n):
            ahead, rate = DISPLACEMENT / speed[i], abs(later[i])
            if wait <= ahead < wait * DECADE and largest[i] * DECADE < rate < math.inf:
                grows = True
        if grows:
            couplings(w, t + wait, x, m)
            is_steep = True
        for i in range(n):
            ahead, rate = DISPLACEMENT / speed[i], abs(later[i])
            if grows and w.diagonal[i] > speed[i]:
                rate = rate * (speed[i] / w.diagonal[i])
            if wait <= ahead < wait * DECADE and rate < math.inf:
                largest[i] = larger(largest[i], rate)
        wait = wait * DECADE
    if is_steep:
        couplings(w, t, x, m)
    for i in range(n):
        rate = largest[i]
        largest[i] = rate if rate < math.inf else 0.0


def measure_terms(w: Control, t: float, x: Reals, m: Reals) -> None:
    """Mark the states that have moved by far more than rounding errors. Other states whose rates are rounding error take the
    scale of the terms that cancel in their rates or their drivers' rates: steps need not follow the last digits of a sum."""
    n, size, moved, terms = w.n, w.size, w.has_moved, w.terms
    rates, speed, errors, sigma = w.driven, w.fastest, w.later, w.sigma
    is_open = False
    for i in range(n):
        if moved[i] == 0.0:
            is_open = True
    if not is_open:
        return
    w.rates(formula_time(w, t), x, w.p, m, rates)
    is_open = False
    for i in range(n):
        if moved[i] == 0.0 and rates[i] != 0.0:
            is_open = True
    if not is_open:
        return
    for i in range(n):
        rates[i] = abs(rates[i])
    rounding(w, t, x, m)
    add_rounding_of_parameters(w, t, x, m)
    for i in range(n):
        errors[i] = sigma[i] / speed[i]
    propagate(w.pattern.structure, w.values, speed, errors, w.reached)
    for i in range(n):
        error = larger(errors[i], terms[i] / UNITS)
        if size[i] * NOTHING > error:
            moved[i] = 1.0
        if rates[i] / speed[i] <= ROUNDED * error:
            terms[i] = error * UNITS


def add_rounding_of_parameters(w: Control, t: float, x: Reals, m: Reals) -> None:
    """Raise `sigma` to at least the changes of the rates, at t and at later times, due to rounding of the parameters;
    perturbing x alone can miss these changes, because cancelling sums may round alike at all states near x."""
    p, above, below, sigma, speed, golden, is_steep = w.p_moved, w.beyond, w.held, w.sigma, w.fastest, 0.0, False
    for ahead in unrolled(TIMES):
        time = formula_time(w, t + ahead * w.longest)
        for side in unrolled((1.0, -1.0)):
            part = golden
            for i in range(w.parameters):
                part = part + GOLDEN
                part = part - 1.0 if part >= 1.0 else part
                p[i] = w.p[i] * (side * (part - 0.5) * SHIFT + 1.0)
            w.rates(time, x, p, m, above if side > 0.0 else below)
        golden += GOLDEN * GOLDEN
        grows = False
        for i in range(w.n):
            change = abs(above[i] - below[i])
            if ahead > 0.0 and not w.autonomous and finite(change) and change > sigma[i] * DECADE:
                grows = True
        if grows:
            couplings(w, t + ahead * w.longest, x, m)
            is_steep = True
        for i in range(w.n):
            change = abs(above[i] - below[i])
            if grows and w.diagonal[i] > speed[i]:
                change = change * (speed[i] / w.diagonal[i])
            if finite(change):
                sigma[i] = larger(sigma[i], change)
    if is_steep:
        couplings(w, t, x, m)


def raise_resting(w: Control) -> None:
    """Raise the scales of states at rest until the tolerance allows an error of `TOLERATED` times the terms that cancel in their
    rates, so that rounding errors do not limit the steps. States that drive a moving state keep their scales, because their last
    digits matter, unless the coupling itself is rounding error, as where a symmetry forbids it."""
    part = smaller(1.0, TOLERATED / w.rtol)
    n, size, scale, counts, structure, values = w.n, w.size, w.scale, w.later, w.pattern.structure, w.values
    for i in range(n):
        counts[i] = 0.0
        if w.has_moved[i] == 1.0 or w.terms[i] == 0.0 or w.terms[i] * NOTHING < size[i]:
            counts[i] = 1.0
    spreads = True
    while spreads:
        spreads = False
        for k in range(structure.couplings):
            row, column = structure.rows[k], structure.columns[k]
            matters = values[k] * w.longest * w.terms[column] > larger(size[row], scale[row]) * NOTHING
            if matters and counts[row] == 1.0 and counts[column] == 0.0:
                counts[column] = 1.0
                spreads = True
    for i in range(n):
        if counts[i] == 0.0:
            scale[i] = larger(scale[i], part * w.terms[i])


def idle_energy(w: Control, t: float, x: Reals, m: Reals) -> float:
    """Return the energy of the terms that cancel in the powers over the longest step, if all powers are rounding error but, over
    this step, far exceed the energy scale; else 0."""
    powers, sigma, top = w.beyond, w.sigma[w.n :], 0.0
    if w.quadratures == 0:
        return 0.0
    w.powers(formula_time(w, t), x, w.p, m, powers)
    for i in range(w.quadratures):
        top = larger(top, abs(powers[i]))
    if not top * w.longest * NOTHING > larger(w.energy, w.spread):
        return 0.0
    rounding(w, t, x, m)
    most = 0.0
    for i in range(w.quadratures):
        most = larger(most, sigma[i])
        if not abs(powers[i]) <= ROUNDED * sigma[i]:
            return 0.0
    return most * UNITS * w.longest


def couplings(w: Control, t: float, x: Reals, m: Reals) -> None:
    """Evaluate the pattern, diagonal and off-diagonal values of the couplings unless they are current. Guesses for loop
    unknowns drive nothing, because the rates depend on the solution."""
    count, columns, guesses = w.entry_count, w.entry_columns, w.guesses
    nonzero_flags, nonzeros, diagonal, values = w.nonzero_flags, w.nonzeros, w.diagonal, w.values
    time = formula_time(w, t)
    if are_current(w, time, x, m):
        return
    if count > 0:
        if w.interpreted and not w.ahead:
            interpreted_jacobian(w, x, m)
        w.ahead = False
        if not w.interpreted:
            w.couple(time, x, w.p, m, nonzeros)
    for i in range(count):
        value = 0.0 if guesses[columns[i]] == 1.0 else abs(nonzeros[i])
        nonzeros[i] = value
        nonzero_flags[i] = int(MIN_COUPLING < value < MAX_COUPLING)
    find_pattern(w)
    pattern = w.pattern
    for i in range(w.n):
        diagonal[i] = 0.0
    for k in range(pattern.diagonal_count):
        diagonal[pattern.diagonal_rows[k]] = nonzeros[pattern.on_diagonal[k]]
    for k in range(pattern.off_diagonal_count):
        values[k] = nonzeros[pattern.off_diagonal[k]]


def are_current(w: Control, time: float, x: Reals, m: Reals) -> bool:
    n, modes, kept, is_same = w.n, w.modes, w.coupled_at, w.coupled
    states, kept_modes = kept[1:], kept[n + 1 :]
    if time != kept[0]:
        is_same = False
    for i in range(n):
        if x[i] != states[i]:
            is_same = False
    for i in range(modes):
        if m[i] != kept_modes[i]:
            is_same = False
    if is_same:
        return True
    w.coupled = True
    kept[0] = time
    for i in range(n):
        states[i] = x[i]
    for i in range(modes):
        kept_modes[i] = m[i]
    return False


def find_pattern(w: Control) -> None:
    count, nonzero_flags = w.entry_count, w.nonzero_flags
    for k in range(w.pattern_count):
        kept, is_same = w.patterns[k], True
        for i in range(count):
            if kept.nonzero_flags[i] != nonzero_flags[i]:
                is_same = False
                break
        if is_same:
            w.pattern = kept
            return
    slot = w.oldest
    w.oldest = 0 if slot + 1 == PATTERNS else slot + 1
    w.pattern_count = min(w.pattern_count + 1, PATTERNS)
    new = w.look_up_pattern(w)
    w.patterns[slot] = new
    w.pattern = new


@inline
def input_block(number: int, t: Reals, x: Reals, p: Reals, m: Reals) -> Reals:
    block = t
    if number == 1:
        block = x
    if number == 2:
        block = p
    if number == 3:
        block = m
    return block


def interpreted_jacobian(w: Control, x: Reals, m: Reals) -> None:
    numbers, rows, nonzeros, constants = w.numbers, w.rows, w.nonzeros, w.constants
    for i in range(w.number_count):
        numbers[i] = constants[i]
    for i in range(w.input_count):
        block = input_block(w.place_blocks[i], w.coupled_at, x, w.p, m)
        numbers[w.places[i]] = block[w.place_indices[i]]
    begin, stride, first = 0, w.stride, w.number_count - w.step_count
    while begin < w.group_count:
        for i in range(w.n):
            row, group = rows[w.seeded[i] * stride :], w.seed_groups[i] - begin
            for k in range(stride):
                row[k] = 0.0
            if 0 <= group < stride:
                row[group] = 1.0
        for k in range(stride):
            rows[k] = 0.0  # clear constant parts, and variables on which nothing depends
        w.interpret(w.steps, numbers, rows, w.columns, w.step_count, first)
        for k in range(w.entry_count):
            group = w.entry_groups[k] - begin
            if 0 <= group < stride:
                nonzeros[k] = rows[w.entries[k] * stride + group]
        begin += stride
