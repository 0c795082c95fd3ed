"""Structure: a compiled model, and symbols for what some of its laws give -> all else in terms of these, by its junctions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np
import sympy

from bondgraph.assembly.stages import stages_of
from bondgraph.assembly.system import Statement, System
from bondgraph.compile.compiled import Compiled
from bondgraph.compile.state_names import labels_of
from bondgraph.export.forms.algebra.canonical import canonical, decimal
from bondgraph.export.forms.algebra.definitions import Definitions
from bondgraph.export.forms.algebra.elimination import IN_ONE_PIECE, eliminated
from bondgraph.export.forms.state_form import given_symbols
from bondgraph.export.symbolic import inputs_of, symbol_of
from bondgraph.model.laws import Source
from bondgraph.model.ops import Op
from bondgraph.tracing.on_tape.values import Values, scalars_of, shaped

BRIEF = 150
"""Operations of the largest entry of a matrix that is brought into the form in which one would write it by hand."""


@dataclass(frozen=True)
class Cut:
    """A model some of whose values are symbols of their own.

    Parameters
    ----------
    symbols : value -> its symbols, (its shape).
    values : what was wanted, in terms of these and of states and parameters, by name.
    """

    compiled: Compiled
    symbols: Mapping[str, Any]
    values: Values
    notes: Definitions
    """The numbers that formulas brought."""

    def carried_out(self, op: Op, *arguments: Any) -> Any:
        """Column of all scalars of a formula's result, with exact numbers."""
        return column([op(*arguments)]).applyfunc(self.notes.exactly)

    def shape_of(self, name: str) -> tuple[int, ...]:
        """Shape of a value."""
        return self.compiled.system.values[name].shape or ()


def cut(
    compiled: Compiled, symbols: Mapping[str, Any], wanted: Iterable[str], numbers: bool, laws: Mapping[int, Op] | None = None
) -> Cut:
    """Values that are wanted, where statements that give one of `symbols` give these, and those of some indices other `laws`.

    `numbers` : put in the numbers of all parameters but those of sources.
    """
    system = compiled.system
    other = dict(laws or {})
    other |= {i: _given(symbols[s.outs[0]]) for i, s in enumerate(system.statements) if s.outs[0] in symbols}
    statements = tuple(s._replace(op=other[i]) if i in other else s for i, s in enumerate(system.statements))
    changed = replace(system, statements=statements)
    given, slopes = given_symbols(system, inputs_of(compiled), (), numbers)
    given |= {mode: symbol_of(system, mode) for mode in system.modes}
    notes = Definitions(system.values, IN_ONE_PIECE.longest)
    stages = stages_of(changed, [system.resolve(name) for name in wanted])
    values = eliminated(changed, stages, given, slopes, notes, IN_ONE_PIECE)
    return Cut(compiled, dict(symbols), values, notes)


def _given(symbols: Any) -> Op:
    return Op("given", lambda *_: symbols)


def fresh(system: System, value: str, name: str) -> Any:
    """Symbols `name`, `name[0]` ... in the shape of a value."""
    shape = system.values[system.resolve(value)].shape or ()
    return shaped([sympy.Symbol(label, real=True) for label in labels_of(name, shape)], shape)


def statement_of(compiled: Compiled, path: str, op: Op | None) -> tuple[int, Statement] | None:
    """The statement of an element that carries out this formula of its law, and its index."""
    found = ((i, s) for i, s in enumerate(compiled.system.statements) if s.element == path and s.op is op)
    return next(found, None) if op is not None else None


def source_values(found: Cut, outs: Mapping[str, str]) -> Mapping[str, Any]:
    """What sources make their inputs `path.effort` or `path.flow`: source -> the value that it gives."""
    compiled, values = found.compiled, found.values
    told: dict[str, Any] = {}
    for path, out in outs.items():
        law = compiled.model.elements[path].law_as(Source)
        statement = next(s for s in compiled.system.statements if s.element == path and s.op is law.value)
        assert law.value is not None
        result = found.carried_out(law.value, *(values[arg] for arg in statement.args))
        told |= zip(labels_of(f"{path}.{law.gives}", found.shape_of(out)), result, strict=True)
    return MappingProxyType(told)


def column(values: Iterable[Any]) -> Any:
    """SymPy matrix (n, 1) of the scalars of several values."""
    flat = [sympy.S(scalar) for value in values for scalar in scalars_of(value)]
    return sympy.Matrix(len(flat), 1, flat)


def slopes_of(values: Any, symbols: Sequence[Any]) -> Any:
    """Derivatives (n, m) of a column by symbols."""
    return sympy.Matrix(len(values), len(symbols), lambda i, j: sympy.diff(values[i], symbols[j]))


def arranged(matrix: Any, moving: Sequence[Any]) -> Any:
    """A matrix whose entries are written as one would by hand."""
    entries = [sympy.S(entry) for entry in matrix]
    brief = [canonical(e, set(moving)) if sympy.count_ops(e) <= BRIEF else e for e in entries]
    return sympy.Matrix(*matrix.shape, brief)


def mirrored(matrix: Any, sign: int) -> Any:
    """A symmetric (sign 1) or skew-symmetric (-1) matrix with the same expressions on both sides of its diagonal."""
    return sympy.Matrix(*matrix.shape, lambda i, j: matrix[i, j] if i <= j else sign * matrix[j, i])


def inverse(matrix: Any) -> Any:
    """Inverse of a SymPy matrix, part by part of what hangs together."""
    out = sympy.zeros(*matrix.shape)
    for part in matrix.connected_components():
        inner = matrix.extract(part, part).inv()
        for i, row in enumerate(part):
            for j, at in enumerate(part):
                out[row, at] = inner[i, j]
    return out


def with_decimals(matrix: Any, whole: bool) -> Any:
    """A matrix, or an expression, with its numbers as they are read best."""
    return matrix.applyfunc(lambda e: decimal(e, whole)) if matrix.is_Matrix else decimal(matrix, whole)


def is_whole(found: Cut, numbers: bool) -> bool:
    """Whether all numbers that went in are whole."""
    sources = inputs_of(found.compiled)
    put_in = [v for n, value in found.compiled.system.parameters.items() if numbers and n not in sources for v in np.ravel(value)]
    return all(float(number).is_integer() for number in (*put_in, *found.notes.floats))


def secant(law: Any, taken: Sequence[Any]) -> Any | None:
    """Matrix D (n, n) with law = D taken, for expressions of symbols `taken`; None where there is no such one.

    A law that is linear has its slopes; one of a single variable is divided by it, if that is finite where it vanishes.
    """
    slopes = slopes_of(law, taken)
    zero = dict.fromkeys(taken, sympy.S.Zero)
    if not slopes.free_symbols & set(taken):
        return slopes if all(sympy.simplify(entry) == 0 for entry in law.xreplace(zero)) else None
    if any(i != j and slopes[i, j] != 0 for i in range(len(law)) for j in range(len(taken))):
        return None
    ratios = [_ratio(sympy.S(e), r) for e, r in zip(law, taken, strict=True)]
    return None if any(ratio is None for ratio in ratios) else sympy.diag(*ratios)


def _ratio(expression: Any, variable: Any) -> Any | None:
    """expression / variable, with its limit where it would be 0 / 0; None if that is not finite."""
    ratio, endless = sympy.cancel(expression / variable), (sympy.nan, sympy.zoo, sympy.oo, -sympy.oo)
    if not ratio.subs(variable, 0).has(*endless):
        return ratio
    if expression.subs(variable, 0) != 0 or expression.has(sympy.Piecewise):
        return None
    limit = sympy.limit(ratio, variable, 0)
    return None if limit.has(*endless) else sympy.Piecewise((limit, sympy.Eq(variable, 0)), (ratio, True))
