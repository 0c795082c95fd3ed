"""Numbers of many runs at once, in the order of the kernels."""

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
    """Return values of runs, which count from 0 for any index of a table: numbers (runs, ...), or a list of words; None without a
    first axis."""
    array = real(values)
    if array is not None:
        return array if array.ndim else None
    if isinstance(values, str | Set | Mapping) or not isinstance(values, Iterable):
        return None
    return list(values)


def parameter_rows(compiled: Compiled, varied: Mapping[str, Any], runs: int) -> np.ndarray | None:
    """Return parameters of the kernels, (runs, parameters), where only single numbers vary; else None, to be read run by run.

    The valid range of a number is an interval, so that the smallest and the largest are checked. Raises `ModelError` as
    `Compiled.parameters`.
    """
    system, p = compiled.system, flat(compiled.system.parameters.values())
    if not varied:
        return np.concatenate([p, compiled.prepare(p)])[None]
    columns, by_name = dict[str, np.ndarray](), dict[str, np.ndarray]()
    for name, values in varied.items():
        column = real(values)
        if column is None or column.shape != (runs,) or not np.isfinite(column).all():
            return None
        columns[system.resolve(name)] = by_name[name] = column
    if any(np.shape(system.parameters.get(name, ())) or _bounds_another(compiled, name, columns) for name in columns):
        return None
    for pick in (np.min, np.max):
        checked_changes(compiled.model, system, {name: pick(column) for name, column in by_name.items()})
    rows = np.tile(p, (runs, 1))
    for name, column in columns.items():
        rows[:, compiled.program.layout[name].start] = column
    return np.hstack([rows, compiled.prepare.many(rows)])


def _bounds_another(compiled: Compiled, name: str, varied: Mapping[str, Any]) -> bool:
    """Return True if a parameter must be no less than another one that varies."""
    path, _, local = name.rpartition(".")
    element = compiled.model.elements.get(path)
    parameter = None if element is None else element.parameters.get(local.partition(" in ")[0])
    return parameter is not None and bool(parameter.not_below) and f"{path}.{parameter.not_below}" in varied


def start_rows(compiled: Compiled, varied: Mapping[str, Any], runs: int) -> tuple[np.ndarray, np.ndarray] | None:
    """Return states (runs, n) and modes (1, modes), or one row of each where nothing varies; None where some follow from others,
    from parameters or from motion."""
    model, system = compiled.model, compiled.system
    if system.starts or any(element.automaton is not None for element in model.elements_at(model.automata)):
        return None
    x, m = (block[None] for block in compiled.initial())
    if not varied:
        return x, m
    following = {path: model.elements[path].law_as(Storing).follows[0] for path in compiled.causality.derivative}
    dependent = {system.resolve(f"{path}.{state}") for path, state in following.items()}
    shapes = {state.name: np.shape(state.initial) for state in system.states if state.name not in system.guesses}
    if len({system.resolve(name) for name in varied}) < len(varied):
        return None
    x = np.tile(x, (runs, 1))
    for name, values in varied.items():
        state_name, block = system.resolve(name), real(values)
        if state_name in dependent or state_name not in shapes or block is None:
            return None
        if block.shape != (runs, *shapes[state_name]) or not np.isfinite(block).all():
            return None
        slot = compiled.program.layout[state_name]
        x[:, slot.start : slot.stop] = block.reshape(runs, -1)
    return x, m


def need_no_check(compiled: Compiled, t: float, x: np.ndarray, p: np.ndarray, m: np.ndarray) -> np.ndarray:
    """Return True for runs (rows of x and p, or one of either) with finite parameters, and start velocities that give constraints
    zero flow, (runs,)."""
    runs = max(len(x), len(p))
    x, p = (np.broadcast_to(block, (runs, block.shape[1])) for block in (x, p))
    finite = np.isfinite(p).all(axis=1)
    held, kernel = compiled.held_in(m[0]), compiled.program.closing_flows
    if held is None or kernel is None:
        return finite
    return finite & ~np.any(kernel.many(t, x, p, m[0])[:, held.chosen], axis=1)
