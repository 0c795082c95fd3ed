"""Start values that follow from others by functions of floats: a model with such functions in; one with their results out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from bondgraph.assembly.system import System
from bondgraph.compile.changes import changed_start
from bondgraph.model import laws
from bondgraph.model.element import Element
from bondgraph.model.model import Model


def fixed(model: Model, system: System) -> Model:
    """The model with what its functions of start values give written down; one without such functions is itself.

    Raises `ModelError` as compilation would where the functions disagree or do not fit.
    """
    if not model.starts:
        return model
    x, m, _ = changed_start(model, system, {}, {})
    states, at = dict[str, np.ndarray](), 0
    for state in system.states:
        size = int(np.size(state.initial))
        states[state.name] = x[at : at + size].reshape(np.shape(state.initial))
        at += size
    modes = dict(zip(system.modes, m, strict=True))
    made = {system.resolve(name) if name not in model.automata else name for start in model.starts for name in start.results}
    elements, automata = dict(model.elements), dict(model.automata)
    for name in made:
        if name in automata:
            automata[name] = replace(automata[name], initial=automata[name].states[int(modes[f"{name}.mode"])])
        elif name in states:
            path, _, local = name.rpartition(".")
            elements[path] = started(elements[path], {local: states[name]})
    return replace(model, elements=elements, automata=automata, starts=())


def started(element: Element, values: Mapping[str, np.ndarray]) -> Element:
    """An element whose states, by their local names, start elsewhere."""
    law = element.law

    def of(name: str, spec: laws.StateSpec) -> laws.StateSpec:
        return replace(spec, initial=values[name]) if name in values else spec

    changed: Any = law
    if isinstance(law, laws.Storage):
        changed = replace(law, spec=of(law.state, law.spec))
    elif isinstance(law, laws.InertialField):
        changed = replace(law, position=of("q", law.position), start=of(law.motion, law.start))
    elif isinstance(law, laws.IdealConstraint):
        noted = {name: of(name, spec) for name, spec in law.noted.items()}
        changed = replace(law, start=of("h", law.start), noted=noted)
    elif isinstance(law, laws.SignalBlock):
        changed = replace(law, kept={name: of(name, spec) for name, spec in law.kept.items()})
    return replace(element, law=changed)
