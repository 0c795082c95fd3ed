"""Automatic differentiation of a tape: sparse Jacobian, its sparsity pattern, and directional derivatives.

Forward accumulation carries with every node its derivatives with respect to the inputs that it depends on; this is safe in
formulas that guard a singular branch by `where`, because derivatives are selected like values. Reverse accumulation goes through
the tape once per output; it is used if it needs fewer operations and there is no select.
"""

from __future__ import annotations

import math
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush

import numpy as np

from bondgraph.tape import opcodes as op
from bondgraph.tape.nodes import Node, Nodes
from bondgraph.tape.routine import reachable
from bondgraph.tape.scalar import Tape, TapeScalar, TraceError


@dataclass(frozen=True)
class SparseJacobian:
    """Derivatives `values[k]` of output `rows[k]` with respect to input `columns[k]`, sorted by columns, then rows."""

    rows: tuple[int, ...]
    columns: tuple[int, ...]
    values: tuple[TapeScalar, ...]
    shape: tuple[int, int]

    def dense(self) -> np.ndarray:
        out = np.full(self.shape, 0.0, dtype=object)
        for row, column, value in zip(self.rows, self.columns, self.values, strict=True):
            out[row, column] = value
        return out


def jacobian(outputs: Sequence[TapeScalar | float], inputs: Sequence[TapeScalar]) -> SparseJacobian:
    """Differentiate `outputs` with respect to `inputs`, which may be any nodes of the tape, not only its inputs.

    At a kink (`absolute`, `minimum`, `maximum`, `where`) the branch taken is differentiated; conditions, `sign`, `floor` and
    `searchsorted` have derivative zero.

    Raises `TraceError` if outputs and inputs are on several tapes, or an input is listed twice.
    """
    shape = (len(outputs), len(inputs))
    if not shape[0] or not shape[1]:
        return SparseJacobian((), (), (), shape)
    tape = inputs[0].tape
    roots = [tape.scalar(output).index for output in outputs]
    seeds = {tape.scalar(variable).index: column for column, variable in enumerate(inputs)}
    if len(seeds) != len(inputs):
        raise TraceError("the same scalar is listed twice among the variables of a Jacobian")
    order = active_nodes(tape, roots, seeds)
    if _reverse_is_shorter(tape, order, roots, seeds):
        entries = _reverse(tape, order, roots, seeds)
    else:
        entries = _forward(tape, order, roots, {seed: {column: tape.constant(1.0)} for seed, column in seeds.items()})
    kept = sorted((c, r, v) for (r, c), v in entries.items() if tape.value(v) != 0.0)
    values = tuple(TapeScalar(tape, v) for _, _, v in kept)
    return SparseJacobian(tuple(r for _, r, _ in kept), tuple(c for c, _, _ in kept), values, shape)


def derivatives_along(
    outputs: Sequence[TapeScalar | float],
    variables: Sequence[TapeScalar],
    directions: Sequence[Mapping[int, TapeScalar | float]],
    count: int,
) -> np.ndarray:
    """Return directional derivatives of `outputs` along `count` directions, an object array (outputs, count): J V without J.

    `directions` holds, for each of the variables, its components in V by the direction's index; absent components are zero. Kinks
    are treated as in `jacobian`. The number of steps is about the outputs' number of steps times twice the number of directions,
    and independent of the number of variables.
    """
    products = np.full((len(outputs), count), 0.0, dtype=object)
    if not len(variables) or not len(outputs):
        return products
    tape = variables[0].tape
    roots = [tape.scalar(output).index for output in outputs]
    seeded = {
        variable.index: {column: tape.scalar(part).index for column, part in parts.items()}
        for variable, parts in zip(variables, directions, strict=True)
    }
    order = active_nodes(tape, roots, seeded)
    for (row, column), value in _forward(tape, order, roots, seeded).items():
        products[row, column] = TapeScalar(tape, value)
    return products


def compressed_columns(jacobian: SparseJacobian) -> tuple[np.ndarray, np.ndarray]:
    indptr = np.searchsorted(jacobian.columns, range(jacobian.shape[1] + 1)).astype(np.int32)
    return indptr, np.array(jacobian.rows, dtype=np.int32)


def sparsity_pattern(outputs: Sequence[TapeScalar | float], inputs: Sequence[TapeScalar]) -> tuple[np.ndarray, np.ndarray]:
    """Return the sparsity pattern of `jacobian(outputs, inputs)` without writing derivatives: `indptr` and row `indices`, both
    int32.

    It contains the Jacobian's pattern; it may include entries that vanish identically.
    """
    columns: list[list[int]] = [[] for _ in inputs]
    if len(inputs):
        tape = inputs[0].tape
        roots = [tape.scalar(output).index for output in outputs]
        seeds = {tape.scalar(variable).index: column for column, variable in enumerate(inputs)}
        masks: dict[int, int] = {}
        for position in active_nodes(tape, roots, seeds):
            mask = 1 << seeds[position] if position in seeds else 0
            for argument in () if position in seeds else operands(tape, position):
                mask |= masks.get(argument, 0)
            masks[position] = mask
        for row, root in enumerate(roots):
            mask = masks.get(root, 0)
            while mask:
                lowest = mask & -mask
                columns[lowest.bit_length() - 1].append(row)
                mask ^= lowest
    indptr = np.cumsum([0, *map(len, columns)], dtype=np.int32)
    return indptr, np.array([row for column in columns for row in column], dtype=np.int32)


def active_nodes(tape: Nodes, roots: Sequence[int], seeds: Container[int]) -> list[int]:
    """Return the nodes that the roots need and that vary with a seed, in an order of evaluation."""
    active: set[int] = set()
    order = []
    for position in reachable(tape, roots):
        node = tape.nodes[position]
        if node[0] == op.TABLE_OF_INPUTS:
            inputs = [a for a in tape.entries_of(position) if a in seeds and a not in active]
            active.update(inputs)
            order += inputs
        elif position not in active and (
            position in seeds or (node[0] not in op.FLAT and not active.isdisjoint(operands(tape, position)))
        ):
            active.add(position)
            order.append(position)
    return order


def jumps(tape: Nodes, roots: Sequence[int], seeds: Container[int]) -> bool:
    """Return True if the roots depend on a seed through an instruction whose derivative is zero although its value changes: a
    comparison, `sign`, `floor`, a search in a table, or an index into a table."""
    active, codes = set(active_nodes(tape, roots, seeds)), {op.TAKE, *op.FLAT}
    jumping = [position for position in reachable(tape, roots) if (code := tape.nodes[position][0]) > op.INPUT and code in codes]
    indices = (operands(tape, k)[: 1 if tape.nodes[k][0] == op.TAKE else None] for k in jumping)
    return any(not active.isdisjoint(each) for each in indices)


def jump_surfaces(tape: Tape, outputs: Sequence[TapeScalar | float], variables: Sequence[TapeScalar]) -> tuple[TapeScalar, ...]:
    """Return values that cross zero where a comparison, `sign`, `floor` or lookup between variables and outputs changes:
    differences of compared values, arguments, and sines with zeros at the integers, or at the entries of the table."""
    roots = [tape.scalar(output).index for output in outputs]
    active = set(active_nodes(tape, roots, {variable.index for variable in variables}))
    values: dict[tuple[int, ...], TapeScalar] = {}
    for position in reachable(tape, roots):
        code, *arguments = tape.nodes[position]
        if code not in _SWITCHES or active.isdisjoint(arguments):
            continue
        if code in (op.FLOOR, op.SEARCHSORTED):
            number = arguments[0] if code == op.FLOOR else _continuous_count(tape, position)
            value = tape.function("sin", tape.multiply(tape.constant(math.pi), number))
        else:
            value = tape.subtract(*arguments) if len(arguments) == 2 else arguments[0]
        values.setdefault((min(arguments), max(arguments), int(code == op.FLOOR)), TapeScalar(tape, value))
    return tuple(values.values())


_SWITCHES = frozenset((op.LESS, op.LESS_EQUAL, op.SIGN, op.FLOOR, op.SEARCHSORTED))


def _continuous_count(tape: Tape, position: int) -> int:
    """Return the number of table entries up to the argument of a search, plus the fraction of the interval to the next entry;
    outside the table, extrapolate by at most half an interval."""
    _, argument, table = tape.nodes[position]
    last, one = tape.constant(len(tape.entries_of(table)) - 1.0), tape.constant(1.0)
    low = tape.function(
        "minimum", tape.function("maximum", tape.subtract(position, one), tape.constant(0.0)), tape.subtract(last, one)
    )
    start, end = (tape.apply(op.TAKE, number, table) for number in (low, tape.add(low, one)))
    part = tape.divide(tape.subtract(argument, start), tape.subtract(end, start))
    half = tape.constant(0.5)
    within = tape.function("minimum", tape.function("maximum", part, tape.negative(half)), tape.add(one, half))
    return tape.add(tape.add(low, one), within)


def operands(tape: Nodes, position: int) -> Sequence[int]:
    """Return the operands of a computed node; for a lookup in a table of inputs, these are its argument and the entries."""
    code, *arguments = tape.nodes[position]
    if code in op.LOOKUPS and tape.nodes[arguments[1]][0] == op.TABLE_OF_INPUTS:
        return [arguments[0], *tape.entries_of(arguments[1])]
    return arguments


def partials(tape: Nodes, position: int) -> tuple[tuple[int, int], ...]:
    node = tape.nodes[position]
    code, a = node[0], node[1]
    b = node[2] if len(node) > 2 else a
    one = tape.constant(1.0)
    if code == op.ADD:
        return (a, one), (b, one)
    if code == op.SUBTRACT:
        return (a, one), (b, tape.constant(-1.0))
    if code == op.MULTIPLY:
        return ((a, tape.multiply(tape.constant(2.0), a)),) if a == b else ((a, b), (b, a))
    if code == op.POWER:
        log = tape.function("log", a)
        by_exponent = tape.where(tape.function("equal", a, tape.constant(0.0)), tape.constant(0.0), tape.multiply(position, log))
        return (a, tape.multiply(b, tape.power(a, tape.subtract(b, one)))), (b, by_exponent)
    if code == op.ATAN2:
        scale = tape.reciprocal(tape.add(tape.multiply(a, a), tape.multiply(b, b)))
        return (a, tape.multiply(b, scale)), (b, tape.negative(tape.multiply(a, scale)))
    slope = op.OPERATIONS[code].slope
    if slope is None:
        raise TraceError(f'no derivative of "{op.NAMES[code]}"')
    return ((a, slope(tape, a, position)),)


def slopes(tape: Nodes, position: int) -> tuple[tuple[int, int], ...]:
    """Return `partials`, except for a select: 1 (-1 if it is negated) for the argument that is passed on, and 0 for the other."""
    node = tape.nodes[position]
    if node[0] not in op.SELECTS:
        return partials(tape, position)
    condition, a, b, sign = _branches(tape, node)
    one, zero = tape.constant(1.0), tape.constant(0.0)
    if sign < 0:
        return ((a, tape.where(condition, tape.constant(-1.0), one)),)
    return (a, tape.where(condition, one, zero)), (b, tape.where(condition, zero, one))


def _branches(tape: Nodes, node: Node) -> tuple[int, int, int, int]:
    """Return the condition of a select, its argument if the condition is true, the other argument, and the first argument's sign
    (-1 for `absolute`)."""
    if node[0] == op.WHERE:
        return node[1], node[2], node[3], 1
    if node[0] == op.MINIMUM:
        return tape.function("less_equal", node[1], node[2]), node[1], node[2], 1
    if node[0] == op.MAXIMUM:
        return tape.function("less_equal", node[2], node[1]), node[1], node[2], 1
    return tape.function("less", node[1], tape.constant(0.0)), node[1], node[1], -1


def _forward(tape: Nodes, order: list[int], roots: list[int], seeded: Mapping[int, dict[int, int]]) -> dict[tuple[int, int], int]:
    """Return derivatives (row, column) of the roots by forward accumulation; `seeded` nodes have derivatives by column."""
    zero, none = tape.constant(0.0), dict[int, int]()
    derivatives: dict[int, dict[int, int]] = {}
    for position in order:
        if position in seeded:
            derivatives[position] = seeded[position]
            continue
        node = tape.nodes[position]
        total: dict[int, int] = {}
        if node[0] == op.TAKE:
            entries = operands(tape, position)[1:]
            inside = tape.function("maximum", zero, tape.function("minimum", node[1], tape.constant(len(entries) - 1)))
            index = tape.function("floor", inside)
            for k, entry in enumerate(entries):
                for column, value in derivatives.get(entry, none).items():
                    here = tape.function("equal", index, tape.constant(k))
                    total[column] = tape.where(here, value, total.get(column, zero))
        elif node[0] in op.SELECTS:
            condition, a, b, sign = _branches(tape, node)
            if_true, if_false = derivatives.get(a, none), derivatives.get(b, none)
            if sign < 0:
                if_true = {column: tape.negative(value) for column, value in if_true.items()}
            total = {
                column: tape.where(condition, if_true.get(column, zero), if_false.get(column, zero))
                for column in if_true.keys() | if_false.keys()
            }
        else:
            for argument, partial in _varying(tape, position, derivatives):
                for column, value in derivatives[argument].items():
                    term = tape.multiply(partial, value)
                    total[column] = tape.add(total[column], term) if column in total else term
        derivatives[position] = total
    return {(row, column): value for row, root in enumerate(roots) for column, value in derivatives.get(root, none).items()}


def _varying(tape: Nodes, position: int, active: Container[int]) -> list[tuple[int, int]]:
    """Return the partial derivatives with respect to the arguments that vary; for `power`, derivatives with respect to constant
    arguments are not built at all."""
    node = tape.nodes[position]
    if node[0] == op.POWER and node[2] not in active:
        slope = tape.power(node[1], tape.subtract(node[2], tape.constant(1.0)))
        return [(node[1], tape.multiply(node[2], slope))]
    return [(argument, partial) for argument, partial in partials(tape, position) if argument in active]


def _reverse(tape: Nodes, order: list[int], roots: list[int], seeds: dict[int, int]) -> dict[tuple[int, int], int]:
    active = set(order)
    slopes = {p: _varying(tape, p, active) for p in order if p not in seeds}
    entries: dict[tuple[int, int], int] = {}
    for row, root in enumerate(roots):
        if root not in active:
            continue
        # visit only the nodes that an output needs, the last first: with many independent parts, each output visits its own
        adjoint, heap = {root: tape.constant(1.0)}, [-root]
        while heap:
            position = -heappop(heap)
            weight = adjoint.pop(position)
            if position in seeds:
                entries[row, seeds[position]] = weight
                continue
            for argument, partial in slopes[position]:
                term = tape.multiply(weight, partial)
                if argument in adjoint:
                    adjoint[argument] = tape.add(adjoint[argument], term)
                else:
                    adjoint[argument] = term
                    heappush(heap, -argument)
    return entries


def _reverse_is_shorter(tape: Nodes, order: list[int], roots: list[int], seeds: dict[int, int]) -> bool:
    """Return True if reverse accumulation needs fewer multiplications: at each node, the inputs below it are compared with
    the outputs above it."""
    nodes = tape.nodes
    if len(roots) >= len(seeds) or any(nodes[p][0] in op.SELECTS and p not in seeds for p in order):
        return False
    below: dict[int, int] = {}
    forward = 0
    for position in order:
        if position in seeds:
            below[position] = 1 << seeds[position]
            continue
        mask = 0
        for argument in nodes[position][1:]:
            part = below.get(argument, 0)
            mask |= part
            forward += part.bit_count()
        below[position] = mask
    above: dict[int, int] = {}
    for row, root in enumerate(roots):
        above[root] = above.get(root, 0) | 1 << row
    reverse = 0
    for position in reversed(order):
        if position in seeds:
            continue
        mask = above.get(position, 0)
        for argument in nodes[position][1:]:
            if argument in below:
                above[argument] = above.get(argument, 0) | mask
                reverse += mask.bit_count()
    return reverse < forward
