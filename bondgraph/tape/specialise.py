"""Specialisation: outputs with some nodes replaced by others or by numbers, folded as if they had been traced so; and hoisting:
what depends on parameters only is computed once per set of parameters, not at every evaluation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bondgraph.tape import opcodes as op
from bondgraph.tape.routine import reachable
from bondgraph.tape.scalar import Tape, TapeScalar


def specialise(
    tape: Tape, outputs: Sequence[TapeScalar | float], fixed: Mapping[tuple[str, int], float]
) -> tuple[TapeScalar, ...]:
    """The same outputs, on the same tape, where the inputs `(block, position)` have the given values."""
    names = list(tape.blocks)
    places = {tape.place((op.INPUT, names.index(block), position)): value for (block, position), value in fixed.items()}
    return substitute(tape, outputs, {place: tape.constant(value) for place, value in places.items()})


def substitute(tape: Tape, outputs: Sequence[TapeScalar | float], replaced: Mapping[int, int]) -> tuple[TapeScalar, ...]:
    """The same outputs, on the same tape, with other nodes in place of some: `replaced` maps positions to positions."""
    roots = [tape.scalar(output).index for output in outputs]
    new: dict[int, int] = {}
    for position in reachable(tape, roots, min(replaced, default=len(tape))):
        node = tape.nodes[position]
        if position in replaced:
            new[position] = replaced[position]
        elif node[0] > op.INPUT:
            arguments = tuple([new[a] if a in new else a for a in node[1:]])  # noqa: SIM401
            if arguments != node[1:]:
                new[position] = tape.apply(node[0], *arguments)
    return tuple(TapeScalar(tape, new.get(root, root)) for root in roots)


def appended(
    tape: Tape, outputs: Sequence[TapeScalar | float], block: str, more: Sequence[str]
) -> tuple[Tape, tuple[TapeScalar, ...]]:
    """The same outputs on a new tape whose input block `block` is followed, within it, by the inputs of the blocks `more`."""
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
            new[position] = target.place((code, *(new[a] for a in arguments)))
        elif code == op.INPUT:
            number, place = arguments
            name = block if number in starts else names[number]
            new[position] = target.place((op.INPUT, numbers.index(name), starts.get(number, 0) + place))
        else:
            new[position] = target.place((code, *arguments))
    return target, tuple(TapeScalar(target, new[root]) for root in roots)


@dataclass(frozen=True)
class Hoisted:
    """The same outputs on a new tape whose parameter block is longer by `prepared`."""

    tape: Tape
    outputs: tuple[TapeScalar, ...]
    prepared: tuple[TapeScalar, ...]
    """On the old tape: scalars of the parameters alone; their values follow the parameters in the longer block."""


def hoist(tape: Tape, outputs: Sequence[TapeScalar | float]) -> Hoisted:
    """Move every maximal expression of the parameters, block "p", alone out of `outputs`."""
    roots = [tape.scalar(output).index for output in outputs]
    order = reachable(tape, roots)
    number, length = list(tape.blocks).index("p"), tape.blocks["p"]
    alone: set[int] = set()
    fixed: set[int] = set()
    for position in order:
        node = tape.nodes[position]
        if node[0] == op.CONSTANT:
            fixed.add(position)
        elif node[0] == op.INPUT:
            if node[1] == number:
                alone.add(position)
        elif node[0] not in op.CONDITIONS and all(a in alone or a in fixed for a in node[1:]):
            alone.add(position)
    work = {position for position in alone if tape.nodes[position][0] != op.INPUT}
    wanted = {root for root in roots if root in work}
    for position in order:
        node = tape.nodes[position]
        if position not in work and node[0] > op.INPUT:
            wanted.update(a for a in node[1:] if a in work)
    prepared = sorted(wanted)

    target = Tape()
    for name, n in tape.blocks.items():
        target.inputs(name, n + len(prepared) if name == "p" else n)
    new = {position: target.place((op.INPUT, number, length + i)) for i, position in enumerate(prepared)}
    for position in order:
        if position in new or position in work:
            continue
        node = tape.nodes[position]
        new[position] = target.place((node[0], *(new[a] for a in node[1:])) if node[0] > op.INPUT else node)
    moved = tuple(TapeScalar(target, new[root]) for root in roots)
    return Hoisted(target, moved, tuple(TapeScalar(tape, position) for position in prepared))
