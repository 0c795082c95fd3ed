"""SymPy: every statement as an equation between named symbols, one statement at a time (never substituted)."""

from __future__ import annotations

from typing import Any

import numpy as np

from bondgraph.equations.system import System


def sympy_statements(system: System) -> list[Any]:
    """Equations `sympy.Eq(left, right)` in order of evaluation, for scalars; matrices of symbols for arrays.

    The right-hand sides come from the same formulas that are compiled, run on symbols. Shapes must be known: pass the
    system of a compiled model (`compile_model(model).system`).
    """
    import sympy

    env = {name: symbol_of(system, name) for name in system.values}
    out = []
    for statement in system.statements:
        results = statement.op(*[env[arg] for arg in statement.args])
        results = (results,) if len(statement.outs) == 1 else results
        for name, result in zip(statement.outs, results, strict=True):
            out.append(sympy.Eq(_matrix(env[name]), _matrix(result), evaluate=False))
    return out


def symbol_of(system: System, name: str) -> Any:
    """A symbol for a scalar value, an object array of indexed symbols for an array; named as the user did."""
    import sympy

    shape = system.values[name].shape or ()
    if not shape:
        return sympy.Symbol(name, real=True)
    out = np.empty(shape, dtype=object)
    for index in np.ndindex(*shape):
        out[index] = sympy.Symbol(f"{name}[{', '.join(map(str, index))}]", real=True)
    return out


def _matrix(value: Any) -> Any:
    import sympy

    array = np.asarray(value, dtype=object)
    if array.ndim == 0:
        return sympy.S(array.item())
    return sympy.Matrix(array.tolist())
