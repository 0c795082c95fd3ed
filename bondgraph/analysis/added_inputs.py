"""Signals as inputs of a linear system: a parameter of value zero, or a ramp with this slope, is added to the signal."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bondgraph.assembly.system import Statement, System, Value, is_internal
from bondgraph.emit.kernel import Kernel
from bondgraph.model.arguments import names_of
from bondgraph.model.laws import SignalBlock, Source
from bondgraph.model.model import Model
from bondgraph.model.ops import TIME_DERIVATIVE, Op

_ADDED = " + input"
_TORN = ":computed"

START = "start of ramps"
"""Parameter at which ramps are zero, s."""


AddedInputs = tuple[System, list[str], dict[str, str]]
"""System with added parameters; the names of inputs, with these parameters instead of the signals; the signal of each added
parameter."""


def with_added_inputs(model: Model, system: System, names: str | Sequence[str]) -> AddedInputs:
    """Return the system with a parameter of value zero added to each named source or block signal."""
    return _with_addends(model, system, names, (), lambda value: value)


def with_added_ramps(model: Model, system: System, names: str | Sequence[str]) -> AddedInputs:
    """Return the system with a ramp added to each named source or block signal: the product of a parameter of value zero with
    (time - parameter `START`)."""
    ramp = ("time", START), lambda slope, time, start: slope * (time - start)
    system, named, signals = _with_addends(model, system, names, *ramp)
    values, parameters = {**system.values, START: Value((), "s")}, {**system.parameters, START: np.zeros(())}
    return replace(system, values=values, parameters=parameters), named, signals


def _with_addends(
    model: Model, system: System, names: str | Sequence[str], others: tuple[str, ...], addend: Callable[..., Any]
) -> AddedInputs:
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
            system = system if added in system.parameters else _with_addend(system, statement, computed, (added, *others), addend)
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


def _with_addend(
    system: System, statement: Statement, computed: str, arguments: tuple[str, ...], addend: Callable[..., Any]
) -> System:
    """Add `addend`(arguments) to one result of a statement; the first of the arguments is a new parameter."""
    which, single, count = statement.outs.index(computed), len(statement.outs) == 1, len(arguments)

    def formula(*values: Any) -> Any:
        results = list(statement.results(values[count:]))
        results[which] = results[which] + addend(*values[:count])
        return results[0] if single else tuple(results)

    value, added = system.values[computed], arguments[0]
    changed = statement._replace(op=Op(f"{statement.op.name} + input", formula), args=(*arguments, *statement.args))
    return replace(
        system,
        statements=[changed if each is statement else each for each in system.statements],
        values={**system.values, added: Value(value.shape, value.unit)},
        parameters={**system.parameters, added: np.zeros(value.shape or ())},
    )


def sources_and_signals(model: Model, system: System, names: str | Sequence[str]) -> list[str]:
    """Return those of the input names that are signals, and the sources of those that are values of sources."""
    signals: list[str] = []
    for name in names_of(names, "inputs"):
        path, _, parameter = name.partition("[")[0].strip().rpartition(".")
        element = model.elements.get(path)
        if parameter == "value" and element is not None and isinstance(element.law, Source):
            signals.append(path + "".join(name.partition("[")[1:]))
        elif system.resolve(name.partition("[")[0].strip()) not in system.parameters:
            signals.append(name)
    return list(dict.fromkeys(signals))


def has_time_derivatives(system: System) -> bool:
    return any(statement.op is TIME_DERIVATIVE for statement in system.statements)


def with_zeros(kernel: Kernel, p: np.ndarray) -> np.ndarray:
    return np.concatenate([p, np.zeros(kernel.sizes[2] - len(p))])
