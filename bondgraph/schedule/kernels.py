"""Kernels of groups of statements: trace once, split off the part that depends only on parameters, differentiate once, and merge
kernels that differ only in constants."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from bondgraph.assembly.formula_keys import formula_key
from bondgraph.assembly.system import System
from bondgraph.model.ops import TIME_DERIVATIVE, Op
from bondgraph.schedule.calls import Kind
from bondgraph.tape import opcodes
from bondgraph.tape.differentiate import jacobian
from bondgraph.tape.nodes import Node
from bondgraph.tape.routine import Listing, Routine, listing
from bondgraph.tape.scalar import Tape, TapeScalar
from bondgraph.tape.specialise import hoist, without_tables_of_inputs

CONSTANT, FIXED, VARYING = 0, 1, 2


@dataclass(frozen=True, eq=False)
class Split:
    """A kernel in two parts.

    `prepare` reads the arguments that are parameters and computes scalars; `main` reads the varying arguments `reads` and then
    those scalars. `results[i]` is the source of output `i`: `(CONSTANT, number)`, `(FIXED, scalar of prepare)` or `(VARYING,
    result of main)`.
    """

    prepare: Kind | None
    main: Kind | None
    reads: tuple[int, ...]
    results: tuple[tuple[int, float], ...]


@dataclass(frozen=True, eq=False)
class TracedGroup:
    """A group of statements on its own tape, with blocks `v` of varying arguments and `p` of parameters."""

    tape: Tape
    varying: tuple[int, ...]
    fixed: tuple[int, ...]
    outputs: tuple[TapeScalar | float, ...]
    sizes: tuple[int, ...]
    slopes: dict[tuple[bool, ...], tuple[tuple[tuple[int, int, int], ...], Split]] = field(default_factory=dict)

    @cached_property
    def value(self) -> Split:
        return split(self, self.outputs, self.sizes)

    def derivative(self, active: tuple[bool, ...]) -> tuple[tuple[tuple[int, int, int], ...], Split]:
        """Return (output, argument, component) of each local derivative with respect to active varying arguments, and their
        kernel."""
        if active not in self.slopes:
            inputs = self.tape.inputs("v", sum(self.varying))
            components = _components(self.varying)
            chosen = [number for number, (k, _) in enumerate(components) if active[k]]
            J = jacobian(self.outputs, [inputs[number] for number in chosen])
            entries = tuple((row, *components[chosen[column]]) for row, column in zip(J.rows, J.columns, strict=True))
            self.slopes[active] = entries, split(self, J.values, None)
        return self.slopes[active]


def split(traced: TracedGroup, outputs: Sequence[TapeScalar | float], sizes: tuple[int, ...] | None) -> Split:
    """Split off the expressions that depend only on parameters.

    With `sizes`, all outputs are results of `main`, cut into these sizes; without `sizes`, the results of `main` are the outputs
    that vary, each as a separate result.
    """
    tape, n_v, n_p = traced.tape, sum(traced.varying), sum(traced.fixed)
    hoisted = hoist(tape, without_tables_of_inputs(tape, outputs, {"p"}))
    block = list(tape.blocks).index("p")
    results: list[tuple[int, float]] = []
    kept: list[TapeScalar] = []
    prepared: dict[int, int] = {}
    for output in hoisted.outputs:
        node = hoisted.tape.nodes[output.index]
        if sizes is None and node[0] == opcodes.CONSTANT:
            results.append((CONSTANT, node[1]))
        elif sizes is None and node[:2] == (opcodes.INPUT, block):
            results.append((FIXED, prepared.setdefault(node[2], len(prepared))))
        else:
            results.append((VARYING, len(kept)))
            kept.append(output)
    blocks = (("v", n_v), ("p", hoisted.tape.blocks["p"]))
    straight = listing(Routine("main", hoisted.tape, blocks, tuple(kept)))
    inputs = [step for step in straight.steps if step[0] in opcodes.OF_BLOCKS]
    for step in inputs:
        if step[1] == 1:
            prepared.setdefault(step[2], len(prepared))
    components = _components(traced.varying)
    reads = tuple(sorted({components[step[2]][0] for step in inputs if step[1] == 0}))
    position = {argument: k for k, argument in enumerate(reads)}
    main = prepare = None
    if kept:

        def component_of(block: int, k: int) -> tuple[int, int]:
            return (len(reads) + prepared[k], 0) if block else (position[components[k][0]], components[k][1])

        main = readdress(straight, component_of, sizes or (1,) * len(kept))
    if prepared:
        parameters = tape.inputs("p", n_p)
        scalars = tuple(parameters[k] if k < n_p else hoisted.prepared[k - n_p] for k in prepared)
        program, of_parameters = listing(Routine("prepare", tape, (("p", n_p),), scalars)), _components(traced.fixed)
        prepare = readdress(program, lambda _, k: of_parameters[k], (1,) * len(prepared))
    return Split(prepare, main, reads, tuple(results))


def readdress(program: Listing, component_of: Callable[[int, int], tuple[int, int]], sizes: tuple[int, ...]) -> Kind:
    """Return a kernel with the steps of a program, whose input (block, k) becomes (argument, component) by `component_of`."""
    steps = tuple(
        (step[0], *component_of(*step[1:3]), *step[3:]) if step[0] in opcodes.OF_BLOCKS else step for step in program.steps
    )
    return Kind(Listing(steps, program.outputs), sizes)


def _components(sizes: tuple[int, ...]) -> list[tuple[int, int]]:
    return [(k, j) for k, size in enumerate(sizes) for j in range(size)]


def trace_group(
    steps: Sequence[tuple[Any, tuple[tuple[int, int], ...], int]],
    arguments: Sequence[tuple[bool, tuple[int, ...]]],
    stores: Sequence[tuple[int, int]],
) -> TracedGroup:
    """Trace a group of statements on a tape.

    Parameters
    ----------
    steps : (operation, arguments, number of results); an argument is (-1, k), the group's argument k, or (step, result).
    arguments : for each, True if it depends only on parameters, and its shape.
    stores : (step, result) of each result of the group.
    """
    tape = Tape()
    sizes = {kind: tuple(int(np.prod(s)) for fixed, s in arguments if fixed is kind) for kind in (False, True)}
    blocks = {False: tape.inputs("v", sum(sizes[False])), True: tape.inputs("p", sum(sizes[True]))}
    starts = {kind: iter([0, *itertools.accumulate(sizes[kind])]) for kind in sizes}
    values: dict[tuple[int, int], Any] = {}
    for k, (fixed, shape) in enumerate(arguments):
        start = next(starts[fixed])
        flat = blocks[fixed][start : start + int(np.prod(shape))]
        values[-1, k] = flat.reshape(shape) if shape else flat[0]
    for number, (operation, operands, count) in enumerate(steps):
        results = operation(*[values[operand] for operand in operands])
        for k, result in enumerate((results,) if count == 1 else results):
            values[number, k] = result
    outputs: list[Any] = []
    cut = []
    for store in stores:
        value = values[store]
        flat_value = list(np.asarray(value).flat) if np.ndim(value) else [value]
        outputs += flat_value
        cut.append(len(flat_value))
    return TracedGroup(tape, sizes[False], sizes[True], tuple(outputs), tuple(cut))


MIN_MERGED_KERNELS = 8
"""Minimum number of kernels that one merged kernel replaces."""


class Substitute(NamedTuple):
    """Replacement of a kernel, and the constants that it takes after the parameters of that kernel."""

    traced: TracedGroup
    numbers: tuple[float, ...]


def merge_kernels(kernels: Iterable[TracedGroup]) -> dict[TracedGroup, Substitute]:
    """Return substitutes for kernels that differ from many other kernels only in constants, which become arguments like
    parameters.

    A formula may hold a constant of its own, as `lambda t, w=w: sin(w * t)` does in a loop over sections. Each such formula
    is traced separately, which yields the same steps with other constants.
    """
    by_form: dict[Hashable, list[TracedGroup]] = {}
    for kernel in dict.fromkeys(kernels):
        by_form.setdefault(_form(kernel), []).append(kernel)
    substitutes: dict[TracedGroup, Substitute] = {}
    for members in by_form.values():
        if len(members) >= MIN_MERGED_KERNELS:
            positions = _differing([kernel.tape.nodes for kernel in members])
            merged = _with_arguments(members[0], positions)
            for kernel in members:
                substitutes[kernel] = Substitute(merged, tuple([kernel.tape.nodes[position][1] for position in positions]))
    return substitutes


def _form(kernel: TracedGroup) -> Hashable:
    outputs = tuple([kernel.tape.scalar(output).index for output in kernel.outputs])
    nodes = tuple([node if node[0] != opcodes.CONSTANT else opcodes.CONSTANT for node in kernel.tape.nodes])
    return kernel.varying, kernel.fixed, kernel.sizes, outputs, nodes


def _differing(tapes: Sequence[Sequence[tuple[float, ...]]]) -> list[int]:
    numbers = [position for position, node in enumerate(tapes[0]) if node[0] == opcodes.CONSTANT]
    return [position for position in numbers if len({nodes[position][1] for nodes in tapes}) > 1]


def _with_arguments(kernel: TracedGroup, positions: Sequence[int]) -> TracedGroup:
    tape, count = Tape(), sum(kernel.fixed)
    for name, length in kernel.tape.blocks.items():
        tape.inputs(name, length + len(positions) if name == "p" else length)
    block = list(tape.blocks).index("p")
    new = {position: tape.intern((opcodes.INPUT, block, count + k)) for k, position in enumerate(positions)}
    for position, node in enumerate(kernel.tape.nodes):
        if position not in new:
            new[position] = tape.intern((node[0], *(new[a] for a in node[1:])) if node[0] > opcodes.INPUT else node)
    outputs = tuple([TapeScalar(tape, new[kernel.tape.scalar(output).index]) for output in kernel.outputs])
    return TracedGroup(tape, kernel.varying, (*kernel.fixed, *[1] * len(positions)), outputs, kernel.sizes)


MIN_REPETITION = 4
"""Minimum number of statements per kind at which loops pay off; kinds that differ only in constants count as one."""

MIN_STATEMENTS = 2000
"""Minimum number of statements for merging kinds that differ only in constants, which requires tracing each kind."""

MAX_STEPS = 3000
"""Maximum number of steps for straight-line code, which up to this length is slightly faster than loops and compiles quickly."""

MAX_MERGED_STEPS = 60_000
"""Maximum number of steps of straight-line code with both logarithms and exponentials, as for species and reactions: on one
tape they become products (`tape.nodes`)."""


def is_large(system: System) -> bool:
    """Return True if loops over shared kernels are better than straight-line code, without tracing all statements."""
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
"""Operation, shapes of the arguments, and number of results."""


def loops_are_better(kinds: Mapping[KindOfStatement, int]) -> bool:
    statements = sum(kinds.values())
    if statements < min(MIN_REPETITION * len(kinds), MIN_STATEMENTS):
        return False
    forms = {kind: _operation_form(*kind) for kind in kinds}
    if statements < MIN_REPETITION * len(set(forms.values())):
        return False
    steps = sum(count * len(forms[kind][1]) for kind, count in kinds.items())
    merged = {opcodes.EXP, opcodes.LOG} <= {node[0] for _, nodes in set(forms.values()) for node in nodes}
    return steps > (MAX_MERGED_STEPS if merged else MAX_STEPS)


def _operation_form(operation: Op, shapes: tuple[tuple[int, ...], ...], results: int) -> tuple[Hashable, tuple[Node, ...]]:
    arguments = [(False, shape) for shape in shapes]
    step = (operation, tuple((-1, k) for k in range(len(shapes))), results)
    tape = trace_group([step], arguments, [(0, k) for k in range(results)]).tape
    return (shapes, results), tuple([node for node in tape.nodes if node[0] > opcodes.INPUT])
