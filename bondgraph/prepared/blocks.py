"""Numbers of many runs at once: values by name, (runs, *shape), in; rows in the order of the kernels out.

Only what needs no look at each run is done here; what does is left to whoever asks, run by run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from typing import Any

import numpy as np

from bondgraph.compile.changes import checked_changes
from bondgraph.compile.compiled import Compiled
from bondgraph.model.laws import Storing
from bondgraph.quantities import real
from bondgraph.tracing.on_tape.values import flat


def in_rows(values: Any) -> Any:
    """Values of runs, which count from 0 whatever index a table has: numbers (runs, ...), or a list of words; None for what has
    no first axis."""
    array = real(values)
    if array is not None:
        return array if array.ndim else None
    if isinstance(values, str | Set | Mapping) or not isinstance(values, Iterable):
        return None
    return list(values)


def parameter_rows(compiled: Compiled, varied: Mapping[str, Any], runs: int) -> np.ndarray | None:
    """Parameters of the kernels, (runs, parameters), where only single numbers vary; else None.

    What a number must be is an interval, so that the smallest and the largest are looked at. Raises `ModelError` as
    `Compiled.parameters`.
    """
    system, p = compiled.system, flat(compiled.system.parameters.values())
    if not varied:
        return np.concatenate([p, compiled.prepare(p)])[None]
    columns, given = dict[str, np.ndarray](), dict[str, np.ndarray]()
    for name, values in varied.items():
        column = real(values)
        if column is None or column.shape != (runs,) or not np.isfinite(column).all():
            return None
        columns[system.resolve(name)] = given[name] = column
    if any(np.shape(system.parameters.get(name, ())) or _bounds_another(compiled, name, columns) for name in columns):
        return None
    for pick in (np.min, np.max):
        checked_changes(compiled.model, system, {name: pick(column) for name, column in given.items()})
    rows = np.tile(p, (runs, 1))
    for name, column in columns.items():
        rows[:, compiled.program.layout[name].start] = column
    return np.hstack([rows, compiled.prepare.many(rows)])


def _bounds_another(compiled: Compiled, name: str, varied: Mapping[str, Any]) -> bool:
    """Whether a parameter must be no less than another one that varies."""
    path, _, local = name.rpartition(".")
    element = compiled.model.elements.get(path)
    parameter = None if element is None else element.parameters.get(local.partition(" in ")[0])
    return parameter is not None and bool(parameter.not_below) and f"{path}.{parameter.not_below}" in varied


def start_rows(compiled: Compiled, varied: Mapping[str, Any], runs: int) -> tuple[np.ndarray, np.ndarray] | None:
    """States (runs, n) and modes (1, modes), or one row of each where nothing varies; None where some follow from others, from
    parameters or from motion."""
    model, system = compiled.model, compiled.system
    if system.starts or any(element.automaton is not None for element in model.elements_at(model.automata)):
        return None
    x, m = (block[None] for block in compiled.initial())
    if not varied:
        return x, m
    following = {path: model.elements[path].law_as(Storing).follows[0] for path in compiled.causality.derivative}
    dependent = {system.resolve(f"{path}.{state}") for path, state in following.items()}
    own = {state.name: np.shape(state.initial) for state in system.states if state.name not in system.guesses}
    if len({system.resolve(name) for name in varied}) < len(varied):
        return None
    x = np.tile(x, (runs, 1))
    for name, values in varied.items():
        known, block = system.resolve(name), real(values)
        if known in dependent or known not in own or block is None:
            return None
        if block.shape != (runs, *own[known]) or not np.isfinite(block).all():
            return None
        slot = compiled.program.layout[known]
        x[:, slot.start : slot.stop] = block.reshape(runs, -1)
    return x, m


def plainly_fit(compiled: Compiled, t: float, x: np.ndarray, p: np.ndarray, m: np.ndarray) -> np.ndarray:
    """Which runs (rows of x and p, or one of either) have finite parameters, and start velocities that give constraints no flow
    at all, (runs,)."""
    runs = max(len(x), len(p))
    x, p = (np.broadcast_to(block, (runs, block.shape[1])) for block in (x, p))
    finite = np.isfinite(p).all(axis=1)
    held, kernel = compiled.held_in(m[0]), compiled.program.closing_flows
    if held is None or kernel is None:
        return finite
    return finite & ~np.any(kernel.many(t, x, p, m[0])[:, held.flow_indices], axis=1)
