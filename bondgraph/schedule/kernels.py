"""Groups of statements -> kernels: traced once, split into what parameters alone decide and the rest, differentiated once."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from bondgraph.schedule.calls import Kind
from bondgraph.tape import opcodes as op
from bondgraph.tape.differentiate import jacobian
from bondgraph.tape.routine import Listing, Routine, listing
from bondgraph.tape.scalar import Tape, TapeScalar
from bondgraph.tape.specialise import hoist

CONSTANT, FIXED, VARYING = 0, 1, 2


@dataclass(frozen=True, eq=False)
class Split:
    """A kernel in two parts.

    `prepare` reads the arguments of parameters and gives scalars; `main` reads the varying arguments `reads` and then
    those scalars. `results[i]` says what output `i` is: `(CONSTANT, number)`, `(FIXED, scalar of prepare)` or
    `(VARYING, result of main)`.
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
    """Sizes of the varying arguments."""
    fixed: tuple[int, ...]
    outputs: tuple[TapeScalar | float, ...]
    sizes: tuple[int, ...]
    """How outputs are cut into results."""
    slopes: dict[tuple[bool, ...], tuple[tuple[tuple[int, int, int], ...], Split]] = field(default_factory=dict)

    @cached_property
    def value(self) -> Split:
        """The kernel of the values themselves."""
        return split(self, self.outputs, self.sizes)

    def derivative(self, active: tuple[bool, ...]) -> tuple[tuple[tuple[int, int, int], ...], Split]:
        """Local derivatives by the active varying arguments: (output, argument, its component) of each, and the kernel."""
        if active not in self.slopes:
            inputs = self.tape.inputs("v", sum(self.varying))
            places = [(k, j) for k, size in enumerate(self.varying) for j in range(size)]
            chosen = [number for number, (k, _) in enumerate(places) if active[k]]
            found = jacobian(self.outputs, [inputs[number] for number in chosen])
            where = tuple((row, *places[chosen[column]]) for row, column in zip(found.rows, found.columns, strict=True))
            self.slopes[active] = where, split(self, found.values, None)
        return self.slopes[active]


def split(traced: TracedGroup, outputs: Sequence[TapeScalar | float], sizes: tuple[int, ...] | None) -> Split:
    """Separate what parameters alone decide. With `sizes` all outputs are results of `main`, cut so; without, only
    those that vary are, one by one."""
    tape, n_v, n_p = traced.tape, sum(traced.varying), sum(traced.fixed)
    hoisted = hoist(tape, outputs)
    block = list(tape.blocks).index("p")
    results: list[tuple[int, float]] = []
    kept: list[TapeScalar] = []
    wanted: dict[int, int] = {}
    for output in hoisted.outputs:
        node = hoisted.tape.nodes[output.index]
        if sizes is None and node[0] == op.CONSTANT:
            results.append((CONSTANT, node[1]))
        elif sizes is None and node[:2] == (op.INPUT, block):
            results.append((FIXED, wanted.setdefault(node[2], len(wanted))))
        else:
            results.append((VARYING, len(kept)))
            kept.append(output)
    blocks = (("v", n_v), ("p", hoisted.tape.blocks["p"]))
    straight = listing(Routine("main", hoisted.tape, blocks, tuple(kept)))
    inputs = [step for step in straight.steps if step[0] == op.INPUT]
    for step in inputs:
        if step[1] == 1:
            wanted.setdefault(step[2], len(wanted))
    places = _places(traced.varying)
    reads = tuple(sorted({places[step[2]][0] for step in inputs if step[1] == 0}))
    position = {argument: k for k, argument in enumerate(reads)}
    main = prepare = None
    if kept:

        def place(block: int, k: int) -> tuple[int, int]:
            return (len(reads) + wanted[k], 0) if block else (position[places[k][0]], places[k][1])

        main = readdressed(straight, place, sizes or (1,) * len(kept))
    if wanted:
        given = tape.inputs("p", n_p)
        scalars = tuple(given[k] if k < n_p else hoisted.prepared[k - n_p] for k in wanted)
        before, where = listing(Routine("prepare", tape, (("p", n_p),), scalars)), _places(traced.fixed)
        prepare = readdressed(before, lambda _, k: where[k], (1,) * len(wanted))
    return Split(prepare, main, reads, tuple(results))


def readdressed(program: Listing, place: Callable[[int, int], tuple[int, int]], sizes: tuple[int, ...]) -> Kind:
    """A kernel of the same steps, whose input (block, k) is the component of an argument that `place` says."""
    steps = tuple((op.INPUT, *place(*step[1:])) if step[0] == op.INPUT else step for step in program.steps)
    return Kind(Listing(steps, program.outputs), sizes)


def _places(sizes: tuple[int, ...]) -> list[tuple[int, int]]:
    return [(k, j) for k, size in enumerate(sizes) for j in range(size)]


def traced(
    steps: Sequence[tuple[Any, tuple[tuple[int, int], ...], int]],
    arguments: Sequence[tuple[bool, tuple[int, ...]]],
    stores: Sequence[tuple[int, int]],
) -> TracedGroup:
    """Run a group of statements on a tape.

    Parameters
    ----------
    steps : (operation, arguments, count of results); an argument is (-1, k), the group's argument k, or (step, result).
    arguments : whether it is of parameters alone, and its shape.
    stores : (step, result) of what the group gives.
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
    for number, (operation, given, count) in enumerate(steps):
        found = operation(*[values[argument] for argument in given])
        for k, result in enumerate((found,) if count == 1 else found):
            values[number, k] = result
    outputs: list[Any] = []
    cut = []
    for store in stores:
        value = values[store]
        flat_value = list(np.asarray(value).flat) if np.ndim(value) else [value]
        outputs += flat_value
        cut.append(len(flat_value))
    return TracedGroup(tape, sizes[False], sizes[True], tuple(outputs), tuple(cut))
