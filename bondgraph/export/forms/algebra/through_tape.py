"""Evaluation of long formulas on a tape, whose operations become short definitions.

The tape stores every distinct operation once, so a part used a thousand times is written once.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from bondgraph.export.forms.algebra.canonical import rational
from bondgraph.export.forms.algebra.definitions import Definitions, linear_in
from bondgraph.export.symbolic import elementary_forms
from bondgraph.model.ops import Op
from bondgraph.output.lazy import sympy
from bondgraph.output.tables import labels_of
from bondgraph.tape import opcodes
from bondgraph.tape.differentiate import jacobian
from bondgraph.tape.nodes import leaf_length, table_values
from bondgraph.tape.routine import reachable
from bondgraph.tape.scalar import Tape, TapeScalar
from bondgraph.tape.specialise import substitute
from bondgraph.tracing.on_tape.values import scalars_of, shaped

MAX_REPEATED = 3
"""Maximum number of operations of an expression that is written out at each use, not defined."""


def through_tape(
    formula: Op, arguments: Sequence[tuple[str, Any]], definitions: Definitions, sought: Collection[Any]
) -> list[tuple[tuple[int, ...], list[Any]]]:
    """Return the shape and scalars of every result of formula(*arguments), in symbols of definitions if they are long.

    `arguments` are names and values. If their scalars are linear in the symbols `sought`, so are the results, and only their
    coefficients are defined.
    """
    tape = Tape()
    leaves: dict[int, Any] = {}
    names: dict[int, str] = {}
    unknown = sorted({w for _, value in arguments for s in scalars_of(value) for w in _free(s) & set(sought)}, key=str)
    inputs = dict(zip(unknown, tape.inputs("unknowns", len(unknown)), strict=True)) if unknown else {}
    leaves |= {leaf.index: w for w, leaf in inputs.items()}
    values = [_on_tape(tape, f"a{k}", name, value, (leaves, names), inputs) for k, (name, value) in enumerate(arguments)]
    results = formula(*values)
    all_results = results if isinstance(results, tuple) else (results,)
    rows = [(np.shape(result), [tape.scalar(s) for s in scalars_of(result)]) for result in all_results]
    flat = [scalar for _, scalars in rows for scalar in scalars]
    split = _split(tape, flat, inputs)
    if split is None:
        expressions = _TapeReader(tape, leaves, names, definitions).read(flat)
    else:
        constants, slopes = split
        read = iter(_TapeReader(tape, leaves, names, definitions).read([*constants, *slopes.values()]))
        expressions = [next(read) for _ in constants]
        for (row, w), slope in zip(slopes, read, strict=True):
            expressions[row] += slope * w
    scalars = iter(expressions)
    return [(shape, [next(scalars) for _ in outputs]) for shape, outputs in rows]


def _free(scalar: Any) -> set[Any]:
    return set(getattr(scalar, "free_symbols", ()))


def _on_tape(
    tape: Tape,
    block: str,
    name: str,
    value: Any,
    tables: tuple[dict[int, Any], dict[int, str]],
    unknown: Mapping[Any, TapeScalar],
) -> Any:
    leaves, names = tables
    scalars = [sympy.S(s) for s in scalars_of(value)]
    split = [linear_in(s, unknown.keys()) or (s, {}) for s in scalars]
    parts = [part for constant, slopes in split for part in (constant, *slopes.values()) if part.free_symbols]
    inputs = iter(tape.inputs(block, len(parts)) if parts else ())

    def recorded(part: Any, label: str = "") -> Any:
        if not part.free_symbols:
            return float(part)
        leaf = next(inputs)
        leaves[leaf.index], names[leaf.index] = part, label
        return leaf

    out = []
    for label, (constant, slopes) in zip(labels_of(name, np.shape(value)), split, strict=True):
        total = recorded(constant, "" if slopes else label)
        for w, slope in slopes.items():
            total = total + recorded(slope) * unknown[w]
        out.append(total)
    return shaped(out, np.shape(value))


def _split(
    tape: Tape, flat: Sequence[TapeScalar], inputs: Mapping[Any, TapeScalar]
) -> tuple[list[TapeScalar], dict[tuple[int, Any], TapeScalar]] | None:
    """Return the constants and coefficients (result, unknown) of results that are linear in unknowns; None if a result is not
    linear."""
    w = list(inputs)
    if not w:
        return list(flat), {}
    derivatives = jacobian(flat, [inputs[symbol] for symbol in w])
    positions = {leaf.index for leaf in inputs.values()}
    if positions & set(reachable(tape, [value.index for value in derivatives.values])):
        return None
    zero = {leaf: tape.constant(0.0) for leaf in positions}
    slopes = {(i, w[j]): value for i, j, value in zip(derivatives.rows, derivatives.columns, derivatives.values, strict=True)}
    return list(substitute(tape, flat, zero)), slopes


class _TapeReader:
    def __init__(self, tape: Tape, leaves: Mapping[int, Any], names: Mapping[int, str], definitions: Definitions) -> None:
        self.tape, self.leaves, self.names, self.definitions = tape, leaves, names, definitions

    def read(self, scalars: Sequence[TapeScalar]) -> list[Any]:
        roots = [scalar.index for scalar in scalars]
        order = reachable(self.tape, roots)
        uses = dict.fromkeys(order, 0)
        for position in order:
            node = self.tape.nodes[position]
            for argument in node[1:] if node[0] > opcodes.INPUT else ():
                uses[argument] += 1
        expressions: dict[int, Any] = {}
        length: dict[int, int] = {}
        for position in order:
            node = self.tape.nodes[position]
            expression = self._node(position, expressions)
            if node[0] == opcodes.INPUT:
                size = int(sympy.count_ops(expression))
            elif node[0] > opcodes.INPUT:
                size = 1 + sum(length[a] for a in node[1:])
            else:
                size = leaf_length(node) if node[0] in (opcodes.TABLE, opcodes.TABLE_OF_INPUTS) else 0
            is_long = size > self.definitions.longest or (uses[position] > 1 and size > MAX_REPEATED)
            if is_long and isinstance(expression, sympy.Expr):
                expression, size = self.definitions.define(self.names.get(position, ""), expression), 0
            expressions[position], length[position] = expression, size
        return [expressions[root] for root in roots]

    def _node(self, position: int, expressions: Mapping[int, Any]) -> Any:
        code, *arguments = self.tape.nodes[position]
        if code == opcodes.INPUT:
            return self.leaves[position]
        if code == opcodes.CONSTANT:
            return self._number(arguments[0])
        if code == opcodes.TABLE:
            return tuple(map(self._number, table_values(self.tape.nodes[position])))
        if code == opcodes.TABLE_OF_INPUTS:
            return tuple([self.leaves[entry] for entry in self.tape.entries_of(position)])
        operation = opcodes.OPERATIONS[code]
        values = [expressions[a] for a in arguments]
        for k, value in enumerate(values):
            if k < operation.truths and isinstance(value, sympy.Expr):
                values[k] = sympy.Ne(value, 0)
            elif k >= operation.truths and not isinstance(value, (sympy.Expr, tuple)):
                values[k] = _where(value, sympy.S.One, sympy.S.Zero)
        return sympy_forms()[code](*values)

    def _number(self, value: float) -> Any:
        if np.isfinite(value):
            self.definitions.floats.add(float(value))
        return rational(float(value))


def _where(condition: Any, one: Any, other: Any) -> Any:
    if condition in (True, False):
        return one if condition else other
    return one if one == other else sympy.Piecewise((one, condition), (other, True), evaluate=False)


@cache
def sympy_forms() -> Mapping[int, Any]:
    return elementary_forms() | {
        opcodes.LESS: lambda a, b: sympy.StrictLessThan(a, b, evaluate=a.is_number and b.is_number),
        opcodes.LESS_EQUAL: lambda a, b: sympy.LessThan(a, b, evaluate=a.is_number and b.is_number),
        opcodes.EQUAL: lambda a, b: sympy.Eq(a, b, evaluate=a.is_number and b.is_number),
        opcodes.BOTH: sympy.And,
        opcodes.EITHER: sympy.Or,
        opcodes.OPPOSITE: sympy.Not,
        opcodes.WHERE: _where,
    }


def expression_size(formula: Op, arguments: Sequence[Any]) -> int:
    """Return the number of operations in all results of formula(*arguments) on SymPy expressions, without creating them.

    The formula runs on a tape, where equal parts are stored once, so even huge results are counted quickly.
    """
    tape, length = Tape(), dict[int, int]()
    values = []
    for number, argument in enumerate(arguments):
        scalars = [sympy.S(scalar) for scalar in scalars_of(argument)]
        inputs = tape.inputs(f"a{number}", len(scalars))
        operands = [leaf if s.free_symbols else float(s) for leaf, s in zip(inputs, scalars, strict=True)]
        values.append(shaped(operands, np.shape(argument)))
        length |= {leaf.index: 1 + int(sympy.count_ops(s)) for leaf, s in zip(inputs, scalars, strict=True)}
    results = formula(*values)
    all_results = results if isinstance(results, tuple) else (results,)
    roots = [tape.scalar(scalar).index for result in all_results for scalar in scalars_of(result)]
    for position in reachable(tape, roots):
        node = tape.nodes[position]
        if node[0] > opcodes.INPUT:
            length[position] = 1 + sum(length[a] for a in node[1:])
        elif node[0] != opcodes.INPUT:
            length[position] = leaf_length(node)
    return sum(length[root] for root in roots)
