"""SymPy equations of all statements between named symbols, without substitution, and SymPy forms of instructions."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from bondgraph.assembly.system import System
from bondgraph.compile.compiled import Compiled
from bondgraph.compile.pipeline import Compilable, compiled_form
from bondgraph.model.laws import Source
from bondgraph.model.ops import TIME_DERIVATIVE
from bondgraph.output.lazy import sympy
from bondgraph.tape import opcodes as op
from bondgraph.tracing.on_tape.values import scalars_of, shaped
from screws.scalars import FUNCTIONS, expm1, searchsorted, take


def sympy_statements(model: Compilable) -> list[Any]:
    """Return equations `sympy.Eq(left, right)` in order of evaluation, between scalars or, for arrays, between matrices.

    The right-hand sides come from the compiled formulas, run on symbols. A time derivative is the function `d/dt` of its
    argument. The last equations, `residual = 0`, determine unknowns. Updates at ticks and events are included, but not their
    times: see `sympy_model`. A graph is compiled first; raises E100 for anything else, E335 for delays, E693 for FMUs.
    """
    system = compiled_form(model, "sympy_statements").system
    env = {name: symbol_of(system, name) for name in system.values}
    out = []
    for statement in system.statements:
        if statement.op is TIME_DERIVATIVE:
            (moving,) = statement.args
            slope = [sympy.Function("d/dt")(symbol) for symbol in scalars_of(env[moving])]
            results: tuple[Any, ...] = (shaped(slope, np.shape(env[moving])),)
        else:
            results = statement.results([env[arg] for arg in statement.args])
        for name, result in zip(statement.outs, results, strict=True):
            out.append(sympy.Eq(_matrix(env[name]), _matrix(result), evaluate=False))
    for unknown in (*system.unknowns, *(u for loop in system.loops for u in loop.unknowns)):
        residual = env[unknown.residual]
        out.append(sympy.Eq(_matrix(residual), _matrix(0 * residual), evaluate=False))
    return out


def inputs_of(compiled: Compiled) -> list[str]:
    sources = tuple(f"{path}." for path, element in compiled.model.elements.items() if isinstance(element.law, Source))
    return [name for name in compiled.system.parameters if name.startswith(sources)]


def symbol_of(system: System, name: str) -> Any:
    shape = system.values[name].shape or ()
    if not shape:
        return sympy.Symbol(name, real=True)
    out = np.empty(shape, dtype=object)
    for index in np.ndindex(*shape):
        out[index] = sympy.Symbol(f"{name}[{', '.join(map(str, index))}]", real=True)
    return out


def _matrix(value: Any) -> Any:
    array = np.asarray(value, dtype=object)
    if array.ndim == 0:
        return sympy.S(array.item())
    return sympy.Matrix(array.tolist())


def elementary_forms() -> dict[int, Callable[..., Any]]:
    """Return the SymPy form of each instruction by its code, except `where` and logical operations: their form depends on the
    export."""
    functions = {op.CODES[name]: getattr(sympy, function) for name, (_, function) in FUNCTIONS.items() if function}
    return functions | {
        op.ADD: operator.add,
        op.SUBTRACT: operator.sub,
        op.MULTIPLY: operator.mul,
        op.DIVIDE: operator.truediv,
        op.NEGATIVE: operator.neg,
        op.RECIPROCAL: lambda a: 1 / a,
        op.POWER: operator.pow,
        op.EXPM1: expm1,
        op.SEARCHSORTED: lambda u, points: searchsorted(points, u),
        op.TAKE: lambda index, values: take(values, index),
    }
