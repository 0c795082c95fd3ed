"""Failures of runs and reasons not to trust results, with time, states by name, suspected element and remedies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from bondgraph.run.bound import Bound
from bondgraph.run.events.handler import EventHandler
from bondgraph.run.events.state import CHATTERING, PATTERNS, ZENO, EventOutcome
from bondgraph.run.program import Program
from screws.errors import plural

CURES: dict[str, tuple[str, ...]] = {
    "not finite": (
        "a check of the suspect's law near this state for a division by zero, or a root or logarithm of a negative number",
        "a start away from singular positions",
    ),
    "step too small": ("a looser rtol", 'method="rodas5p" if the model is stiff', "a search for laws that jump"),
    "chattering": ("hysteresis between the guards of this switch", "a mode that keeps the state on the switching surface"),
    "Zeno": (
        "a resting state for this switch, named by `accumulates` of its transition",
        "a compliant law instead of an impulsive one",
    ),
    "too many events": ("a larger max_events", "hysteresis between the guards of this switch"),
    "too many steps": (
        "a switch with a state for each side, if a law of the suspect jumps",
        "a looser rtol, or a larger max_steps",
    ),
    "algebraic loop": (
        'a guess near a solution: compile_model(graph, guess={"load.effort": 72.0}), with a name of your model',
        "a small storage (C or I) in the loop",
    ),
    "singular position": (
        'singular="keep", with which the run continues along its branch with unchanged velocities',
        "a start, a drive or lengths that keep the mechanism away from this position",
        "fewer coordinates for parts that move as one, such as one angle for all cranks of a parallelogram",
    ),
    "contradiction": (
        "a check of the loop's axes, lengths and frames: the loop closes at the start, but not after it moves",
        "joints with more degrees of freedom: a spherical or universal joint instead of a revolute one",
    ),
    "ended": ("a model or a start that avoids this, or a shorter t_end",),
}

LOOP_CURES = (
    "a relation that is finite for all values: for a diode, only flow=, as effort= can be the logarithm of a negative number",
    "a small storage (C or I) in the loop",
)

SERIES_CURES = (
    'method="auto": a rate may be finite where its derivatives are infinite, as for a square root at zero',
    *CURES["not finite"],
)

SLIDING_CURES = (
    "`Friction` for a force that opposes motion and also holds at rest",
    "two thresholds instead of one (hysteresis): an `Automaton`, and `by_mode` for the values on both sides",
    "a steep but continuous law instead of a jump",
)


@dataclass(frozen=True)
class Failure:
    """Reason why a run ended early, with its kind, such as "not finite", its time, s, the states there by name, the suspected
    element or state ("" if there is none), and remedies."""

    reason: str
    kind: str
    time: float
    state: Mapping[str, object] = field(repr=False, default_factory=dict)
    suspect: str = ""
    cures: tuple[str, ...] = ()

    def __str__(self) -> str:
        lines = [f"the run ended at t = {self.time:.12g} s: {self.reason}"]
        if self.suspect:
            lines.append(f'  suspect: "{self.suspect}"')
        return "\n".join(lines + [f"  try: {cure}" for cure in self.cures])


ENERGY_CURES = (
    "a smaller rtol, or an atol that matches the size of the states",
    "a check of the suspect's formulas: the energy must agree with the effort and the flow",
)


@dataclass(frozen=True)
class ValidityConcern:
    """Reason why a run that reached its end cannot be trusted.

    Parameters
    ----------
    reason : the reason.
    time : time at which it arises, s.
    suspect : suspected element.
    residual, expected : residual of the energy account relative to the energy scale, and the residual that rtol promises; zeros
        for any other concern.
    cures : what to try.
    """

    reason: str
    time: float
    suspect: str
    residual: float = 0.0
    expected: float = 0.0
    cures: tuple[str, ...] = ENERGY_CURES

    def __str__(self) -> str:
        where = f'  it arises at about t = {self.time:.6g} s; suspect: "{self.suspect}"'
        return "\n".join([f"the result cannot be trusted: {self.reason}", where, *(f"  try: {cure}" for cure in self.cures)])


def describe(
    program: Program, kind: str, reason: str, t: float, x: np.ndarray, suspect: str = "", cures: tuple[str, ...] = ()
) -> Failure:
    unknowns = {program.layout.label("x", place): loop for loop in program.loops for place in loop.states}
    if kind == "not finite" and suspect in unknowns:
        suspect, cures = ", ".join(unknowns[suspect].elements), cures or LOOP_CURES
    state = states_by_name(program, x) or {f"x[{i}]": float(value) for i, value in enumerate(x)}
    return Failure(reason, kind, float(t), state, suspect, cures or CURES[kind])


def states_by_name(program: Program, x: np.ndarray) -> dict[str, object]:
    slots = program.layout.slots.items()
    return {name: np.array(slot.value_in(x)) for name, slot in slots if slot.is_state}


def cause(
    bound: Bound, reason: str, t: float, x: np.ndarray, m: np.ndarray, span: float, size: np.ndarray
) -> tuple[str, str, str]:
    kind, _, text = reason.partition(": ")
    if kind == "not finite":
        return kind, text, suspect_rate(bound, t, x, m, span) or _suspect_power(bound, t, x, m)
    suspect = suspect_rate(bound, t, x, m, 1e-6 * span)
    if suspect:
        return "not finite", "a rate is not finite close to this state", suspect
    return kind, text, fastest_rate(bound, t, x, m, size)


def event_failure(handler: EventHandler, x: np.ndarray) -> tuple[str, str, str]:
    program, table, outcome = handler.program, handler.table, EventOutcome(int(handler.table["outcome"]))
    if outcome == EventOutcome.UNSOLVED:
        named = ", ".join(program.loops[int(table["unsolved"])].elements)
        return "algebraic loop", f"Newton's method finds no solution for the algebraic loop through {named}", named
    transition, label = handler.suspect()
    if outcome == EventOutcome.NOT_FINITE:
        return not_finite(program, label.kind, x)
    if outcome == EventOutcome.TERMINAL:
        return "ended", str(program.transitions[transition].error), program.transitions[transition].name
    if outcome == EventOutcome.TOO_MANY:
        return "too many events", f"more than {plural(handler.max_events, 'event')}", program.transitions[transition].name
    if outcome == EventOutcome.ACCUMULATION:
        pattern = PATTERNS[int(table["pattern"])]
        return pattern, f'the events "{label.kind}" of "{label.name}" accumulate ({pattern})', label.name
    pattern = PATTERNS[ZENO if _are_shrinking(handler.last_times(transition)) else CHATTERING]
    if outcome == EventOutcome.STUCK:
        reason = (
            f'after "{label.kind}" of "{label.name}", its guard keeps growing, so it would fire again immediately ({pattern})'
        )
    else:
        reason = f'the transitions of "{label.name}" repeat endlessly ({pattern})'
    return pattern, reason, label.name


def not_finite(program: Program, kind: str, x: np.ndarray) -> tuple[str, str, str]:
    place = int(np.flatnonzero(~np.isfinite(x))[0])
    return "not finite", f'a state is not finite after "{kind}"', program.layout.label("x", place)


def _are_shrinking(times: np.ndarray) -> bool:
    steps = np.diff(times)
    steps = steps[steps > 0.0]
    return len(steps) > 4 and bool(steps[-1] < 0.1 * steps[:-1].max())


def suspect_rate(bound: Bound, t: float, x: np.ndarray, m: np.ndarray, span: float) -> str:
    """Return the name of the first state whose rate is not finite at (t, x) or up to `span` s later along the rates; "" if there
    is none."""
    with np.errstate(all="ignore"):
        start = bound.rates(t, x, m)
        if np.all(np.isfinite(start)):
            for exponent in range(-16, 1):
                step = span * 10.0**exponent
                rates = bound.rates(t + step, x + step * start, m)
                if not np.all(np.isfinite(rates)):
                    start = rates
                    break
    bad = np.flatnonzero(~np.isfinite(start))
    return bound.program.layout.label("x", int(bad[0])) if bad.size else ""


def _suspect_power(bound: Bound, t: float, x: np.ndarray, m: np.ndarray) -> str:
    """Return the element with the largest power or energy, which overflows first; the largest state if the program has
    neither."""
    program = bound.program
    names = (*program.power_names, *program.energy_names)
    with np.errstate(all="ignore"):
        sizes = np.abs(np.concatenate([bound.powers(t, x, m), bound.energies(t, x, m)]))
    sizes = np.where(np.isnan(sizes), np.inf, sizes)
    if len(sizes) and len(names) == len(sizes):
        return names[int(np.argmax(sizes))]
    return program.layout.label("x", int(np.argmax(np.abs(x)))) if len(x) else ""


def fastest_rate(bound: Bound, t: float, x: np.ndarray, m: np.ndarray, size: np.ndarray) -> str:
    with np.errstate(all="ignore"):
        speed = np.abs(bound.rates(t, x, m)) / np.where(size > 0.0, size, np.inf)
    return bound.program.layout.label("x", int(np.nanargmax(speed))) if np.any(np.isfinite(speed)) else ""
