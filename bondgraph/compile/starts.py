"""Checks of start values: dependent storages that contradict other storages, and switches and dry friction whose mode contradicts
the start values."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

import numpy as np

from bondgraph.assembly.draft import effort, flow
from bondgraph.assembly.system import System, Unknown, evaluate_value
from bondgraph.causality.assign import Causality
from bondgraph.elements.friction import BACKWARD, FORWARD, SLIP
from bondgraph.errors import Problem
from bondgraph.model.domains import Domain
from bondgraph.model.element import Element, named
from bondgraph.model.laws import IdealConstraint, IdealSwitch, Storing
from bondgraph.model.model import Model
from bondgraph.run.events.guard_history import perturbations, rounding_error
from bondgraph.run.program import Layout, Program, Slot

START_RTOL = 1e-6
"""Relative difference up to which a start value agrees with the computed value."""

START_ROUNDING, MAX_DUAL = 64.0 * 2.0**-52, 1e3
"""Fraction of the values that sources cause in other modes, up to which a value at the start counts as rounding error; and ratio
of the dual values in a mode to the dual values at the start, above which the mode is ignored, because a short circuit can cause
any flow."""

START_STEP = 1e-6
"""Relative change of states and parameters from which the scale of a constraint's position is estimated."""

MAX_START_MISFIT = 0.05
"""Largest position of a constraint at the start, as a fraction of its scale."""


def dependent_starts(model: Model, causality: Causality) -> dict[str, np.ndarray]:
    """Return the start values, except zero, of storages in derivative causality that other states must not contradict
    (`StateSpec.claimed`), by the name of the state."""
    starts = {}
    for path in causality.derivative:
        element = model.elements[path]
        name, spec = element.law_as(Storing).follows
        if spec.claimed and np.any(np.asarray(spec.initial, dtype=float)):
            starts[f"{path}.{name}"] = np.asarray(spec.initial, dtype=float)
    return starts


def contradicting_starts(
    model: Model,
    causality: Causality,
    system: System,
    starts: Mapping[str, np.ndarray],
    evaluate: Callable[[], Mapping[str, Any]],
) -> list[Problem]:
    """Report storages in derivative causality whose `starts`, by the name of the state, differ from the computed values (E213).

    `evaluate` returns all values at the start; it is called only if there are such start values.
    """
    if not starts:
        return []
    values, problems = evaluate(), []
    for name, start in starts.items():
        path, _, state = name.rpartition(".")
        follows = np.asarray(values[system.resolve(name)], dtype=float)
        size = float(np.max(np.abs(start)) + np.max(np.abs(follows)))
        if not np.all(np.isfinite(follows)) or np.max(np.abs(follows - start)) <= START_RTOL * size:
            continue
        others = model.elements_at(causality.forced_by.get(path, ()))
        element = model.elements[path]
        by = named(others) or "the rest of the graph"
        title = f'{element.kind} "{path}" cannot start with {state} = {_number(start)}: the rest of the graph determines it'
        details = (f"its {element.law_as(Storing).gives} is set by {by}, so its {state} is {_number(follows)}",)
        cures = (
            f"omit its start value, or give {_number(follows)}",
            "start values of the storages that determine it",
            "a C, R or I between them, if their start values are to differ",
        )
        problems.append(Problem("E213", title, details, (element.place, *(e.place for e in others)), cures))
    return problems


def contradicting_switches(
    model: Model,
    system: System,
    values: Mapping[str, Any],
    near: Callable[[], Sequence[Mapping[str, Any]]],
    switched: Callable[[], Sequence[Mapping[str, Any]]],
) -> list[Problem]:
    """Report switches and diodes that start closed with an effort across them, or open with a flow through them (E214).

    A mode that begins during a run begins with an impulse; a start has none. `values` are the values at the start; `near` returns
    them at points that differ by rounding errors, `switched` in other modes; these functions are called only if needed. A flow
    that is negligible compared with the flows that the sources supply in other modes counts as rounding error.
    """
    problems: list[Problem] = []
    points, in_other_modes = functools.cache(near), functools.cache(switched)

    def at_points(name: str) -> np.ndarray:
        return np.array([abs(float(point[system.resolve(name)])) for point in points()])

    for unknown, closed, references, duals in _switches(model, system):
        element, stopped = model.elements[unknown.element], abs(float(values[system.resolve(unknown.stopped)]))
        if stopped <= START_RTOL * _largest(values, references):
            continue
        if stopped <= float(rounding_error(np.array(stopped), at_points(unknown.stopped))):
            continue
        most = MAX_DUAL * _largest(values, duals)
        others = [_largest(point, references) for point in in_other_modes() if _largest(point, duals) <= most]
        if stopped <= START_ROUNDING * max(filter(np.isfinite, others), default=0.0):
            continue
        mode, variable, through = ("closed", "effort", "across") if closed else ("open", "flow", "through")
        title = f'{element.kind} "{unknown.element}" cannot start {mode} with {variable} = {stopped:.6g} {through} it'
        cures = (
            "a start in the other mode, from which transitions with impulses may fire immediately",
            "start values of the storages that agree with this mode",
            'initial="open" for a diode that another switch would short-circuit',
        )
        problems.append(Problem("E214", title, (f"while it is {mode} its {variable} is zero",), (element.place,), cures))
    return problems


def _largest(values: Mapping[str, Any], names: Sequence[str]) -> float:
    return float(np.max([np.max(np.abs(values[name])) for name in names]))


def _switches(model: Model, system: System) -> Iterator[tuple[Unknown, bool, tuple[str, ...], tuple[str, ...]]]:
    """Yield each unknown of a switch or diode, whether it is zero in the closed state, the values that determine its scale, and
    their duals."""
    references = dict[tuple[Domain, bool], tuple[str, ...]]()
    for unknown in system.unknowns:
        if not isinstance(model.elements[unknown.element].law, IdealSwitch):
            continue
        bond = model.bonds_at(unknown.element)[0]
        closed = system.resolve(unknown.vanishing) == system.resolve(effort(bond))
        if (bond.domain, closed) not in references:
            bonds = [other for other in model.bonds if other.domain == bond.domain]
            for number, name in enumerate((flow, effort)):
                references[bond.domain, bool(number)] = tuple(dict.fromkeys(system.resolve(name(b)) for b in bonds))
        yield unknown, closed, references[bond.domain, closed], references[bond.domain, not closed]


class SwitchIndices:
    """Indices, among outputs and states, of the values that `contradicting_switches` compares: a quick check without names."""

    def __init__(self, model: Model, system: System, layout: Layout, outputs: int):
        def indices(name: str) -> np.ndarray:
            slot = layout[name]
            assert slot.block in ("out", "x"), "an effort or flow"
            return np.arange(slot.start, slot.stop) + (outputs if slot.is_state else 0)

        switches = list(_switches(model, system))
        of = {references: np.concatenate([indices(name) for name in references]) for _, _, references, _ in switches}
        self._stopped = [(indices(system.resolve(unknown.stopped)), of[references]) for unknown, _, references, _ in switches]

    def agree(self, outputs: np.ndarray, x: np.ndarray) -> bool:
        """Return True if, at these outputs and states, all switches agree with their modes by a margin."""
        sizes = np.abs(np.concatenate([outputs, x]))
        return all(float(sizes[k].max()) <= 0.5 * START_RTOL * float(sizes[of].max()) for k, of in self._stopped)


def violated_constraints(
    model: Model, system: System, program: Program, t: float, x: np.ndarray, p: np.ndarray, m: np.ndarray
) -> list[Problem]:
    """Report constraints that are active at the start although their position is far from zero (E218).

    Stabilisation would pull the parts together with very large forces. The scale of a position is its sensitivity
    to relative changes of states and parameters, so that units do not matter.
    """
    slots = _position_slots(model, system, program.layout)
    held = [path for path in _positions_held(model, system, m) if path in slots]
    if not held or program.outputs is None:
        return []
    kernel, starts = program.outputs, tuple(slot.start for slot in slots.values())
    if program.choose is not None:  # one kernel for all constraints that may be active, whatever the mode
        kernel, starts = program.choose(tuple(slots.values()))
    columns = {path: slice(start, start + slot.size) for (path, slot), start in zip(slots.items(), starts, strict=True)}
    steps = np.eye(len(x) + len(p)) * START_STEP
    sizes = np.maximum(np.abs(x), START_STEP * program.typical)
    states, numbers = x + sizes * steps[:, : len(x)], p * (1.0 + steps[:, len(x) :])
    values = kernel.many(t, np.vstack([x, states]), np.vstack([p, numbers]), np.tile(m, (1 + len(steps), 1)))
    problems = []
    for path in held:
        element, h = model.elements[path], values[:, columns[path]]
        size = np.abs(h[1:] - h[0]).sum(axis=0).max() / START_STEP
        if not np.any(np.abs(h[0]) > MAX_START_MISFIT * size):
            continue
        reads, outputs = [signal for signal in element.signals if signal in program.layout], program.outputs(t, x, p, m)
        where = ", ".join(f"{signal} = {_number(_value_at(program, outputs, x, p, signal))}" for signal in reads[:4])
        details = (f"the position of the constraint, which must be zero, is {_number(h[0])}" + (f" at {where}" if where else ""),)
        cures = (
            f"start values at which the position of {path} is zero",
            'closing="smooth" of the constraint: the violation decays, which adds or removes energy',
        )
        problems.append(Problem("E218", f'{element.kind} "{path}" is violated at the start', details, (element.place,), cures))
    return problems


def _has_position(law: object) -> TypeGuard[IdealConstraint]:
    return isinstance(law, IdealConstraint) and law.position is not None and not law.measured and law.impulsive


def _position_slots(model: Model, system: System, layout: Layout) -> dict[str, Slot]:
    paths = dict.fromkeys(u.element for u in system.unknowns if _has_position(model.elements[u.element].law))
    slots = {path: layout[f"{path}.h"] for path in paths if f"{path}.h" in layout}
    return {path: slot for path, slot in slots.items() if slot.is_output}


def _positions_held(model: Model, system: System, m: np.ndarray) -> Iterator[str]:
    for unknown in system.unknowns:
        law = model.elements[unknown.element].law
        if not _has_position(law):
            continue
        if law.automaton is None or system.modes[law.mode].state_in(m) in law.active:
            yield unknown.element


def _value_at(program: Program, outputs: np.ndarray, x: np.ndarray, p: np.ndarray, name: str) -> np.ndarray:
    slot = program.layout[name]
    block = {"out": outputs, "x": x, "p": p}.get(slot.block, np.full(slot.stop, np.nan))
    return np.asarray(slot.value_in(block))


@dataclass(frozen=True)
class Sliding:
    """Dry friction that slips at the start: the index of its mode, and the states that record its direction and speed."""

    mode: int
    noted: Mapping[str, np.ndarray]


def frictions_of(model: Model) -> dict[str, Element]:
    elements = {path: model.elements[path] for path in model.automata if path in model.elements}
    return {path: e for path, e in elements.items() if isinstance(e.law, IdealConstraint) and e.automaton is not None}


def sliding_at_start(model: Model, system: System, inputs_of: Callable[[], Mapping[str, Any]]) -> dict[str, Sliding]:
    """Return, by path, the dry friction whose parts move relative to each other at the start.

    `inputs_of` returns all states, parameters, modes (as numbers) and the time. Flows that depend on the effort of the friction,
    and rounding errors, do not count.
    """
    sliding, frictions = {}, frictions_of(model)
    inputs = inputs_of() if frictions else {}
    for path, element in frictions.items():
        assert element.automaton is not None and isinstance(element.law, IdealConstraint)
        name = system.resolve(f"{path}.h'")
        try:
            flow = np.asarray(evaluate_value(system, name, inputs), dtype=float)
        except KeyError:
            continue
        if np.any(flow) and np.any(np.abs(flow) > rounding_error(flow, _at_points(system, name, inputs))):
            index = element.automaton.states.index
            if not element.law.noted:
                sliding[path] = Sliding(index(FORWARD if flow > 0.0 else BACKWARD), {})
                continue
            pace = np.asarray(np.linalg.norm(flow))
            sliding[path] = Sliding(index(SLIP), {f"{path}.heading": flow / pace, f"{path}.pace": pace})
    return sliding


def _at_points(system: System, name: str, inputs: Mapping[str, Any]) -> np.ndarray:
    sizes = {key: 0 if key in system.modes else int(np.size(value)) for key, value in inputs.items()}
    changes, at = perturbations(sum(sizes.values())), dict(zip(sizes, np.cumsum([0, *sizes.values()]), strict=False))
    points = [
        {
            key: value * (1.0 + row[at[key] : at[key] + sizes[key]].reshape(np.shape(value))) if sizes[key] else value
            for key, value in inputs.items()
        }
        for row in changes
    ]
    return np.array([evaluate_value(system, name, point) for point in points], dtype=float)


def contradicting_friction(
    model: Model, system: System, modes: Mapping[str, int], sliding: Mapping[str, Sliding]
) -> list[Problem]:
    problems = []
    for path, slip in sliding.items():
        states = system.modes[f"{path}.mode"].states
        if modes[f"{path}.mode"] != slip.mode:
            title = f'friction "{path}" cannot start in "{states[modes[f"{path}.mode"]]}": its parts move'
            details = (f'it sticks only at zero flow, and slips in the direction of its flow: here "{states[slip.mode]}"',)
            mode = states[slip.mode]
            cures = (f'omit its start mode, or give "{mode}"', "start values of the storages that agree with this mode")
            problems.append(Problem("E214", title, details, (model.elements[path].place,), cures))
    return problems


def _number(value: np.ndarray) -> str:
    return np.array2string(value[0] if value.shape == (1,) else value, precision=6).replace("\n", "")
