"""Execution of a system's statements: values by name, from floats (the reference), SymPy symbols or tape scalars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bondgraph.assembly.system import System

Numbers = Sequence[Any] | np.ndarray


def environment(system: System, t: Any, x: Numbers, p: Numbers, m: Numbers) -> dict[str, Any]:
    """Values that are given from outside, by name, cut out of the flat blocks."""
    env: dict[str, Any] = {"time": t}
    for block, items in (
        (x, [(s.name, np.shape(s.initial)) for s in system.states]),
        (p, [(name, np.shape(value)) for name, value in system.parameters.items()]),
    ):
        start = 0
        for name, shape in items:
            size = int(np.prod(shape))
            env[name] = np.asarray(block[start : start + size]).reshape(shape) if shape else block[start]
            start += size
    env |= {name: m[index] for index, name in enumerate(system.modes)}
    return env


def run_statements(system: System, env: dict[str, Any]) -> dict[str, Any]:
    """Run the statements in their order; `env` holds the given values and gets all others. What it holds stays."""
    for statement in system.statements:
        if len(statement.outs) == 1 and statement.outs[0] in env:
            continue
        results = statement.op(*[env[arg] for arg in statement.args])
        if len(statement.outs) == 1:
            env[statement.outs[0]] = results
        else:
            env.update(zip(statement.outs, results, strict=True))
    return env


def computed(system: System, name: str, known: Mapping[str, Any]) -> Any:
    """One value from those that are known (states, parameters, modes), by the statements that it needs, in floats."""
    if name in known:
        return known[name]
    for statement in system.statements:
        if name in statement.outs:
            results = statement.op(*[computed(system, arg, known) for arg in statement.args])
            return results if len(statement.outs) == 1 else results[statement.outs.index(name)]
    raise KeyError(name)


def evaluate_statements(
    system: System, t: float, x: np.ndarray, p: np.ndarray, m: np.ndarray, solved: Mapping[str, Any]
) -> dict[str, Any]:
    """Every value by name, by running the plain formulas with floats; `solved` holds unknowns and time derivatives."""
    with np.errstate(all="ignore"):
        return run_statements(system, environment(system, float(t), x, p, m) | dict(solved))
