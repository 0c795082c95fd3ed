"""Self-contained routines of t, x, the user's parameters and m, with the steps of `prepare` that they need."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bondgraph.compile.compiled import Compiled
from bondgraph.compile.pipeline import Compilable, compiled_form
from bondgraph.errors import refusal
from bondgraph.export.code.content import BLOCKS
from bondgraph.tape import opcodes as op
from bondgraph.tape.nodes import table_values
from bondgraph.tape.routine import Listing, Routine, listing
from bondgraph.tape.scalar import Tape, TapeScalar
from bondgraph.tracing.routines import trace
from screws.names import similar_names


@dataclass(frozen=True)
class SelfContained:
    """Routine of a model that includes the steps of `prepare` that it needs; `sizes` are the lengths of t, x, the user's
    parameters and m."""

    name: str
    compiled: Compiled
    sizes: tuple[int, ...]
    steps: Listing

    def on_tape(self) -> Routine:
        tape = Tape()
        for block, size in zip(BLOCKS, self.sizes, strict=True):
            tape.inputs(block, size)
        new: list[int] = []
        for step in self.steps.steps:
            is_leaf = step[0] <= op.INPUT
            new.append(tape.intern(step) if is_leaf else tape.apply(step[0], *(new[a] for a in step[1:])))
        outputs = tuple(TapeScalar(tape, new[output]) for output in self.steps.outputs)
        return Routine(self.name, tape, tuple(zip(BLOCKS, self.sizes, strict=True)), outputs)


def self_contained(model: Compilable, name: str, caller: str) -> SelfContained:
    """Return a routine of `straight_lines` with the steps of `prepare` that it needs. Raises `ModelError` E660 if the model has
    no routine of this name."""
    compiled = compiled_form(model, caller)
    routines = trace(compiled.system)[0]
    names = [word for word in routines if word != "prepare"]
    if name not in names:
        raise refusal(
            "E660",
            f'{caller}: the model has no routine "{name}"',
            *(f'routine="{word}"' for word in similar_names(name, names, most=1)),
            about=compiled.model.name,
            why=f"it has {', '.join(names)}",
        )
    ((_, parameters),) = routines["prepare"].blocks
    blocks = dict(routines[name].blocks) | {"p": parameters}
    steps = with_prepare(listing(routines["prepare"].reference), listing(routines[name].reference), parameters)
    return SelfContained(name, compiled, tuple(blocks[block] for block in BLOCKS), steps)


def evaluate_steps(code: Listing, blocks: Sequence[Any], forms: Mapping[str, Callable[..., Any]]) -> list[Any]:
    values: list[Any] = []
    for kind, *arguments in code.steps:
        if kind == op.CONSTANT:
            values.append(arguments[0])
        elif kind == op.INPUT:
            values.append(blocks[arguments[0]][arguments[1]])
        elif kind == op.TABLE:
            values.append(table_values((kind, *arguments)).tolist())
        elif kind == op.TABLE_OF_INPUTS:
            block, first, count = arguments
            values.append([blocks[block][k] for k in range(first, first + count)])
        else:
            values.append(forms[op.NAMES[kind]](*(values[a] for a in arguments)))
    return [values[output] for output in code.outputs]


def with_prepare(prepare: Listing, routine: Listing, parameter_count: int) -> Listing:
    p = BLOCKS.index("p")
    added = {
        step[2] - parameter_count for step in routine.steps if step[0] == op.INPUT and step[1] == p and step[2] >= parameter_count
    }
    needed: set[int] = set()
    stack = [prepare.outputs[index] for index in added]
    while stack:
        position = stack.pop()
        if position not in needed:
            needed.add(position)
            stack += prepare.steps[position][1:] if prepare.steps[position][0] > op.INPUT else ()
    steps: list[Any] = []
    position_of: dict[int, int] = {}
    for position in sorted(needed):
        code, *arguments = prepare.steps[position]
        position_of[position] = len(steps)
        if code in op.OF_BLOCKS:
            steps.append((code, p, *arguments[1:]))
        else:
            steps.append((code, *(arguments if code < op.INPUT else [position_of[a] for a in arguments])))
    positions: list[int] = []
    for code, *arguments in routine.steps:
        if code == op.INPUT and arguments[0] == p and arguments[1] >= parameter_count:
            positions.append(position_of[prepare.outputs[arguments[1] - parameter_count]])
            continue
        positions.append(len(steps))
        steps.append((code, *(arguments if code <= op.INPUT else [positions[a] for a in arguments])))
    return Listing(tuple(steps), tuple(positions[output] for output in routine.outputs))
