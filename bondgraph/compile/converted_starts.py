"""Start values that are given as the flow of an I or the effort of a C: the state that gives them, by the inverse of the law."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from bondgraph.assembly.execute import computed
from bondgraph.assembly.system import Statement, System
from bondgraph.errors import refusal
from bondgraph.model.laws import InertialField, Storage
from bondgraph.model.mechanics import partials
from bondgraph.model.model import Model
from bondgraph.model.ops import Op

_FIRST, _XTOL, _RTOL = 1e-3, 1e-15, 1e-9
"""First trial of a state that is zero, relative tolerance of a state, and relative residual of one that is found."""


@dataclass(frozen=True)
class ConvertedStart:
    """A flow or effort with the state of the storage that gives it."""

    state: str
    statement: Statement
    """The statement that computes the flow or effort."""
    output: Op
    """Operation (state, others) -> flow or effort, with the arguments of `inverse` in another order for an IC."""
    inverse: Op | None
    """Operation (flow or effort, others) -> state, of an IC (q, flow, others)."""
    place: int = 0
    """Index of the state among the arguments."""


def converted_start(model: Model, system: System, root: str) -> ConvertedStart | None:
    """Return the storage whose law computes the value `root` from its own state, None if there is none."""
    statement = system.producers.get(root)
    element = None if statement is None else model.elements.get(statement.element)
    if statement is None or element is None or statement.outs != (root,) or not statement.args:
        return None
    states = {state.name for state in system.states}
    law = element.law
    if isinstance(law, Storage) and law.rate is None and statement.args[0] == system.resolve(f"{statement.element}.{law.state}"):
        storage = ConvertedStart(statement.args[0], statement, law.output, law.inverse)
    elif isinstance(law, InertialField) and law.motion == "p" and len(statement.args) > 1 and statement.op is law.flow:
        storage = ConvertedStart(statement.args[1], statement, law.flow, law.momentum, 1)
    else:
        return None
    return storage if storage.state in states else None


def state_for(start: ConvertedStart, system: System, value: np.ndarray, inputs: Mapping[str, Any], name: str) -> np.ndarray:
    """Return the state with which the law gives `value`; `inputs` are states, parameters and modes by name.

    Raises `ModelError` E124 if no such state is found.
    """
    from scipy.optimize import root

    arguments = [computed(system, system.resolve(each), inputs) for each in start.statement.args]
    if start.inverse is not None:
        return np.asarray(start.inverse(*_with(arguments, start.place, value[()])), dtype=float)
    begun, others = np.array(arguments[start.place], dtype=float), [a for k, a in enumerate(arguments) if k != start.place]
    size = float(np.max(np.abs(value))) or 1.0

    def of_law(at: np.ndarray) -> np.ndarray:
        state = at.reshape(begun.shape)[()]
        return np.ravel(np.asarray(start.output(*_with(arguments, start.place, state)), dtype=float) - value) / size

    def slopes(at: np.ndarray) -> np.ndarray:
        def scalars(state: Any) -> list[Any]:
            return list(np.asarray(start.output(*_with(arguments, start.place, state)), dtype=object).flat)

        return np.asarray(partials(scalars, at.reshape(begun.shape)[()], others), dtype=float).reshape(at.size, at.size) / size

    with np.errstate(all="ignore"):
        solved = root(of_law, np.ravel(np.where(begun == 0.0, _FIRST, begun)), jac=slopes, options={"xtol": _XTOL})
    if np.max(np.abs(solved.fun)) <= _RTOL:
        return np.asarray(solved.x.reshape(begun.shape)[()])
    element = start.statement.element
    title = f'no {start.state.rpartition(".")[2]} of "{element}" was found that gives {name} = {value.tolist()}'
    raise refusal("E124", title, f'"{start.state}" itself', "inverse=, the inverse of its law", about=system.name, places=())


def _with(arguments: list[Any], place: int, value: Any) -> list[Any]:
    return [*arguments[:place], value, *arguments[place + 1 :]]
