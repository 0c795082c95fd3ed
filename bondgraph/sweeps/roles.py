"""What can be varied in a model: its names in; for each the part that it plays, its shape and its unit out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from bondgraph.compile.compiled import Compiled
from bondgraph.model.laws import Storing


@dataclass(frozen=True)
class Role:
    """A number, or an automaton, that a run can begin with.

    Parameters
    ----------
    name : as it is computed, whatever further names it has.
    part : "parameter", or "start value".
    shape, unit : of the number.
    states : of an automaton, the names of its states.
    """

    name: str
    part: str
    shape: tuple[int, ...] = ()
    unit: str = ""
    states: tuple[str, ...] = ()

    @property
    def argument(self) -> str:
        """The argument of `simulate` that takes it."""
        return ARGUMENTS[self.part]


ARGUMENTS = {"parameter": "parameters", "start value": "initial"}
"""Part that a number plays -> the argument of `simulate`."""


def roles(compiled: Compiled) -> Mapping[str, Role]:
    """Every parameter, state and automaton by its name; the states of storages that follow others, too."""
    system = compiled.system
    found = {
        name: Role(name, "parameter", np.shape(value), system.values[name].unit) for name, value in system.parameters.items()
    }
    for state in system.states:
        if state.name not in system.guesses:
            found[state.name] = Role(state.name, "start value", np.shape(state.initial), system.values[state.name].unit)
    for path in compiled.causality.derivative:
        known = system.resolve(f"{path}.{compiled.model.elements[path].law_as(Storing).follows[0]}")
        found.setdefault(known, Role(known, "start value", system.values[known].shape or (), system.values[known].unit))
    for mode, (states, _) in system.modes.items():
        name = mode.removesuffix(".mode")
        found.setdefault(name, Role(name, "start value", states=states))
    return found


def role_of(name: str, compiled: Compiled, known: Mapping[str, Role]) -> Role | None:
    """What a name of the user's means; None where it is nothing that can be varied."""
    return known.get(compiled.system.resolve(name), known.get(name))
