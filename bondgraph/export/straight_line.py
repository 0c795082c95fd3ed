"""Straight-line code of a compiled model: the steps of its routines, for a printer of your own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bondgraph.compile.pipeline import Compilable, compiled_form
from bondgraph.output.short_repr import short_repr
from bondgraph.tape.opcodes import OPERATIONS
from bondgraph.tape.routine import listing
from bondgraph.tracing.routines import trace


@short_repr
@dataclass(frozen=True)
class StraightLine:
    """Routine without branches: each step is an operation on results of earlier steps.

    Parameters
    ----------
    blocks : its arguments, each a name and a length: t (s), states x, parameters p with the results of `prepare`, modes m.
    steps : (operation, arguments): ("constant", value), ("input", block, index), the tables ("table", values) and
        ("table of inputs", block, first index, count), else a name of `OPERATIONS` with the indices of its arguments among the
        steps; "searchsorted" and "take" have a number and a table.
    outputs : indices of the results among the steps.
    """

    blocks: tuple[tuple[str, int], ...]
    steps: tuple[tuple[Any, ...], ...]
    outputs: tuple[int, ...]


def straight_lines(model: Compilable) -> dict[str, StraightLine]:
    """Return the routines of a model by name: `prepare` (p alone -> the numbers behind the parameters), `rates`, `outputs`,
    `guards`, `powers`, `energies`, the nonzeros of the `jacobian`, the resets of each event k (`reset_k`, `push_k`), and x after
    a tick of each clock that changes states (`tick_k`, in the order in which simultaneous ticks are executed).

    Raises `ModelError` E100 for no model, and the errors of compilation.
    """
    routines = {}
    for name, routine in trace(compiled_form(model, "straight_lines").system)[0].items():
        code = listing(routine.reference)
        steps = tuple((OPERATIONS[step[0]].name, *step[1:]) for step in code.steps)
        routines[name] = StraightLine(routine.blocks, steps, code.outputs)
    return routines
