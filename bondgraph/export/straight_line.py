"""Straight-line code: a compiled model in; the steps of its routines, to be written in a language of one's own, out."""

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
    """One routine without branches: each step is an operation on numbers that are known by then.

    Parameters
    ----------
    blocks : its arguments, each a name and a length: t (s), states x, parameters p with what `prepare` made of them, modes m.
    steps : (operation, arguments): ("constant", value), ("input", block, place), else a name of `OPERATIONS` with the places of
        its arguments among the steps.
    outputs : places of the results among the steps.
    """

    blocks: tuple[tuple[str, int], ...]
    steps: tuple[tuple[Any, ...], ...]
    outputs: tuple[int, ...]


def straight_lines(model: Compilable) -> dict[str, StraightLine]:
    """The routines of a model by name: `prepare` (p alone -> what stands behind the parameters), `rates`, `outputs`, `guards`,
    `powers`, `energies`, the nonzeros of the `jacobian`, of each event k what it resets (`reset_k`, `push_k`), and x after a tick
    of each clock that changes states (`tick_k`, in the order in which those that are due together tick).

    Raises `ModelError` E100 for what is no model, and what compiling finds.
    """
    found = {}
    for name, routine in trace(compiled_form(model, "straight_lines").system)[0].items():
        code = listing(routine.reference)
        steps = tuple((OPERATIONS[step[0]].name, *step[1:]) for step in code.steps)
        found[name] = StraightLine(routine.blocks, steps, code.outputs)
    return found
