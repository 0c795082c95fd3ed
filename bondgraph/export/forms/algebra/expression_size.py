"""Expression size: the number of operations of a formula's results if nothing is shared."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bondgraph.model.ops import Op
from bondgraph.tape import opcodes
from bondgraph.tape.routine import reachable
from bondgraph.tape.scalar import Tape
from bondgraph.tracing.on_tape.values import scalars_of, shaped


def expression_size(formula: Op, arguments: Sequence[Any]) -> int:
    """Return the number of operations in all results of formula(*arguments) on SymPy expressions, without creating them.

    The formula runs on a tape, where equal parts are stored once, so that even huge results are counted quickly.
    """
    import sympy

    tape, length = Tape(), dict[int, int]()
    values = []
    for number, argument in enumerate(arguments):
        scalars = [sympy.S(scalar) for scalar in scalars_of(argument)]
        inputs = tape.inputs(f"a{number}", len(scalars))
        operands = [leaf if s.free_symbols else float(s) for leaf, s in zip(inputs, scalars, strict=True)]
        values.append(shaped(operands, np.shape(argument)))
        length |= {leaf.index: 1 + int(sympy.count_ops(s)) for leaf, s in zip(inputs, scalars, strict=True)}
    results = formula(*values)
    all_results = results if isinstance(results, tuple) else (results,)
    roots = [tape.scalar(scalar).index for result in all_results for scalar in scalars_of(result)]
    for position in reachable(tape, roots):
        node = tape.nodes[position]
        if node[0] != opcodes.INPUT:
            length[position] = 1 + sum(length[a] for a in node[1:]) if node[0] > opcodes.INPUT else 1
    return sum(length[root] for root in roots)
