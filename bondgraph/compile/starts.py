"""Starts that contradict: of dependent storages, which follow from others, and of switches whose mode does not hold."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bondgraph.assembly.draft import effort, flow
from bondgraph.assembly.execute import computed
from bondgraph.assembly.system import System, Unknown
from bondgraph.causality.assign import Causality
from bondgraph.elements.friction import BACKWARD, FORWARD, SLIP
from bondgraph.errors import Problem
from bondgraph.model.domains import Domain
from bondgraph.model.element import Element, named
from bondgraph.model.laws import IdealConstraint, IdealSwitch, Storing
from bondgraph.model.model import Model
from bondgraph.run.events.guard_history import perturbations, rounding_error
from bondgraph.run.program import Layout

AGREES = 1e-6
"""Relative difference up to which a start value agrees with what follows."""


def own_starts(model: Model, causality: Causality) -> dict[str, np.ndarray]:
    """Starts (other than zero) that a model gives to storages in derivative causality, by the name of the state."""
    given = {}
    for path in causality.derivative:
        element = model.elements[path]
        name, spec = element.law_as(Storing).follows
        if spec.claimed and np.any(np.asarray(spec.initial, dtype=float)):
            given[f"{path}.{name}"] = np.asarray(spec.initial, dtype=float)
    return given


def contradicting_starts(
    model: Model, causality: Causality, system: System, given: Mapping[str, np.ndarray], evaluate: Callable[[], Mapping[str, Any]]
) -> list[Problem]:
    """Storages in derivative causality that are `given` a start, by the name of the state, which is not what follows (E213).

    `evaluate` gives all values at the start; it is asked only where such a start is given.
    """
    if not given:
        return []
    values, problems = evaluate(), []
    for name, start in given.items():
        path, _, state = name.rpartition(".")
        follows = np.asarray(values[system.resolve(name)], dtype=float)
        size = float(np.max(np.abs(start)) + np.max(np.abs(follows)))
        if not np.all(np.isfinite(follows)) or np.max(np.abs(follows - start)) <= AGREES * size:
            continue
        others = model.elements_at(causality.forced_by.get(path, ()))
        element = model.elements[path]
        by = named(others) or "the rest of the graph"
        title = f'{element.kind} "{path}" cannot start with {state} = {_number(start)}: it follows from others'
        details = (f"its {element.law_as(Storing).gives} is set by {by}; from there follows {_number(follows)}",)
        cures = (
            f"leave its start out, or give {_number(follows)}",
            "start values of the storages that it follows",
            "a C, R or I between them, if it is to start apart",
        )
        problems.append(Problem("E213", title, details, (element.place, *(e.place for e in others)), cures))
    return problems


def contradicting_switches(
    model: Model, system: System, values: Mapping[str, Any], near: Callable[[], Sequence[Mapping[str, Any]]]
) -> list[Problem]:
    """Switches and diodes that start closed with an effort across them, or open with a flow through them (E214).

    The equations can hold that only as it is: a mode that begins during a run begins with an impulse, the start does not.
    `values` are those at the start; those at points next to it, which tell what is rounding, are asked for only in doubt.
    """
    problems: list[Problem] = []
    points = functools.cache(near)

    def at_points(name: str) -> np.ndarray:
        return np.array([abs(float(point[system.resolve(name)])) for point in points()])

    for unknown, closed, alike in _switches(model, system):
        element, stopped = model.elements[unknown.element], abs(float(values[system.resolve(unknown.stopped)]))
        size = max(float(np.max(np.abs(values[name]))) for name in alike)
        if stopped <= AGREES * size or stopped <= float(rounding_error(np.array(stopped), at_points(unknown.stopped))):
            continue
        mode, what, through = ("closed", "effort", "across") if closed else ("open", "flow", "through")
        title = f'{element.kind} "{unknown.element}" cannot start {mode} with {what} = {stopped:.6g} {through} it'
        cures = (
            "a start in the other mode; what then fires at once gets its impulse",
            "start values of the storages that agree",
            'initial="open" for a diode that another switch would short',
        )
        problems.append(Problem("E214", title, (f"while it is {mode} its {what} is zero",), (element.place,), cures))
    return problems


def _switches(model: Model, system: System) -> Iterator[tuple[Unknown, bool, tuple[str, ...]]]:
    """Unknowns of switches and diodes, whether each is closed while it is zero, and the values that its own is measured by."""
    known = dict[tuple[Domain, bool], tuple[str, ...]]()
    for unknown in system.unknowns:
        if not isinstance(model.elements[unknown.element].law, IdealSwitch):
            continue
        bond = model.bonds_at(unknown.element)[0]
        closed = system.resolve(unknown.vanishing) == system.resolve(effort(bond))
        if (bond.domain, closed) not in known:
            alike = (other for other in model.bonds if other.domain == bond.domain)
            known[bond.domain, closed] = tuple(dict.fromkeys(system.resolve((effort if closed else flow)(b)) for b in alike))
        yield unknown, closed, known[bond.domain, closed]


class SwitchPlaces:
    """Where switches and diodes have what `contradicting_switches` compares, among the outputs of a program and its states, so
    that a start in which all of them surely agree is told without a look at each value by name."""

    def __init__(self, model: Model, system: System, layout: Layout, outputs: int):
        def places(name: str) -> np.ndarray:
            slot = layout[name]
            assert slot.block in ("out", "x"), "an effort or flow"
            return np.arange(slot.start, slot.stop) + (outputs if slot.block == "x" else 0)

        found = list(_switches(model, system))
        held = {alike: np.concatenate([places(name) for name in alike]) for _, _, alike in found}
        self._stopped = [(places(system.resolve(unknown.stopped)), held[alike]) for unknown, _, alike in found]

    def agree(self, outputs: np.ndarray, x: np.ndarray) -> bool:
        """Whether all surely do, with these outputs in the state x."""
        sizes = np.abs(np.concatenate([outputs, x]))
        return all(float(sizes[own].max()) <= 0.5 * AGREES * float(sizes[alike].max()) for own, alike in self._stopped)


@dataclass(frozen=True)
class Sliding:
    """Dry friction that slips at the start: the place of its mode, and by name the states in which it notes how."""

    place: int
    noted: Mapping[str, np.ndarray]


def frictions_of(model: Model) -> dict[str, Element]:
    """Elements by path that are ideal constraints with a state machine of their own: dry friction."""
    found = {path: model.elements[path] for path in model.automata if path in model.elements}
    return {path: own for path, own in found.items() if isinstance(own.law, IdealConstraint) and own.automaton is not None}


def sliding_at_start(model: Model, system: System, all_known: Callable[[], Mapping[str, Any]]) -> dict[str, Sliding]:
    """Dry friction whose parts move against each other at the start, by its path.

    `all_known` gives all states, parameters, modes (as numbers) and the time. Where the flow is decided together with the effort
    of the friction, it is none; nor is one that is rounding.
    """
    found, frictions = {}, frictions_of(model)
    known = all_known() if frictions else {}
    for path, element in frictions.items():
        assert element.automaton is not None and isinstance(element.law, IdealConstraint)
        name = system.resolve(f"{path}.h'")
        try:
            moving = np.asarray(computed(system, name, known), dtype=float)
        except KeyError:
            continue
        if np.any(moving) and np.any(np.abs(moving) > rounding_error(moving, _at_points(system, name, known))):
            place = element.automaton.states.index
            if not element.law.noted:
                found[path] = Sliding(place(FORWARD if moving > 0.0 else BACKWARD), {})
                continue
            pace = np.asarray(np.linalg.norm(moving))
            found[path] = Sliding(place(SLIP), {f"{path}.heading": moving / pace, f"{path}.pace": pace})
    return found


def _at_points(system: System, name: str, known: Mapping[str, Any]) -> np.ndarray:
    """A value at points that differ by rounding in what is known, other than modes."""
    sizes = {key: 0 if key in system.modes else int(np.size(value)) for key, value in known.items()}
    changes, at = perturbations(sum(sizes.values())), dict(zip(sizes, np.cumsum([0, *sizes.values()]), strict=False))
    points = [
        {
            key: value * (1.0 + row[at[key] : at[key] + sizes[key]].reshape(np.shape(value))) if sizes[key] else value
            for key, value in known.items()
        }
        for row in changes
    ]
    return np.array([computed(system, name, point) for point in points], dtype=float)


def contradicting_friction(
    model: Model, system: System, modes: Mapping[str, int], sliding: Mapping[str, Sliding]
) -> list[Problem]:
    """Dry friction that is told to start in another mode than that in which its parts move (E214)."""
    problems = []
    for path, found in sliding.items():
        place = found.place
        states = system.modes[f"{path}.mode"][0]
        if modes[f"{path}.mode"] != place:
            title = f'friction "{path}" cannot start in "{states[modes[f"{path}.mode"]]}": its parts move'
            details = (f'it sticks without any flow, and slips along it: here "{states[place]}"',)
            cures = (f'leave its start out, or give "{states[place]}"', "start values of the storages that agree")
            problems.append(Problem("E214", title, details, (model.elements[path].place,), cures))
    return problems


def _number(value: np.ndarray) -> str:
    return np.array2string(value, precision=6).replace("\n", "")
