"""Box complementarity problem of the dry friction of a part: its matrix, offsets and bounds on the tape, for the event
iteration.

While all friction elements of a part stick, their equations are w = A y - b, which give the rate of each flow from the efforts y.
Friction along a line keeps its effort between two limits, and its flow leaves zero only if the effort is at a limit. If the
limit of sticking differs from the limit of slipping, the bounds are NaN, and transitions fire one by one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bondgraph.assembly.system import BoxLayout, LoweredTransition, System, environment
from bondgraph.tape.specialise import specialise
from bondgraph.tracing.linear.holding import ActiveEquations
from bondgraph.tracing.linear.ideal_reactions import RowGate
from bondgraph.tracing.on_tape.context import TracingContext
from bondgraph.tracing.on_tape.values import Entries
from screws.scalars import equal, where


@dataclass(frozen=True)
class BoxPart:
    """Problem of a part, with the layout of its values: entries, offsets, lower bounds, upper bounds, and 1 for each active row,
    else 0."""

    layout: BoxLayout
    scalars: tuple[Any, ...]


def box_parts(
    context: TracingContext, entries: Entries, right: Sequence[Any], holding: ActiveEquations, gates: Mapping[int, RowGate]
) -> tuple[BoxPart, ...]:
    """Return the problem of a part with these equations, or nothing if no friction along a line takes part.

    `holding` contains the equations while all elements stick; their matrix is positive semidefinite.
    """
    tape, n, held, b, released = context.tape, len(right), holding.entries, holding.right, holding.released
    slots, sticks, lows, highs = ([-1] * n for _ in range(4))
    low, high, holds = ([tape.scalar(0.0)] * n for _ in range(3))
    inputs = context.inputs
    values = environment(context.system, inputs["t"][0], inputs["x"], inputs["p"], inputs["m"])
    for i, gate in gates.items():
        holds[i] = tape.scalar(where(gate.holds, 1.0, 0.0))
        low[i] = high[i] = tape.scalar(released.get(i, 0.0))
        if len(gate.others) != 2 or not _slides(context.system, gate):
            continue
        limits = [_released(context, entries, right, i, gate.slot, state) for state in gate.others]
        first, second = context.sampled.table(limits).T
        if not (np.all(first <= second) or np.all(first >= second)) or np.all(first == second):
            continue
        down, up = (0, 1) if np.all(first <= second) else (1, 0)
        equal_limits = _equal_limits(context.system, values, gate.slot)
        if equal_limits is None:
            continue
        slots[i], sticks[i], lows[i], highs[i] = gate.slot, gate.active[0], gate.others[down], gate.others[up]
        low[i], high[i] = (tape.scalar(where(equal_limits, limits[k], math.nan)) for k in (down, up))
    gated = tuple(i in gates for i in range(n))
    if max(slots) < 0:
        return ()
    layout = BoxLayout(n, tuple(held), gated, tuple(slots), tuple(sticks), tuple(lows), tuple(highs))
    offsets = [-value for value in b]
    return (BoxPart(layout, tuple(map(tape.scalar, [*held.values(), *offsets, *low, *high, *holds]))),)


def _slides(system: System, gate: RowGate) -> bool:
    """Return True if the mode belongs to friction along a line, which sticks in its one active state."""
    edges = [event for event in system.events if event.slot == gate.slot]
    return len(gate.active) == 1 and all(_stops(edges, k, gate.active[0], j) for k, j in (gate.others, gate.others[::-1]))


def _stops(edges: Sequence[LoweredTransition], slip: int, stick: int, other: int) -> bool:
    ends = [(edge.source, edge.target, edge.passes) for edge in edges]
    return (slip, stick, other) in ends and (stick, slip, None) in ends


def _equal_limits(system: System, values: Mapping[str, Any], slot: int) -> Any:
    """Return the condition under which the limits of sticking and slipping are equal, without which the problem is not monotone,
    or None if the limits are not parameters."""
    owner = list(system.modes.values())[slot].automaton
    limits = [values.get(f"{owner}.{name}") for name in ("limit", "stick_limit")]
    return None if any(limit is None for limit in limits) else equal(*limits)


def _released(context: TracingContext, entries: Entries, right: Sequence[Any], i: int, slot: int, state: int) -> Any:
    value, slope = specialise(context.tape, [right[i], entries[i, i]], {("m", slot): float(state)})
    return context.tape.scalar(value / slope)
