"""Signals as inputs of a linear system: a parameter of value zero, or a ramp with this slope, is added to the signal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
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


def with_added_inputs(
    model: Model, system: System, names: str | Sequence[str], ramps: bool = False
) -> tuple[System, list[str], dict[str, str]]:
    """Return the system with a parameter of value zero added to each named source or block signal; with `ramps`, its product with
    (time - parameter "start of ramps") instead.

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
            system = system if added in system.parameters else _with_addend(system, statement, computed, added, ramps)
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


def _with_addend(system: System, statement: Statement, computed: str, added: str, ramp: bool) -> System:
    which, single = statement.outs.index(computed), len(statement.outs) == 1

    def formula(time: Any, start: Any, slope: Any, *arguments: Any) -> Any:
        addend = slope * (time - start) if ramp else slope
        results = [result + addend if k == which else result for k, result in enumerate(statement.results(arguments))]
        return results[0] if single else tuple(results)

    value, others = system.values[computed], {START: Value((), "s")} if ramp else {}
    op, more = (
        Op(f"{statement.op.name} + input", formula if ramp else partial(formula, 0.0, 0.0)),
        ("time", START) if ramp else (),
    )
    changed = statement._replace(op=op, args=(*more, added, *statement.args))
    return replace(
        system,
        statements=[changed if each is statement else each for each in system.statements],
        values={**system.values, **others, added: Value(value.shape, value.unit)},
        parameters={**system.parameters, added: np.zeros(value.shape or ()), **dict.fromkeys(others, np.zeros(()))},
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
