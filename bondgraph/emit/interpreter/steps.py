"""Sparse Jacobian of a routine by forward differentiation, with an interpreter in machine code that serves all routines.

It is suited to Jacobians that are evaluated a few dozen times: the derivatives of 30,000 steps take milliseconds here, but
seconds to generate and compile. Forward accumulation uses the rules of `tape.differentiate`. If either the slope or the
argument's derivative is zero, their product counts as zero, so that branches that are not selected need not be finite.

Columns that share no output are computed as one group (column compression by the sparsity pattern: A. R. Curtis, M. J. D.
Powell, J. K. Reid, On the estimation of sparse Jacobian matrices, J. Inst. Maths Applics 13, 1974). The number of groups of a
chain does not depend on its length.
"""

from __future__ import annotations

import ctypes
import functools
import itertools
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from bondgraph.emit.interpreter.code import MAX_ARGUMENTS, machine_code
from bondgraph.emit.interpreter.table import InterpretedSteps
from bondgraph.emit.kernel import Kernel, address_of
from bondgraph.tape import opcodes as op
from bondgraph.tape.differentiate import active_nodes, sparsity_pattern
from bondgraph.tape.nodes import leaf_length, table_values
from bondgraph.tape.routine import Routine, reachable
from bondgraph.tape.specialise import without_tables_of_inputs


def derivatives(routine: Routine, block: str, name: str) -> tuple[Kernel, tuple[np.ndarray, np.ndarray]]:
    """Return the Jacobian of a routine's outputs with respect to its inputs `block`, and its sparsity pattern.

    The kernel `name` takes the routine's blocks and returns the nonzeros by columns; the pattern is (indptr (columns + 1,),
    indices (nonzeros,)) and may contain entries that are always zero. At a kink the derivative is that of the active branch.
    Raises `CompileError` E391 if llvmlite is not installed or too old.
    """
    tape = routine.tape
    # Lookups have no derivatives.
    routine = replace(routine, outputs=without_tables_of_inputs(tape, routine.outputs, {block}))
    variables = list(tape.inputs(block, dict(routine.blocks)[block]))
    indptr, indices = sparsity_pattern(routine.outputs, variables)
    roots = [tape.scalar(output).index for output in routine.outputs]
    groups = _groups(indptr.tolist(), indices.tolist())
    seeds = {variable.index: group for variable, group in zip(variables, groups, strict=True)}
    needed, active = reachable(tape, roots), set(active_nodes(tape, roots, seeds))
    number = {position: k for k, position in enumerate((p for p in needed if p in active), start=1)}
    seed_groups = np.array(groups, dtype=np.int64)
    # 0 for a variable on which nothing depends.
    steps = InterpretedSteps(
        *_steps(routine, needed, number),
        np.array([number.get(seed, 0) for seed in seeds], dtype=np.int64),
        seed_groups,
        np.array([number.get(root, 0) for root in roots], dtype=np.int64)[indices],
        np.repeat(seed_groups, np.diff(indptr)),
        max(groups, default=-1) + 1,
        len(number),
    )
    ends, interpret = np.cumsum([0, *routine.sizes]), _interpreter()
    input_indices, alone = ends[steps.blocks] + steps.indices, steps.alone
    table, count, stride = alone.steps(), len(alone.fields), alone.stride

    def function(*inputs_and_out: np.ndarray) -> None:
        *inputs, out = inputs_and_out
        if out.ndim == 2:
            for row in zip(*(np.broadcast_to(block, (len(out), block.shape[-1])) for block in inputs), out, strict=True):
                function(*row)
            return
        values = steps.start.copy()
        values[steps.positions] = np.concatenate(inputs)[input_indices]
        for first in range(0, steps.groups, stride):
            rows = np.zeros((alone.rows, stride))
            in_seeds, in_entries = ((of >= first) & (of < first + stride) for of in (seed_groups, steps.entry_groups))
            rows[alone.seed_rows[in_seeds], seed_groups[in_seeds] - first] = 1.0
            rows[0] = 0.0  # the seeds of variables on which nothing depends are in this row
            arrays = map(address_of, (table, values, rows, alone.columns))
            interpret(*arrays, count, len(values) - count)
            out[in_entries] = rows[alone.entry_rows[in_entries], steps.entry_groups[in_entries] - first]

    return Kernel(name, routine.sizes, len(indices), None, function, steps=steps), (indptr, indices)


def _steps(
    routine: Routine, needed: list[int], number: dict[int, int]
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray, list[tuple[int, ...]]]:
    """Return the fields of `InterpretedSteps` from `start` to `nodes`; `number` maps positions of varying nodes to numbers."""
    nodes, blocks = routine.tape.nodes, list(routine.tape.blocks)
    begins = {name: k for k, (name, _) in enumerate(routine.blocks)}
    computed = [position for position in needed if nodes[position][0] > op.INPUT]
    index: dict[int, int] = {}
    leaf_values: list[np.ndarray] = []
    inputs: list[tuple[int, int, int]] = []
    size = 0
    for position in (position for position in needed if nodes[position][0] <= op.INPUT):
        code, *arguments = nodes[position]
        index[position], count = size, leaf_length(nodes[position])
        if code in op.OF_BLOCKS:
            inputs += [(size + k, begins[blocks[arguments[0]]], arguments[1] + k) for k in range(count)]
        constants = table_values(nodes[position]) if code == op.TABLE else np.atleast_1d(arguments[0])
        leaf_values.append(np.zeros(count) if code in op.OF_BLOCKS else constants)
        size += count
    index |= {position: size + k for k, position in enumerate(computed)}
    values = np.concatenate([*leaf_values, np.zeros(len(computed))])
    operations, table, varying = list[int](), list[tuple[int, ...]](), list[tuple[int, ...]]()
    rest = (0,) * MAX_ARGUMENTS
    for position in computed:
        code, *arguments = nodes[position]
        operations.append(code)
        if code in op.LOOKUPS:
            table.append((*[index[a] for a in arguments], leaf_length(nodes[arguments[1]])))
            varying.append((0, *rest))
        else:
            truths = op.OPERATIONS[code].truths
            argument_numbers = [number.get(a, 0) if k >= truths else 0 for k, a in enumerate(arguments)]
            table.append((*[index[a] for a in arguments], *rest)[:MAX_ARGUMENTS])
            varying.append((number.get(position, 0), *argument_numbers, *rest)[: 1 + MAX_ARGUMENTS])
    positions, input_blocks, input_indices = np.array(inputs, dtype=np.int64).reshape(-1, 3).T.copy()
    shaped = np.array(table, dtype=np.int64).reshape(-1, MAX_ARGUMENTS)
    return values, positions, input_blocks, input_indices, np.array(operations, dtype=np.int64), shaped, varying


def _groups(indptr: list[int], outputs: list[int]) -> list[int]:
    """Return a group for each column (greedy colouring): the first group in which it shares no output with an earlier column."""
    used = dict[int, int]()  # output -> the groups of its columns, as bits
    groups = list[int]()
    for begin, end in itertools.pairwise(indptr):
        column_outputs = outputs[begin:end]
        full = functools.reduce(int.__or__, (used.get(output, 0) for output in column_outputs), 0)
        group = (full ^ (full + 1)).bit_length() - 1
        used.update((output, used.get(output, 0) | 1 << group) for output in column_outputs)
        groups.append(group)
    return groups


@functools.cache
def _interpreter() -> Callable[..., None]:
    return ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4, *[ctypes.c_int64] * 2)(machine_code().address("interpret"))
