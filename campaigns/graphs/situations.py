"""Situations of compiled models: modes, random states, and all values at these states."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from bondgraph import Compiled
from bondgraph.assembly.draft import law_arguments
from bondgraph.model.laws import InertialField, Junction
from bondgraph.model.model import Model
from campaigns.graphs.point import Point, state_names
from campaigns.graphs.rows import Situation

MOST_COMBINATIONS = 1024


def modes_of(model: Model) -> list[dict[str, str]]:
    names = [automaton.name for automaton in model.automata.values()]
    every = itertools.product(*(automaton.states for automaton in model.automata.values()))
    return [dict(zip(names, combination, strict=True)) for combination in itertools.islice(every, MOST_COMBINATIONS)]


def indices_of(model: Model, modes: Mapping[str, str]) -> np.ndarray:
    return np.array([float(a.states.index(modes[a.name])) for a in model.automata.values()])


def near_start(compiled: Compiled, rng: np.random.Generator) -> np.ndarray:
    """Return a random state; amounts of species stay positive."""
    x = compiled.initial()[0]
    moved = x + rng.normal(size=len(x)) * 0.7
    for state in compiled.system.states:
        element = compiled.model.elements.get(state.name.rpartition(".")[0])
        if element is not None and element.kind == "Ce":
            slot = compiled.program.layout[state.name]
            own = slice(slot.start, slot.stop)
            moved[own] = x[own] * np.exp(0.5 * rng.normal(size=slot.stop - slot.start))
    return moved


def values_of(compiled: Compiled, x: np.ndarray, m: np.ndarray) -> dict[str, np.ndarray]:
    env, system, model = compiled.evaluate(0.0, x, None, m), compiled.system, compiled.model
    names = [f"{bond.name}:{kind}" for bond in model.bonds for kind in ("effort", "flow")]
    names += [name for path, element in model.elements.items() for name in state_names(path, element)]
    found = {name: np.asarray(env[system.resolve(name)]) for name in names}
    configurations = [path for path, e in model.elements.items() if isinstance(e.law, InertialField)]
    return found | {f"{path}:rate": _rate_of_motion(compiled, path, env) for path in configurations}


def _rate_of_motion(compiled: Compiled, path: str, env: Mapping[str, Any]) -> np.ndarray:
    """Return v' or p' of an IC, by its law from the effort if other elements determine the motion."""
    system, element, (bond,) = compiled.system, compiled.model.elements[path], compiled.model.bonds_at(path)
    law = element.law
    assert isinstance(law, InertialField)
    if path not in compiled.causality.derivative:
        return np.asarray(env[system.resolve(f"{path}.{law.motion}'")])
    sign = 1 if bond.head.element == path else -1
    read = [env[system.resolve(name)] for name in (f"{path}.q", f"{path}.v", *law_arguments(path, element))]
    return np.asarray(law.rate(read[0], read[1], sign * env[system.resolve(f"{path}.effort")], *read[2:]))


def switched_junctions(model: Model) -> dict[str, Junction]:
    laws = {path: element.law for path, element in model.elements.items()}
    return {path: law for path, law in laws.items() if isinstance(law, Junction) and law.automaton is not None}


def separate_bonds(compiled: Compiled) -> dict[str, str]:
    """Return, for each switched junction, the bond that sets its common variable; at the open junction, this bond's
    common variable stays separate, and that of the others is zero."""
    return {
        path: bond.name
        for path, law in switched_junctions(compiled.model).items()
        for bond in compiled.model.bonds_at(path)
        if compiled.causality.effort_into(bond, path) is (law.type == 0)
    }


def openings(model: Model, modes: Mapping[str, str], choices: Mapping[str, Sequence[str]] | None) -> Iterator[dict[str, str]]:
    """Yield every choice of the bond whose common variable stays separate, at each open junction."""
    shut = [path for path, law in switched_junctions(model).items() if modes[str(law.automaton)] not in law.active]
    every = choices or {path: [bond.name for bond in model.bonds_at(path)] for path in shut}
    for bonds in itertools.product(*(every[path] for path in shut)):
        yield dict(zip(shut, bonds, strict=True))


def shapes_of(model: Model) -> dict[str, tuple[int, ...]]:
    found: dict[str, tuple[int, ...]] = {}
    for bond in model.bonds:
        shape = bond.shape
        found |= {f"{bond.name}:effort": shape, f"{bond.name}:flow": shape}
        for end in bond.ends:
            found |= dict.fromkeys(state_names(end.element, model.elements[end.element]), shape)
    for path, element in model.elements.items():
        if not model.bonds_at(path):
            specs = element.law.states()
            found |= {f"{path}.{name}": np.shape(spec.initial) for name, spec in specs.items()}
    return found


def at_random(model: Model, modes: Mapping[str, str], separate: Mapping[str, str], rng: np.random.Generator) -> Point:
    """Return the relations at random values of all variables; amounts are positive."""
    values = {name: rng.normal(size=shape) for name, shape in shapes_of(model).items()}
    amounts = [f"{path}.q" for path, element in model.elements.items() if element.kind == "Ce"]
    positive = {name: np.abs(values[name]) + 0.3 for name in amounts}
    return Point(model, Situation(values | positive, modes, separate))


def at_zero(compiled: Compiled, modes: Mapping[str, str]) -> Point:
    zeros = {name: np.zeros(shape) for name, shape in shapes_of(compiled.model).items()}
    return Point(compiled.model, Situation(zeros, modes, separate_bonds(compiled)))
