"""Size of a model: decide between loops over shared kernels and straight-line code."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping

from bondgraph.assembly.formula_keys import formula_key
from bondgraph.assembly.system import System
from bondgraph.model.ops import TIME_DERIVATIVE, Op
from bondgraph.schedule.kernels import traced
from bondgraph.tape import opcodes
from bondgraph.tape.nodes import Node

MIN_REPETITION = 4
"""Statements per kind of statement from which loops pay; kinds that differ only in constants count as one."""

MIN_STATEMENTS = 2000
"""Statements from which kinds that differ only in constants are identified: each has to be traced for that."""

MAX_STEPS = 3000
"""Most steps of straight-line code: it is a little faster than loops, and compiles in no time."""

MAX_MERGED_STEPS = 60_000
"""Most steps of straight-line code with both logarithms and exponentials, as of species and reactions: on one tape these are
products (`tape.logarithms`), at a sixth of the cost of loops."""


def is_large(system: System) -> bool:
    """Return True if loops over shared kernels are better than straight-line code, without tracing all of it.

    One statement of each kind is traced and its steps are counted.
    """
    if system.loops or system.unknowns or any(s.op is TIME_DERIVATIVE for s in system.statements):
        return False  # implicit equations are solved on the tape
    values = system.values
    occurrences = Counter([(id(s.op), tuple([id(values[arg]) for arg in s.args]), len(s.outs)) for s in system.statements])
    ops = {id(s.op): s.op for s in system.statements}
    shapes = {id(value): value.shape for value in values.values()}
    if None in shapes.values():
        return False
    first: dict[Hashable, Op] = {}
    representatives = {identity: first.setdefault(formula_key(op), op) for identity, op in ops.items()}
    kinds: Counter[KindOfStatement] = Counter()
    for (op, args, results), count in occurrences.items():
        kinds[representatives[op], tuple([shapes[arg] or () for arg in args]), results] += count
    return loops_are_better(kinds)


KindOfStatement = tuple[Op, tuple[tuple[int, ...], ...], int]
"""Operation, shapes of the arguments, count of the results."""


def loops_are_better(kinds: Mapping[KindOfStatement, int]) -> bool:
    """Return True if loops are better for these numbers of statements of each kind."""
    statements = sum(kinds.values())
    if statements < min(MIN_REPETITION * len(kinds), MIN_STATEMENTS):
        return False
    forms = {kind: _form(*kind) for kind in kinds}
    if statements < MIN_REPETITION * len(set(forms.values())):
        return False
    steps = sum(count * len(forms[kind][1]) for kind, count in kinds.items())
    merged = {opcodes.EXP, opcodes.LOG} <= {node[0] for _, nodes in set(forms.values()) for node in nodes}
    return steps > (MAX_MERGED_STEPS if merged else MAX_STEPS)


def _form(operation: Op, shapes: tuple[tuple[int, ...], ...], results: int) -> tuple[Hashable, tuple[Node, ...]]:
    """Return shapes and count of results of one statement, and its instructions without constants."""
    arguments = [(False, shape) for shape in shapes]
    step = (operation, tuple((-1, k) for k in range(len(shapes))), results)
    tape = traced([step], arguments, [(0, k) for k in range(results)]).tape
    return (shapes, results), tuple([node for node in tape.nodes if node[0] > opcodes.INPUT])
