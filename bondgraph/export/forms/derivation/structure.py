"""Junction structure: all values of a compiled model in terms of the symbols at its cuts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bondgraph.assembly.stages import stages_of
from bondgraph.assembly.system import Statement, System
from bondgraph.compile.compiled import Compiled
from bondgraph.errors import FixedEntries
from bondgraph.export.forms.algebra.canonical import canonical, decimal
from bondgraph.export.forms.algebra.definitions import Definitions
from bondgraph.export.forms.algebra.elimination import IN_ONE_PIECE, eliminate
from bondgraph.export.forms.state_form import known_symbols
from bondgraph.export.symbolic import inputs_of, symbol_of
from bondgraph.model.laws import Source
from bondgraph.model.ops import Op
from bondgraph.output.lazy import sympy
from bondgraph.output.tables import labels_of
from bondgraph.tracing.on_tape.values import Values, scalars_of, shaped

MAX_ENTRY_OPERATIONS = 150


@dataclass(frozen=True)
class CutModel:
    """Model in which independent symbols replace some values.

    Parameters
    ----------
    symbols : symbols of each replaced value, in the shape of the value.
    values : requested values by name, in terms of these symbols, states and parameters.
    """

    compiled: Compiled
    symbols: Mapping[str, Any]
    values: Values
    notes: Definitions
    """Definitions without expressions; they collect the floats that occur in the formulas."""

    def evaluate(self, op: Op, *arguments: Any) -> Any:
        return column([op(*arguments)]).applyfunc(self.notes.exact)

    def shape_of(self, name: str) -> tuple[int, ...]:
        return self.compiled.system.values[name].shape or ()


def cut(
    compiled: Compiled, symbols: Mapping[str, Any], requested: Iterable[str], numbers: bool, laws: Mapping[int, Op] | None = None
) -> CutModel:
    """Return the model with the `requested` values. `symbols` replace the results of statements, `laws` replace the formulas of
    statements by index and, with `numbers`, values replace all parameters except source parameters."""
    system = compiled.system
    replaced = dict(laws or {})
    replaced |= {i: _constant(symbols[s.outs[0]]) for i, s in enumerate(system.statements) if s.outs[0] in symbols}
    statements = tuple(s._replace(op=replaced[i]) if i in replaced else s for i, s in enumerate(system.statements))
    changed = replace(system, statements=statements)
    known_values, slopes = known_symbols(system, inputs_of(compiled), (), numbers)
    known_values |= {mode: symbol_of(system, mode) for mode in system.modes}
    notes = Definitions(system.values, IN_ONE_PIECE.longest)
    stages = stages_of(changed, [system.resolve(name) for name in requested])
    values = eliminate(changed, stages, known_values, slopes, notes, IN_ONE_PIECE)
    return CutModel(compiled, dict(symbols), values, notes)


def _constant(symbols: Any) -> Op:
    return Op("given", lambda *_: symbols)


def new_symbols(system: System, value: str, name: str) -> Any:
    shape = system.values[system.resolve(value)].shape or ()
    return shaped([sympy.Symbol(label, real=True) for label in labels_of(name, shape)], shape)


def statement_of(compiled: Compiled, path: str, op: Op | None) -> tuple[int, Statement] | None:
    matches = ((i, s) for i, s in enumerate(compiled.system.statements) if s.element == path and s.op is op)
    return next(matches, None) if op is not None else None


def source_values(model: CutModel, outs: Mapping[str, str]) -> Mapping[str, Any]:
    compiled, values = model.compiled, model.values
    inputs: dict[str, Any] = {}
    for path, out in outs.items():
        law = compiled.model.elements[path].law_as(Source)
        statement = next(s for s in compiled.system.statements if s.element == path and s.op is law.value)
        assert law.value is not None
        result = model.evaluate(law.value, *(values[arg] for arg in statement.args))
        inputs |= zip(labels_of(f"{path}.{law.gives}", model.shape_of(out)), result, strict=True)
    return FixedEntries(inputs)


def column(values: Iterable[Any]) -> Any:
    flat = [sympy.S(scalar) for value in values for scalar in scalars_of(value)]
    return sympy.Matrix(len(flat), 1, flat)


def slopes_of(values: Any, symbols: Sequence[Any]) -> Any:
    return sympy.Matrix(len(values), len(symbols), lambda i, j: sympy.diff(values[i], symbols[j]))


def arranged(matrix: Any, moving: Sequence[Any]) -> Any:
    entries = [sympy.S(entry) for entry in matrix]
    readable = [canonical(e, set(moving)) if sympy.count_ops(e) <= MAX_ENTRY_OPERATIONS else e for e in entries]
    return sympy.Matrix(*matrix.shape, readable)


def mirrored(matrix: Any, sign: int) -> Any:
    return sympy.Matrix(*matrix.shape, lambda i, j: matrix[i, j] if i <= j else sign * matrix[j, i])


def inverse(matrix: Any) -> Any:
    out = sympy.zeros(*matrix.shape)
    for part in matrix.connected_components():
        inner = matrix.extract(part, part).inv()
        for i, row in enumerate(part):
            for j, at in enumerate(part):
                out[row, at] = inner[i, j]
    return out


def with_decimals(matrix: Any, keep_fractions: bool) -> Any:
    return matrix.applyfunc(lambda e: decimal(e, keep_fractions)) if matrix.is_Matrix else decimal(matrix, keep_fractions)


def is_whole(model: CutModel, numbers: bool) -> bool:
    sources = inputs_of(model.compiled)
    substituted = [
        v for n, value in model.compiled.system.parameters.items() if numbers and n not in sources for v in np.ravel(value)
    ]
    return all(float(number).is_integer() for number in (*substituted, *model.notes.floats))


def secant(law: Any, variables: Sequence[Any]) -> Any | None:
    """Return a matrix D (n, n) of these symbols such that law = D variables; None if no such matrix is found.

    For a linear law, D holds its coefficients; a law of a single variable is divided by it, if the quotient is finite at zero.
    """
    slopes = slopes_of(law, variables)
    zero = dict.fromkeys(variables, sympy.S.Zero)
    if not slopes.free_symbols & set(variables):
        return slopes if all(sympy.simplify(entry) == 0 for entry in law.xreplace(zero)) else None
    if any(i != j and slopes[i, j] != 0 for i in range(len(law)) for j in range(len(variables))):
        return None
    ratios = [_ratio(sympy.S(e), r) for e, r in zip(law, variables, strict=True)]
    return None if any(ratio is None for ratio in ratios) else sympy.diag(*ratios)


def _ratio(expression: Any, variable: Any) -> Any | None:
    ratio, endless = sympy.cancel(expression / variable), (sympy.nan, sympy.zoo, sympy.oo, -sympy.oo)
    if not ratio.subs(variable, 0).has(*endless):
        return ratio
    if expression.subs(variable, 0) != 0 or expression.has(sympy.Piecewise):
        return None
    limit = sympy.limit(ratio, variable, 0)
    return None if limit.has(*endless) else sympy.Piecewise((limit, sympy.Eq(variable, 0)), (ratio, True))
