"""Growth: how long the results of one formula become as expressions, where nothing that occurs twice is shared."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bondgraph.model.ops import Op
from bondgraph.tape import opcodes
from bondgraph.tape.routine import reachable
from bondgraph.tape.scalar import Tape
from bondgraph.tracing.on_tape.values import scalars_of, shaped


def written_out(formula: Op, arguments: Sequence[Any]) -> int:
    """Operations in all results of formula(*arguments) on SymPy expressions, found without making them.

    The formula runs on a tape, where equal parts are stored once, so that even results beyond all bounds are soon counted.
    """
    import sympy

    tape, length = Tape(), dict[int, int]()
    given = []
    for number, argument in enumerate(arguments):
        scalars = [sympy.S(scalar) for scalar in scalars_of(argument)]
        places = tape.inputs(f"a{number}", len(scalars))
        taken = [place if s.free_symbols else float(s) for place, s in zip(places, scalars, strict=True)]
        given.append(shaped(taken, np.shape(argument)))
        length |= {place.index: 1 + int(sympy.count_ops(s)) for place, s in zip(places, scalars, strict=True)}
    results = formula(*given)
    several = results if isinstance(results, tuple) else (results,)
    roots = [tape.scalar(scalar).index for result in several for scalar in scalars_of(result)]
    for position in reachable(tape, roots):
        node = tape.nodes[position]
        if node[0] != opcodes.INPUT:
            length[position] = 1 + sum(length[a] for a in node[1:]) if node[0] > opcodes.INPUT else 1
    return sum(length[root] for root in roots)
