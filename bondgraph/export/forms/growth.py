"""Growth: how long the results of one formula become as expressions, where nothing that occurs twice is shared."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bondgraph.assembly.system import System
from bondgraph.errors import ModelError, refusal
from bondgraph.model.ops import Op
from bondgraph.tape import opcodes
from bondgraph.tape.scalar import Tape
from bondgraph.tracing.on_tape.values import scalars_of, shaped


def written_out(formula: Op, arguments: Sequence[Any]) -> int:
    """Operations in all results of formula(*arguments) on SymPy expressions, found without making them.

    The formula runs on a tape, where equal parts are stored once, so that even results beyond all bounds are soon counted.
    """
    import sympy

    tape, lengths = Tape(), list[int]()
    given = []
    for number, argument in enumerate(arguments):
        scalars = [sympy.S(scalar) for scalar in scalars_of(argument)]
        places = tape.inputs(f"a{number}", len(scalars))
        taken = [place if s.free_symbols else float(s) for place, s in zip(places, scalars, strict=True)]
        given.append(shaped(taken, np.shape(argument)))
        lengths += [1 + int(sympy.count_ops(scalar)) for scalar in scalars]
    results = formula(*given)
    several = results if isinstance(results, tuple) else (results,)
    roots = [tape.scalar(scalar).index for result in several for scalar in scalars_of(result)]
    inputs = iter(lengths)
    length: list[int] = []
    for node in tape.nodes:
        if node[0] == opcodes.INPUT:
            length.append(next(inputs))
        else:
            length.append(1 + sum(length[a] for a in node[1:]) if node[0] > opcodes.INPUT else 1)
    return sum(length[root] for root in roots)


def too_large(system: System, what: str, cure: str = "the equations of a part of it") -> ModelError:
    """E272: text for a person to read ends here."""
    cures = ("`bondgraph.export.latex(compiled)`: one line for each statement", cure)
    return refusal("E272", "the model is too large for equations in one piece", *cures, about=system.name, why=what, places=())
