"""Partial derivatives of rates and outputs with respect to states and inputs, as one routine of their nonzeros."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from bondgraph.assembly.system import System
from bondgraph.export.fmi.variables import ModelVariable, VariableKind
from bondgraph.tape.differentiate import compressed_columns, jacobian
from bondgraph.tape.routine import Routine
from bondgraph.tracing.routines import outputs_of, values_on_tape


@dataclass(frozen=True)
class Partials:
    """Sparse matrix of partial derivatives in compressed columns: states, then the scalars of the inputs.

    Parameters
    ----------
    routine : nonzeros (entries,) as functions of (t, x, p, m), where p contains only the user's parameters.
    columns : first entry of each column, then the number of entries.
    rows : row of each entry, counting rates, then values, then states.
    inputs : indices in p of the scalars of the inputs.
    """

    routine: Routine
    columns: tuple[int, ...]
    rows: tuple[int, ...]
    inputs: tuple[int, ...]


def partials_of(system: System, variables: Iterable[ModelVariable]) -> Partials:
    traced = values_on_tape(system)
    tape, blocks, results = traced.context.tape, traced.context.inputs, outputs_of(traced)
    x, values = list(blocks["x"]), results["outputs"]
    unknowns, rows, inputs = list(results["rates"]), list(range(len(x))), list[int]()
    for variable in variables:
        numbers = range(variable.first, variable.first + variable.size)
        if variable.causality == "input":
            inputs += numbers
        elif variable.causality == "output" and variable.kind is VariableKind.OUTPUT:
            unknowns += [values[k] for k in numbers]
            rows += [len(x) + k for k in numbers]
        elif variable.causality == "output":
            unknowns += [x[k] for k in numbers]
            rows += [len(x) + len(values) + k for k in numbers]
    matrix = jacobian(unknowns, [*x, *(blocks["p"][k] for k in inputs)])
    columns, entries = compressed_columns(matrix)
    sizes = tuple((name, len(blocks[name])) for name in ("t", "x", "p", "m"))
    routine = Routine("partials", tape, sizes, matrix.values)
    return Partials(routine, tuple(columns.tolist()), tuple(rows[k] for k in entries.tolist()), tuple(inputs))
