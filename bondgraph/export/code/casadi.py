"""CasADi functions of a compiled model: its routines as expressions, for optimal control and estimation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bondgraph.compile.pipeline import Compilable
from bondgraph.export.code.content import BLOCKS
from bondgraph.export.code.self_contained import evaluate_steps, self_contained
from bondgraph.output.extras import require_package
from bondgraph.tape import opcodes as op


def to_casadi(model: Compilable, routine: str = "rates") -> Any:
    """Return a `casadi.Function` (t, x, p, m) -> results of a routine, with CasADi's own derivatives.

    t (1,) is the time in s; x are the states and m the modes, as `compiled.initial()` returns them; p is the first
    `size1_in("p")` numbers of `compiled.parameters()`, whose time derivatives count as zero.

    Parameters
    ----------
    model : compiled, or a graph, which is compiled first.
    routine : name of one of the `straight_lines` except `prepare`: "rates", "outputs", "guards", "reset_0", "tick_0" ...

    Raises `ModelError` E100 if `model` is not a model, E335 for delays, E693 for FMUs, E660 for an unknown routine; `ExtraError`
    E416 without CasADi.
    Source: Andersson et al., CasADi: a software framework for nonlinear optimization and optimal control (2019).
    """
    require_package("a CasADi function", "casadi")
    import casadi

    source = self_contained(model, routine, "to_casadi")
    symbols = [casadi.SX.sym(block, size) for block, size in zip(BLOCKS, source.sizes, strict=True)]
    results = evaluate_steps(source.steps, symbols, casadi_forms())
    return casadi.Function(routine, symbols, [casadi.vertcat(*results)], list(BLOCKS), [routine])


def casadi_forms() -> dict[str, Callable[..., Any]]:
    import casadi

    def searchsorted(u: Any, points: list[Any]) -> Any:
        return sum((point <= u for point in points), casadi.SX(0.0))

    def take(index: Any, values: list[Any]) -> Any:
        result = values[0]
        for k in range(1, len(values)):
            result = casadi.if_else(index >= k, values[k], result)
        return result

    special: dict[str, Callable[..., Any]] = {
        "negative": lambda x: -x,
        "reciprocal": lambda x: 1.0 / x,
        "divide": lambda x, y: x / y,
        "absolute": casadi.fabs,
        "minimum": casadi.fmin,
        "maximum": casadi.fmax,
        "less": lambda x, y: x < y,
        "less_equal": lambda x, y: x <= y,
        "equal": lambda x, y: x == y,
        "both": casadi.logic_and,
        "either": casadi.logic_or,
        "opposite": casadi.logic_not,
        "where": casadi.if_else,
        "searchsorted": searchsorted,
        "take": take,
        "add": lambda x, y: x + y,
        "subtract": lambda x, y: x - y,
        "multiply": lambda x, y: x * y,
    }
    return special | {name: getattr(casadi, name) for name in op.NAMES[op.POWER :] if name not in special}
