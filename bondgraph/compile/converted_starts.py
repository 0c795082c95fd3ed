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

_STEPS, _HALVINGS, _RTOL = 50, 30, 1e-14
"""Most Newton steps, most halvings of one, and the relative residual at which a state is found."""


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

    Raises `ModelError` E124 if Newton's method finds no such state.
    """
    arguments = [computed(system, system.resolve(each), inputs) for each in start.statement.args]
    if start.inverse is not None:
        return np.asarray(start.inverse(*_with(arguments, start.place, value[()])), dtype=float)
    state, residual = np.array(arguments[start.place], dtype=float), np.inf
    state = np.where(state == 0.0, 1e-3, state)
    for _ in range(_STEPS):
        off = _off(start, arguments, state, value)
        residual = float(np.max(np.abs(off)))
        if residual <= _RTOL * max(float(np.max(np.abs(value))), 1e-300):
            return state[()]
        step = _newton_step(start, arguments, state, off)
        if step is None:
            break
        for _ in range(_HALVINGS):
            if np.max(np.abs(_off(start, arguments, state - step, value))) < residual:
                break
            step = step / 2.0
        else:
            break
        state = state - step
    if residual <= 1e-9 * float(np.max(np.abs(value))):
        return state[()]
    element = start.statement.element
    title = f'no {start.state.rpartition(".")[2]} of "{element}" was found that gives {name} = {value.tolist()}'
    raise refusal("E124", title, f'"{start.state}" itself', "inverse=, the inverse of its law", about=system.name, places=())


def _off(start: ConvertedStart, arguments: list[Any], state: np.ndarray, value: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        off = np.asarray(start.output(*_with(arguments, start.place, state[()])), dtype=float) - value
    return np.where(np.isfinite(off), off, np.inf)


def _newton_step(start: ConvertedStart, arguments: list[Any], state: np.ndarray, off: np.ndarray) -> np.ndarray | None:
    """Return the change of the state that would make the law linear exact; None for a singular slope."""

    def scalars(at: Any) -> list[Any]:
        return list(np.asarray(start.output(*_with(arguments, start.place, at)), dtype=object).flat)

    others = [each for k, each in enumerate(arguments) if k != start.place]
    slopes = np.asarray(partials(scalars, state[()], others), dtype=float)
    try:
        step = np.linalg.solve(slopes, off.ravel())
    except np.linalg.LinAlgError:
        return None
    return step.reshape(state.shape) if np.all(np.isfinite(step)) else None


def _with(arguments: list[Any], place: int, value: Any) -> list[Any]:
    return [*arguments[:place], value, *arguments[place + 1 :]]
