"""Tables of steps that the interpreter executes, for one run or for runs in SIMD lanes, with few rows of derivatives."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from math import ceil

import numpy as np

from bondgraph.emit.cached_build import OnceProperty
from bondgraph.emit.interpreter import code
from bondgraph.emit.interpreter.code import BEGIN, BLOCK, FIELDS, MAX_ARGUMENTS, ROW
from bondgraph.tape import opcodes as op

STRIP = 32
"""Maximum number of groups of columns in one pass over the steps; more would not fit into the processor's cache."""


@dataclass(frozen=True, eq=False)
class InterpreterTable:
    """Steps that machine code executes, as arrays of integers.

    Parameters
    ----------
    lanes : number of runs.
    block : number of columns in a vector.
    variants : instruction of each step, and the bit mask of its varying arguments (2, steps).
    fields : the steps without their addresses (steps, `FIELDS`).
    columns : lists of the vectors on which steps depend, by their positions in a row.
    seed_rows, entry_rows : row of each variable, and of each nonzero of the Jacobian.
    rows : number of rows; before the first use, all are zero except those of the variables.
    width : number of vectors in a row.
    """

    lanes: int
    block: int
    variants: np.ndarray
    fields: np.ndarray
    columns: np.ndarray
    seed_rows: np.ndarray
    entry_rows: np.ndarray
    rows: int
    width: int

    @property
    def stride(self) -> int:
        return self.width * self.block

    @property
    def address(self) -> int:
        """Address of the interpreter, a function of (steps, values, rows, columns, number of steps, index of the first step's
        value)."""
        return code.machine_code(self.lanes).address("interpret")

    def steps(self, is_guarded: bool = True) -> np.ndarray:
        steps = self.fields.copy()
        steps[:, 0] = code.addresses(self.lanes, is_guarded)[tuple(self.variants)]
        return steps


@dataclass(frozen=True, eq=False)
class InterpretedSteps:
    """Steps of a routine and of its derivatives, the basis of tables for machine code; arrays of integers, except `start`.

    Each varying node has a number; nodes that do not vary have 0.

    Parameters
    ----------
    start : values of all nodes, with constants filled in.
    positions, blocks, indices : position of each input in `start`, its block, and its index in the block.
    operations, arguments : instruction of each step (steps,), and the indices of its arguments among the values (steps, 3).
    nodes : numbers of each step's node and of its arguments' nodes (steps, 4).
    seeds, seed_groups : number of each variable's node, and its group (columns,).
    entries, entry_groups : number of the node of each nonzero, and the group of its column.
    groups : number of groups of columns.
    count : number of varying nodes.
    """

    start: np.ndarray
    positions: np.ndarray
    blocks: np.ndarray
    indices: np.ndarray
    operations: np.ndarray
    arguments: np.ndarray
    nodes: list[tuple[int, ...]]
    seeds: np.ndarray
    seed_groups: np.ndarray
    entries: np.ndarray
    entry_groups: np.ndarray
    groups: int
    count: int

    @OnceProperty
    def alone(self) -> InterpreterTable:
        return self.table(1, BLOCK)

    def in_lanes(self, lanes: int) -> InterpreterTable | None:
        """Return the table for this many runs, or None if there are lookups in tables, or too many columns for the processor's
        cache."""
        has_lookups = not op.LOOKUPS.isdisjoint(self.operations.tolist())
        return None if self.groups > STRIP or has_lookups else self.table(lanes, 1)

    def table(self, lanes: int, block: int) -> InterpreterTable:
        passes = max(ceil(self.groups / STRIP), 1)
        width = ceil(ceil(self.groups / block) / passes)
        place, steps, columns = self._allocated(block, width, passes)
        fields = np.zeros((len(steps), FIELDS), dtype=np.int64)
        fields[:, 1:ROW] = self.arguments * lanes
        fields[:, ROW:] = np.array(steps).reshape(-1, FIELDS - ROW)
        bits = (fields[:, ROW + 1 : BEGIN] > 0) @ (1 << np.arange(MAX_ARGUMENTS))
        fields[:, ROW:BEGIN] *= width * block * lanes
        lists, rows = np.array(columns, dtype=np.int64) * block * lanes, np.array(place)
        variants = np.array([self.operations, bits])
        return InterpreterTable(
            lanes, block, variants, fields, lists, rows[self.seeds], rows[self.entries], max(place) + 1, width
        )

    def _allocated(self, block: int, width: int, passes: int) -> tuple[list[int], list[tuple[int, ...]], list[int]]:
        """Return the row of each node, the rows of each step with its list of vectors, and these lists.

        A row is reused once no later step needs it, but only for a node that depends on the same vectors, so that its entries for
        other vectors stay zero.
        """
        place, vectors, count = [0] * (1 + self.count), [0] * (1 + self.count), 0
        for node, group in zip(self.seeds.tolist(), self.seed_groups.tolist(), strict=True):
            if node:
                count += 1
                place[node], vectors[node] = count, 1 << group // block if passes == 1 else (1 << width) - 1
        kept = {*self.seeds.tolist(), *self.entries.tolist(), 0}
        last = {node: k for k, (result, *arguments) in enumerate(self.nodes) if result for node in arguments}
        free, lists = dict[int, list[int]](), dict[int, tuple[int, int]]()
        columns, steps = list[int](), list[tuple[int, ...]]()
        for k, (result, *arguments) in enumerate(self.nodes):
            if not result:
                steps.append((0,) * (FIELDS - ROW))
                continue
            pattern = functools.reduce(int.__or__, [vectors[node] for node in arguments])
            if pattern not in lists:
                depended = [vector for vector in range(width) if pattern >> vector & 1]
                lists[pattern] = len(columns), len(columns) + len(depended)
                columns += depended
            waiting = free.setdefault(pattern, [])
            if waiting and result not in kept:
                place[result] = waiting.pop()
            else:
                count += 1
                place[result] = count
            vectors[result] = pattern
            steps.append((place[result], *[place[node] for node in arguments], *lists[pattern]))
            for node in {*arguments} - kept:
                if last[node] == k:
                    free[vectors[node]].append(place[node])
        return place, steps, columns
