"""Balancing of couplings between states: balanced scales, the fastest rate of each state, and scales propagated along couplings.

An entry B_ij > 0 means that state j drives state i. Within a strong component, find scales s that balance the couplings into each
state with the couplings out of it; for reciprocal couplings, energy gives the same ratios. Units do not matter: under x -> d x,
the scales become d s and the rates do not change (bitwise, if d is a power of two). Balancing: E. E. Osborne, On pre-conditioning
of matrices, J. ACM 7, 1960.

The initial scales follow short cycles (ears); sweeps correct small errors of these scales, and `strong_cycles` corrects large
errors.

Runs in lanes must share one structure of couplings (sparsity pattern).
"""

from __future__ import annotations

from bondgraph.emit.elementary.functions import power
from bondgraph.emit.kernel_language.language import Disjoint, Fixed, Reals, anywhere, larger, sqrt
from bondgraph.emit.kernel_language.translate import translate
from bondgraph.emit.procedure import Procedure
from bondgraph.run.accuracy.strong_cycles import StrongCycles, balance_strong_cycles
from bondgraph.run.sparsity.structure import MAX_COUPLING, Structure

MAX_SWEEPS, MAX_IMBALANCE = 10, 1.5
FAR = 16.0
"""Ratio of row and column sums above which a run is marked `uneven` after all sweeps."""
MIN_GROWTH = 1.001
"""Smallest growth by which a scale is raised: without this limit, rounding would slowly raise the scales of a ring with unit
gains."""


def procedures(lanes: int) -> list[Procedure]:
    return translate([fastest, propagate], ("fastest", "propagate"), lanes)


def along_ears(s: Structure, values: Reals, scales: Reals) -> None:
    for ear in range(s.ears):
        begin, end, start = s.ear_at[ear], s.ear_at[ear + 1], scales[s.ear_from[ear]]
        total = start / scales[s.ear_states[end - 1]]
        for step in range(begin, end):
            total = total * values[s.ear_couplings[step]]
        rate = sqrt(total)
        if end - begin > 2:
            rate = power(total, 1.0 / float(end - begin))
        valid, at = 0.0 < rate < MAX_COUPLING, start
        if anywhere(valid):
            for step in range(begin, end - 1):
                at = at * (values[s.ear_couplings[step]] / rate)
                if valid:
                    scales[s.ear_states[step]] = at


def are_balanced(
    s: Structure, values: Reals, scales: Reals, into: Disjoint, out_of: Disjoint, uneven: Disjoint, most: Fixed
) -> bool:
    for i in range(s.states):
        into[i] = 0.0
        out_of[i] = 0.0
    # Couplings are stored by columns, so the column sums need not wait for memory.
    total, before = 0.0, -1
    for j in range(s.inners):
        k = s.inner[j]
        row, column = s.rows[k], s.columns[k]
        flow = values[k] * scales[column] / scales[row]
        into[row] = into[row] + flow
        total = (total if column == before else 0.0) + flow
        out_of[column] = total
        before = column
    uneven[0] = 0.0
    for i in range(s.states):
        a, b = into[i], out_of[i]
        if a > 0.0 and b > 0.0 and not (a < b * most and b < a * most):
            uneven[0] = 1.0
        if not anywhere(uneven[0] == 0.0):
            return False
    return not anywhere(uneven[0] == 1.0)


def balance(s: Structure, values: Reals, scales: Reals, into: Disjoint, out_of: Disjoint, uneven: Disjoint) -> None:
    for _ in range(MAX_SWEEPS):
        if are_balanced(s, values, scales, into, out_of, uneven, MAX_IMBALANCE):
            return
        for i in range(s.states):
            a, b = into[i], out_of[i]
            if a > 0.0 and b > 0.0 and uneven[0] == 1.0:
                # All scales change simultaneously, so each takes half the step of a sequential update.
                scales[i] = scales[i] * sqrt(sqrt(a / b))
    are_balanced(s, values, scales, into, out_of, uneven, FAR)


def fastest(s: Structure, values: Reals, rates: Reals, work: Reals) -> None:
    """Raise `rates`, initially the diagonal, to the fastest rate at which each state is coupled, 1/s. The last of 3 n + 1
    values in `work` becomes 1 in runs that need `fastest_by_cycles`."""
    n = s.states
    scales, into, out_of, uneven = work, work[n:], work[n * 2 :], work[n * 3 :]
    for i in range(n):
        scales[i] = 1.0
    along_ears(s, values, scales)
    balance(s, values, scales, into, out_of, uneven)
    raise_rates(s, values, scales, rates)


def raise_rates(s: Structure, values: Reals, scales: Reals, rates: Reals) -> None:
    for j in range(s.inners):
        k = s.inner[j]
        row, column = s.rows[k], s.columns[k]
        rates[row] = larger(rates[row], values[k] * scales[column] / scales[row])
    for j in range(s.states):
        i = s.order[j]
        if anywhere(rates[i] == 0.0):
            fastest_driver = 0.0
            for position in range(s.drivers_at[i], s.drivers_at[i + 1]):
                fastest_driver = larger(fastest_driver, rates[s.drivers[position]])
            if rates[i] == 0.0:
                rates[i] = fastest_driver


def fastest_by_cycles(s: Structure, g: StrongCycles, values: Reals, diagonal: Reals, rates: Reals, work: Reals) -> None:
    n = s.states
    scales, into, out_of, uneven = work, work[n:], work[n * 2 :], work[n * 3 :]
    for i in range(n):
        rates[i] = diagonal[i]
    fastest(s, values, rates, work)
    if uneven[0] == 1.0:
        balance_strong_cycles(s, g, values, scales)
        balance(s, values, scales, into, out_of, uneven)
        for i in range(n):
            rates[i] = diagonal[i]
        raise_rates(s, values, scales, rates)


def propagate(s: Structure, values: Reals, speed: Reals, scales: Reals, work: Reals) -> None:
    """Propagate scales along the couplings from state to state; `work` has one value per state and per coupling."""
    n, reached, gain = s.states, work, work[s.states :]
    for k in range(s.couplings):
        row, column = s.rows[k], s.columns[k]
        within, across = speed[row], larger(speed[row], speed[column])
        gain[k] = values[k] / (within if s.part[row] == s.part[column] else across)
    for _ in range(n):
        for i in range(n):
            reached[i] = scales[i]
        for k in range(s.couplings):
            reached[s.rows[k]] = larger(reached[s.rows[k]], gain[k] * scales[s.columns[k]])
        moved = False
        for i in range(n):
            if reached[i] > scales[i] * MIN_GROWTH:
                scales[i] = reached[i]
                moved = True
        if not anywhere(moved):
            return
