"""Runs with several events at one instant, compared with matrix exponentials between the instants."""

from __future__ import annotations

import warnings

import numpy as np
from scipy.linalg import expm
from scipy.optimize import root

from bondgraph import Compiled, Result
from bondgraph.errors import RunEndedWarning
from bondgraph.model.laws import IdealConstraint, IdealSwitch, SignalBlock
from bondgraph.model.model import Model
from bondgraph.run.program import NewtonLoop
from campaigns.graphs.hidden import motion, restarted, split
from campaigns.graphs.point import Point
from campaigns.graphs.situations import at_zero, indices_of
from campaigns.graphs.widened import INSTANT, Drawn

END = 0.07
"""End of a run, s: after the instant of the events, and not at a tick."""
AGREES = 1e-5
"""Largest allowed error of the final states of a run at rtol 1e-8, relative to the largest value along the run, or to 1."""
STARTS = 100
"""Number of random starts in the search for a loop's solution that a run did not find."""


def run_differs(compiled: Compiled, drawn: Drawn) -> str:
    """Return how a run differs from the expected run; "" if it does not, or if the graph has ideal constraints or switches.

    Every automaton with a transition must act at `INSTANT`, and only then; a linear graph must end in the states that matrix
    exponentials give. A run may end early if SciPy finds no solution of a loop.
    """
    laws = [element.law for element in compiled.model.elements.values()]
    if any(isinstance(law, (IdealConstraint, IdealSwitch)) for law in laws):
        return ""  # these switch on their own, with impulses
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RunEndedWarning)
        result = compiled.simulate(END, rtol=1e-8, samples=[0.0, END], progress=False)
    if result.failure is not None and result.failure.kind == "algebraic loop" and not _loops_have_solutions(compiled, result):
        return ""
    if not result.ok:
        return f"ended: {result.failure or result.warnings}"
    return _events_differ(compiled, result) or (_states_differ(compiled, result) if drawn.linear else "")


def _loops_have_solutions(compiled: Compiled, result: Result) -> bool:
    """Return True if, at the end of a run, SciPy finds a solution of every loop from at least one of many starts."""
    rng, t, m, p = np.random.default_rng(0), float(result.t[-1]), result.m[-1], result.p
    for loop in compiled.program.loops:
        places, count = list(loop.states), len(loop.states)

        def residuals(w: np.ndarray, loop: NewtonLoop = loop, places: list[int] = places) -> np.ndarray:
            x = result.x[-1].copy()
            x[places] = w
            return loop.kernel(t, x, p, m)[: len(places)]

        starts = rng.normal(size=(STARTS, count)) * 10.0 ** rng.uniform(-3.0, 3.0, size=(STARTS, 1))
        if not any(root(residuals, start).success for start in starts):
            return False
    return True


def _events_differ(compiled: Compiled, result: Result) -> str:
    waiting = {name: a.transitions[0] for name, a in compiled.model.automata.items() if a.transitions}
    happened = sorted({event.name for event in result.events})
    if happened != sorted(waiting):
        return f"{happened} acted, of {sorted(waiting)}"
    late = [event.time for event in result.events if abs(event.time - INSTANT) > 1e-12]
    return f"events at {late}" if late else ""


def _states_differ(compiled: Compiled, result: Result) -> str:
    model = compiled.model
    modes = {a.name: a.initial for a in model.automata.values()}
    env = compiled.evaluate()
    held = [path for path, element in model.elements.items() if isinstance(element.law, SignalBlock)]
    sample = at_zero(compiled, modes)
    values = {name: np.asarray(env[compiled.system.resolve(name)], dtype=float) for name in sample.states}
    periods = {path: float(np.asarray(model.elements[path].parameters["period"].value)) for path in held}
    times = sorted({round(k * period, 12) for period in periods.values() for k in range(int(END / period) + 1)} | {INSTANT, END})
    now, most = 0.0, 1.0
    for time in (0.0, *times) if times[0] > 0.0 else times:
        if time > now:
            moved = _moved(model, modes, compiled, values, time - now)
            if moved is None:
                return ""
            values, now = moved, time
            most = max([most, *(float(np.abs(v).max(initial=0.0)) for v in values.values())])
        if time == END:
            break
        for path in held:
            ratio = time / periods[path]
            if abs(ratio - round(ratio)) < 1e-9:
                values |= _ticked(model, path, values)
        if time == INSTANT:
            values = _acted(compiled, modes, values)
    for state in compiled.system.states:
        gap = float(np.abs(np.asarray(result[state.name][-1]) - values[state.name]).max())
        if gap > AGREES * most:
            return f"{state.name} ends at {result[state.name][-1]}, not {values[state.name]}"
    return ""


def _moved(
    model: Model, modes: dict[str, str], compiled: Compiled, values: dict[str, np.ndarray], step: float
) -> dict[str, np.ndarray] | None:
    point = at_zero(compiled, modes)
    law = motion(point)
    if law is None:
        return None
    P, c = law
    full = np.block([[P, c[:, None]], [np.zeros((1, len(c) + 1))]])
    return _unpacked(point, values, (expm(full * step) @ np.append(_packed(point, values), 1.0))[:-1])


def _ticked(model: Model, path: str, values: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    element = model.elements[path]
    law = element.law
    assert isinstance(law, SignalBlock)
    local = {name: np.asarray(p.value, dtype=float)[()] for name, p in element.parameters.items()}
    local |= {name: values[f"{path}.{name}"] for name in law.kept}
    local |= {name: values[signal] for name, signal in zip(law.inputs, element.signals, strict=True)}
    for equation in law.equations:
        (out,) = equation.outs
        local[out] = equation.op(*(local[name] for name in equation.args))
    return {f"{path}.{state}": np.asarray(local[name]) for state, name in law.updates.items()}


def _acted(compiled: Compiled, modes: dict[str, str], values: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the states after all waiting automata have acted, in the order of their names."""
    model = compiled.model
    for name, automaton in sorted(model.automata.items()):
        for transition in automaton.transitions:
            modes[name] = transition.target
            if transition.resets:
                set_ = {state: op(*(values[other] for other in read)) for state, op, read in transition.resets}
                values = _followed(compiled, modes, values | set_)
            else:
                point = at_zero(compiled, modes)
                values = _unpacked(point, values, restarted(point, _packed(point, values)))
    return values


def _followed(compiled: Compiled, modes: dict[str, str], values: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the states, with dependent states computed from the independent states."""
    x = np.concatenate([np.ravel(values[state.name]) for state in compiled.system.states])
    env = compiled.evaluate(0.0, x, None, indices_of(compiled.model, modes))
    return {name: np.asarray(env[compiled.system.resolve(name)], dtype=float) for name in values}


def _packed(point: Point, values: dict[str, np.ndarray]) -> np.ndarray:
    y = np.zeros(len(point.y))
    for name in point.states:
        y[point.rows.places[name]] = np.ravel(values[name])
    return y[split(point)[1]]


def _unpacked(point: Point, values: dict[str, np.ndarray], x: np.ndarray) -> dict[str, np.ndarray]:
    y = np.zeros(len(point.y))
    y[split(point)[1]] = x
    return {name: y[point.rows.places[name]].reshape(np.shape(values[name])) for name in point.states}
