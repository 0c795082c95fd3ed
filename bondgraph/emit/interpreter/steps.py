"""Derivatives of a routine, step by step, by an interpreter in machine code that serves all routines.

For what is asked for a few dozen times: the derivatives of 30,000 steps take milliseconds here, where to write them down and
compile them takes seconds. Forward accumulation with the rules of `tape.differentiate`; a step whose slope or argument's
derivative is zero contributes nothing, whatever the other is, so that what is not selected need not be finite.

Columns that no output has in common go together (A. R. Curtis, M. J. D. Powell, J. K. Reid, On the estimation of sparse Jacobian
matrices, J. Inst. Maths Applics 13, 1974): a chain has as many groups as a few of its sections have states, whatever its length.
"""

from __future__ import annotations

import ctypes
import functools
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields

import numpy as np

from bondgraph.emit.interpreter.code import ARGUMENTS, BLOCK, FIELDS, WORK, machine_code
from bondgraph.emit.kernel import Kernel, address_of
from bondgraph.tape import opcodes as op
from bondgraph.tape.differentiate import active_nodes, sparsity_pattern
from bondgraph.tape.nodes import Node
from bondgraph.tape.routine import Routine, reachable

STRIP = 32
"""So many groups of columns at a time, the same for all steps; more would leave the processor's cache."""


def derivatives(routine: Routine, block: str, name: str) -> tuple[Kernel, tuple[np.ndarray, np.ndarray]]:
    """The derivatives of a routine's outputs by its inputs `block`: the kernel `name`, which takes the routine's blocks and gives
    the nonzeros in compressed columns, and (indptr (columns + 1,), indices (nonzeros,)) of that order.

    The pattern may hold entries that are always zero. At a kink the derivative is that of the branch that is taken. Raises
    `CompileError` E391, if llvmlite is not installed or too old.
    """
    tape = routine.tape
    variables = list(tape.inputs(block, dict(routine.blocks)[block]))
    indptr, indices = sparsity_pattern(routine.outputs, variables)
    roots = [tape.scalar(output).index for output in routine.outputs]
    groups = _groups(indptr.tolist(), indices.tolist())
    seeds = {variable.index: group for variable, group in zip(variables, groups, strict=True)}
    needed, active = reachable(tape, roots), set(active_nodes(tape, roots, seeds))
    blocks_of = _blocks(tape.nodes, needed, seeds)
    row = _rows(tape.nodes, [position for position in needed if position in active], {*roots, *seeds}, blocks_of)
    start, places, given, table = _steps(routine, needed, row, blocks_of)
    seeded = np.array([row.get(seed, 0) for seed in seeds], dtype=np.int64)  # 0 where nothing depends on a variable
    of_seeds = np.array(groups, dtype=np.int64)
    of_found, group_count = np.repeat(of_seeds, np.diff(indptr)), max(groups, default=-1) + 1
    found = np.array([row.get(root, 0) for root in roots], dtype=np.int64)[indices]
    interpret = _interpreter()
    ends, count = np.cumsum([0, *routine.sizes]), 1 + max(row.values(), default=0)
    own = np.searchsorted(ends, given, side="right") - 1
    steps = InterpretedSteps(start, places, own, given - ends[own], table, seeded, of_seeds, found, of_found, group_count, count)

    def function(*inputs_and_out: np.ndarray) -> None:
        *inputs, out = inputs_and_out
        values = start.copy()
        values[places] = np.concatenate(inputs)[given]
        work = np.empty(WORK)
        for first in range(0, group_count, STRIP):
            width = min(STRIP, group_count - first)
            blocks = -(-width // BLOCK)
            rows = np.zeros((count, blocks * BLOCK))
            in_seeds, in_found = ((of >= first) & (of < first + width) for of in (of_seeds, of_found))
            rows[seeded[in_seeds], of_seeds[in_seeds] - first] = 1.0
            rows[0] = 0.0  # also of variables on which nothing depends
            arrays = map(address_of, (table, values, rows, work))
            interpret(*arrays, len(table), len(values) - len(table), blocks)
            out[in_found] = rows[found[in_found], of_found[in_found] - first]

    return Kernel(name, routine.sizes, len(indices), None, function, steps=steps), (indptr, indices)


@dataclass(frozen=True, eq=False)
class InterpretedSteps:
    """What `derivatives` goes through, for machine code that does the same; all are whole numbers in a row, but for `start`.

    Parameters
    ----------
    start : values of all nodes, constants in place.
    places, blocks, indices : where each input stands among them, its block, and its place in that.
    table : the steps (steps, fields). seeded, of_seeds : row of each variable's derivatives, and its group (columns,).
    found, of_found : of each nonzero its row among the derivatives, and the group of its column.
    groups : how many groups of columns there are.
    rows : how many rows of derivatives there are, each at most `STRIP` groups wide; all zero before the first time.
    """

    start: np.ndarray
    places: np.ndarray
    blocks: np.ndarray
    indices: np.ndarray
    table: np.ndarray
    seeded: np.ndarray
    of_seeds: np.ndarray
    found: np.ndarray
    of_found: np.ndarray
    groups: int
    rows: int

    def __post_init__(self) -> None:
        for name in {field.name for field in fields(self)} - {"start", "groups", "rows"}:
            self.__dict__[name] = np.ascontiguousarray(getattr(self, name), dtype=np.int64)

    @property
    def address(self) -> int:
        """Where the interpreter's code starts: (table, values, rows, work, count, first, blocks)."""
        return machine_code().address("interpret")


def _steps(
    routine: Routine, needed: list[int], row: dict[int, int], blocks_of: dict[int, tuple[int, int]]
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The nodes that a routine needs as numbers; `row` is that of the derivatives of those that vary, and `blocks_of`
    says on which columns they depend.

    Values (n,) lie in one array, constants (which are in place) and inputs before what is computed of them. Then for each input
    its place there, and in all blocks one after the other; and the table (steps, fields).
    """
    nodes, blocks = routine.tape.nodes, list(routine.tape.blocks)
    starts = dict(zip(dict(routine.blocks), np.cumsum([0, *routine.sizes]).tolist(), strict=False))
    outer = [position for position in needed if nodes[position][0] <= op.INPUT]
    computed = [position for position in needed if nodes[position][0] > op.INPUT]
    place = {position: k for k, position in enumerate([*outer, *computed])}
    values = np.zeros(len(place))
    inputs = []
    for position in outer:
        code, *arguments = nodes[position]
        if code == op.CONSTANT:
            values[place[position]] = arguments[0]
        else:
            inputs.append((place[position], starts[blocks[arguments[0]]] + arguments[1]))
    table = np.zeros((len(computed), FIELDS), dtype=np.int64)
    codes = {code: machine_code().address(f"step_{op.NAMES[code]}") for code in ARGUMENTS}
    for step, position in zip(table, computed, strict=True):
        code, *arguments = nodes[position]
        last = 1 + len(arguments)
        step[0], step[1:last] = codes[code], [place[a] for a in arguments]
        step[4] = row.get(position, 0)
        step[5 : 4 + last] = [row.get(a, 0) for a in arguments]
        step[8:] = blocks_of[position]
    places, given = np.array(inputs, dtype=np.int64).reshape(-1, 2).T
    return values, places, given, table


def _groups(indptr: list[int], outputs: list[int]) -> list[int]:
    """A group for each column: the first in which it has no output in common with a column before it."""
    taken = dict[int, int]()  # of each output the groups of its columns, as bits
    groups = list[int]()
    for begin, end in itertools.pairwise(indptr):
        own = outputs[begin:end]
        full = functools.reduce(int.__or__, (taken.get(output, 0) for output in own), 0)
        group = (full ^ (full + 1)).bit_length() - 1
        taken.update((output, taken.get(output, 0) | 1 << group) for output in own)
        groups.append(group)
    return groups


def _blocks(nodes: Sequence[Node], needed: list[int], seeds: dict[int, int]) -> dict[int, tuple[int, int]]:
    """The first block of groups on which each node depends, and that after the last; all of a strip, where there are several
    strips. `seeds` are the variables, with their groups."""
    if max(seeds.values(), default=0) >= STRIP:
        return dict.fromkeys(needed, (0, STRIP // BLOCK))
    found: dict[int, tuple[int, int]] = {}
    for position in needed:
        code, *arguments = nodes[position]
        if position in seeds:
            found[position] = seeds[position] // BLOCK, seeds[position] // BLOCK + 1
        elif code <= op.INPUT:
            found[position] = STRIP, 0
        else:
            given = [found[a] for a in arguments]
            found[position] = min(first for first, _ in given), max(last for _, last in given)
    return found


def _rows(nodes: Sequence[Node], active: Sequence[int], kept: set[int], blocks_of: dict[int, tuple[int, int]]) -> dict[int, int]:
    """A row for the derivatives of each node that varies, from 1 on; one that no later step needs goes to the next that depends
    on the same columns, so that rows stay in the processor's cache. Those that are `kept` have one for themselves."""
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
