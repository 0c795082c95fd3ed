"""Size of a model: a system in; whether loops over shared kernels are better for it than straight-line code, out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable

from bondgraph.assembly.identity import formula_key
from bondgraph.assembly.system import System
from bondgraph.model.ops import TIME_DERIVATIVE, Op
from bondgraph.schedule.kernels import traced
from bondgraph.tape import opcodes

REPEATED = 4
"""Statements per kind of statement from which loops are worth it."""

LONG = 3000
"""Steps of straight-line code up to which it is kept: it is a little faster, and compiles in no time."""


def is_large(system: System) -> bool:
    """Whether loops over shared kernels are better than straight-line code, without tracing all of it.

    One statement of each kind is traced and its steps are counted.
    """
    if system.loops or system.unknowns or any(s.op is TIME_DERIVATIVE for s in system.statements):
        return False  # implicit equations are solved on the tape
    if any(value.shape is None for value in system.values.values()):
        return False
    shapes = {name: value.shape or () for name, value in system.values.items()}
    known: dict[int, Op] = {}
    first: dict[Hashable, Op] = {}
    kinds: Counter[tuple[Op, tuple[tuple[int, ...], ...], int]] = Counter()
    for s in system.statements:
        op = known.get(id(s.op))
        if op is None:
            op = known[id(s.op)] = first.setdefault(formula_key(s.op), s.op)
        kinds[op, tuple([shapes[arg] for arg in s.args]), len(s.outs)] += 1
    if len(system.statements) < REPEATED * len(kinds):
        return False
    return sum(count * _steps(*kind) for kind, count in kinds.items()) > LONG


def _steps(operation: Op, shapes: tuple[tuple[int, ...], ...], results: int) -> int:
    """Operations of one statement."""
    arguments = [(False, shape) for shape in shapes]
    step = (operation, tuple((-1, k) for k in range(len(shapes))), results)
    tape = traced([step], arguments, [(0, k) for k in range(results)]).tape
    return sum(node[0] > opcodes.INPUT for node in tape.nodes)
