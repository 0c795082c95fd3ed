"""Sizes of states that decay over many decades, where errors within the allowance could make the run diverge.

A state that has decayed below its error allowance may have either sign, and if its rate is nonlinear, such as y' = -k y^2, it
runs away from zero on the far side: y = -a diverges at the time 1 / (k a). An allowance based on the largest size so far is too
coarse there; the allowances of such a state and of the states that drive it follow their current sizes instead. Linear decay
forgets errors, so its allowance does not change.
"""

from __future__ import annotations

from bondgraph.emit.kernel_language.language import Reals, smaller
from bondgraph.run.accuracy.fields import Control
from bondgraph.run.accuracy.natural_scales import ROUNDED, couplings
from bondgraph.run.accuracy.rounding_noise import rounding
from bondgraph.run.kernel_functions import formula_time

DECAYED = 1e-2
"""A state has decayed if its recent size is below this fraction of its largest size so far."""


def follow_decay(w: Control, t: float, x: Reals, m: Reals, recent: Reals) -> bool:
    """Lower the sizes of decayed states that could run away, and of the decayed states that drive them, to their `recent` sizes
    (n,); return False if no state could run away."""
    n, size, decayed, counts = w.n, w.size, w.reached, w.driven
    is_any = False
    for i in range(n):
        counts[i] = 0.0
        decayed[i] = 1.0 if 0.0 < recent[i] < size[i] * DECAYED else 0.0
        if decayed[i] == 1.0:
            is_any = True
    if not is_any or not runs_away(w, t, x, m, decayed, counts):
        return False
    couplings(w, t, x, m)
    structure, spreads = w.pattern.structure, True
    while spreads:
        spreads = False
        for k in range(structure.couplings):
            row, column = structure.rows[k], structure.columns[k]
            if counts[row] == 1.0 and decayed[column] == 1.0 and counts[column] == 0.0:
                counts[column] = 1.0
                spreads = True
    for i in range(n):
        if counts[i] == 1.0:
            size[i] = recent[i]
    return True


def runs_away(w: Control, t: float, x: Reals, m: Reals, decayed: Reals, counts: Reals) -> bool:
    """Mark the decayed states whose nonlinear rates would make them run away within the longest step if all decayed states had
    crossed zero by their error allowances; return True if a state is marked."""
    n, longest, at_zero, here, beyond = w.n, w.longest, w.held, w.sharp, w.beyond
    rounding(w, t, x, m)
    rates_of_decayed(w, t, x, m, decayed, 0.0, at_zero)
    rates_of_decayed(w, t, x, m, decayed, 1.0, here)
    rates_of_decayed(w, t, x, m, decayed, -1.0, beyond)
    is_any = False
    for i in range(n):
        outward = -1.0 if x[i] > 0.0 else 1.0
        bend = (here[i] - at_zero[i]) + (beyond[i] - at_zero[i])
        away = smaller(outward * beyond[i], outward * bend * 0.5)
        if decayed[i] == 1.0 and away * longest > w.rtol * w.size[i] and away > w.sigma[i] * ROUNDED:
            counts[i] = 1.0
            is_any = True
    return is_any


def rates_of_decayed(w: Control, t: float, x: Reals, m: Reals, decayed: Reals, side: float, out: Reals) -> None:
    moved = w.moved
    for i in range(w.n):
        allowed = w.rtol * w.size[i]
        moved[i] = x[i]
        if decayed[i] == 1.0:
            moved[i] = side * (allowed if x[i] > 0.0 else -allowed)
    w.rates(formula_time(w, t), moved, w.p, m, out)
