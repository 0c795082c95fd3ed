"""Signals as inputs of a linear system: a parameter of value zero is added to the signal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bondgraph.assembly.system import Statement, System, Value, is_internal
from bondgraph.emit.kernel import Kernel
from bondgraph.model.arguments import names_of
from bondgraph.model.laws import SignalBlock, Source
from bondgraph.model.model import Model
from bondgraph.model.ops import Op

_ADDED = " + input"
_TORN = ":computed"


AddedInputs = tuple[System, list[str], dict[str, str]]
"""System with added parameters; the names of inputs, with these parameters instead of the signals; the signal of each added
parameter."""


def with_added_inputs(model: Model, system: System, names: str | Sequence[str]) -> AddedInputs:
    """Return the system with a parameter of value zero added to each named source or block signal.

    The other results are the names, with these parameters instead of the signals, and the signal of each added parameter.
    """
    named, signals = [], {}
    for name in names_of(names, "inputs"):
        signal, bracket, index = name.partition("[")
        element = model.elements.get(signal.strip())
        if element is not None and isinstance(element.law, Source):
            signal = f"{signal.strip()}.{element.law.gives}"
        root = system.resolve(signal.strip())
        computed = root if root in system.producers else f"{root}{_TORN}"
        statement = system.producers.get(computed)
        if statement is not None and _takes_input(model, statement):
            added = root + _ADDED
            system = system if added in system.parameters else _with_addend(system, statement, computed, added)
            root = added
            signals[added] = signal.strip()
        named.append(root + bracket + index if root in system.parameters else name)
    return system, named, signals


def _takes_input(model: Model, statement: Statement) -> bool:
    return isinstance(model.elements[statement.element].law, SignalBlock | Source)


def signals_with_inputs(model: Model, system: System) -> Iterator[str]:
    statements = (each for each in system.statements if each.element in model.elements and _takes_input(model, each))
    results = {result for statement in statements for result in statement.outs}
    names = (*results, *(alias for alias, root in system.aliases.items() if root in results))
    yield from (name for name in names if not is_internal(name))


def _with_addend(system: System, statement: Statement, computed: str, added: str) -> System:
    which, single = statement.outs.index(computed), len(statement.outs) == 1

    def formula(addend: Any, *arguments: Any) -> Any:
        results = [result + addend if k == which else result for k, result in enumerate(statement.results(arguments))]
        return results[0] if single else tuple(results)

    value, op = system.values[computed], Op(f"{statement.op.name} + input", formula)
    changed = statement._replace(op=op, args=(added, *statement.args))
    return replace(
        system,
        statements=[changed if each is statement else each for each in system.statements],
        values={**system.values, added: Value(value.shape, value.unit)},
        parameters={**system.parameters, added: np.zeros(value.shape or ())},
    )


def with_zeros(kernel: Kernel, p: np.ndarray) -> np.ndarray:
    return np.concatenate([p, np.zeros(kernel.sizes[2] - len(p))])
