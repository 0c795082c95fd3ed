"""Evaluation of a system's statements: values by name, from floats (the reference), SymPy symbols or tape scalars."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping, MutableMapping, Sequence
from typing import Any, cast

import numpy as np

from bondgraph.assembly.system import Statement, System

Numbers = Sequence[Any] | np.ndarray


def environment(system: System, t: Any, x: Numbers, p: Numbers, m: Numbers) -> dict[str, Any]:
    """Return the inputs by name, cut out of the flat blocks t, x, p, m; parameters are converted from their declared units."""
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
    env |= {name: convert(env[name]) for name, convert in system.conversions.items()}
    env |= {name: m[index] for index, name in enumerate(system.modes)}
    return env


def evaluate_statements(
    system: System, t: float, x: np.ndarray, p: np.ndarray, m: np.ndarray, solved: Mapping[str, Any]
) -> dict[str, Any]:
    """Evaluate all values by name with floats; `solved` holds unknowns and time derivatives, which are not computed."""
    env = environment(system, float(t), x, p, m) | dict(solved)
    with np.errstate(all="ignore"):
        for statement in system.statements:
            if len(statement.outs) > 1 or statement.outs[0] not in env:
                _evaluate(statement, env)
    return env


def computed(system: System, name: str, inputs: Mapping[str, Any]) -> Any:
    """Evaluate one value from the `inputs` (states, parameters, modes) by the statements that it needs, with floats."""
    producers = system.producers
    env = ChainMap(dict[str, Any](), cast(MutableMapping[str, Any], inputs))  # results go into the first

    def evaluate(value: str) -> None:
        if value not in env:
            for arg in producers[value].args:
                evaluate(arg)
            _evaluate(producers[value], env)

    evaluate(name)
    return env[name]


def _evaluate(statement: Statement, env: MutableMapping[str, Any]) -> None:
    results = statement.op(*[env[arg] for arg in statement.args])
    env.update(zip(statement.outs, (results,) if len(statement.outs) == 1 else results, strict=True))
