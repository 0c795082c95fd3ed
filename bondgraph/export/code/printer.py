"""Printer of straight-line code: one statement for each operation, in the order of the NumPy reference, with identical rounding.

Local variables are v0, v1, ... (numbers) and c0, c1, ... (conditions). A long routine is split into parts that share a
workspace, as in machine code.

`straight_lines` returns the steps of a model's routines, for your own printer.
"""

from __future__ import annotations

import itertools
import math
import textwrap
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from bondgraph.compile.pipeline import Compilable, compiled_form
from bondgraph.emit.fusions import operation_of
from bondgraph.emit.text import workspace_slots
from bondgraph.errors import refusal
from bondgraph.output.short_repr import short_repr
from bondgraph.tape import opcodes as op
from bondgraph.tape.nodes import Node, leaf_length, table_values
from bondgraph.tape.opcodes import OPERATIONS, Operation
from bondgraph.tape.routine import Listing, listing
from bondgraph.tracing.routines import trace

InputText = Callable[[int, int], str]


@dataclass(frozen=True)
class Dialect:
    """Statements of a language.

    Parameters
    ----------
    language : name of the language.
    form : template of an instruction with {x}, {y}, {z}, "" if it has none; a template with {v} is a complete statement.
    number : constant at full precision.
    value, condition : statements that assign {right} to the variable {v}.
    as_number : the condition {c} as the number 1 or 0.
    as_condition : the number {v} as a condition; NaN counts as true, as in NumPy.
    store : the statement that stores {value} in {place}.
    slot : entry k of the workspace.
    table : statement that names a table {v}: from its {numbers}, or from the expression of its first input and its length.
    max_unsplit : maximum number of steps of a routine in one piece.
    part_size : number of steps of each piece of a longer routine.
    continued : end of a line that continues on the next line.
    """

    language: str
    form: Callable[[Operation], str]
    number: Callable[[float], str]
    value: str
    condition: str
    as_number: str
    as_condition: str
    store: str
    slot: Callable[[int], str]
    table: tuple[str, Callable[[str, str, int], str]]
    max_unsplit: int
    part_size: int
    continued: str = ""


def constant(value: float, not_a_number: str, infinity: str) -> str:
    text = not_a_number if math.isnan(value) else infinity if math.isinf(value) else repr(abs(float(value)))
    return f"(-{text})" if math.copysign(1.0, value) < 0 and not math.isnan(value) else text


@dataclass
class _Part:
    dialect: Dialect
    program: Listing
    reading: InputText
    result: Callable[[int], str]
    slots: dict[int, int]
    stores: dict[int, list[int]]
    first: int
    last: int
    lines: list[str] = field(default_factory=list)
    texts: dict[int, str] = field(default_factory=dict)

    def emit(self) -> list[str]:
        store = self.dialect.store
        for position in range(self.first, self.last):
            step = self.program.steps[position]
            if step[0] > op.INPUT:
                self._step(position, step)
            if position in self.slots:
                slot = self.dialect.slot(self.slots[position])
                self.lines.append(store.format(place=slot, value=self.value(position)))
            for k in self.stores.get(position, ()):
                self.lines.append(store.format(place=self.result(k), value=self.value(position)))
        return self.lines

    def value(self, a: int) -> str:
        text = self.texts.get(a)
        if text is None:
            step = self.program.steps[a]
            if step[0] == op.CONSTANT:
                text = self.dialect.number(step[1])
            elif step[0] == op.INPUT:
                text = self.reading(step[1], step[2])
            elif a < self.first:
                text = self.dialect.slot(self.slots[a])
            else:
                text = self.dialect.as_number.format(c=f"c{a}") if step[0] in op.CONDITIONS else f"v{a}"
            self.texts[a] = text
        return text

    def truth(self, a: int) -> str:
        inside = a >= self.first and self.program.steps[a][0] in op.CONDITIONS
        return f"c{a}" if inside else self.dialect.as_condition.format(v=self.value(a))

    def _step(self, v: int, step: Node) -> None:
        operation, dialect = operation_of(step[0]), self.dialect
        length = ""
        if step[0] in op.LOOKUPS:
            operands, length = [self.value(step[1]), self._table(step[2])], str(leaf_length(self.program.steps[step[2]]))
        else:
            operands = [self.truth(a) if k < operation.truths else self.value(a) for k, a in enumerate(step[1:])]
        form = dialect.form(operation)
        if not form:
            title = f'the operation "{operation.name}" has no form in {dialect.language}'
            raise refusal("E271", title, "run the compiled model instead", about=f"{dialect.language} source", places=())
        local = f"c{v}" if operation.is_condition else f"v{v}"
        right = form.format(v=local, n=length, **dict(zip("xyz", operands, strict=False)))
        statement = dialect.condition if operation.is_condition else dialect.value
        self.lines.append(right if "{v}" in form else statement.format(v=local, right=right))

    def _table(self, a: int) -> str:
        name = f"table{a}"
        if a not in self.texts:
            code, first, *rest = self.program.steps[a]
            of_numbers, of_inputs = self.dialect.table
            if code == op.TABLE:
                numbers = ", ".join(map(self.dialect.number, table_values(self.program.steps[a]).tolist()))
                text = of_numbers.format(v=name, numbers=numbers)
                *lines, last = textwrap.wrap(text, 120, break_long_words=False, break_on_hyphens=False)
                self.lines += [*(line + self.dialect.continued for line in lines), last]
            else:
                self.lines.append(of_inputs(name, self.reading(first, rest[0]), rest[1]))
            self.texts[a] = name
        return name


def pieces(dialect: Dialect, program: Listing, reading: InputText, result: Callable[[int], str]) -> tuple[list[list[str]], int]:
    """Return the lines of every part of a routine, and the length of the workspace that they share.

    `result` returns the target of an output. Raises `ModelError` E271 if an operation has no form in the language.
    """
    count = len(program.steps)
    stores: dict[int, list[int]] = {}
    for k, position in enumerate(program.outputs):
        stores.setdefault(position, []).append(k)
    cuts = [0, count] if count <= dialect.max_unsplit else [*range(0, count, dialect.part_size), count]
    slots, size = workspace_slots(program, cuts)
    bodies = [
        _Part(dialect, program, reading, result, slots, stores, first, last).emit() for first, last in itertools.pairwise(cuts)
    ]
    return bodies, size


@short_repr
@dataclass(frozen=True)
class StraightLine:
    """Routine without branches: each step is an operation on the results of earlier steps.

    Parameters
    ----------
    blocks : arguments, each a name and a length: t (s), states x, parameters p with the results of `prepare`, modes m.
    steps : ("constant", value), ("input", block, index), the tables ("table", values) and ("table of inputs", block, first index,
        count), or (name in `OPERATIONS`, step indices of its arguments); the arguments of "searchsorted" and "take" are a number
        and a table.
    outputs : indices of the results among the steps.
    """

    blocks: tuple[tuple[str, int], ...]
    steps: tuple[tuple[Any, ...], ...]
    outputs: tuple[int, ...]


def straight_lines(model: Compilable) -> dict[str, StraightLine]:
    """Return the routines of a model by name: `prepare`, which computes the entries of p after the parameters, `rates`,
    `outputs`, `guards`, `powers`, `energies`, and the nonzeros of the `jacobian`.

    `reset_k` computes x after transition k, and `push_k` the changes of the guards by its impulse, then x without the impulse.
    `tick_k` computes x after a tick of clock k, in the order in which simultaneous ticks are executed, if the clock changes
    states. `newton_k` computes residuals and a Newton step of a nonlinear loop. Other routines serve only the solver.

    Raises `ModelError` E100 if `model` is not a model, E335 for delays, E693 for FMUs, and the errors of compilation.
    """
    routines = {}
    for name, routine in trace(compiled_form(model, "straight_lines").system)[0].items():
        code = listing(routine.reference)
        read = [(op.TABLE, tuple(table_values(step).tolist())) if step[0] == op.TABLE else step for step in code.steps]
        steps = tuple((OPERATIONS[step[0]].name, *step[1:]) for step in read)
        routines[name] = StraightLine(routine.blocks, steps, code.outputs)
    return routines
