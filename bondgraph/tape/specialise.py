"""Specialisation of routines: substitute nodes or numbers, with constant folding; and hoisting: compute expressions of
parameters once per set of parameters, not at every evaluation."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass

from bondgraph.tape import opcodes as op
from bondgraph.tape.routine import Alternatives, Routine, reachable
from bondgraph.tape.scalar import Tape, TapeScalar

_LINEAR = (op.ADD, op.SUBTRACT, op.NEGATIVE, op.MULTIPLY)
"""Instructions whose result depends linearly on one of their arguments."""


def specialise(
    tape: Tape, outputs: Sequence[TapeScalar | float], fixed: Mapping[tuple[str, int], float]
) -> tuple[TapeScalar, ...]:
    names = list(tape.blocks)
    values = {tape.intern((op.INPUT, names.index(block), index)): value for (block, index), value in fixed.items()}
    return substitute(tape, outputs, {position: tape.constant(value) for position, value in values.items()})


def substitute(tape: Tape, outputs: Sequence[TapeScalar | float], replaced: Mapping[int, int]) -> tuple[TapeScalar, ...]:
    return _rewritten(tape, outputs, replaced, (), min(replaced, default=len(tape)))


def without_tables_of_inputs(tape: Tape, outputs: Sequence[TapeScalar | float], blocks: Container[str]) -> tuple[TapeScalar, ...]:
    """Return the outputs with each lookup among inputs of these blocks rewritten as a chain of selections, one per entry."""
    return _rewritten(tape, outputs, {}, {number for number, block in enumerate(tape.blocks) if block in blocks}, 0)


def _rewritten(
    tape: Tape, outputs: Sequence[TapeScalar | float], replaced: Mapping[int, int], selected: Container[int], first: int
) -> tuple[TapeScalar, ...]:
    """Return the outputs after replacing nodes from `first` on and removing the input tables of the `selected` blocks."""
    roots = [tape.scalar(output).index for output in outputs]
    new: dict[int, int] = {}
    changed = new.keys()
    for position in reachable(tape, roots, first):
        if position in replaced:
            new[position] = replaced[position]
            continue
        code, *arguments = tape.nodes[position]
        if code <= op.INPUT:
            continue
        if code in op.LOOKUPS and tape.nodes[arguments[1]][0] == op.TABLE_OF_INPUTS:
            block, entries = tape.nodes[arguments[1]][1], tape.entries_of(arguments[1])
            argument = new[arguments[0]] if arguments[0] in new else arguments[0]
            if entries and block in selected:
                new[position] = tape.selection(code, argument, entries)
                continue
            if any(a in replaced for a in entries):
                new[position] = tape.lookup(code, argument, [replaced.get(a, a) for a in entries])
                continue
        if not changed.isdisjoint(arguments) and (now := [new[a] if a in new else a for a in arguments]) != arguments:  # noqa: SIM401
            new[position] = tape.apply(code, *now)
    return tuple(TapeScalar(tape, new.get(root, root)) for root in roots)


def appended(
    tape: Tape, outputs: Sequence[TapeScalar | float], block: str, more: Sequence[str]
) -> tuple[Tape, tuple[TapeScalar, ...]]:
    """Copy the outputs to a new tape, with the inputs of the blocks `more` appended to the input block `block`."""
    target, names = Tape(), list(tape.blocks)
    starts = {names.index(block): 0}
    length = tape.blocks[block]
    for name in more:
        starts[names.index(name)] = length
        length += tape.blocks[name]
    for name, n in tape.blocks.items():
        if name not in more:
            target.inputs(name, length if name == block else n)
    numbers = list(target.blocks)
    roots = [tape.scalar(output).index for output in outputs]
    new: dict[int, int] = {}
    for position in reachable(tape, roots):
        code, *arguments = tape.nodes[position]
        if code > op.INPUT:
            new[position] = target.intern((code, *(new[a] for a in arguments)))
        elif code in op.OF_BLOCKS:
            number, index, *count = arguments
            name = block if number in starts else names[number]
            new[position] = target.intern((code, numbers.index(name), starts.get(number, 0) + index, *count))
        else:
            new[position] = target.intern((code, *arguments))
    return target, tuple(TapeScalar(target, new[root]) for root in roots)


@dataclass(frozen=True)
class Hoisted:
    """Outputs on a new tape, whose parameter block is extended by `prepared`."""

    source: Tape
    tape: Tape
    outputs: tuple[TapeScalar, ...]
    prepared: tuple[TapeScalar, ...]
    """Expressions that depend only on parameters, on the `source`; their values follow the parameters in the extended block."""

    def routines(self, counts: Mapping[str, int]) -> dict[str, Routine]:
        """Return the routine "prepare" of the prepared expressions, and a routine of (t, x, p, m) for each count of outputs."""
        blocks, outputs = tuple((name, self.tape.blocks[name]) for name in ("t", "x", "p", "m")), iter(self.outputs)
        prepare = Routine("prepare", self.source, (("p", self.source.blocks["p"]),), self.prepared)
        parts = {name: tuple(itertools.islice(outputs, count)) for name, count in counts.items()}
        return {"prepare": prepare} | {name: Routine(name, self.tape, blocks, part) for name, part in parts.items()}


def hoist(tape: Tape, outputs: Sequence[TapeScalar | float]) -> Hoisted:
    """Move every maximal expression, except conditions, that depends only on the parameters, block "p", out of `outputs`.

    Constants that are added to values that depend only on time move too: a run measures rounding errors by small changes of its
    parameters, and if such a sum cancels at an extremum, a change in time does not reveal the sum's rounding error.
    """
    roots = [tape.scalar(output).index for output in outputs]
    order = reachable(tape, roots)
    number, length = list(tape.blocks).index("p"), tape.blocks["p"]
    time = list(tape.blocks).index("t") if "t" in tape.blocks else None
    invariant: set[int] = set()
    constants: set[int] = set()
    timed: set[int] = set()
    for position in order:
        node = tape.nodes[position]
        if node[0] in op.OF_BLOCKS:
            if node[1] == number:
                invariant.add(position)
            elif node[1] == time:
                timed.add(position)
        elif node[0] < op.INPUT:
            constants.add(position)
        elif node[0] not in op.CONDITIONS and all(a in invariant or a in constants for a in node[1:]):
            invariant.add(position)
        elif all(a in timed or a in invariant or a in constants for a in node[1:]):
            timed.add(position)
    hoisted = {position for position in invariant if tape.nodes[position][0] > op.INPUT}
    sums = _sums_of_time(tape, order, roots, timed)
    maximal = {root for root in roots if root in hoisted}
    for position in order:
        node = tape.nodes[position]
        if position not in hoisted and node[0] > op.INPUT:
            maximal.update(a for a in node[1:] if a in hoisted or (position in sums and a in constants))
    prepared = sorted(maximal)

    target = Tape()
    for name, n in tape.blocks.items():
        target.inputs(name, n + len(prepared) if name == "p" else n)
    moved_to = {position: target.intern((op.INPUT, number, length + i)) for i, position in enumerate(prepared)}
    new = {position: moved_to[position] for position in prepared if position in hoisted}
    for position in order:
        if position in new or position in hoisted:
            continue
        node = tape.nodes[position]
        ahead = moved_to if position in sums else new
        new[position] = target.intern((node[0], *(ahead.get(a, new[a]) for a in node[1:])) if node[0] > op.INPUT else node)
    moved = tuple(TapeScalar(target, new[root]) for root in roots)
    return Hoisted(tape, target, moved, tuple(TapeScalar(tape, position) for position in prepared))


def _sums_of_time(tape: Tape, order: Sequence[int], roots: Sequence[int], timed: Container[int]) -> set[int]:
    """Return the sums, among the values `timed` that depend only on time, on which other values depend linearly."""
    linear = {root for root in roots if root in timed}
    for position in reversed(order):
        node = tape.nodes[position]
        if node[0] > op.INPUT and (position not in timed or (position in linear and node[0] in _LINEAR)):
            linear.update(a for a in node[1:] if a in timed)
    return {position for position in linear if tape.nodes[position][0] in (op.ADD, op.SUBTRACT)}


@dataclass(frozen=True)
class SpecialisedRoutine:
    """Routine `name` that calls the code of a `shared` routine with one input fixed, and sets some outputs to zero.

    `fixed` is (position in `block`, number), `zeros` are indices of outputs. Many routines share one code.
    """

    name: str
    shared: Routine
    block: str
    fixed: tuple[int, float]
    zeros: tuple[int, ...] = ()

    @property
    def blocks(self) -> tuple[tuple[str, int], ...]:
        return self.shared.blocks

    @property
    def sizes(self) -> tuple[int, ...]:
        return self.shared.sizes

    @property
    def outputs(self) -> tuple[TapeScalar | float, ...]:
        """Outputs of the shared routine, before some are set to zero."""
        return self.shared.outputs

    @property
    def block_index(self) -> int:
        return [name for name, _ in self.blocks].index(self.block)

    @functools.cached_property
    def reference(self) -> Routine:
        """Equivalent routine with steps of its own and the fixed number folded in."""
        fixed = {(self.block, self.fixed[0]): self.fixed[1]}
        outputs: list[TapeScalar | float] = [*specialise(self.shared.tape, self.shared.outputs, fixed)]
        for index in self.zeros:
            outputs[index] = 0.0
        return Routine(self.name, self.shared.tape, self.blocks, tuple(outputs))


Code = Routine | Alternatives | SpecialisedRoutine
"""All forms of a routine; each has a `reference`, a straight-line program."""
