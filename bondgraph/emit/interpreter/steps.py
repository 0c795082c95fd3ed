"""Sparse Jacobian of a routine by forward differentiation, with an interpreter in machine code that serves all routines.

For Jacobians that are evaluated a few dozen times: the derivatives of 30,000 steps take milliseconds here, but seconds to
generate and compile. Forward accumulation with the rules of `tape.differentiate`; a step whose slope or argument's derivative is
zero contributes nothing, whatever the other is, so that branches that are not selected need not be finite.

Columns that share no output are computed as one group (column compression by the sparsity pattern: A. R. Curtis, M. J. D. Powell,
J. K. Reid, On the estimation of sparse Jacobian matrices, J. Inst. Maths Applics 13, 1974): a chain has as many groups as a few
of its sections have states, whatever its length.
"""

from __future__ import annotations

import ctypes
import functools
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from bondgraph.emit.interpreter.code import ARGUMENTS, BLOCK, FIELDS, WORK, machine_code
from bondgraph.emit.kernel import Kernel, address_of
from bondgraph.tape import opcodes as op
from bondgraph.tape.differentiate import active_nodes, sparsity_pattern
from bondgraph.tape.nodes import Node, leaf_length
from bondgraph.tape.routine import Routine, reachable
from bondgraph.tape.specialise import without_tables_of_inputs

STRIP = 32
"""Groups of columns in one pass over the steps; more would not fit the processor's cache."""


def derivatives(routine: Routine, block: str, name: str) -> tuple[Kernel, tuple[np.ndarray, np.ndarray]]:
    """Return the Jacobian of a routine's outputs by its inputs `block`: the kernel `name`, which takes the routine's blocks and
    gives the nonzeros in compressed columns, and the sparsity pattern (indptr (columns + 1,), indices (nonzeros,)).

    The pattern may hold entries that are always zero. At a kink the derivative is that of the active branch. Raises
    `CompileError` E391 if llvmlite is not installed or too old.
    """
    routine, tape = _with_entries_selected(routine, block), routine.tape
    variables = list(tape.inputs(block, dict(routine.blocks)[block]))
    indptr, indices = sparsity_pattern(routine.outputs, variables)
    roots = [tape.scalar(output).index for output in routine.outputs]
    groups = _groups(indptr.tolist(), indices.tolist())
    seeds = {variable.index: group for variable, group in zip(variables, groups, strict=True)}
    needed, active = reachable(tape, roots), set(active_nodes(tape, roots, seeds))
    blocks_of = _blocks(tape.nodes, needed, seeds)
    row = _rows(tape.nodes, [position for position in needed if position in active], {*roots, *seeds}, blocks_of)
    start, positions, input_indices, table = _steps(routine, needed, row, blocks_of)
    seed_rows = np.array([row.get(seed, 0) for seed in seeds], dtype=np.int64)  # 0 where nothing depends on a variable
    seed_groups = np.array(groups, dtype=np.int64)
    entry_groups, group_count = np.repeat(seed_groups, np.diff(indptr)), max(groups, default=-1) + 1
    entry_rows = np.array([row.get(root, 0) for root in roots], dtype=np.int64)[indices]
    interpret = _interpreter()
    ends, count = np.cumsum([0, *routine.sizes]), 1 + max(row.values(), default=0)
    input_blocks = np.searchsorted(ends, input_indices, side="right") - 1
    steps = InterpretedSteps(
        start,
        positions,
        input_blocks,
        input_indices - ends[input_blocks],
        table,
        seed_rows,
        seed_groups,
        entry_rows,
        entry_groups,
        group_count,
        count,
    )

    def function(*inputs_and_out: np.ndarray) -> None:
        *inputs, out = inputs_and_out
        values = start.copy()
        values[positions] = np.concatenate(inputs)[input_indices]
        work = np.empty(WORK)
        for first in range(0, group_count, STRIP):
            width = min(STRIP, group_count - first)
            blocks = -(-width // BLOCK)
            rows = np.zeros((count, blocks * BLOCK))
            in_seeds, in_entries = ((of >= first) & (of < first + width) for of in (seed_groups, entry_groups))
            rows[seed_rows[in_seeds], seed_groups[in_seeds] - first] = 1.0
            rows[0] = 0.0  # also of variables on which nothing depends
            arrays = map(address_of, (table, values, rows, work))
            interpret(*arrays, len(table), len(values) - len(table), blocks)
            out[in_entries] = rows[entry_rows[in_entries], entry_groups[in_entries] - first]

    return Kernel(name, routine.sizes, len(indices), None, function, steps=steps), (indptr, indices)


def _with_entries_selected(routine: Routine, block: str) -> Routine:
    """Return the routine without lookups in tables of the variables: a step of a lookup has no derivatives."""
    tape = routine.tape
    return replace(routine, outputs=without_tables_of_inputs(tape, routine.outputs, {block}))


@dataclass(frozen=True, eq=False)
class InterpretedSteps:
    """Steps that `derivatives` executes, for machine code that executes them too; arrays of integers, except `start`.

    Parameters
    ----------
    start : values of all nodes, constants filled in.
    positions, blocks, indices : position of each input among them, its block, and its index in that.
    table : the steps (steps, fields). seed_rows, seed_groups : row of each variable's derivatives, and its group (columns,).
    entry_rows, entry_groups : of each nonzero its row among the derivatives, and the group of its column.
    groups : count of groups of columns.
    rows : count of rows of derivatives, each at most `STRIP` groups wide; all zero before the first use.
    """

    start: np.ndarray
    positions: np.ndarray
    blocks: np.ndarray
    indices: np.ndarray
    table: np.ndarray
    seed_rows: np.ndarray
    seed_groups: np.ndarray
    entry_rows: np.ndarray
    entry_groups: np.ndarray
    groups: int
    rows: int

    def __post_init__(self) -> None:
        for name in {field.name for field in fields(self)} - {"start", "groups", "rows"}:
            self.__dict__[name] = np.ascontiguousarray(getattr(self, name), dtype=np.int64)

    @property
    def address(self) -> int:
        """Address of the interpreter's code: (table, values, rows, work, count, first, blocks)."""
        return machine_code().address("interpret")


def _steps(
    routine: Routine, needed: list[int], row: dict[int, int], blocks_of: dict[int, tuple[int, int]]
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return the table of steps of the nodes that a routine needs; `row` holds the rows of derivatives of nodes that vary,
    `blocks_of` the column blocks on which nodes depend.

    Values (n,) lie in one array, constants (filled in) and inputs before computed nodes. Then for each input its position there,
    and its index in the concatenated blocks; and the table (steps, fields).
    """
    nodes, blocks = routine.tape.nodes, list(routine.tape.blocks)
    starts = dict(zip(dict(routine.blocks), np.cumsum([0, *routine.sizes]).tolist(), strict=False))
    computed = [position for position in needed if nodes[position][0] > op.INPUT]
    index: dict[int, int] = {}
    begun: list[np.ndarray] = []
    inputs: list[tuple[int, int]] = []
    size = 0
    for position in (position for position in needed if nodes[position][0] <= op.INPUT):
        code, *arguments = nodes[position]
        index[position], count = size, leaf_length(nodes[position])
        if code in op.OF_BLOCKS:
            first = starts[blocks[arguments[0]]] + arguments[1]
            inputs += [(size + k, first + k) for k in range(count)]
        begun.append(np.zeros(count) if code in op.OF_BLOCKS else np.atleast_1d(arguments[0]))
        size += count
    index |= {position: size + k for k, position in enumerate(computed)}
    values = np.concatenate([*begun, np.zeros(len(computed))])
    table = np.zeros((len(computed), FIELDS), dtype=np.int64)
    codes = {code: machine_code().address(f"step_{op.NAMES[code]}") for code in (*ARGUMENTS, *op.LOOKUPS)}
    for step, position in zip(table, computed, strict=True):
        code, *arguments = nodes[position]
        if code in op.LOOKUPS:
            step[0], step[1:3], step[3] = codes[code], [index[a] for a in arguments], leaf_length(nodes[arguments[1]])
            continue
        last = 1 + len(arguments)
        step[0], step[1:last] = codes[code], [index[a] for a in arguments]
        step[4] = row.get(position, 0)
        step[5 : 4 + last] = [row.get(a, 0) for a in arguments]
        step[8:] = blocks_of[position]
    positions, input_indices = np.array(inputs, dtype=np.int64).reshape(-1, 2).T
    return values, positions, input_indices, table


def _groups(indptr: list[int], outputs: list[int]) -> list[int]:
    """Return a group for each column (greedy colouring): the first in which it shares no output with an earlier column."""
    used = dict[int, int]()  # of each output the groups of its columns, as bits
    groups = list[int]()
    for begin, end in itertools.pairwise(indptr):
        column_outputs = outputs[begin:end]
        full = functools.reduce(int.__or__, (used.get(output, 0) for output in column_outputs), 0)
        group = (full ^ (full + 1)).bit_length() - 1
        used.update((output, used.get(output, 0) | 1 << group) for output in column_outputs)
        groups.append(group)
    return groups


def _blocks(nodes: Sequence[Node], needed: list[int], seeds: dict[int, int]) -> dict[int, tuple[int, int]]:
    """Return, for each node, the first block of groups on which it depends and the one after the last; a whole strip where there
    are several strips. `seeds` are the variables, with their groups."""
    if max(seeds.values(), default=0) >= STRIP:
        return dict.fromkeys(needed, (0, STRIP // BLOCK))
    ranges: dict[int, tuple[int, int]] = {}
    for position in needed:
        code, *arguments = nodes[position]
        if position in seeds:
            ranges[position] = seeds[position] // BLOCK, seeds[position] // BLOCK + 1
        elif code <= op.INPUT:
            ranges[position] = STRIP, 0
        else:
            argument_ranges = [ranges[a] for a in arguments]
            ranges[position] = min(first for first, _ in argument_ranges), max(last for _, last in argument_ranges)
    return ranges


def _rows(nodes: Sequence[Node], active: Sequence[int], kept: set[int], blocks_of: dict[int, tuple[int, int]]) -> dict[int, int]:
    """Allocate a row for the derivatives of each node that varies, from 1 on; a row that no later step needs is reused by the
    next node with the same columns, so that rows stay in the processor's cache. Rows of `kept` nodes are not reused."""
    last = {a: position for position in active if nodes[position][0] > op.INPUT for a in nodes[position][1:]}
    row, free, count = dict[int, int](), dict[tuple[int, int], list[int]](), 0
    for position in active:
        waiting = free.setdefault(blocks_of[position], [])
        if waiting and position not in kept:
            row[position] = waiting.pop()
        else:
            count += 1
            row[position] = count
        for a in set(nodes[position][1:]) if nodes[position][0] > op.INPUT else ():
            if a in row and a not in kept and last[a] == position:
                free[blocks_of[a]].append(row[a])
    return row


@functools.cache
def _interpreter() -> Callable[..., None]:
    return ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4, *[ctypes.c_int64] * 3)(machine_code().address("interpret"))
