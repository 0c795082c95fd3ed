"""Test whether a run chatters: a law jumps across a surface, and the rates on both sides lead back to it (sliding mode).

Steps of any length cross the surface back and forth, whereas a smooth law is nearly constant over short enough steps. No step
size control gets past such a surface, so the run would take steps forever (Filippov 1988, chapter 2).

Two other kinds of run oscillate in this way: runs whose rates are rounding error, and runs in which the solution of an
algebraic loop ceases to exist.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bondgraph.run.bound import Bound
from bondgraph.run.events.guard_history import perturbations, rounding_error
from bondgraph.run.events.root_finding import EPSILON
from bondgraph.run.program import NewtonLoop
from bondgraph.run.results.failure import SLIDING_CURES

_FIRST, _RATIO, _LEVELS = 1.0 / 64.0, 1.0 / 8.0, 4
"""The first of _LEVELS walks has steps of the fraction _FIRST of the mean step of the run; the steps of each further walk
are shorter by the factor _RATIO."""
_MAX_STEPS, _CROSSINGS = 16_384, 4
"""A walk ends after _MAX_STEPS steps, or when _CROSSINGS successive jumps alternate and have similar heights."""
_JUMP, _SIMILARITY = 0.1, 0.5
"""A rate jumps if its relative change in a step exceeds _JUMP; jumps are similar if the smallest is at least the fraction
_SIMILARITY of the largest."""
_LEAST_SHARE = 1e-6
"""Minimum rate that is considered, relative to the largest rate, with rates relative to the sizes of the states."""
_ROUNDING = 64.0
"""Number of rounding errors by which at least one state must change in the first step of a walk."""
_LARGE_STEP = 1e-3
"""Relative Newton step of an unknown above which the step leads to another solution."""


@dataclass(frozen=True)
class EndlessRun:
    kind: str
    reason: str
    suspect: str
    cures: tuple[str, ...] = ()


@dataclass(frozen=True)
class SlidingMode:
    """States (n,) on both sides of a surface at which the rate of state number `state` jumps."""

    state: int
    before: np.ndarray
    after: np.ndarray

    def explained(self, bound: Bound, t: float, m: np.ndarray) -> EndlessRun:
        label = bound.program.layout.label("x", self.state)
        if _is_rounding(bound, t, m, self):
            reason = (
                f'the rate of "{label}" is rounding error: the state is at rest, and the steps follow the last digits of the rate'
            )
            return EndlessRun("too many steps", reason, label, (f'a start that is not at rest: initial={{"{label}": ...}}',))
        loop = _lost_loop(bound, t, m, self)
        if loop is not None:
            named = ", ".join(loop.elements)
            reason = f"the solution of the algebraic loop through {named} ends here: all other solutions are far away"
            return EndlessRun("algebraic loop", reason, named)
        name = _jumping_quantity(bound, t, m, self)
        what = f'the rate of "{label}"' if name is None else f'"{name}"'
        text = f"{what} chatters: it jumps back and forth across a switching surface that the run cannot leave (sliding mode)"
        return EndlessRun("chattering", text, label if name is None else name.rpartition(".")[0], SLIDING_CURES)


def _is_rounding(bound: Bound, t: float, m: np.ndarray, sides: SlidingMode) -> bool:
    now, jumped = (bound.rates(t, x, m)[sides.state] for x in (sides.before, sides.after))
    states, numbers = (values * (1.0 + perturbations(len(values))) for values in (sides.before, bound.p))
    near = bound.program.rates.many(np.full(len(states), bound.clock(t)), states, numbers, m)
    return bool(abs(jumped - now) <= rounding_error(now, near[:, sides.state]))


def _lost_loop(bound: Bound, t: float, m: np.ndarray, sides: SlidingMode) -> NewtonLoop | None:
    for loop in bound.program.loops:
        for x in (sides.before, sides.after):
            unknowns = list(loop.states)
            step = loop.kernel(bound.clock(t), x, bound.p, m)[len(unknowns) :]
            if not np.all(np.abs(step) <= _LARGE_STEP * np.fmax(np.abs(x[unknowns]), np.array(loop.sizes))):
                return loop
    return None


def _jumping_quantity(bound: Bound, t: float, m: np.ndarray, sides: SlidingMode) -> str | None:
    program = bound.program
    with np.errstate(all="ignore"):
        before, after = (bound.outputs(t, x, m) for x in (sides.before, sides.after))
        change = np.abs(after - before) / np.maximum(np.abs(before), np.abs(after))
    best: tuple[float, str] | None = None
    for name in program.power_names:
        for quantity in (f"{name}.effort", f"{name}.flow"):
            slot = program.layout.slots.get(quantity)
            if slot is None or not slot.is_output:
                continue
            size = float(np.nan_to_num(change[slot.start : slot.stop]).max(initial=0.0))
            if size > _JUMP and (best is None or size > best[0]):
                best = size, quantity
    return None if best is None else best[1]


def sliding_mode(bound: Bound, t: float, x: np.ndarray, m: np.ndarray, size: np.ndarray, pace: float) -> SlidingMode | None:
    """Take several walks in ever shorter Euler steps, the first from (t, x) in steps of a fraction of `pace`, s, each further
    walk from the end of the one before. Return the last crossing of a surface that each walk crosses back and forth with jumps of
    similar height, or None; `size` (n,) are the sizes of the states."""
    scale = np.where(size > 0.0, size, np.inf)
    last, height = None, None
    for level in range(_LEVELS):
        step = pace * _FIRST * _RATIO**level
        with np.errstate(all="ignore"):
            crossings = _crossings(bound, t, x, m, scale, step)
        if crossings is None:
            return None
        last, walked, jump = crossings
        if height is not None and not _SIMILARITY <= jump / height <= 1.0 / _SIMILARITY:
            return None
        height, t, x = jump, t + walked, last.after
    return last


def _crossings(
    bound: Bound, t: float, x: np.ndarray, m: np.ndarray, scale: np.ndarray, step: float
) -> tuple[SlidingMode, float, float] | None:
    """Take steps until one rate has jumped back and forth by similar amounts; return the last crossing, the duration of the
    steps, s, and the mean jump; return None if this does not happen or the rates do not stay finite."""
    rates, jumps = bound.rates(t, x, m), list[tuple[int, float]]()
    if not np.any(step * np.abs(rates) > _ROUNDING * EPSILON * np.abs(x)):
        return None
    for number in range(1, _MAX_STEPS + 1):
        x_next = x + step * rates
        next_rates = bound.rates(t + number * step, x_next, m)
        if not np.isfinite(next_rates).all():
            return None
        state, height = _jump(rates, next_rates, scale)
        if state is not None:
            jumps.append((state, height))
            if len(jumps) == _CROSSINGS:
                heights = np.array([value for _, value in jumps])
                alternates = np.all(heights[1:] * heights[:-1] < 0.0) and len({k for k, _ in jumps}) == 1
                sizes = np.abs(heights)
                if alternates and sizes.min() >= _SIMILARITY * sizes.max():
                    return SlidingMode(state, x, x_next), number * step, float(sizes.mean())
                jumps.pop(0)
        x, rates = x_next, next_rates
    return None


def _jump(before: np.ndarray, after: np.ndarray, scale: np.ndarray) -> tuple[int | None, float]:
    largest = np.maximum(np.abs(before), np.abs(after))
    counts = largest / scale > _LEAST_SHARE * np.max(largest / scale)
    change = np.where(counts, np.abs(after - before) / largest, 0.0)
    state = int(np.argmax(change))
    return (state, float(after[state] - before[state])) if change[state] > _JUMP else (None, 0.0)
