"""Size of a model: a system in; whether loops over shared kernels are better for it than straight-line code, out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping

from bondgraph.assembly.identity import formula_key
from bondgraph.assembly.system import System
from bondgraph.model.ops import TIME_DERIVATIVE, Op
from bondgraph.schedule.kernels import traced
from bondgraph.tape import opcodes
from bondgraph.tape.nodes import Node

REPEATED = 4
"""Statements per kind of statement from which loops are worth it; kinds that differ in numbers alone are one."""

MANY = 2000
"""Statements from which it is asked which kinds differ in numbers alone: each has to be traced for that."""

LONG = 3000
"""Steps of straight-line code up to which it is kept: it is a little faster, and compiles in no time."""

MERGED = 60_000
"""The same where some statements take logarithms and others exponentials, as species and reactions do: on one tape these are
products (`tape.logarithms`), at a sixth of what loops of either cost."""


def is_large(system: System) -> bool:
    """Whether loops over shared kernels are better than straight-line code, without tracing all of it.

    One statement of each kind is traced and its steps are counted.
    """
    if system.loops or system.unknowns or any(s.op is TIME_DERIVATIVE for s in system.statements):
        return False  # implicit equations are solved on the tape
    values = system.values
    alike = Counter([(id(s.op), tuple([id(values[arg]) for arg in s.args]), len(s.outs)) for s in system.statements])
    ops = {id(s.op): s.op for s in system.statements}
    shapes = {id(value): value.shape for value in values.values()}
    if None in shapes.values():
        return False
    first: dict[Hashable, Op] = {}
    same = {known: first.setdefault(formula_key(op), op) for known, op in ops.items()}
    kinds: Counter[KindOfStatement] = Counter()
    for (op, args, results), count in alike.items():
        kinds[same[op], tuple([shapes[arg] or () for arg in args]), results] += count
    return loops_are_better(kinds)


KindOfStatement = tuple[Op, tuple[tuple[int, ...], ...], int]
"""Operation, shapes of the arguments, count of the results."""


def loops_are_better(kinds: Mapping[KindOfStatement, int]) -> bool:
    """The same from how many statements there are of each kind."""
    statements = sum(kinds.values())
    if statements < min(REPEATED * len(kinds), MANY):
        return False
    forms = {kind: _form(*kind) for kind in kinds}
    if statements < REPEATED * len(set(forms.values())):
        return False
    steps = sum(count * len(forms[kind][1]) for kind, count in kinds.items())
    merged = {opcodes.EXP, opcodes.LOG} <= {node[0] for _, own in set(forms.values()) for node in own}
    return steps > (MERGED if merged else LONG)


def _form(operation: Op, shapes: tuple[tuple[int, ...], ...], results: int) -> tuple[Hashable, tuple[Node, ...]]:
    """Shapes and count of results of one statement, and its instructions without their numbers."""
    arguments = [(False, shape) for shape in shapes]
    step = (operation, tuple((-1, k) for k in range(len(shapes))), results)
    tape = traced([step], arguments, [(0, k) for k in range(results)]).tape
    return (shapes, results), tuple([node for node in tape.nodes if node[0] > opcodes.INPUT])
