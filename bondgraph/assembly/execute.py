"""Execution of a system's statements: values by name, from floats (the reference), SymPy symbols or tape scalars."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping, MutableMapping, Sequence
from typing import Any, cast

import numpy as np

from bondgraph.assembly.system import Statement, System

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


def evaluate_statements(
    system: System, t: float, x: np.ndarray, p: np.ndarray, m: np.ndarray, solved: Mapping[str, Any]
) -> dict[str, Any]:
    """Every value by name, by running the plain formulas with floats; `solved` holds unknowns and time derivatives, and stays."""
    env = environment(system, float(t), x, p, m) | dict(solved)
    with np.errstate(all="ignore"):
        for statement in system.statements:
            if len(statement.outs) > 1 or statement.outs[0] not in env:
                _carry_out(statement, env)
    return env


def computed(system: System, name: str, known: Mapping[str, Any]) -> Any:
    """One value from those that are known (states, parameters, modes), by the statements that it needs, in floats."""
    producers = system.producers
    found = dict[str, Any]()
    env = ChainMap(found, cast(MutableMapping[str, Any], known))  # what is found goes into the first

    def find(wanted: str) -> None:
        if wanted not in env:
            for arg in producers[wanted].args:
                find(arg)
            _carry_out(producers[wanted], env)

    find(name)
    return env[name]


def _carry_out(statement: Statement, env: MutableMapping[str, Any]) -> None:
    results = statement.op(*[env[arg] for arg in statement.args])
    env.update(zip(statement.outs, (results,) if len(statement.outs) == 1 else results, strict=True))
